// Cells of CSV to columns of numbers and of words, row by row: a parser that goes through the
// columns one by one waits for memory at every cell where they are many. It reads what is a number
// beyond doubt, or stands for a missing one, and words in UTF-8; a column with anything else is
// given up, and left to a parser that knows more.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "table/cell_ends.hpp"
#include "table/utf8.hpp"
#include "text/decimal.hpp"

namespace polyak {
namespace table {

// Words one after the other: word i ends where word i + 1 begins.
struct WordColumn {
  std::vector<int32_t> begins{0};
  std::string text;

  std::string_view word(size_t i) const {
    return std::string_view(text).substr(static_cast<size_t>(begins[i]),
                                         static_cast<size_t>(begins[i + 1] - begins[i]));
  }
};

// Columns of numbers one after the other, with room for as many rows in each, then those of words.
struct CsvColumns {
  std::vector<std::string> names;
  size_t n_numbers = 0;
  int64_t n_rows = 0, room = 0;
  std::unique_ptr<double[]> numbers;
  std::vector<WordColumn> words;
  std::vector<uint8_t> is_odd;              // a byte a column
  std::vector<int64_t> missing;             // how many of its rows are
  std::vector<std::vector<uint8_t>> valid;  // a bit a row, where any is missing

  const double *number_column(size_t c) const {
    return numbers.get() + static_cast<int64_t>(c) * room;
  }
};

class CsvParser {
 public:
  using Words = std::unordered_set<std::string_view>;

  // The first of `names` are columns of numbers. `places` says of every column of the text which of
  // them it is, or -1; and `words_may_miss` whether what stands for a missing number does so for a
  // missing word.
  CsvParser(std::string_view text, char delimiter, std::vector<std::string> names, size_t n_numbers,
            const std::vector<int32_t> &places, const Words &missing, bool words_may_miss)
      : text_(text),
        delimiter_(delimiter),
        ends_(text, delimiter),
        places_(places),
        missing_(missing),
        words_may_miss_(words_may_miss) {
    const size_t n = names.size();
    out_.names = std::move(names);
    out_.n_numbers = n_numbers;
    out_.room = 1 + std::count(text.begin(), text.end(), '\n');
    out_.numbers.reset(new double[n_numbers * static_cast<size_t>(out_.room)]);
    out_.words.resize(n - n_numbers);
    for (WordColumn &words : out_.words) words.begins.reserve(static_cast<size_t>(out_.room) + 1);
    const bool long_text = text.size() > std::numeric_limits<int32_t>::max();
    out_.is_odd.assign(n, 0);
    if (long_text)
      std::fill(out_.is_odd.begin() + static_cast<int64_t>(n_numbers), out_.is_odd.end(), 1);
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
    for (size_t c = out_.n_numbers; c < out_.names.size(); ++c)
      if (!out_.is_odd[c]) out_.is_odd[c] = !are_utf8(words_of(c));
    return true;
  }

  CsvColumns &&take() { return std::move(out_); }

 private:
  static constexpr int64_t kLongest = 40;

  // Null where a quotation mark is not closed. Two of them within a pair stand for one.
  const char *cell_end(const char *p, const char *end) {
    while (p < end && *p == '"') {
      p = static_cast<const char *>(std::memchr(p + 1, '"', static_cast<size_t>(end - p - 1)));
      if (p == nullptr) return nullptr;
      ++p;
    }
    return ends_.next(p);
  }

  void read(size_t c, const char *p, const char *end) {
    if (out_.is_odd[c]) return;
    if (c < out_.n_numbers)
      read_number_cell(c, p, end);
    else
      read_word(c, p, end);
  }

  void read_number_cell(size_t c, const char *p, const char *end) {
    double &number =
        out_.numbers[c * static_cast<size_t>(out_.room) + static_cast<size_t>(out_.n_rows)];
    if (is_number(p, end, number)) return;
    if (end > p && !stands_for_missing(p, end)) {
      out_.is_odd[c] = 1;
      return;
    }
    mark_missing(c);
    number = 0.0;
  }

  void read_word(size_t c, const char *p, const char *end) {
    WordColumn &words = words_of(c);
    const size_t begin = words.text.size();
    if (p < end && *p == '"') {
      if (!append_unquoted(words.text, p, end)) {
        out_.is_odd[c] = 1;
        return;
      }
    } else {
      words.text.append(p, end);
    }
    const char *const word = words.text.data() + begin;
    if (words_may_miss_ && stands_for_missing(word, words.text.data() + words.text.size())) {
      words.text.resize(begin);
      mark_missing(c);
    }
    words.begins.push_back(static_cast<int32_t>(words.text.size()));
  }

  // False where anything stands behind the mark that closes the cell.
  static bool append_unquoted(std::string &text, const char *p, const char *end) {
    for (++p; p < end; ++p) {
      const auto *mark =
          static_cast<const char *>(std::memchr(p, '"', static_cast<size_t>(end - p)));
      if (mark == nullptr) return false;
      text.append(p, mark);
      if (mark + 1 == end) return true;
      if (mark[1] != '"') return false;
      text.push_back('"');
      p = mark + 1;
    }
    return false;
  }

  static bool are_utf8(const WordColumn &words) {
    if (is_ascii(words.text)) return true;
    for (size_t i = 0; i + 1 < words.begins.size(); ++i)
      if (!is_utf8(words.word(i))) return false;
    return true;
  }

  WordColumn &words_of(size_t c) { return out_.words[c - out_.n_numbers]; }

  bool stands_for_missing(const char *p, const char *end) const {
    return missing_.count({p, static_cast<size_t>(end - p)}) != 0;
  }

  void mark_missing(size_t c) {
    std::vector<uint8_t> &valid = out_.valid[c];
    if (valid.empty()) valid.assign(static_cast<size_t>(out_.room + 7) / 8, 0xff);
    valid[static_cast<size_t>(out_.n_rows) / 8] &= static_cast<uint8_t>(~(1u << (out_.n_rows & 7)));
    ++out_.missing[c];
  }

  // Digits, perhaps with a sign, a point and an exponent between them; no number that a double
  // holds badly or not at all.
  bool is_number(const char *p, const char *end, double &number) const {
    const bool minus = p < end && *p == '-';
    const char *const digits = p + minus;
    if (digits >= end || !is_digit(*digits) || !is_digit(end[-1]) || end - p > kLongest)
      return false;
    const int64_t size = end - digits;
    if (size <= 8 && text_.data() + text_.size() - digits >= 8) {  // most are short and whole
      const uint64_t chars = eight_chars(digits);
      if (leading_digits(chars) >= size) {
        const auto whole =
            static_cast<double>(digits_to_number(chars, static_cast<unsigned>(size)));
        number = minus ? -whole : whole;
        return true;
      }
    }
    char copy[kLongest + kPadding + 1];  // the parser reads ahead
    const char *from = digits;
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
  CellEnds ends_;
  const std::vector<int32_t> &places_;
  const Words &missing_;
  const bool words_may_miss_;
  CsvColumns out_;
};

}  // namespace table
}  // namespace polyak
