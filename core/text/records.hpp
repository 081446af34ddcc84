// Where the rows of text tables begin and end: for cutting text into blocks, and for naming the
// line of a row that cannot be read. What a row is, is what pyarrow's parsers take for one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "text/json/syntax.hpp"

namespace polyak {
namespace records {

// Where rows begin and end, the newline not included, how many newlines are before each, and how
// many fields of CSV or values of JSON it has.
struct Rows {
  std::vector<int64_t> begins, ends, lines, parts;
};

constexpr int64_t kUnclosed = -1;  // instead of a number of parts
constexpr int64_t kTooDeep = -2;   // likewise: values of JSON inside more than kDeepest others
constexpr int64_t kDeepest = 100;  // pyarrow overflows its stack at 100,000

// Reads CSV character by character. A quotation mark counts where a field begins, and then up to
// the next that is not doubled; commas and newlines in between are text.
class CsvScanner {
 public:
  enum State { field_begins, in_field, quoted, quote_in_quotes };

  explicit CsvScanner(char delimiter, State state = field_begins)
      : state(state), delimiter_(delimiter) {}

  State state;

  // Goes on to behind the next newline or carriage return that ends a row; null if there is none.
  const char *row_end(const char *p, const char *end) {
    while (p < end) {
      if (state == quoted) {
        p = static_cast<const char *>(std::memchr(p, '"', static_cast<size_t>(end - p)));
        if (p == nullptr) return nullptr;
        state = quote_in_quotes;
        ++p;
        continue;
      }
      const char c = *p++;
      if (c == delimiter_) {
        state = field_begins;
        ++fields;
      } else if (c == '\n' || c == '\r') {
        state = field_begins;
        return p;
      } else if (c == '"' && state != in_field) {
        state = quoted;  // whether it opens a field or is the second of two
      } else {
        state = in_field;
      }
    }
    return nullptr;
  }

  int64_t fields = 1;  // of the row so far

 private:
  const char delimiter_;
};

// Behind the last newline that ends a row; 0 if there is none.
inline int64_t csv_end(std::string_view text, CsvScanner &scanner) {
  const char *const begin = text.data(), *const end = begin + text.size();
  int64_t last = 0;
  const bool plain = !text.empty() && scanner.state != CsvScanner::quoted;
  if (plain && std::memchr(begin, '"', text.size()) == nullptr) {
    last = static_cast<int64_t>(text.rfind('\n') + 1);
    scanner.state = CsvScanner::field_begins;
    scanner.row_end(end - 1, end);  // what is left behind depends on the last character alone
    return last;
  }
  for (const char *p = begin; (p = scanner.row_end(p, end)) != nullptr;)
    if (p[-1] == '\n') last = p - begin;
  return last;
}

inline Rows csv_rows(std::string_view text, char delimiter) {
  Rows rows;
  const char *const begin = text.data(), *const end = begin + text.size();
  int64_t line = 0;
  for (const char *p = begin; p < end;) {
    CsvScanner scanner(delimiter);
    const char *const next = scanner.row_end(p, end);
    const char *const last = next == nullptr ? end : next - 1;
    if (last > p) {  // pyarrow passes over lines without a character
      rows.begins.push_back(p - begin);
      rows.ends.push_back(last - begin);
      rows.lines.push_back(line);
      rows.parts.push_back(scanner.state == CsvScanner::quoted ? kUnclosed : scanner.fields);
    }
    if (next == nullptr) break;
    for (; p < next; ++p) line += *p == '\n';
  }
  return rows;
}

// How many objects a line of JSON is, one after the other; kUnclosed if anything else stands there,
// or one does not end; kTooDeep. Whether what is inside is JSON, JsonSyntax tells.
inline int64_t objects(std::string_view line) {
  int64_t found = 0, depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '{' || (c == '[' && depth > 0)) {
      if (++depth > kDeepest) return kTooDeep;
    } else if (depth == 0) {
      if (c != ' ' && c != '\t' && c != '\r') return kUnclosed;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '}' || c == ']') {
      found += --depth == 0;
    }
  }
  return depth > 0 ? kUnclosed : found;
}

// The lines of JSON that are not blank.
inline Rows json_rows(std::string_view text) {
  Rows rows;
  int64_t line = 0;
  for (size_t begin = 0; begin < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view here = text.substr(begin, end - begin);
    if (here.find_first_not_of(" \t\r") != std::string_view::npos) {
      rows.begins.push_back(static_cast<int64_t>(begin));
      rows.ends.push_back(static_cast<int64_t>(end));
      rows.lines.push_back(line);
      const int64_t parts = objects(here);
      rows.parts.push_back(parts == 1 && !JsonSyntax::accepts(here) ? -1 : parts);
    }
    begin = end + 1;
  }
  return rows;
}

// Whether a word is a number beyond doubt: a few digits, perhaps with a point. Others may be one.
inline bool is_plain_number(std::string_view word) {
  size_t i = !word.empty() && word[0] == '-', digits = 0;
  for (bool point = false; i < word.size(); ++i) {
    if (word[i] >= '0' && word[i] <= '9')
      ++digits;
    else if (word[i] == '.' && !point)
      point = true;
    else
      return false;
  }
  return digits > 0 && digits < 40;
}

}  // namespace records
}  // namespace polyak
