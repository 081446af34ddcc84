// A scan of a row while its inner products are computed: its squared norm, whether its indices are
// ascending and within the store, and prefetches of what is needed next. Each of these would
// otherwise be a loop of its own, whose end is a mispredicted branch since rows differ in length.
// Together they make one model a fifth faster.
#pragma once

#include <cstdint>
#include <cstring>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "kernels/kernel_namespace.hpp"
#include "kernels/pack.hpp"
#include "rows/prefetch.hpp"
#include "rows/rows.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

// Whether one of nine numbers is not above the previous one.
POLYAK_INLINE bool falls(const int32_t *nine) {
#if defined(POLYAK_VECTORS)  // the compiler does not vectorize the loop below
  constexpr int N = kRegister / int(sizeof(int32_t));
  using Some = Pack<int32_t, N>;
  auto fallen = Some::load(nine).lanes >= Some::load(nine + 1).lanes;
  for (int i = N; i < 8; i += N)
    fallen |= Some::load(nine + i).lanes >= Some::load(nine + i + 1).lanes;
#if defined(__AVX2__)
  return !_mm256_testz_si256((__m256i)fallen, (__m256i)fallen);
#else
  uint64_t words[2];
  std::memcpy(words, &fallen, sizeof fallen);
  return (words[0] | words[1]) != 0;
#endif
#else
  bool any = false;
  for (int u = 0; u < 8; ++u) any |= nine[u] >= nine[u + 1];
  return any;
#endif
}

// The squared norm, in several partial sums, since an addition to one sum waits for the previous
// one.
template <class W>
class Squares {
 public:
  template <class Value>
  POLYAK_INLINE void add_eight(const Value *values, int which) {
    const auto x = Pack<W, 8>::load(values);
    eights_[which].add_product(x, x);
  }
  template <class Value>
  POLYAK_INLINE void add_one(Value value) {
    rest_ += static_cast<W>(value) * static_cast<W>(value);
  }
  POLYAK_INLINE double sum() const {
    Pack<W, 8> eights = eights_[0];
    eights.add(eights_[1]);
    return static_cast<double>(eights.sum() + rest_);
  }

 private:
  Pack<W, 8> eights_[2] = {Pack<W, 8>::zero(), Pack<W, 8>::zero()};
  W rest_ = 0;
};

struct ScanResult {
  bool in_order;
  double squared_norm;
};

template <class Row>
struct Context {
  const Row &next;   // the next row, whose lines are prefetched
  const Row &later;  // the row some rows on
  bool checked;      // the row was validated before; its indices need not be ascending
};

template <class W, class Row>
class RowScan;

template <class W, class Value>
class RowScan<W, SparseRow<Value>> {
 public:
  using Row = SparseRow<Value>;

  // Lines are prefetched only if the store exceeds the near caches, and spread over the row: the
  // processor stalls if too many prefetches are outstanding.
  POLYAK_INLINE RowScan(const Row &row, const Context<Row> &context, const W *lines,
                        int64_t features, int64_t width)
      : row_(row),
        next_(context.next.index),
        later_(context.later),
        checked_(context.checked),
        lines_(lines),
        features_(features),
        width_(width),
        soon_(features * width * int64_t(sizeof(W)) > (1 << 20) ? context.next.size : 0) {}

  // Scans features i to i + 7, which at least one more follows. Returns false if they are invalid.
  POLYAK_INLINE bool eight(int64_t i, int which = 0) {
    if ((falls(row_.index + i) || row_.feature(i + 8) >= features_) && !checked_) return false;
    if (i + 8 <= soon_)
      for (int u = 0; u < 8; ++u)
        fetch(lines_, static_cast<uintptr_t>(next_[i + u]) * static_cast<uintptr_t>(width_));
    prefetch(later_, i);
    squares_.add_eight(row_.value + i, which);
    return true;
  }
  POLYAK_INLINE bool one(int64_t i) {
    const bool fallen = i + 1 < row_.size && row_.index[i] >= row_.index[i + 1];
    if ((fallen || row_.feature(i) >= features_) && !checked_) return false;
    squares_.add_one(row_.value[i]);
    return true;
  }
  POLYAK_INLINE double squared_norm() const { return squares_.sum(); }

 private:
  const Row row_;
  const int32_t *const next_;
  const Row later_;
  const bool checked_;
  const W *const lines_;
  const int64_t features_, width_, soon_;
  Squares<W> squares_;
};

template <class W, class Value>
class RowScan<W, DenseRow<Value>> {
 public:
  using Row = DenseRow<Value>;

  POLYAK_INLINE RowScan(const Row &row, const Context<Row> &context, const W *, int64_t, int64_t)
      : row_(row), next_(context.next), later_(context.later) {}
  POLYAK_INLINE bool eight(int64_t i, int which = 0) {
    if (which == 0 || sizeof(Value) == 8) prefetch(next_, later_, i);
    squares_.add_eight(row_.value + i, which);
    return true;
  }
  POLYAK_INLINE bool one(int64_t i) {
    squares_.add_one(row_.value[i]);
    return true;
  }
  POLYAK_INLINE double squared_norm() const { return squares_.sum(); }

 private:
  const Row row_, next_, later_;
  Squares<W> squares_;
};

// No scan: for the further blocks of columns of a row that was scanned.
template <class W, class Row>
struct NoScan {
  POLYAK_INLINE NoScan(const Row &, const Context<Row> &, const W *, int64_t, int64_t) {}
  POLYAK_INLINE bool eight(int64_t) { return true; }
  POLYAK_INLINE bool one(int64_t) { return true; }
  POLYAK_INLINE double squared_norm() const { return 0.0; }
};

template <class Value>
POLYAK_INLINE bool has_valid_start(const SparseRow<Value> &row, int64_t) {
  return row.size == 0 || row.feature(0) >= 0;
}
template <class Value>
POLYAK_INLINE bool has_valid_start(const DenseRow<Value> &row, int64_t features) {
  return row.size <= features;
}

}  // namespace POLYAK_KERNELS
}  // namespace polyak
