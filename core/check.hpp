// Finds what cannot be learned from before a single weight is touched, and says where it stands.
// The scans are written to vectorise; only a row that looks wrong is looked at closely.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "rows.hpp"

namespace polyak {

template <class... Parts>
[[noreturn]] void refuse(const Parts &...parts) {
  std::ostringstream out;
  out.precision(17);
  (out << ... << parts);
  throw std::invalid_argument(out.str());
}

// True if every value is finite. The exponent's bits are all ones just for infinity and NaN.
template <class Value>
bool all_finite(const Value *values, int64_t count) {
  using Bits = std::conditional_t<sizeof(Value) == 4, uint32_t, uint64_t>;
  constexpr Bits exponent = sizeof(Value) == 4 ? Bits(0x7f800000u) : Bits(0x7ff0000000000000u);
  Bits bad = 0;
  for (int64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, values + i, sizeof bits);
    bad |= (bits & exponent) == exponent;
  }
  return bad == 0;
}

// A row's largest index, or -1. Refuses indices that are negative, too large or repeated.
template <class Value, class Index>
int64_t check_indices(const SparseRow<Value, Index> &row, int64_t i, int64_t limit) {
  if (row.size == 0) return -1;
  bool rising = true;
  for (int64_t e = 1; e < row.size; ++e) rising &= row.index[e - 1] < row.index[e];
  if (rising && row.feature(0) >= 0 && row.feature(row.size - 1) < limit)
    return row.feature(row.size - 1);

  for (int64_t e = 0; e < row.size; ++e) {
    if (row.feature(e) < 0) refuse("row ", i, " has the negative feature index ", row.feature(e));
    if (row.feature(e) >= limit)
      refuse("row ", i, " has the feature index ", row.feature(e), ", but there are only ", limit,
             " features");
  }
  std::vector<Index> sorted(row.index, row.index + row.size);
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) refuse("row ", i, " has the feature index ", *twice, " twice");
  return static_cast<int64_t>(sorted.back());
}

template <class Row>
void check_values(const Row &row, int64_t i) {
  if (all_finite(row.value, row.size)) return;
  for (int64_t e = 0; e < row.size; ++e)
    if (!std::isfinite(row.value[e]))
      refuse("row ", i, " has the value ", row.value[e], " for feature ", row.feature(e));
}

// How many features the rows need. `limit` is how many there may be.
template <class Value, class Index>
int64_t check_rows(const SparseRows<Value, Index> &rows, int64_t limit) {
  if (rows.count > 0 && rows.offsets[0] < 0) refuse("indptr begins with ", rows.offsets[0]);
  int64_t largest = -1;
  for (int64_t i = 0; i < rows.count; ++i) {
    if (rows.offsets[i + 1] < rows.offsets[i] || rows.offsets[i + 1] > rows.stored)
      refuse("indptr goes from ", rows.offsets[i], " to ", rows.offsets[i + 1], " at row ", i,
             ", where ", rows.stored, " values are stored");
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
