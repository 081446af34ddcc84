// Reads cells of CSV into columns of numbers and of words, row by row: a parser that goes through
// the columns one by one waits for memory at every cell if there are many columns.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

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

using WordSet = std::unordered_set<std::string_view>;

// Reads the columns `names`, of which the first `n_numbers` are numbers. `places` holds for every
// column of the text its index in `names`, or -1. Words in `missing` denote a missing number. Rows
// with a wrong number of cells are left out and listed; values that are no numbers and words that
// are not UTF-8 become missing and are listed.
CsvColumns parse_csv(std::string_view text, char delimiter, std::vector<std::string> names,
                     size_t n_numbers, const std::vector<int32_t> &places, const WordSet &missing);

// Reads what Python's float() reads, with blanks around it. Returns false if it is no number.
bool read_any_number(std::string_view word, double &number);

}  // namespace table
}  // namespace polyak
