// Cells of CSV to columns of numbers and of words, row by row: a parser that goes through the
// columns one by one waits for memory at every cell if there are many columns. Rows with a wrong
// number of cells are left out and listed; so are values that are no numbers, which become missing,
// and words that are not UTF-8.
#pragma once

#include <algorithm>
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

constexpr int64_t kUnclosed = -1;  // instead of a number of cells: a quotation mark is not closed

// A row with another number of cells than the header: its offsets and its line, from zero.
struct BadRow {
  int64_t begin, end, line, cells;
};

// The first value of a column of numbers that is no number.
struct NoNumber {
  int64_t row;
  size_t column;
  std::string text;
};

// A word that is not UTF-8.
struct NoText {
  int64_t row;
  size_t column;
};

// Columns of numbers one after the other, each with space for `room` rows, then those of words.
struct CsvColumns {
  std::vector<std::string> names;
  size_t n_numbers = 0;
  int64_t n_rows = 0, room = 0;
  std::unique_ptr<double[]> numbers;
  std::vector<WordColumn> words;
  std::vector<int64_t> missing;             // the number of missing values of each column
  std::vector<std::vector<uint8_t>> valid;  // one bit per row; empty if no value is missing
  std::vector<int64_t> lines;               // the line where each row begins, from zero
  std::vector<BadRow> bad;
  std::vector<NoNumber> no_numbers;
  std::vector<NoText> no_text;

  const double *number_column(size_t c) const {
    return numbers.get() + static_cast<int64_t>(c) * room;
  }
};

