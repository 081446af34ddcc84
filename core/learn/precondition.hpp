// The diagonal preconditioner: coordinate j of an update is multiplied by
// d_j = (mean of x_j^2 over all rows so far)^-p, which depends on the rows alone; or, as in
// AdaGrad, by (mean of (slope x_j)^2)^-p, which slows down what rows still disagree on.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/kernel_namespace.hpp"
#include "kernels/reductions.hpp"
#include "learn/schedule.hpp"
#include "rows/rows.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

// Limit on the factor by which one row may increase a feature's sum of squares: an absurd value
// must not make all others, and its own row, look short.
constexpr double most_growth = 1e4;

POLYAK_INLINE double capped(double own, double before) {
  const double most = before > 0.0 ? most_growth * before : own;
  return own <= most ? own : most;
}

struct SquareCount {
  double gain;   // factor of every square
  double least;  // initial value of every sum
  double share;  // factor that makes means of sums
};

// Adds a row's squares, and writes the mean square of each of its features. Works on blocks of
// features, of which hardly any contains an absurd value, so that the loops are vectorized: a third
// of the time on dense rows, and a sixth less on sparse ones, whose sums are gathered and
// scattered.
template <class W, class Row>
POLYAK_INLINE void count_squares(const Row &row, SquareCount count, double *squares, W *means) {
  constexpr int64_t kTogether = 64;
  double own[kTogether], taken[kTogether];
  for (int64_t begin = 0; begin < row.size; begin += kTogether) {
    const int64_t size = std::min(kTogether, row.size - begin);
    const auto *value = row.value + begin;
    double *const square = Row::dense ? squares + begin : taken;
    if constexpr (!Row::dense)
      for (int64_t i = 0; i < size; ++i) taken[i] = squares[row.feature(begin + i)];
    int64_t absurd = 0;  // as wide as a double, or the loop is not vectorized
    for (int64_t i = 0; i < size; ++i) {
      const double x = static_cast<double>(value[i]);
      own[i] = count.gain * x * x;
      absurd += own[i] > most_growth * (square[i] + count.least);
    }
    if (absurd)
      for (int64_t i = 0; i < size; ++i) own[i] = capped(own[i], square[i] + count.least);
    for (int64_t i = 0; i < size; ++i) {
      square[i] += own[i];
      means[begin + i] = static_cast<W>((square[i] + count.least) * count.share);
    }
    if constexpr (!Row::dense)
      for (int64_t i = 0; i < size; ++i) squares[row.feature(begin + i)] = taken[i];
  }
}

// Adds the squares of rows that are not learned.
template <class Rows>
void add_squares(const Rows &rows, double *squares) {
  for (int64_t i = 0; i < rows.count; ++i) {
    const auto row = rows[i];
    for (int64_t e = 0; e < row.size; ++e) {
      const double x = static_cast<double>(row.value[e]);
      squares[row.feature(e)] += x * x;
    }
  }
}

// Divides values by roots of their mean squares. A feature whose squares are all zero does not
// move.
template <class W, class Value, class Root>
POLYAK_INLINE void divide_by_roots(const Value *value, int64_t size, W *means, Root &&root) {
  for (int64_t i = 0; i < size; ++i) {
    const W scaled = static_cast<W>(value[i]) / root(means[i]);
    means[i] = means[i] > W(0) ? scaled : W(0);
  }
}

// Counts the row into `squares`, writes d_j x_j to `scaled` and returns the sum of d_j x_j^2.
// `rows` is the number of rows so far, including this one. The roots have a loop of their own, so
// that it is vectorized.
template <class W, class Row>
double precondition(const Row &row, double p, double rows, double gain, double least,
                    double *squares, W *scaled) {
  count_squares(row, {gain, least, 1.0 / rows}, squares, scaled);
  const auto by = [&](auto &&root) { divide_by_roots(row.value, row.size, scaled, root); };
  if (p == 0.5)
    by([](W x) { return std::sqrt(x); });
  else if (p == 0.25)
    by([](W x) { return std::sqrt(std::sqrt(x)); });
  else if (p == 0.625)
    by([](W x) {
      const W root = std::sqrt(x);
      return root * std::sqrt(std::sqrt(root));
    });
  else
    for (int64_t i = 0; i < row.size; ++i) {
      const W d = static_cast<W>(inverse_power(static_cast<double>(scaled[i]), p));
      const bool moves = d <= std::numeric_limits<W>::max();
      scaled[i] = moves ? d * static_cast<W>(row.value[i]) : W(0);
    }
  return static_cast<double>(inner_product<W>(row.value, scaled, row.size));
}

}  // namespace POLYAK_KERNELS
}  // namespace polyak
