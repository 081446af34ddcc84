// The diagonal preconditioner: coordinate j of an update is multiplied by
// d_j = (mean of x_j^2 over all rows so far)^-p, which depends on the rows alone.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernel_namespace.hpp"
#include "pack.hpp"
#include "rows.hpp"
#include "schedule.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

// The row's squared length, in several running sums, since each addition waits for the last.
template <class W, class Row>
double squared_length(const Row &row) {
  Pack<W, 8> partial[2] = {Pack<W, 8>::zero(), Pack<W, 8>::zero()};
  int64_t i = 0;
  for (; i + 16 <= row.size; i += 16)
    for (int u = 0; u < 2; ++u) {
      const auto x = Pack<W, 8>::load(row.value + i + 8 * u);
      partial[u].add_product(x, x);
    }
  partial[0].add_product(Pack<W, 8>::all(1), partial[1]);
  double sum = partial[0].sum();
  for (; i < row.size; ++i) {
    const double x = static_cast<double>(row.value[i]);
    sum += x * x;
  }
  return sum;
}

// Counts the row into `squares`, writes d_j x_j to `scaled` and returns the sum of d_j x_j^2.
// `rows` is how many have been seen, this one included. Three loops, since the roots of the middle
// one are slow alone and fast eight at a time.
template <class W, class Row>
double precondition(const Row &row, double p, double rows, double *squares, W *scaled) {
  const double share = 1.0 / rows;
  for (int64_t i = 0; i < row.size; ++i) {
    const double x = static_cast<double>(row.value[i]);
    scaled[i] = static_cast<W>((squares[row.feature(i)] += x * x) * share);
  }
  if (p == 0.5)
    for (int64_t i = 0; i < row.size; ++i) scaled[i] = W(1) / std::sqrt(scaled[i]);
  else if (p == 0.25)
    for (int64_t i = 0; i < row.size; ++i) scaled[i] = W(1) / std::sqrt(std::sqrt(scaled[i]));
  else
    for (int64_t i = 0; i < row.size; ++i)
      scaled[i] = static_cast<W>(inverse_power(static_cast<double>(scaled[i]), p));
  double norm = 0.0;
  for (int64_t i = 0; i < row.size; ++i) {
    const double x = static_cast<double>(row.value[i]);
    // A feature that has only been zero, or too small to square, does not move.
    scaled[i] = std::isinf(scaled[i]) ? W(0) : static_cast<W>(scaled[i] * x);
    norm += static_cast<double>(scaled[i]) * x;
  }
  return norm;
}

}  // namespace POLYAK_KERNELS
}  // namespace polyak
