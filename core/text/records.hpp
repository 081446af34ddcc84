// Finds records in text: the rows of CSV, for cutting text into blocks, and the objects of JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace polyak {
namespace records {

// Where the text before a position of CSV ends. A quotation mark counts where a field begins, and
// then up to the next that is not doubled; delimiters and newlines in between are text.
enum class CsvState { field_begins, in_field, quoted, quote_in_quotes };

// Returns the end of the last whole row, 0 if there is none, and sets the state to that at the end
// of the text.
int64_t csv_end(std::string_view text, char delimiter, CsvState &state);

// Where the text before a position of JSON ends.
struct JsonState {
  int64_t depth = 0;
  bool in_string = false, escaped = false, in_array = false;
};

// Rewrites objects of an array, or spread over several lines, as one object a line. Every byte
// becomes one byte, so that offsets stay the same.
void objects_to_lines(char *text, size_t size, JsonState &state);

}  // namespace records
}  // namespace polyak
