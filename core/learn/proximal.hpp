// Proximal steps (FTRL-proximal): weights that are exactly zero, learned row by row.
//
// The objective is the mean over rows of loss + l1 |w| + l2 w^2 / 2, so that after t rows the
// penalty counts t times. Earlier rows enter by their gradients g and by a quadratic term of
// strength sigma around the weights w_then that each of them saw:
//
//     w = argmin  sum g w + t (l1 |w| + l2 w^2 / 2) + sum sigma (w - w_then)^2 / 2
//
// With z = sum (g - sigma w_then) and h = sum sigma the solution, for every feature by itself, is
//
//     w = 0 if |z| <= t l1, else -(z - sign(z) t l1) / (h + t l2).
//
// h grows with the gradients, as in AdaGrad: h = q (b q + sqrt(sum g^2)) / eta, where q is the
// square root of the largest |x| so far; without a penalty the step is -g / h. The last iterate
// decides which weights are zero, since averages have no zeros; the lane averages the others over
// late iterates.
//
// Feature j owns one line [z_1 .. z_K, root_1 .. root_K], where root is sqrt(sum g^2). Of a model's
// fields, gamma0 is eta, decay is b, total is t, and running_iterate is the sum of g^2 of the
// intercept, which has no penalty.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/kernel_namespace.hpp"
#include "learn/bank_args.hpp"
#include "rows/rows.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

// h for a feature whose largest |x| is q * q.
template <class W>
POLYAK_INLINE W proximal_curvature(W q, W root, W b, W per_eta) {
  return q * (b * q + root) * per_eta;
}

template <class W>
POLYAK_INLINE W proximal_weight(W z, W h, W threshold, W ridge, bool positive) {
  const W excess = (positive ? -z : std::fabs(z)) - threshold, curvature = h + ridge;
  const W size = (excess > W(0) ? excess : W(0)) / (curvature > W(0) ? curvature : W(1));
  return z > W(0) ? -size : size;
}

// Each model's rates and the penalty of all rows so far, and the slope of the current row once it
// is known.
template <class W>
struct ProximalRates {
  int64_t K;
  W *b, *per_eta, *threshold, *ridge, *slope;

  explicit ProximalRates(const BankArgs<W> &args)
      : K(args.models.count),
        b(args.rates),
        per_eta(b + K),
        threshold(b + 2 * K),
        ridge(b + 3 * K),
        slope(b + 4 * K) {
    const Models &m = args.models;
    const double ratio = args.settings.l1_ratio;
    for (int64_t k = 0; k < K; ++k) {
      b[k] = static_cast<W>(m.decay[k]);
      per_eta[k] = static_cast<W>(1.0 / m.gamma0[k]);
      threshold[k] = static_cast<W>(ratio * m.alpha[k] * m.total[k]);
      ridge[k] = static_cast<W>((1.0 - ratio) * m.alpha[k] * m.total[k]);
    }
  }

  W weight(int64_t k, W z, W root, W q, bool positive) const {
    return proximal_weight(z, proximal_curvature(q, root, b[k], per_eta[k]), threshold[k], ridge[k],
                           positive);
  }
};

// q of a feature whose largest x^2 is `square`.
template <class W>
POLYAK_INLINE W root_of_size(double square) {
  return static_cast<W>(std::sqrt(std::sqrt(square)));
}

// Computes the weights of the row's features, into `scaled`, and their inner products with the row.
template <class W, class Row>
POLYAK_NOINLINE void gather_proximal(BankArgs<W> &args, const Row &row,
                                     const ProximalRates<W> &rates) {
  const int64_t K = rates.K;
  const bool positive = args.settings.positive;
  W *const sums = args.sums, *weight = args.scaled;
  for (int64_t k = 0; k < K; ++k) sums[k] = 0;
  for (int64_t i = 0; i < row.size; ++i, weight += K) {
    const W *const z = args.lines + row.feature(i) * 2 * K, *const root = z + K;
    const W q = root_of_size<W>(args.squares[row.feature(i)]), x = static_cast<W>(row.value[i]);
    for (int64_t k = 0; k < K; ++k) {
      weight[k] = rates.weight(k, z[k], root[k], q, positive);
      sums[k] += x * weight[k];
    }
  }
}

// Adds the row's gradient to z and root, and to z the change of h times the weight that the row was
// scored with.
template <class W, class Row>
POLYAK_NOINLINE void scatter_proximal(BankArgs<W> &args, const Row &row,
                                      const ProximalRates<W> &rates) {
  const int64_t K = rates.K;
  const W *weight = args.scaled;
  for (int64_t i = 0; i < row.size; ++i, weight += K) {
    W *const z = args.lines + row.feature(i) * 2 * K, *const root = z + K;
    double &square = args.squares[row.feature(i)];
    const W x = static_cast<W>(row.value[i]), q_before = root_of_size<W>(square);
    square = std::fmax(square, static_cast<double>(row.value[i]) * row.value[i]);
    const W q = root_of_size<W>(square);
    for (int64_t k = 0; k < K; ++k) {
      const W g = rates.slope[k] * x, b = rates.b[k], per_eta = rates.per_eta[k];
      const W before = proximal_curvature(q_before, root[k], b, per_eta);
      root[k] = std::sqrt(root[k] * root[k] + g * g);
      z[k] += g - (proximal_curvature(q, root[k], b, per_eta) - before) * weight[k];
    }
  }
}

}  // namespace POLYAK_KERNELS
}  // namespace polyak
