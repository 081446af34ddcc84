// Validation of rows, with errors that name row and value. Slow: only for rows that the `scan`
// kernel did not accept.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "rows/rows.hpp"

namespace polyak {

template <class... Parts>
[[noreturn]] void refuse(const Parts &...parts) {
  std::ostringstream out;
  out.precision(17);
  (out << ... << parts);
  throw std::invalid_argument(out.str());
}

// Returns a row's largest index, or -1. Throws if an index is negative, too large or repeated.
template <class Value>
int64_t check_indices(const SparseRow<Value> &row, int64_t i, int64_t limit) {
  if (row.size == 0) return -1;
  for (int64_t e = 0; e < row.size; ++e) {
    if (row.feature(e) < 0) refuse("row ", i, " has the negative feature index ", row.feature(e));
    if (row.feature(e) >= limit)
      refuse("row ", i, " has the feature index ", row.feature(e), ", but there are only ", limit,
             " features");
  }
  std::vector<int32_t> sorted(row.index, row.index + row.size);
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) refuse("row ", i, " has the feature index ", *twice, " twice");
  return static_cast<int64_t>(sorted.back());
}

template <class Row>
void check_values(const Row &row, int64_t i) {
  for (int64_t e = 0; e < row.size; ++e)
    if (!std::isfinite(row.value[e]))
      refuse("row ", i, " has the value ", row.value[e], " for feature ", row.feature(e));
}

// Throws if a row's offsets are out of bounds; must be called before it is read.
template <class Value>
void check_offsets(const SparseRows<Value> &rows, int64_t i) {
  const int64_t begin = rows.offsets[i], end = rows.offsets[i + 1];
  if (begin < 0 || end < begin || end > rows.stored)
    refuse("indptr goes from ", begin, " to ", end, " at row ", i, ", where ", rows.stored,
           " values are stored");
}

// The same for all rows.
template <class Value>
void check_offsets(const SparseRows<Value> &rows) {
  if (rows.offsets[0] < 0) refuse("indptr begins with ", rows.offsets[0]);
  for (int64_t i = 0; i < rows.count; ++i) check_offsets(rows, i);
}
template <class Value>
void check_offsets(const DenseRows<Value> &) {}

// Returns the number of features that the rows need; throws if it exceeds `limit`.
template <class Value>
int64_t check_rows(const SparseRows<Value> &rows, int64_t limit) {
  int64_t largest = -1;
  for (int64_t i = 0; i < rows.count; ++i) {
    largest = std::max(largest, check_indices(rows[i], i, limit));
    check_values(rows[i], i);
  }
  return largest + 1;
}

template <class Value>
int64_t check_rows(const DenseRows<Value> &rows, int64_t limit) {
  if (rows.features > limit)
    refuse("the rows have ", rows.features, " features, but there are only ", limit);
  for (int64_t i = 0; i < rows.count; ++i) check_values(rows[i], i);
  return rows.features;
}

}  // namespace polyak
