// Asks for memory before it is needed.
#pragma once

#include <cstdint>

#include "kernels/kernel_namespace.hpp"
#include "rows/rows.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

// What lies so many numbers behind an address; in unsigned arithmetic, since nobody has looked at
// what is ahead, and near the end there is nothing. `Nearness` 3 brings it next to the processor, 2
// into the larger cache behind.
template <int Nearness = 3, class T>
POLYAK_INLINE void fetch(const T *from, uintptr_t offset) {
#if defined(__GNUC__)
  const uintptr_t address = reinterpret_cast<uintptr_t>(from) + offset * sizeof(T);
  __builtin_prefetch(reinterpret_cast<const void *>(address), 0, Nearness);
#else
  (void)from, (void)offset;
#endif
}

constexpr int64_t kNonzerosAhead = 512, kRowsAhead = 4;

// What will be read before long, when called for every eighth feature i of the row. A piece of
// memory holds sixteen numbers, so indices and values take turns.
template <class Value, class Index>
POLYAK_INLINE void prefetch(const SparseRow<Value, Index> &row, int64_t i) {
  if (i & 8)
    fetch(row.index, i + kNonzerosAhead);
  else
    fetch(row.value, i + kNonzerosAhead);
}
template <class Value>
POLYAK_INLINE void prefetch(const DenseRow<Value> &row, int64_t i) {
  fetch(row.value, i + row.size);
#if !defined( \
    __aarch64__)  // which fetches what stands in a row by itself, and would be slower by 5%
  fetch<2>(row.value, i + kRowsAhead * row.size);
#endif
}

// The same for the whole row. Spread over the work on the row it is better still: the processor
// waits if too much is under way at a time.
template <class Row>
void prefetch(const Row &row) {
  for (int64_t i = 0; i < row.size; i += 8) prefetch(row, i);
}

// What is kept of every feature of a row, one number each. That of a dense row follows itself,
// which the processor sees.
template <class T, class Value, class Index>
POLYAK_INLINE void prefetch_each(const T *numbers, const SparseRow<Value, Index> &row) {
  for (int64_t i = 0; i < row.size; ++i) fetch(numbers, static_cast<uintptr_t>(row.feature(i)));
}
template <class T, class Value>
POLYAK_INLINE void prefetch_each(const T *, const DenseRow<Value> &) {}

}  // namespace POLYAK_KERNELS
}  // namespace polyak
