// Softmax of the scores of classes that are learned together, and its implicit step.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/kernel_namespace.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

// chance[k] = e^s_k / sum of all e^s. Returns the logarithm of the sum.
inline double softmax(const double *s, int64_t classes, double *chance) {
  double highest = s[0], total = 0.0;
  for (int64_t k = 1; k < classes; ++k) highest = s[k] > highest ? s[k] : highest;
  for (int64_t k = 0; k < classes; ++k) total += chance[k] = std::exp(s[k] - highest);
  const double share = 1.0 / total;
  for (int64_t k = 0; k < classes; ++k) chance[k] *= share;
  return highest + std::log(total);
}

// Replaces scores with the logarithm of each class's odds against all others, which is the score of
// a model of one class against the rest.
inline void odds_of_softmax(double *s, int64_t classes, double *small) {
  int64_t best = 0;
  for (int64_t k = 1; k < classes; ++k)
    if (s[k] > s[best]) best = k;
  const double highest = s[best];
  double lower = 0.0;  // without the highest, which would absorb the others in rounding
  for (int64_t k = 0; k < classes; ++k) {
    small[k] = std::exp(s[k] - highest);
    if (k != best) lower += small[k];
  }
  for (int64_t k = 0; k < classes; ++k) {
    const double rest = k == best ? lower : 1.0 + (lower - small[k]);
    s[k] = s[k] - highest - std::log(rest > 1e-300 ? rest : 1e-300);
  }
}

// Solves g = softmax(s - q g) - own for the slopes g of an implicit step of size q. The scores
// after the step, u, minimise (u - s)^2 / 2q + log sum e^u - u_own, which damped Newton steps do;
// with H = diag(p) - pp', the matrix 1 + qH is a diagonal plus a matrix of rank one. `after` and
// `move` are scratch space of one number per class.
inline void implicit_slopes(const double *s, int64_t classes, int64_t own, double q, double *slope,
                            double *after, double *move) {
  for (int64_t k = 0; k < classes; ++k) after[k] = s[k];
  double value = softmax(after, classes, slope) - s[own];
  for (int step = 0; step < 100; ++step) {
    double along = 0.0, squares = 0.0;
    for (int64_t k = 0; k < classes; ++k) {
      const double p = slope[k], bent = 1.0 / (1.0 + q * p);
      move[k] = (after[k] - s[k] + q * (p - (k == own ? 1.0 : 0.0))) * bent;
      along += p * move[k];
      squares += p * p * bent;
    }
    const double shared = q * along / (1.0 - q * squares);
    double longest = 0.0;
    for (int64_t k = 0; k < classes; ++k) {
      move[k] += slope[k] / (1.0 + q * slope[k]) * shared;
      after[k] -= move[k];
      longest = std::fmax(longest, std::fabs(move[k]));
    }
    const double before = value;
    for (double length = 1.0; length > 1e-12; length *= 0.5) {
      value = softmax(after, classes, slope) - after[own];
      double away = 0.0;
      for (int64_t k = 0; k < classes; ++k) away += (after[k] - s[k]) * (after[k] - s[k]);
      value += q > 0.0 ? away / (2.0 * q) : 0.0;
      if (value <= before + 1e-12 * std::fabs(before)) break;
      for (int64_t k = 0; k < classes; ++k) after[k] += 0.5 * length * move[k];
    }
    // Convergence is quadratic, so that the error after this step is negligible.
    if (longest <= 1e-5) break;
  }
  slope[own] -= 1.0;
}

}  // namespace POLYAK_KERNELS
}  // namespace polyak
