// A table of numbers as text, a line a row, with the fewest digits that read back to the last bit.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>

#include "print/print_number.hpp"

namespace polyak {

// std::to_chars is many times as fast as printf, and as Python's repr; where the library has none
// for numbers with a point, print_number serves.
inline void print_shortest(double value, std::string &text) {
#if defined(__cpp_lib_to_chars)
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  text.append(digits, static_cast<size_t>(end - digits));
#else
  print_number(value, text);
#endif
}

inline std::string print_lines(const double *table, int64_t rows, int64_t columns) {
  std::string text;
  text.reserve(static_cast<size_t>(rows * columns) * 20);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      print_shortest(table[i * columns + j], text);
      text.push_back(j + 1 < columns ? ' ' : '\n');
    }
  return text;
}

}  // namespace polyak
