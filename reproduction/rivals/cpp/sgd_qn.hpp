// SGD-QN (Bordes, Bottou and Gallinari, 2009): SGD with a gain for each coordinate, from ratios of
// differences. By default as the authors' program in sgd-2.x has it; see docs/rivals.md.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/kernel_namespace.hpp"
#include "rival_state.hpp"
#include "rival_vector.hpp"
#include "rows/prefetch.hpp"
#include "rows/rows.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

template <class Loss, class Rows>
struct SgdQn {
  const SgdQnSettings &set;
  SgdQnState &state;
  RescaledVector w;

  // sgd-2.x: the row after a penalty is asked for its gradient with the weights now and before.
  // False if a score was not a number.
  template <class Row>
  bool next_row(const Row &row, double y) {
    const double score = w.score(row) + state.bias;
    if (!std::isfinite(score)) return false;
    const double slope = Loss::slope(score, y);
    state.clock += 1.0;
    if (state.measure != 0.0) measure(row, slope - Loss::slope(score_before(row), y));
    if (penalty_is_due()) {
      w.keep();
      state.bias_before = state.bias;
      w.decay(set.alpha * static_cast<double>(set.skip));
    }
    step(row, slope);
    return true;
  }

  // The pseudo-code of 2009: the row after a penalty is asked before and after its own step, and
  // the gains stand beside a common 1 / (t + t0).
  template <class Row>
  bool own_row(const Row &row, double y) {
    const double score = w.score(row) + state.bias, rate = 1.0 / (state.clock + set.t0);
    if (!std::isfinite(score)) return false;
    const double slope = Loss::slope(score, y);
    step(row, rate * slope);
    if (state.measure != 0.0) {
      const double after = slope != 0.0 ? Loss::slope(w.score(row) + state.bias, y) : 0.0;
      const double share = slope != 0.0 ? (slope - after) / slope : 0.0;
      const double weight = 2.0 / state.measured;
      w.average(row, share, rate, set.alpha, weight);
      state.bias_gain = w.mean_ratio(state.bias_gain, share, rate, set.alpha, weight);
      state.measured += 1.0;
      state.measure = 0.0;
    }
    if (penalty_is_due()) w.decay(rate * set.alpha * static_cast<double>(set.skip));
    state.clock += 1.0;
    return true;
  }

 private:
  template <class Row>
  double score_before(const Row &row) const {
    return w.score_before(row) + state.bias_before;
  }

  template <class Row>
  void step(const Row &row, double slope) {
    if (slope == 0.0) return;
    w.add(row, -slope);
    if (set.intercept) state.bias -= slope * state.bias_gain;
  }

  template <class Row>
  void measure(const Row &row, double change) {
    state.measure = 0.0;
    if (change == 0.0) return;
    const double rows = state.clock - state.last;
    w.stiffen(row, change, set.alpha, rows);
    const double found = w.curvature(change, 1.0, state.bias - state.bias_before, set.alpha);
    state.bias_gain = w.stiffer(state.bias_gain, found, rows);
    state.last = state.clock;
  }

  bool penalty_is_due() {
    state.until -= 1.0;
    if (state.until > 0.0) return false;
    state.until = static_cast<double>(set.skip);
    state.measure = 1.0;
    return true;
  }
};

template <class Loss, class Rows>
int64_t learn_sgd_qn(const Rows &rows, const double *y, const SgdQnSettings &set, SgdQnState &state,
                     double *weights, double *gains, double *before, int64_t features) {
  SgdQn<Loss, Rows> rival{set, state, {weights, gains, before, features}};
  for (int64_t i = 0; i < rows.count; ++i) {
    const auto row = rows[i];
    prefetch(row);
    if (!(set.t0 > 0.0 ? rival.own_row(row, y[i]) : rival.next_row(row, y[i]))) return i;
  }
  return all_learned;
}

}  // namespace POLYAK_KERNELS
}  // namespace polyak
