// Cholesky factors of matrices with few columns, for which a call of LAPACK takes longer to begin
// than to work.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/pack.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

template <class W>
POLYAK_INLINE W product(const W *a, const W *b, int64_t size) {
  constexpr int kLanes = 8;
  using Some = Pack<W, kLanes>;
  Some total = Some::zero();
  int64_t j = 0;
  for (; j + kLanes <= size; j += kLanes) total.add_product(Some::load(a + j), Some::load(b + j));
  W rest = total.sum();
  for (; j < size; ++j) rest += a[j] * b[j];
  return rest;
}

// Puts the lower factor in the place of a matrix, row by row, and the inverse of its diagonal on
// the diagonal. A pivot is no less than such a share of what stood there; without a share, that of
// a matrix which is not positive definite is no number.
template <class W>
void factor(W *L, int64_t columns, int64_t stride, W share) {
  for (int64_t i = 0; i < columns; ++i) {
    W *row = L + i * stride;
    for (int64_t j = 0; j < i; ++j) {
      const W *other = L + j * stride;
      row[j] = (row[j] - product(row, other, j)) * other[j];
    }
    W pivot = row[i] - product(row, row, i);
    if (share > W(0)) pivot = std::max(pivot, share * row[i] + W(1e-30));
    row[i] = W(1) / std::sqrt(pivot);
  }
}

// Puts the inverse of a factor in its place, and zeros above the diagonal: each row is a sum of
// those before it, of which four at a time are added.
template <class W>
void invert_factor(W *L, int64_t columns, int64_t stride) {
  std::vector<W> times(static_cast<size_t>(columns));
  for (int64_t i = 0; i < columns; ++i) {
    W *row = L + i * stride;
    for (int64_t k = 0; k < i; ++k) times[k] = -row[i] * row[k];
    std::fill_n(row, i, W(0));
    std::fill_n(row + i + 1, columns - i - 1, W(0));
    int64_t k = 0;
    for (; k + 4 <= i; k += 4) {
      const W *a = L + k * stride, *b = a + stride, *c = b + stride, *d = c + stride;
      const W t[4] = {times[k], times[k + 1], times[k + 2], times[k + 3]};
      for (int64_t j = 0; j < k + 4; ++j)
        row[j] += (t[0] * a[j] + t[1] * b[j]) + (t[2] * c[j] + t[3] * d[j]);
    }
    for (; k < i; ++k)
      for (int64_t j = 0; j <= k; ++j) row[j] += times[k] * L[k * stride + j];
  }
}

}  // namespace POLYAK_KERNELS
}  // namespace polyak
