// Online limited-memory BFGS (Schraudolph, Yu and Günter, 2007). Each mini-batch is looked at
// twice, before and after the step, so that the difference of gradients is free of the noise
// between batches. The constant feature of the intercept is the last coordinate; the penalty
// leaves it out. This file owns the weights of this rival.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/kernel_namespace.hpp"
#include "rival_state.hpp"
#include "rival_vector.hpp"
#include "rows/rows.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

template <class Loss, class Rows>
struct Olbfgs {
  const Rows &rows;
  const double *y;
  const OlbfgsSettings &set;
  OlbfgsState &state;
  double *weights;  // features + 1
  double *moves;    // memory x (features + 1): differences of weights ...
  double *changes;  // ... and of gradients
  double *room;     // 2 x (features + 1), then the memory: for one step
  int64_t features;

  // Short enough to be nowhere near too long, and long enough to measure a difference: the 1e-10 of
  // the paper leaves six digits of it.
  static constexpr double first_step = 1e-6;

  int64_t size() const { return features + 1; }

  double dot(const double *a, const double *b) const {
    const DenseRow<double> row{a, size()};
    return inner_product(row, b);
  }
  void add(double *to, double step, const double *from) const {
    add_row(DenseRow<double>{from, size()}, step, to);
  }

  // The gradient of the mini-batch, penalty included. Answers the row whose score is no number.
  int64_t gradient(int64_t begin, int64_t end, double *out) const {
    const double share = 1.0 / static_cast<double>(end - begin);
    for (int64_t j = 0; j < features; ++j) out[j] = set.alpha * weights[j];
    out[features] = 0.0;
    for (int64_t i = begin; i < end; ++i) {
      const auto row = rows[i];
      const double score = inner_product(row, weights) + weights[features];
      if (!std::isfinite(score)) return i;
      const double slope = share * Loss::slope(score, y[i]);
      if (slope == 0.0) continue;
      add_row(row, slope, out);
      if (set.intercept) out[features] += slope;
    }
    return all_learned;
  }

  // Turns a gradient into a step: the two loops of limited-memory BFGS, newest pair first and then
  // last, with the mean of all ratios between them where batch L-BFGS has only the newest.
  void direct(double *p, double *alphas) const {
    const int64_t stored = static_cast<int64_t>(state.stored);
    const auto at = [&](int64_t age) {  // age 1 is the newest
      return (static_cast<int64_t>(state.next) - age + 2 * set.memory) % set.memory * size();
    };
    double ratios = 0.0;
    for (int64_t age = 1; age <= stored; ++age) {
      const double *s = moves + at(age), *change = changes + at(age);
      const double product = dot(s, change);
      alphas[age - 1] = dot(s, p) / product;
      ratios += product / dot(change, change);
      add(p, -alphas[age - 1], change);
    }
    const double first = stored > 0 ? ratios / static_cast<double>(stored) : first_step;
    for (int64_t j = 0; j < size(); ++j) p[j] *= first;
    for (int64_t age = stored; age >= 1; --age) {
      const double *s = moves + at(age), *change = changes + at(age);
      add(p, alphas[age - 1] - dot(change, p) / dot(s, change), s);
    }
  }

  int64_t step(int64_t begin, int64_t end) {
    double *before = room, *p = room + size(), *alphas = room + 2 * size();
    int64_t stopped = gradient(begin, end, before);
    if (stopped != all_learned) return stopped;
    std::copy(before, before + size(), p);
    direct(p, alphas);
    const double eta = set.eta0 * set.tau / (set.tau + state.clock);
    state.clock += 1.0;
    double *s = moves + static_cast<int64_t>(state.next) * size();
    double *change = changes + static_cast<int64_t>(state.next) * size();
    for (int64_t j = 0; j < size(); ++j) s[j] = -eta * p[j];
    add(weights, 1.0, s);
    stopped = gradient(begin, end, change);
    if (stopped != all_learned) return stopped;
    for (int64_t j = 0; j < size(); ++j) change[j] += set.damping * s[j] - before[j];
    if (dot(s, change) > 0.0) {  // else the pair would turn the next step uphill: its place is free
      state.next = static_cast<double>((static_cast<int64_t>(state.next) + 1) % set.memory);
      state.stored = std::min(state.stored + 1.0, static_cast<double>(set.memory));
    }
    return all_learned;
  }
};

template <class Loss, class Rows>
int64_t learn_olbfgs(const Rows &rows, const double *y, const OlbfgsSettings &set,
                     OlbfgsState &state, double *weights, double *moves, double *changes,
                     double *room, int64_t features) {
  Olbfgs<Loss, Rows> rival{rows, y, set, state, weights, moves, changes, room, features};
  for (int64_t begin = 0; begin < rows.count; begin += set.batch) {
    const int64_t stopped = rival.step(begin, std::min(rows.count, begin + set.batch));
    if (stopped != all_learned) return stopped;
  }
  return all_learned;
}

}  // namespace POLYAK_KERNELS
}  // namespace polyak