// Reads what Python's float() reads, with blanks around it.
inline bool read_any_number(std::string_view word, double &number) {
  while (!word.empty() && (word.front() == ' ' || word.front() == '\t')) word.remove_prefix(1);
  while (!word.empty() && (word.back() == ' ' || word.back() == '\t')) word.remove_suffix(1);
  if (word.empty()) return false;
  std::string padded(word);
  const size_t sign = padded[0] == '-' || padded[0] == '+';
  if (!is_digit(padded[sign]) && padded[sign] != '.') {
    std::string lower = padded.substr(sign);
    for (char &c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    if (lower != "inf" && lower != "infinity") return false;
    number = std::numeric_limits<double>::infinity() * (padded[0] == '-' ? -1.0 : 1.0);
    return true;
  }
  padded.append(kPadding, '\n');
  return read_number(padded.data(), number) == padded.data() + word.size();
}

class CsvParser {
 public:
  using Words = std::unordered_set<std::string_view>;

  // The first of `names` are columns of numbers. `places` holds for every column of the text its
  // index in `names`, or -1. What is in `missing` stands for a missing number.
  CsvParser(std::string_view text, char delimiter, std::vector<std::string> names, size_t n_numbers,
            const std::vector<int32_t> &places, const Words &missing)
      : text_(text),
        delimiter_(delimiter),
        ends_(text, delimiter),
        places_(places),
        missing_(missing) {
    const size_t n = names.size();
    out_.names = std::move(names);
    out_.n_numbers = n_numbers;
    out_.room = 1 + std::count(text.begin(), text.end(), '\n');
    if (text.find('\r') != std::string_view::npos)
      out_.room += std::count(text.begin(), text.end(), '\r');
    out_.numbers.reset(new double[n_numbers * static_cast<size_t>(out_.room)]);
    out_.words.resize(n - n_numbers);
    for (WordColumn &words : out_.words) words.begins.reserve(static_cast<size_t>(out_.room) + 1);
    out_.lines.reserve(static_cast<size_t>(out_.room));
    out_.missing.assign(n, 0);
    out_.valid.resize(n);
    has_no_number_.assign(n_numbers, 0);
  }

  CsvColumns run() {
    const char *p = text_.data(), *const end = p + text_.size();
    int64_t line = 0;
    while (p < end) {
      if (*p == '\n' || *p == '\r') {  // lines without a character are no rows
        line += *p++ == '\n';
        continue;
      }
      const char *const begin = p;
      const int64_t cells = read_row(p, end);
      if (cells == static_cast<int64_t>(places_.size())) {
        out_.lines.push_back(line);
        ++out_.n_rows;
      } else {
        undo_row();
        out_.bad.push_back({begin - text_.data(), p - text_.data(), line, cells});
      }
      if (has_quotes_) line += std::count(begin, p, '\n');
    }
    for (size_t c = out_.n_numbers; c < out_.names.size(); ++c) find_bad_characters(c);
    return std::move(out_);
  }

 private:
  static constexpr int64_t kLongest = 40;

  // Reads up to the end of a row, and returns the number of its cells.
  int64_t read_row(const char *&p, const char *end) {
    has_quotes_ = false;
    for (size_t i = 0;; ++i) {
      const char *const last = cell_end(p, end);
      if (last == nullptr) {
        p = end;
        return kUnclosed;
      }
      if (i < places_.size() && places_[i] >= 0) read(static_cast<size_t>(places_[i]), p, last);
      p = last;
      if (last == end || *last != delimiter_) return static_cast<int64_t>(i) + 1;
      ++p;
    }
  }

  // Null if a quotation mark is not closed. Two of them within a pair stand for one.
  const char *cell_end(const char *p, const char *end) {
    while (p < end && *p == '"') {
      has_quotes_ = true;
      p = static_cast<const char *>(std::memchr(p + 1, '"', static_cast<size_t>(end - p - 1)));
      if (p == nullptr) return nullptr;
      ++p;
    }
    return ends_.next(p);
  }

  void read(size_t c, const char *p, const char *end) {
    if (p < end && *p == '"') {
      unquoted_.clear();
      unquote(p, end);
      p = unquoted_.data();
      end = p + unquoted_.size();
    }
    if (c < out_.n_numbers)
      read_number_cell(c, p, end);
    else
      read_word(c, p, end);
  }

  void read_number_cell(size_t c, const char *p, const char *end) {
    double &number =
        out_.numbers[c * static_cast<size_t>(out_.room) + static_cast<size_t>(out_.n_rows)];
    if (is_plain_number(p, end, number)) return;
    const std::string_view word(p, static_cast<size_t>(end - p));
    if (!word.empty() && missing_.count(word) == 0) {
      if (read_any_number(word, number)) return;
      note_no_number(c, word);
    }
    mark_missing(c);
    number = 0.0;
  }

  void note_no_number(size_t c, std::string_view word) {
    if (has_no_number_[c]) return;
    has_no_number_[c] = 1;
    out_.no_numbers.push_back({out_.n_rows, c, std::string(word)});
  }

  void read_word(size_t c, const char *p, const char *end) {
    WordColumn &words = words_of(c);
    words.text.append(p, end);
    words.begins.push_back(static_cast<int32_t>(words.text.size()));
  }

  // What stands behind the mark that closes the cell belongs to it, as it is.
  void unquote(const char *p, const char *end) {
    for (++p; p < end; ++p) {
      const auto *mark =
          static_cast<const char *>(std::memchr(p, '"', static_cast<size_t>(end - p)));
      unquoted_.append(p, mark);
      if (mark + 1 == end) return;
      if (mark[1] != '"') return void(unquoted_.append(mark + 1, end));
      unquoted_.push_back('"');
      p = mark + 1;
    }
  }

  // Forgets the cells of a row that is left out.
  void undo_row() {
    const auto rows = static_cast<size_t>(out_.n_rows);
    for (WordColumn &words : out_.words) {
      words.begins.resize(rows + 1);
      words.text.resize(static_cast<size_t>(words.begins.back()));
    }
    for (size_t c = 0; c < out_.valid.size(); ++c) {
      if (out_.valid[c].empty()) continue;
      uint8_t &bits = out_.valid[c][rows / 8];
      const auto bit = static_cast<uint8_t>(1u << (rows & 7));
      if ((bits & bit) == 0) --out_.missing[c];
      bits |= bit;
    }
    while (!out_.no_numbers.empty() && out_.no_numbers.back().row == out_.n_rows) {
      has_no_number_[out_.no_numbers.back().column] = 0;
      out_.no_numbers.pop_back();
    }
  }

  void find_bad_characters(size_t c) {
    const WordColumn &words = words_of(c);
    if (is_ascii(words.text)) return;
    for (int64_t row = 0; row < out_.n_rows; ++row)
      if (!is_utf8(words.word(static_cast<size_t>(row)))) {
        out_.no_text.push_back({row, c});
        clear_valid(c, row);
      }
  }

  WordColumn &words_of(size_t c) { return out_.words[c - out_.n_numbers]; }

  void mark_missing(size_t c) { clear_valid(c, out_.n_rows); }

  void clear_valid(size_t c, int64_t row) {
    std::vector<uint8_t> &valid = out_.valid[c];
    if (valid.empty()) valid.assign(static_cast<size_t>(out_.room + 7) / 8, 0xff);
    valid[static_cast<size_t>(row) / 8] &= static_cast<uint8_t>(~(1u << (row & 7)));
    ++out_.missing[c];
  }

  // Digits, perhaps with a sign, a point and an exponent between them.
  bool is_plain_number(const char *p, const char *end, double &number) const {
    const bool minus = p < end && *p == '-';
    const char *const digits = p + minus;
    if (digits >= end || !is_digit(*digits) || !is_digit(end[-1]) || end - p > kLongest)
      return false;
    const int64_t size = end - digits;
    const bool inside = p >= text_.data() && end <= text_.data() + text_.size();
    const int64_t behind = inside ? text_.data() + text_.size() - end : 0;
    if (size <= 8 && size + behind >= 8) {  // most are short and whole
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
    if (behind < static_cast<int64_t>(kPadding)) {
      std::memcpy(copy, digits, static_cast<size_t>(size));
      std::memset(copy + size, '\n', kPadding);
      from = copy;
    }
    double x;
    if (read_number(from, x) != from + size) return false;
    number = minus ? -x : x;
    return true;
  }

  const std::string_view text_;
  const char delimiter_;
  CellEnds ends_;
  const std::vector<int32_t> &places_;
  const Words &missing_;
  bool has_quotes_ = false;             // whether the row has quotation marks, so perhaps newlines
  std::string unquoted_;                // the cell that is read, if it is quoted
  std::vector<uint8_t> has_no_number_;  // whether the column is in `no_numbers`
  CsvColumns out_;
};

}  // namespace table
}  // namespace polyak
