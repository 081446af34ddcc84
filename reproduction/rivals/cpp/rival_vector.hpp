// The weights of a rival, and the only file that writes them. SGD, SGD2 and Pegasos keep the
// iterate as scale * v, so that the penalty costs one multiplication a row however many features
// there are. Always float64: the rivals keep no second vector, so a feature costs what it costs in
// a float32 bank.
#pragma once

#include <cstdint>

#include "kernels/kernel_namespace.hpp"
#include "kernels/pack.hpp"
#include "rows/rows.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

// Several running sums, since each addition waits for the one before it.
template <class Value, class Index>
POLYAK_NOINLINE double inner_product(const SparseRow<Value, Index> &row, const double *v) {
  double part[4] = {0, 0, 0, 0};
  int64_t i = 0;
  for (; i + 4 <= row.size; i += 4)
    for (int b = 0; b < 4; ++b)
      part[b] += static_cast<double>(row.value[i + b]) * v[row.feature(i + b)];
  for (; i < row.size; ++i) part[0] += static_cast<double>(row.value[i]) * v[row.feature(i)];
  return (part[0] + part[1]) + (part[2] + part[3]);
}

template <class Value>
POLYAK_NOINLINE double inner_product(const DenseRow<Value> &row, const double *v) {
  using Four = Pack<double, 4>;
  Four part[4] = {Four::zero(), Four::zero(), Four::zero(), Four::zero()};
  int64_t i = 0;
  for (; i + 16 <= row.size; i += 16)
    for (int p = 0; p < 4; ++p)
      part[p].add_product(Four::load(row.value + i + 4 * p), Four::load(v + i + 4 * p));
  double sum = 0;
  for (const Four &four : part) sum += four.sum();
  for (; i < row.size; ++i) sum += static_cast<double>(row.value[i]) * v[i];
  return sum;
}

template <class Row>
POLYAK_NOINLINE void add_row(const Row &row, double step, double *v) {
  for (int64_t i = 0; i < row.size; ++i)
    v[row.feature(i)] += step * static_cast<double>(row.value[i]);
}

// Answers by how much the squared norm of v grew.
template <class Row>
POLYAK_NOINLINE double add_and_measure(const Row &row, double step, double *v) {
  double grown[4] = {0, 0, 0, 0};
  const auto add = [&](double &sum, int64_t i) {
    double &weight = v[row.feature(i)];
    const double before = weight, move = step * static_cast<double>(row.value[i]);
    weight = before + move;
    sum += move * (before + weight);
  };
  int64_t i = 0;
  for (; i + 4 <= row.size; i += 4)
    for (int b = 0; b < 4; ++b) add(grown[b], i + b);
  for (; i < row.size; ++i) add(grown[0], i);
  return (grown[0] + grown[1]) + (grown[2] + grown[3]);
}

struct ScaledVector {
  double *v;
  int64_t features;
  double scale, square;  // square: the squared norm of v, where somebody keeps it up

  template <class Row>
  double score(const Row &row) const {
    return scale * inner_product(row, v);
  }

  template <class Row>
  void add(const Row &row, double step) {
    add_row(row, step / scale, v);
  }

  template <class Row>
  void add_measured(const Row &row, double step) {
    square += add_and_measure(row, step / scale, v);
  }

  double squared_norm() const { return scale * scale * square; }

  // Multiplies the iterate. Folds the scale into v by an exact power of two before it is too small
  // to divide by; a factor of zero, as in the first step of Pegasos, begins anew.
  void multiply(double factor) {
    scale *= factor;
    if (scale == 0.0) {
      for (int64_t j = 0; j < features; ++j) v[j] = 0.0;
      scale = 1.0;
      square = 0.0;
    }
    while (scale < 0x1p-256) {
      for (int64_t j = 0; j < features; ++j) v[j] *= 0x1p-256;
      scale *= 0x1p256;
      square *= 0x1p-512;
    }
  }
};

