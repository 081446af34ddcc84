// Sparse rows minus the means of some features, which become nonzero in every row.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "rows/any_rows.hpp"

namespace polyak {

struct Shift {
  const int64_t *features;  // ascending
  const double *means;
  int64_t count;
};

// Sparse rows whose values have the type of the given ones, in ascending order of features.
struct ShiftedRows {
  std::vector<int64_t> indptr;
  std::vector<int32_t> indices;
  std::variant<std::vector<float>, std::vector<double>> values;
};

// Throws if the rows are dense, which NumPy shifts, or invalid.
ShiftedRows shift_rows(const AnyRows &any, const Shift &shift);

}  // namespace polyak
