// Numbers as decimal text that decimal.hpp reads back to the last bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>

#include "text/decimal.hpp"

namespace polyak {

inline void print_whole(uint64_t number, std::string &text) {
  char digits[20];
  int n = 0;
  do digits[n++] = static_cast<char>('0' + number % 10);
  while (number /= 10);
  while (n > 0) text.push_back(digits[--n]);
}

// Numbers of a few decimals, as most in text are, are found by trial: if w / 10^k is the number,
// then that is what a reader makes of w with the point moved. Others get as many digits as a
// number of their type can need.
template <class Value>
void print_number(Value value, std::string &text) {
  if (std::signbit(value)) text.push_back('-');
  const double size = std::fabs(static_cast<double>(value));
  for (int k = 0; k <= 9; ++k) {
    const double w = std::rint(size * kPowersOfTen[k]);
    if (w >= 1e15) break;
    if (static_cast<Value>(w / kPowersOfTen[k]) != static_cast<Value>(size)) continue;
    const uint64_t power = static_cast<uint64_t>(kPowersOfTen[k]);
    print_whole(static_cast<uint64_t>(w) / power, text);
    if (k == 0) return;
    const size_t point = text.size();
    print_whole(power + static_cast<uint64_t>(w) % power, text);  // its 1 makes room for the point
    text[point] = '.';
    return;
  }
  char digits[32];
  const int n =
      std::snprintf(digits, sizeof digits, "%.*g", std::numeric_limits<Value>::max_digits10, size);
  std::replace(digits, digits + n, ',', '.');  // whatever the locale
  text.append(digits, static_cast<size_t>(n));
}

}  // namespace polyak
