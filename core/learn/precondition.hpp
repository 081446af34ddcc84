// The diagonal preconditioner: coordinate j of an update is multiplied by
// d_j = (mean of x_j^2 over all rows so far)^-p, which depends on the rows alone; or, as in
// AdaGrad, by (mean of (slope x_j)^2)^-p, which slows down what rows still disagree on.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/kernel_namespace.hpp"
#include "kernels/pack.hpp"
#include "learn/schedule.hpp"
#include "rows/rows.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

// In several running sums, since each addition waits for the one before it.
template <class W, class A, class B>
double inner_product(const A *a, const B *b, int64_t size) {
  Pack<W, 8> partial[2] = {Pack<W, 8>::zero(), Pack<W, 8>::zero()};
  int64_t i = 0;
  for (; i + 16 <= size; i += 16)
    for (int u = 0; u < 2; ++u)
      partial[u].add_product(Pack<W, 8>::load(a + i + 8 * u), Pack<W, 8>::load(b + i + 8 * u));
  for (; i + 8 <= size; i += 8)
    partial[1].add_product(Pack<W, 8>::load(a + i), Pack<W, 8>::load(b + i));
  W rest = 0;
  for (; i < size; ++i) rest += static_cast<W>(a[i]) * static_cast<W>(b[i]);
  partial[0].add_product(Pack<W, 8>::all(1), partial[1]);
  return static_cast<double>(partial[0].sum() + rest);
}

// One row makes a feature's sum of squares at most so many times as large.
constexpr double most_growth = 1e4;

// Counts the row, each square times `gain`, into `squares`, writes d_j x_j to `scaled` and returns
// the sum of d_j x_j^2. `rows` is how many have been seen, this one included, and `least` what
// every sum of squares begins at. Three loops, since the roots of the middle one are slow alone and
// fast eight at a time.
template <class W, class Row>
double precondition(const Row &row, double p, double rows, double gain, double least,
                    double *squares, W *scaled) {
  const double share = 1.0 / rows;
  constexpr W largest = std::numeric_limits<W>::max();
  for (int64_t i = 0; i < row.size; ++i) {
    const double x = static_cast<double>(row.value[i]);
    double &square = squares[row.feature(i)];
    // An absurd value must not make all others, and its own row, look short.
    const double own = gain * x * x, before = square + least;
    const double most = before > 0.0 ? most_growth * before : own;
    square += own <= most ? own : most;
    scaled[i] = static_cast<W>((square + least) * share);
  }
  if (p == 0.5)
    for (int64_t i = 0; i < row.size; ++i) scaled[i] = W(1) / std::sqrt(scaled[i]);
  else if (p == 0.25)
    for (int64_t i = 0; i < row.size; ++i) scaled[i] = W(1) / std::sqrt(std::sqrt(scaled[i]));
  else if (p == 0.625)
    for (int64_t i = 0; i < row.size; ++i) {
      const W root = std::sqrt(scaled[i]);
      scaled[i] = W(1) / (root * std::sqrt(std::sqrt(root)));
    }
  else
    for (int64_t i = 0; i < row.size; ++i)
      scaled[i] = static_cast<W>(inverse_power(static_cast<double>(scaled[i]), p));
  // A feature that has only been zero, or too small to square, does not move.
  for (int64_t i = 0; i < row.size; ++i)
    scaled[i] = scaled[i] <= largest ? scaled[i] * static_cast<W>(row.value[i]) : W(0);
  return inner_product<W>(row.value, scaled, row.size);
}

}  // namespace POLYAK_KERNELS
}  // namespace polyak
