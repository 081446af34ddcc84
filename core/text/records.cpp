#include "text/records.hpp"

#include <cstring>

namespace polyak {
namespace records {
namespace {

// Advances the state by one character that is not inside quotation marks.
CsvState next_state(CsvState state, char c, char delimiter) {
  if (c == delimiter || c == '\n' || c == '\r') return CsvState::field_begins;
  // A quotation mark opens a field or is the second of two.
  return c == '"' && state != CsvState::in_field ? CsvState::quoted : CsvState::in_field;
}

// A character between objects.
char between_objects(char c, JsonState &state) {
  if (c == '{') state.depth = 1;
  if (c == '[') {
    state.in_array = true;
    return ' ';
  }
  if (!state.in_array) return c;
  return c == ',' ? '\n' : c == ']' || c == '\n' ? ' ' : c;
}

char next_of_json(char c, JsonState &state) {
  if (state.in_string) {
    const bool escaped = state.escaped;
    state.escaped = !escaped && c == '\\';
    state.in_string = escaped || c != '"';
    return c;
  }
  if (state.depth == 0) return between_objects(c, state);
  if (c == '"') state.in_string = true;
  if (c == '{' || c == '[') ++state.depth;
  if (c == '}' || c == ']') --state.depth;
  return c == '\n' || c == '\r' ? ' ' : c;
}

}  // namespace

int64_t csv_end(std::string_view text, char delimiter, CsvState &state) {
  if (text.empty()) return 0;
  const char *const begin = text.data(), *const end = begin + text.size();
  if (state != CsvState::quoted && std::memchr(begin, '"', text.size()) == nullptr) {
    state = next_state(state, end[-1], delimiter);
    return static_cast<int64_t>(text.rfind('\n') + 1);
  }
  int64_t last = 0;
  for (const char *p = begin; p < end; ++p) {
    if (state == CsvState::quoted) {
      p = static_cast<const char *>(std::memchr(p, '"', static_cast<size_t>(end - p)));
      if (p == nullptr) break;
      state = CsvState::quote_in_quotes;
    } else {
      state = next_state(state, *p, delimiter);
      if (*p == '\n') last = p + 1 - begin;
    }
  }
  return last;
}

void objects_to_lines(char *text, size_t size, JsonState &state) {
  for (size_t i = 0; i < size; ++i) text[i] = next_of_json(text[i], state);
}

}  // namespace records
}  // namespace polyak
