#include "table/csv_columns.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "text/decimal.hpp"

namespace polyak {
namespace table {

bool read_any_number(std::string_view word, double &number) {
  while (!word.empty() && (word.front() == ' ' || word.front() == '\t')) word.remove_prefix(1);
  while (!word.empty() && (word.back() == ' ' || word.back() == '\t')) word.remove_suffix(1);
  const bool has_sign = !word.empty() && (word[0] == '-' || word[0] == '+');
  const std::string_view unsigned_word = word.substr(has_sign);
  if (unsigned_word.empty()) return false;
  if (!is_digit(unsigned_word[0]) && unsigned_word[0] != '.') {
    std::string lower(unsigned_word.substr(0, 9));
    for (char &c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    if (lower != "inf" && lower != "infinity") return false;
    number = std::numeric_limits<double>::infinity() * (word[0] == '-' ? -1.0 : 1.0);
    return true;
  }
  std::string padded(word);
  padded.append(kPadding, '\n');
  double read;  // not `number`, which keeps its value if only the beginning of the word is a number
  if (read_number(padded.data(), read) != padded.data() + word.size()) return false;
  number = read;
  return true;
}

namespace {

// Finds the ends of cells 64 characters ahead: cells are short and differ in length, so that the
// end of a loop over their characters would be mispredicted for nearly every cell.
class CellEnds {
 public:
  CellEnds(std::string_view text, char delimiter)
      : base_(text.data()), end_(base_ + text.size()), delimiter_(delimiter) {
    bits_ = look(base_);
  }

  // Returns the next delimiter, newline or carriage return from `p` on, or the end of the text. `p`
  // must not decrease from call to call.
  const char *next(const char *p) {
    for (;;) {
      const ptrdiff_t ahead = p - base_;
      if (ahead < 64) {
        const uint64_t left = bits_ >> ahead;
        if (left) return p + lowest_bit(left);
        p = base_ + 64;
      }
      if (p >= end_) return end_;
      base_ = p;
      bits_ = look(p);
    }
  }

 private:
  uint64_t look(const char *p) const {
    if (end_ - p >= 64) return marks(p);
    char last[64] = {};
    if (p < end_) std::memcpy(last, p, static_cast<size_t>(end_ - p));
    const uint64_t inside = (uint64_t{1} << (end_ - p)) - 1;
    return marks(last) & inside;
  }

  uint64_t marks(const char *p) const {
    return bits_where(p, [delimiter = delimiter_](Chars chars) {
      return (chars == delimiter) | (chars == '\n') | (chars == '\r');
    });
  }

  const char *base_;
  const char *const end_;
  const char delimiter_;
  uint64_t bits_ = 0;
};

// Lines are long enough that memchr takes a third of the time of std::count.
int64_t count(std::string_view text, char c) {
  int64_t found = 0;
  for (size_t at = text.find(c); at != std::string_view::npos; at = text.find(c, at + 1)) ++found;
  return found;
}

bool is_ascii(std::string_view text) {
  uint64_t any = 0;
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t eight;
    std::memcpy(&eight, text.data() + i, 8);
    any |= eight;
  }
  for (; i < text.size(); ++i) any |= static_cast<uint64_t>(text[i] & 0x80);
  return (any & 0x8080808080808080u) == 0;
}

// Whether text is UTF-8 by the rules of Unicode: no stray or missing bytes, no overlong encodings,
// no surrogates, nothing beyond U+10FFFF.
bool is_utf8(std::string_view text) {
  const auto *p = reinterpret_cast<const unsigned char *>(text.data());
  const auto *const end = p + text.size();
  while (p < end) {
    const unsigned first = *p++;
    if (first < 0x80) continue;
    const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    if (first < 0xC2 || first > 0xF4 || end - p < more) return false;
    unsigned low = 0x80, high = 0xBF;  // what the second byte may be
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
    if (*p < low || *p > high) return false;
    for (int i = 1; i < more; ++i)
      if ((p[i] & 0xC0) != 0x80) return false;
    p += more;
  }
  return true;
}

class CsvParser {
 public:
  CsvParser(std::string_view text, char delimiter, std::vector<std::string> names, size_t n_numbers,
            const std::vector<int32_t> &places, const WordSet &missing)
      : text_(text),
        delimiter_(delimiter),
        ends_(text, delimiter),
        places_(places),
        missing_(missing) {
    const size_t n = names.size();
    out_.names = std::move(names);
    out_.n_numbers = n_numbers;
    out_.room = 1 + count(text, '\n') + count(text, '\r');
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
      if (*p == '\n' || *p == '\r') {  // empty lines are no rows
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

  // Returns null if a quotation mark is not closed. Two of them within a quoted cell stand for one.
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

  // Text behind the closing quotation mark belongs to the cell as it is.
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

  // Removes the cells of a row that is left out.
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

  // Reads digits, perhaps with a sign, a point and an exponent between them.
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
  const WordSet &missing_;
  bool has_quotes_ = false;             // whether the row has quotation marks, so perhaps newlines
  std::string unquoted_;                // the cell that is read, if it is quoted
  std::vector<uint8_t> has_no_number_;  // whether the column is in `no_numbers`
  CsvColumns out_;
};

}  // namespace

CsvColumns parse_csv(std::string_view text, char delimiter, std::vector<std::string> names,
                     size_t n_numbers, const std::vector<int32_t> &places, const WordSet &missing) {
  return CsvParser(text, delimiter, std::move(names), n_numbers, places, missing).run();
}

}  // namespace table
}  // namespace polyak
