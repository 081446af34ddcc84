// Rows as svmlight text, which svmlight.hpp reads back to the last bit. Ids begin at 1.
#pragma once

#include <cstdint>
#include <string>

#include "print/print_number.hpp"
#include "rows/check.hpp"
#include "rows/rows.hpp"

namespace polyak {

template <class Rows>
std::string print_rows(const Rows &rows, const double *targets) {
  check_offsets(rows);
  std::string text;
  for (int64_t i = 0; i < rows.count; ++i) {
    print_number(targets[i], text);
    const auto row = rows[i];
    for (int64_t e = 0; e < row.size; ++e) {
      text.push_back(' ');
      print_whole(static_cast<uint64_t>(row.feature(e)) + 1, text);
      text.push_back(':');
      print_number(row.value[e], text);
    }
    text.push_back('\n');
  }
  return text;
}

}  // namespace polyak
