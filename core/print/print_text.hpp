// Numbers as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rows/any_rows.hpp"

namespace polyak {

// Returns rows as svmlight text, which svmlight.hpp reads back to the last bit. Ids begin at 1.
std::string print_rows(const AnyRows &any, const double *targets);

// Returns a table as text, one line per row, with the fewest digits that read back to the last bit.
std::string print_lines(const double *table, int64_t rows, int64_t columns);

// Returns a line for each row of scores: the name of the highest score, or of the first NaN. A
// single column has two names, of which the second is of scores above zero.
std::string print_names(const double *scores, int64_t rows, int64_t columns,
                        const std::vector<std::string> &names);

}  // namespace polyak
