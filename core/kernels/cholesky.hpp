// Cholesky factors of small matrices, for which the overhead of a LAPACK call dominates.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/kernel_namespace.hpp"
#include "kernels/reductions.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

// Replaces a matrix with its lower factor, whose diagonal is stored inverted. A pivot is at least
// `share` times the diagonal element; with a share of zero, the factor of a matrix that is not
// positive definite contains NaN.
template <class W>
void factor(W *L, int64_t columns, int64_t stride, W share) {
  for (int64_t i = 0; i < columns; ++i) {
    W *row = L + i * stride;
    for (int64_t j = 0; j < i; ++j) {
      const W *other = L + j * stride;
      row[j] = (row[j] - inner_product<W>(row, other, j)) * other[j];
    }
    W pivot = row[i] - inner_product<W>(row, row, i);
    if (share > W(0)) pivot = std::max(pivot, share * row[i] + W(1e-30));
    row[i] = W(1) / std::sqrt(pivot);
  }
}

// Replaces a factor with its inverse, with zeros above the diagonal. Each row is a sum of the
// previous rows, four of which are added at a time.
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
