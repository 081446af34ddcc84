// The rivals that take one row, or one small batch, at a time: SGD (and SGD2) and Pegasos.
// Each loop reads like the paper it is from; see docs/rivals.md. All answer all_learned, or the
// row where a score was no longer a number.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/kernel_namespace.hpp"
#include "learn/losses.hpp"
#include "rival_state.hpp"
#include "rival_vector.hpp"
#include "rows/prefetch.hpp"
#include "rows/rows.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

template <class Loss, class Rows>
int64_t learn_sgd(const Rows &rows, const double *y, const SgdSettings &set, SgdState &state,
                  double *weights, int64_t features) {
  ScaledVector w{weights, features, state.scale, 0.0};
  int64_t stopped = all_learned;
  for (int64_t i = 0; i < rows.count; ++i) {
    const auto row = rows[i];
    prefetch(row);
    const double score = w.score(row) + state.bias;
    if (!std::isfinite(score)) {
      stopped = i;
      break;
    }
    state.clock += 1.0;
    const double gamma = set.gamma0 / (1.0 + set.decay * set.gamma0 * state.clock);
    const double push = gamma * Loss::slope(score, y[i]);
    w.multiply(1.0 - set.alpha * gamma);
    if (push != 0.0) {
      w.add(row, -push);
      state.bias -= set.intercept_rate * push;
    }
  }
  state.scale = w.scale;
  return stopped;
}

// One step for each mini-batch of `batch` rows; the last may be smaller. The constant feature of
// the intercept is a feature like any other: it shrinks, and counts in the length.
template <class Loss, class Rows>
int64_t learn_pegasos(const Rows &rows, const double *y, const PegasosSettings &set,
                      PegasosState &state, double *weights, int64_t features, double *slopes) {
  ScaledVector w{weights, features, state.scale, state.square};
  int64_t stopped = all_learned;
  for (int64_t begin = 0; begin < rows.count; begin += set.batch) {
    const int64_t end = std::min(rows.count, begin + set.batch);
    for (int64_t i = begin; i < end; ++i) {
      const auto row = rows[i];
      prefetch(row);
      const double score = w.score(row) + state.bias;
      if (!std::isfinite(score) && stopped == all_learned) stopped = i;
      slopes[i - begin] = Loss::slope(score, y[i]);
    }
    if (stopped != all_learned) break;
    state.clock += 1.0;
    const double keep = 1.0 - 1.0 / state.clock;  // 1 - lambda gamma
    const double gamma = 1.0 / (set.alpha * state.clock * static_cast<double>(end - begin));
    w.multiply(keep);
    state.bias *= keep;
    for (int64_t i = begin; i < end; ++i) {
      const double push = gamma * slopes[i - begin];
      if (push == 0.0) continue;
      w.add_measured(rows[i], -push);
      if (set.intercept) state.bias -= push;
    }
    const double square = w.squared_norm() + state.bias * state.bias;
    if (square > set.radius * set.radius) {
      const double shrink = set.radius / std::sqrt(square);
      w.multiply(shrink);
      state.bias *= shrink;
    }
  }
  state.scale = w.scale;
  state.square = w.square;
  return stopped;
}

}  // namespace POLYAK_KERNELS
}  // namespace polyak
