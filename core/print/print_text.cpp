#include "print/print_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

#include "text/decimal.hpp"

namespace polyak {
namespace {

void print_whole(uint64_t number, std::string &text) {
  char digits[20];
  int n = 0;
  do digits[n++] = static_cast<char>('0' + number % 10);
  while (number /= 10);
  while (n > 0) text.push_back(digits[--n]);
}

// Numbers with few decimals, as most in text, are found by trial: if w / 10^k is the number, a
// reader obtains it from w with the decimal point moved. Others get the number of digits that
// identifies any number of their type.
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
    // The leading 1 of this number is replaced with the decimal point.
    print_whole(power + static_cast<uint64_t>(w) % power, text);
    text[point] = '.';
    return;
  }
  char digits[32];
  const int n =
      std::snprintf(digits, sizeof digits, "%.*g", std::numeric_limits<Value>::max_digits10, size);
  std::replace(digits, digits + n, ',', '.');  // the locale may have a decimal comma
  text.append(digits, static_cast<size_t>(n));
}

// std::to_chars is many times as fast as printf, and as Python's repr. Some standard libraries have
// none for floating-point numbers.
void print_shortest(double value, std::string &text) {
#if defined(__cpp_lib_to_chars)
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  text.append(digits, static_cast<size_t>(end - digits));
#else
  print_number(value, text);
#endif
}

// Returns the index of the highest score or of the first NaN, as NumPy's argmax does.
int64_t best_of(const double *scores, int64_t columns) {
  if (columns == 1) return scores[0] > 0.0;
  int64_t best = 0;
  for (int64_t j = 0; j < columns; ++j) {
    if (std::isnan(scores[j])) return j;
    if (scores[j] > scores[best]) best = j;
  }
  return best;
}

}  // namespace

std::string print_rows(const AnyRows &any, const double *targets) {
  check_offsets(any);
  std::string text;
  std::visit(
      [&](const auto &rows) {
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
      },
      any);
  return text;
}

std::string print_lines(const double *table, int64_t rows, int64_t columns) {
  std::string text;
  text.reserve(static_cast<size_t>(rows * columns) * 20);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      print_shortest(table[i * columns + j], text);
      text.push_back(j + 1 < columns ? ' ' : '\n');
    }
  return text;
}

std::string print_names(const double *scores, int64_t rows, int64_t columns,
                        const std::vector<std::string> &names) {
  std::string text;
  for (int64_t i = 0; i < rows; ++i) {
    text += names[static_cast<size_t>(best_of(scores + i * columns, columns))];
    text.push_back('\n');
  }
  return text;
}

}  // namespace polyak
