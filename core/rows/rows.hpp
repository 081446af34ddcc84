// Views of compressed sparse and dense rows, of any type of number. They do not own their memory.
#pragma once

#include <cstddef>
#include <cstdint>

// All builds of the kernels share these types, so that their functions must always be inlined.
#if defined(__GNUC__)
#define POLYAK_INLINE __attribute__((always_inline)) inline
#else
#define POLYAK_INLINE __forceinline
#endif

namespace polyak {

template <class Value>
struct SparseRow {
  static constexpr bool dense = false;
  const int32_t *index;
  const Value *value;
  int64_t size;
  POLYAK_INLINE int64_t feature(int64_t i) const { return static_cast<int64_t>(index[i]); }
  // The same features with other values.
  template <class Other>
  POLYAK_INLINE SparseRow<Other> with(const Other *values) const {
    return {index, values, size};
  }
};

template <class Value>
struct DenseRow {
  static constexpr bool dense = true;
  const Value *value;
  int64_t size;
  POLYAK_INLINE int64_t feature(int64_t i) const { return i; }
  template <class Other>
  POLYAK_INLINE DenseRow<Other> with(const Other *values) const {
    return {values, size};
  }
};

template <class Value>
struct SparseRows {
  using Number = Value;
  using Row = SparseRow<Value>;
  const int64_t *offsets;  // of the rows, one more than there are
  const int32_t *indices;
  const Value *values;
  int64_t count;
  int64_t stored;  // number of indices and values
  POLYAK_INLINE Row operator[](int64_t i) const {
    const int64_t begin = offsets[i];
    return {indices + begin, values + begin, offsets[i + 1] - begin};
  }
  // The rows from `begin` on.
  POLYAK_INLINE SparseRows from(int64_t begin) const {
    return {offsets + begin, indices, values, count - begin, stored};
  }
};

template <class Value>
struct DenseRows {
  using Number = Value;
  using Row = DenseRow<Value>;
  const Value *values;
  int64_t count;
  int64_t features;
  int64_t stride;  // from one row to the next, in values
  POLYAK_INLINE Row operator[](int64_t i) const { return {values + i * stride, features}; }
  POLYAK_INLINE DenseRows from(int64_t begin) const {
    return {values + begin * stride, count - begin, features, stride};
  }
};

}  // namespace polyak
