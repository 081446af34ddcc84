// What the parsers of text have in common: one row per line, and lines that cannot be parsed.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "memory/column.hpp"
#include "text/digits.hpp"
#include "text/label_sets.hpp"
#include "text/line_source.hpp"

namespace polyak {

struct BadLine {
  int64_t line;  // counted from zero
  std::string text;
  const char *reason;
};

template <class Value>
struct TextRows {
  Column<double> targets;  // or the indices of label sets
  Column<int64_t> indptr;
  Column<int32_t> indices;  // ascending in every row
  Column<Value> values;
  int64_t lines = 0;
  int64_t bad_lines = 0;
  std::vector<BadLine> first_bad;  // the first ten
  Column<int64_t> bad_before;      // for every bad line, the number of rows before it
  Column<int64_t> no_row_before;   // the same for every line that is not a row, bad or not
  LabelSets labels;                // if a row may have several labels

  // Reserves memory for `most` features.
  void begin(const Memory &memory, size_t most) {
    targets = Column<double>(memory);
    indptr = Column<int64_t>(memory);
    indices = Column<int32_t>(memory);
    values = Column<Value>(memory);
    bad_before = Column<int64_t>(memory);
    no_row_before = Column<int64_t>(memory);
    indptr.push_back(0);
    indices.reserve(most);
    values.reserve(most);
  }
  // Sets the number of features after the last row.
  void finish() {
    indices.resize(static_cast<size_t>(indptr.back()));
    values.resize(static_cast<size_t>(indptr.back()));
  }
};

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

inline bool is_not_finite(const char *p) {
  if (*p == '-' || *p == '+') ++p;
  auto lower = [&](int i) { return p[i] | 0x20; };
  return (lower(0) == 'n' && lower(1) == 'a' && lower(2) == 'n') ||
         (lower(0) == 'i' && lower(1) == 'n' && lower(2) == 'f');
}

// Splits a block into lines; a derived class parses each line.
template <class Rows>
class LineParser {
 public:
  Rows rows;

 protected:
  explicit LineParser(bool skip_bad_lines) : skip_bad_lines_(skip_bad_lines) {}

  // Calls parse_row(line) for every line, which returns the beginning of the next line, or what
  // bad() returns. Every line ends with a newline that kPadding readable bytes follow.
  template <class ParseRow>
  void parse_lines(LineSource &source, ParseRow parse_row) {
    const char *text;
    size_t size;
    while (!stopped_ && source.next(text, size)) {
      const bool first = rows.lines == 0;
      if (first && size >= 3 && std::memcmp(text, "\xef\xbb\xbf", 3) == 0) text += 3, size -= 3;
      // Parsing reads beyond the end of numbers, so that the last lines are parsed from a padded
      // copy.
      size_t body = size < kPadding ? 0 : size - kPadding;
      while (body > 0 && text[body - 1] != '\n') --body;
      std::string tail(text + body, size - body);
      if (!tail.empty() && tail.back() != '\n') tail.push_back('\n');
      const size_t tail_size = tail.size();
      tail.append(kPadding, '\0');
      parse_part(text, text + body, parse_row);
      parse_part(tail.data(), tail.data() + tail_size, parse_row);
    }
    rows.finish();
  }

  // Stops parsing before the next line.
  const char *stop() {
    stopped_ = true;
    return nullptr;
  }

  // Records what is wrong with a line. Returns null, as parse_row does for a bad line.
  const char *bad(std::string text, const char *reason) {
    bad_text_ = std::move(text);
    reason_ = reason;
    return nullptr;
  }

  const char *newline(const char *p) const {
    return static_cast<const char *>(std::memchr(p, '\n', static_cast<size_t>(end_ - p)));
  }

 private:
  template <class ParseRow>
  void parse_part(const char *p, const char *end, ParseRow &parse_row) {
    end_ = end;
    for (; p < end && !stopped_; ++rows.lines) {
      const size_t before = rows.indptr.size() - 1;
      const char *next = parse_row(p);
      if (stopped_) return;
      if (rows.indptr.size() - 1 == before)
        rows.no_row_before.push_back(static_cast<int64_t>(before));
      if (!next) {
        if (++rows.bad_lines <= 10) rows.first_bad.push_back({rows.lines, bad_text_, reason_});
        rows.bad_before.push_back(static_cast<int64_t>(before));
        stopped_ = !skip_bad_lines_;
        next = newline(p) + 1;
      }
      p = next;
    }
  }

  const bool skip_bad_lines_;
  bool stopped_ = false;
  const char *end_ = nullptr;
  std::string bad_text_;
  const char *reason_ = nullptr;
};

}  // namespace polyak
