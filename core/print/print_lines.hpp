// A table of numbers as text, a line a row: as names, or with the fewest digits that read back to
// the last bit.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

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

// The place of a row's largest score, or of its first that is no number; with one score there are
// two places, and above zero it is the second.
inline int64_t best_place(const double *scores, int64_t columns) {
  if (columns == 1) return scores[0] > 0.0;
  int64_t best = 0;
  for (int64_t j = 0; j < columns; ++j) {
    if (std::isnan(scores[j])) return j;
    if (scores[j] > scores[best]) best = j;
  }
  return best;
}

// A table of scores as the names of each row's best.
inline std::string print_names(const double *table, int64_t rows, int64_t columns,
                               const std::vector<std::string> &names) {
  std::string text;
  for (int64_t i = 0; i < rows; ++i) {
    text += names[static_cast<size_t>(best_place(table + i * columns, columns))];
    text.push_back('\n');
  }
  return text;
}

}  // namespace polyak
