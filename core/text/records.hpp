// Where the rows of CSV end: for cutting text into blocks.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace polyak {
namespace records {

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

}  // namespace records
}  // namespace polyak
