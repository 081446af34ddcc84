// Decimal text to the nearest double: the number that Python's float() returns, in every locale.
// fast_float does it; the most common forms are read faster by the parsers themselves, several
// numbers at a time, with the powers below.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "text/digits.hpp"
#include "vendor/fast_float/fast_float.h"

namespace polyak {

static_assert(std::numeric_limits<double>::is_iec559, "doubles must be those of IEEE 754");

// Every power of ten that a double holds exactly.
constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int32_t kSmallPowersOfTen[] = {1,      10,      100,      1000,     10000,
                                         100000, 1000000, 10000000, 100000000};

// The nearest double to w / 10^n, for 0 <= w < 10^9 and n <= 8. On ARM a division takes a dozen
// cycles and is not pipelined, a quarter of the time of VW text. The product with the inverse power
// may be off by a bit; its remainder, which fma computes exactly, times the inverse corrects that.
// This was verified for every such w and n.
inline double over_power_of_ten(int32_t w, unsigned n) {
#if defined(__aarch64__)
  constexpr double inverse[] = {1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8};
  const double about = w * inverse[n];
  return std::fma(std::fma(-about, kPowersOfTen[n], w), inverse[n], about);
#else
  return w / kPowersOfTen[n];
#endif
}

// Reads [sign][digits][.digits][e[sign]digits] and returns where it ends, or null if there is no
// number. The number is infinite if the text is too large. As digits.hpp requires, the text is
// padded; a character that cannot be part of the number, such as a newline, must follow it.
inline const char *read_number(const char *p, double &number) {
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
