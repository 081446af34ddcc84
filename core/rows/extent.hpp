// How long and how large rows are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "rows/rows.hpp"

namespace polyak {

// The most entries that a row has.
template <class V, class I>
int64_t longest_row(const SparseRows<V, I> &rows) {
  int64_t most = 0;
  for (int64_t i = 0; i < rows.count; ++i) most = std::max(most, rows[i].size);
  return most;
}
template <class V>
int64_t longest_row(const DenseRows<V> &rows) {
  return rows.features;
}

// How much memory the entries take.
template <class V, class I>
size_t bytes_of(const SparseRows<V, I> &rows) {
  return static_cast<size_t>(rows.offsets[rows.count] - rows.offsets[0]) * (sizeof(V) + sizeof(I));
}
template <class V>
size_t bytes_of(const DenseRows<V> &rows) {
  return static_cast<size_t>(rows.count * rows.features) * sizeof(V);
}

}  // namespace polyak
