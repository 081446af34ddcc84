#include "text/decimal.hpp"

#include <cstddef>
#include <system_error>

#include "text/digits.hpp"
#include "vendor/fast_float/fast_float.h"

namespace polyak {

const char *read_number(const char *p, double &number) {
  const bool minus = *p == '-';
  if (minus || *p == '+') ++p;
  if (!is_digit(*p) && *p != '.') return nullptr;  // no second sign, no nan, no inf
  constexpr ptrdiff_t far_behind = ptrdiff_t{1} << 40;
  const auto read = fast_float::from_chars(p, p + far_behind, number);
  if (read.ec == std::errc::invalid_argument) return nullptr;
  if (minus) number = -number;
  return read.ptr;
}

}  // namespace polyak
