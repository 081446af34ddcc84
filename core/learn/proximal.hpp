// Proximal steps: weights that are exactly zero, learned row by row.
//
// To minimise is the mean over rows of loss + l1 |w| + l2 w^2 / 2, so that after t rows the penalty
// has counted t times. All rows before are known by the slopes g they had, and each of them holds
// the weights where they were by some sigma:
//
//     w = argmin  sum g w + t (l1 |w| + l2 w^2 / 2) + sum sigma (w - w then)^2 / 2
//
// With z = sum (g - sigma w then) and h = sum sigma that is, for every feature by itself,
//
//     w = 0 where |z| <= t l1, else -(z - sign(z) t l1) / (h + t l2).
//
// h grows with the slopes, as in AdaGrad: h = q (b q + sqrt(sum g^2)) / eta, q being the root of
// the largest |x| so far; without a penalty the step is -g / h. The last iterate says which
// weights are zero, since averages have no zeros; the others are means of late ones, which the lane
// takes.
//
// Feature j owns one line [z_1 .. z_K, root_1 .. root_K], root being sqrt(sum g^2). Of a model's
// fields, gamma0 is eta, decay is b, total is t, and running_iterate is the sum g^2 of the
// intercept, which has no penalty.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/kernel_namespace.hpp"
#include "learn/bank_args.hpp"
#include "learn/losses.hpp"
#include "rows/rows.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

// What h is, for a feature of size q * q.
template <class W>
POLYAK_INLINE W holds(W q, W root, W b, W per_eta) {
  return q * (b * q + root) * per_eta;
}

template <class W>
POLYAK_INLINE W proximal_weight(W z, W h, W threshold, W ridge, bool positive) {
  const W beyond = (positive ? -z : std::fabs(z)) - threshold, bend = h + ridge;
  const W away = (beyond > W(0) ? beyond : W(0)) / (bend > W(0) ? bend : W(1));
  return z > W(0) ? -away : away;
}

// What each model holds its weights by, and the penalty of all losses so far; and, once that is
// known, the slope of the row.
template <class W>
struct ProximalRates {
  int64_t K;
  W *b, *per_eta, *threshold, *ridge, *slope;

  explicit ProximalRates(const BankArgs<W> &view)
      : K(view.models.count),
        b(view.rates),
        per_eta(b + K),
        threshold(b + 2 * K),
        ridge(b + 3 * K),
        slope(b + 4 * K) {
    const Models &m = view.models;
    const double ratio = view.settings.l1_ratio;
    for (int64_t k = 0; k < K; ++k) {
      b[k] = static_cast<W>(m.decay[k]);
      per_eta[k] = static_cast<W>(1.0 / m.gamma0[k]);
      threshold[k] = static_cast<W>(ratio * m.alpha[k] * m.total[k]);
      ridge[k] = static_cast<W>((1.0 - ratio) * m.alpha[k] * m.total[k]);
    }
  }

  W weight(int64_t k, W z, W root, W q, bool positive) const {
    return proximal_weight(z, holds(q, root, b[k], per_eta[k]), threshold[k], ridge[k], positive);
  }
};

template <class W>
POLYAK_INLINE W root_of_size(double square) {
  return static_cast<W>(std::sqrt(std::sqrt(square)));
}

// The weights of the row's features, into `scaled`, and the sums of their products with the row.
template <class W, class Row>
POLYAK_NOINLINE void gather_proximal(BankArgs<W> &view, const Row &row,
                                     const ProximalRates<W> &rates) {
  const int64_t K = rates.K;
  const bool positive = view.settings.positive;
  W *const sums = view.sums, *weight = view.scaled;
  for (int64_t k = 0; k < K; ++k) sums[k] = 0;
  for (int64_t i = 0; i < row.size; ++i, weight += K) {
    const W *const z = view.lines + row.feature(i) * 2 * K, *const root = z + K;
    const W q = root_of_size<W>(view.squares[row.feature(i)]), x = static_cast<W>(row.value[i]);
    for (int64_t k = 0; k < K; ++k) {
      weight[k] = rates.weight(k, z[k], root[k], q, positive);
      sums[k] += x * weight[k];
    }
  }
}

// Adds the row's slopes, and what they let go of the weights that it was scored by.
template <class W, class Row>
POLYAK_NOINLINE void scatter_proximal(BankArgs<W> &view, const Row &row,
                                      const ProximalRates<W> &rates) {
  const int64_t K = rates.K;
  const W *weight = view.scaled;
  for (int64_t i = 0; i < row.size; ++i, weight += K) {
    W *const z = view.lines + row.feature(i) * 2 * K, *const root = z + K;
    double &square = view.squares[row.feature(i)];
    const W x = static_cast<W>(row.value[i]), before = root_of_size<W>(square);
    square = std::fmax(square, static_cast<double>(row.value[i]) * row.value[i]);
    const W q = root_of_size<W>(square);
    for (int64_t k = 0; k < K; ++k) {
      const W g = rates.slope[k] * x, b = rates.b[k], per_eta = rates.per_eta[k];
      const W then = holds(before, root[k], b, per_eta);
      root[k] = std::sqrt(root[k] * root[k] + g * g);
      z[k] += g - (holds(q, root[k], b, per_eta) - then) * weight[k];
    }
  }
}

// A loss whose steps are proximal.
template <class Loss>
struct Proximal {
  using Own = Loss;
};
template <class Loss>
struct IsProximal : std::false_type {};
template <class Loss>
struct IsProximal<Proximal<Loss>> : std::true_type {};

// One row through every model. False where a score is no longer a number.
template <class Loss, class Bank, class Row>
bool learn_proximally(Bank &bank, const Row &row) {
  auto &view = bank.view;
  Models &m = bank.m;
  using W = std::decay_t<decltype(*view.lines)>;
  const ProximalRates<W> rates(view);
  gather_proximal(view, row, rates);
  for (int64_t k = 0; k < bank.K; ++k) {
    const double y = view.y[k], w = view.w[k], score = view.sums[k] + m.bias[k];
    if (!std::isfinite(score)) return false;
    const Loss loss = loss_with<Loss>(m.parameter + k);
    view.score[k] = score;
    if (view.settings.progressive) bank.validate(loss, k, score, y, w);
    const double slope = w * loss.slope(score, y);
    rates.slope[k] = static_cast<W>(slope);
    m.total[k] += w;
    if (!view.settings.intercept) continue;
    m.running_iterate[k] += slope * slope;
    m.bias[k] -= m.gamma0[k] * slope / (m.decay[k] + std::sqrt(m.running_iterate[k]));
  }
  scatter_proximal(view, row, rates);
  return true;
}

}  // namespace POLYAK_KERNELS
}  // namespace polyak