// What SGD-QN keeps: the iterate as it is, a gain for each of its coordinates, and the iterate as
// it was when the last penalty was due.
struct RescaledVector {
  double *w, *gain, *before;
  int64_t features;

  template <class Row>
  double score(const Row &row) const {
    return inner_product(row, w);
  }

  template <class Row>
  double score_before(const Row &row) const {
    return inner_product(row, before);
  }

  template <class Row>
  POLYAK_NOINLINE void add(const Row &row, double step) {
    if constexpr (Row::dense) return add_dense(row.value, row.size, step);
    for (int64_t i = 0; i < row.size; ++i) {
      const int64_t j = row.feature(i);
      w[j] += step * gain[j] * static_cast<double>(row.value[i]);
    }
  }

  POLYAK_NOINLINE void keep() {
    for (int64_t j = 0; j < features; ++j) before[j] = w[j];
  }

  // The penalty of several rows at once: together is their number times alpha.
  POLYAK_NOINLINE void decay(double together) {
    for (int64_t j = 0; j < features; ++j) w[j] -= together * gain[j] * w[j];
  }

  // sgd-2.x: what a row tells of the curvature of one of its features, from its slopes with the
  // weights now and before; within 0.1 to 100 alpha. A weight that has not moved since tells that
  // it is stiff.
  POLYAK_INLINE static double curvature(double change, double x, double moved, double alpha) {
    if (x == 0.0) return alpha;
    if (moved == 0.0) return 101.0 * alpha;
    const double found = alpha + change * x / moved;
    return found < 0.1 * alpha ? 0.1 * alpha : found < 100.0 * alpha ? found : 100.0 * alpha;
  }
  // A gain after `rows` rows of a curvature: its inverse grows by both their product.
  POLYAK_INLINE static double stiffer(double gain, double curvature, double rows) {
    return gain / (1.0 + rows * curvature * gain);
  }

  // Every feature gets the penalty's curvature first, which keeps all gains above zero, and then
  // the row's own get the rest of theirs.
  template <class Row>
  POLYAK_NOINLINE void stiffen(const Row &row, double change, double alpha, double rows) {
    for (int64_t j = 0; j < features; ++j) gain[j] = stiffer(gain[j], alpha, rows);
    for (int64_t i = 0; i < row.size; ++i) {
      const int64_t j = row.feature(i);
      const double found = curvature(change, row.value[i], w[j] - before[j], alpha);
      gain[j] = stiffer(gain[j], found - alpha, rows);
    }
  }

  // The pseudo-code of 2009: a mean of the ratios that rows tell of themselves. `share` is the
  // share of its slope that the row's own step took away, and that step was rate times the gain.
  POLYAK_INLINE static double mean_ratio(double gain, double share, double rate, double alpha,
                                         double weight) {
    const double found = gain + weight * (1.0 / (alpha + share / (rate * gain)) - gain);
    return found > 0.01 / alpha ? found : 0.01 / alpha;
  }

  template <class Row>
  POLYAK_NOINLINE void average(const Row &row, double share, double rate, double alpha,
                               double weight) {
    for (int64_t j = 0; j < features; ++j) before[j] = 0.0;
    for (int64_t i = 0; i < row.size; ++i)
      if (row.value[i] != 0) before[row.feature(i)] = share;
    for (int64_t j = 0; j < features; ++j)
      gain[j] = mean_ratio(gain[j], before[j], rate, alpha, weight);
  }

 private:
  template <class Value>
  void add_dense(const Value *x, int64_t size, double step) {
    using Four = Pack<double, 4>;
    const Four steps = Four::all(step);
    int64_t j = 0;
    for (; j + 4 <= size; j += 4) {
      Four pushed = Four::zero(), weights = Four::load(w + j);
      pushed.add_product(steps, Four::load(gain + j));
      weights.add_product(pushed, Four::load(x + j));
      weights.store(w + j);
    }
    for (; j < size; ++j) w[j] += step * gain[j] * static_cast<double>(x[j]);
  }
};

}  // namespace POLYAK_KERNELS
}  // namespace polyak
