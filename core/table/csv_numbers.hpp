// Cells of CSV to columns of numbers, row by row: where columns are many, a parser that goes
// through them one by one waits for memory at every cell. It reads what is a number beyond doubt,
// or stands for a missing one; a column with anything else is given up, and left to a parser that
// knows more.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "text/decimal.hpp"

namespace polyak {
namespace table {

// Columns one after the other, with room for as many rows in each.
struct NumberColumns {
  std::vector<std::string> names;
  int64_t n_rows = 0, room = 0;
  std::unique_ptr<double[]> values;
  std::vector<uint8_t> is_odd;              // a byte a column
  std::vector<int64_t> missing;             // how many of its rows are
  std::vector<std::vector<uint8_t>> valid;  // a bit a row, where any is missing

  const double *column(size_t c) const { return values.get() + static_cast<int64_t>(c) * room; }
};

class CsvNumbers {
 public:
  using Words = std::unordered_set<std::string_view>;

  // `places` says of every column of the text which of `names` it is, or -1.
  CsvNumbers(std::string_view text, char delimiter, std::vector<std::string> names,
             const std::vector<int32_t> &places, const Words &missing)
      : text_(text), delimiter_(delimiter), places_(places), missing_(missing) {
    const size_t n = names.size();
    out_.names = std::move(names);
    out_.room = 1 + std::count(text.begin(), text.end(), '\n');
    out_.values.reset(new double[n * static_cast<size_t>(out_.room)]);
    out_.is_odd.assign(n, 0);
    out_.missing.assign(n, 0);
    out_.valid.resize(n);
  }

  // False if the rows are not all of as many cells, or lines end with carriage returns alone.
  bool run() {
    const char *p = text_.data(), *const end = p + text_.size();
    while (p < end) {
      if (*p == '\n' || *p == '\r') {  // pyarrow passes over lines without a character
        ++p;
        continue;
      }
      if (out_.n_rows == out_.room) return false;
      for (size_t i = 0; i < places_.size(); ++i) {
        const char *const last = cell_end(p, end);
        const bool is_last = i + 1 == places_.size();
        if (last == nullptr || (last < end && *last == delimiter_) == is_last) return false;
        if (places_[i] >= 0) read(static_cast<size_t>(places_[i]), p, last);
        p = is_last || last == end ? last : last + 1;
      }
      ++out_.n_rows;
    }
    return true;
  }

  NumberColumns &&take() { return std::move(out_); }

 private:
  static constexpr int64_t kLongest = 40;

  // Null where a quotation mark is not closed. Two of them within a pair stand for one.
  const char *cell_end(const char *p, const char *end) const {
    while (p < end && *p == '"') {
      p = static_cast<const char *>(std::memchr(p + 1, '"', static_cast<size_t>(end - p - 1)));
      if (p == nullptr) return nullptr;
      ++p;
    }
    while (p < end && *p != delimiter_ && *p != '\n' && *p != '\r') ++p;
    return p;
  }

  void read(size_t c, const char *p, const char *end) {
    if (out_.is_odd[c]) return;
    double &number =
        out_.values[c * static_cast<size_t>(out_.room) + static_cast<size_t>(out_.n_rows)];
    if (is_number(p, end, number)) return;
    if (end > p && missing_.count({p, static_cast<size_t>(end - p)}) == 0) {
      out_.is_odd[c] = 1;
      return;
    }
    std::vector<uint8_t> &valid = out_.valid[c];
    if (valid.empty()) valid.assign(static_cast<size_t>(out_.room + 7) / 8, 0xff);
    valid[static_cast<size_t>(out_.n_rows) / 8] &= static_cast<uint8_t>(~(1u << (out_.n_rows & 7)));
    ++out_.missing[c];
    number = 0.0;
  }

  // Digits, perhaps with a sign, a point and an exponent between them; no number that a double
  // holds badly or not at all.
  bool is_number(const char *p, const char *end, double &number) const {
    const bool minus = p < end && *p == '-';
    const char *const digits = p + minus;
    if (digits >= end || !is_digit(*digits) || !is_digit(end[-1]) || end - p > kLongest)
      return false;
    char copy[kLongest + kPadding + 1];  // the parser reads ahead
    const char *from = digits;
    const int64_t size = end - digits;
    if (text_.data() + text_.size() - end < static_cast<int64_t>(kPadding)) {
      std::memcpy(copy, digits, static_cast<size_t>(size));
      std::memset(copy + size, '\n', kPadding);
      from = copy;
    }
    double x;
    const char *const stop = read_number(from, x);
    if (stop != from + size) return false;
    if (!(x >= 1e-300 && x <= 1e300) && (x != 0.0 || !is_zero(digits, end))) return false;
    number = minus ? -x : x;
    return true;
  }

  static bool is_zero(const char *p, const char *end) {
    return std::all_of(p, end, [](char c) { return c == '0' || c == '.'; });
  }

  const std::string_view text_;
  const char delimiter_;
  const std::vector<int32_t> &places_;
  const Words &missing_;
  NumberColumns out_;
};

}  // namespace table
}  // namespace polyak
