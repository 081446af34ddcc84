// Numbers and dates as people write them: 1.234,5 and 12 % and (£3,000.00); 3/25/2020 and
// 25.03.2020 14:00. The same characters have several meanings, so that the caller says what the
// decimal point is, what separates thousands, and in which order day, month and year come.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "table/arrow.hpp"

namespace polyak {
namespace written {

// Both functions read the first words of a column of text, as many as there are numbers or times,
// which keep their value where a word is missing or wrong. Words in `missing` denote a missing
// value. Both return the rows of the words that cannot be read.

// Reads numbers with signs, currencies and per cent around them. A decimal point of '\0' denotes
// plain numbers as in CSV; thousands are separated by '\0' if by nothing.
std::vector<int64_t> read_numbers(const arrow::Column &column,
                                  const std::vector<std::string> &missing, char decimal,
                                  char thousands, std::vector<double> &numbers);

// Reads dates whose day, month and year come in an order such as "dmy", as microseconds since 1970;
// or, if the order is empty, times of day, as microseconds since midnight.
std::vector<int64_t> read_times(const arrow::Column &column,
                                const std::vector<std::string> &missing, std::string_view order,
                                std::vector<int64_t> &times, bool &has_clock);

}  // namespace written
}  // namespace polyak
