// Classes that are learned together: what a row says of the scores of all of them at once.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/kernel_namespace.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

// chance[k] = e^s_k over the sum of all; answers the sum's logarithm.
inline double softmax(const double *s, int64_t classes, double *chance) {
  double highest = s[0], total = 0.0;
  for (int64_t k = 1; k < classes; ++k) highest = s[k] > highest ? s[k] : highest;
  for (int64_t k = 0; k < classes; ++k) total += chance[k] = std::exp(s[k] - highest);
  const double share = 1.0 / total;
  for (int64_t k = 0; k < classes; ++k) chance[k] *= share;
  return highest + std::log(total);
}

// The logarithm of each class's odds against all others, in place of the scores: what one model
// against the rest would have as its score.
inline void odds_of_softmax(double *s, int64_t classes, double *small) {
  int64_t best = 0;
  for (int64_t k = 1; k < classes; ++k)
    if (s[k] > s[best]) best = k;
  const double highest = s[best];
  double lower = 0.0;  // all but the highest, which would drown the others in rounding
  for (int64_t k = 0; k < classes; ++k) {
    small[k] = std::exp(s[k] - highest);
    if (k != best) lower += small[k];
  }
  for (int64_t k = 0; k < classes; ++k) {
    const double rest = k == best ? lower : 1.0 + (lower - small[k]);
    s[k] = s[k] - highest - std::log(rest > 1e-300 ? rest : 1e-300);
  }
}

// The slopes of a step of size q at the scores after it: g = softmax(s - q g) - own. With u the
// scores after it, that is where (u - s)^2 / 2q + log sum e^u - u_own is least. Newton's steps lead
// there, halved where they go too far; with H = diag(p) - pp', the matrix 1 + qH is a diagonal and
// a product. `after` and `move` are room for as many numbers as there are classes.
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
    // Each move squares the error of the one before, so what is left after this one is nothing.
    if (longest <= 1e-5) break;
  }
  slope[own] -= 1.0;
}

}  // namespace POLYAK_KERNELS
}  // namespace polyak
