// The bank: one row through K averaged models. Algorithm 1 of the paper is `advance` below, in the
// form that keeps the weighted *sum* of the iterates, so that every averaging rule is one
// non-negative weight per row.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/kernel_namespace.hpp"
#include "learn/bank_args.hpp"
#include "learn/losses.hpp"
#include "learn/random.hpp"
#include "learn/schedule.hpp"
#include "learn/softmax.hpp"
#include "learn/weights.hpp"
#include "rows/rows.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

// How many models there are, K. One alone is worth its own code: 4% faster.
struct One {
  static constexpr int64_t K = 1;
  explicit One(int64_t) {}
};
struct Many {
  const int64_t K;
  explicit Many(int64_t models) : K(models) {}
};

// The logistic loss of classes that are learned together: a group of models at once.
struct Together : LogLoss {};

template <class W, class Count>
struct BankKernel : Count {
  using Count::K;
  BankArgs<W> &view;
  Lines<W> lines;
  Models m;

  explicit BankKernel(BankArgs<W> &v)
      : Count(v.models.count),
        view(v),
        lines{v.lines, v.features, 2 * v.models.count},
        m(v.models) {}

  // One row through every model, from its inner products `sums` to the `step` of every column.
  // `norm` is the row's squared norm as the step sees it; y and w are each model's target and
  // weight. Answers false where a score is no longer a number.
  template <class Loss>
  bool advance(double norm) {
    if constexpr (std::is_same_v<Loss, Together>) return advance_together(norm);
    const Settings &set = view.settings;
    const double t = static_cast<double>(view.clock);
    set_rates(t);
    for (int64_t k = 0; k < K; ++k) {
      const double y = view.y[k], w = view.w[k], gamma = view.gamma[k];
      const double score = m.scale[k] * view.sums[k] + m.bias[k];
      const double mean = m.total[k] > 0.0 ? mean_score(k) : score;
      if (!std::isfinite(score + mean)) return false;
      const double progressive = m.start[k] < 0.0 ? score : mean;  // before averaging: the iterate
      view.score[k] = progressive;
      const Loss loss = loss_with<Loss>(m.parameter + k);
      if (set.progressive) validate(loss, k, progressive, y, w);
      if (m.start[k] < 0.0) detect(loss, k, t, score, mean, y);

      const double q = gamma * w * norm;
      double push = gamma * w;
      if (set.implicit) {
        push *= loss.implicit_slope(score, y, q);
      } else {
        push *= loss.slope(score, y);
        const double bend = set.capped ? loss.curvature(score, y) * q : 0.0;
        if (bend > 1.0) push /= bend;
      }
      take_step(k, push, t);
    }
    return true;
  }

  // The same where each group of models are classes that are learned together. They share rate,
  // penalty and weight; what is validated is what their softmax gives the row's own class.
  bool advance_together(double norm) {
    const Settings &set = view.settings;
    const double t = static_cast<double>(view.clock);
    const int64_t group = set.group;
    set_rates(t);
    for (int64_t first = 0; first < K; first += group) {
      double *const score = view.room, *const slope = score + group;
      double *const odds = view.score + first;
      int64_t own = 0;
      for (int64_t c = 0; c < group; ++c) {
        const int64_t k = first + c;
        score[c] = m.scale[k] * view.sums[k] + m.bias[k];
        odds[c] = m.total[k] > 0.0 ? mean_score(k) : score[c];
        if (!std::isfinite(score[c] + odds[c])) return false;
        if (view.y[k] > 0.0) own = c;
      }
      odds_of_softmax(odds, group, slope);
      const double push = view.gamma[first] * view.w[first], q = push * norm;
      double most = 1.0;
      if (set.implicit) {
        implicit_slopes(score, group, own, q, slope, slope + group, slope + 2 * group);
      } else {
        softmax(score, group, slope);
        slope[own] -= 1.0;
        if (set.capped && 0.5 * q > 1.0) most = 2.0 / q;  // a half bounds the curvature
      }
      for (int64_t c = 0; c < group; ++c) {
        const int64_t k = first + c;
        if (set.progressive) validate(LogLoss{}, k, odds[c], view.y[k], view.w[k], c == own);
        take_step(k, most * push * slope[c], t);
      }
    }
    return true;
  }

  // The squared slope at the iterate's score, the mean of all models: they share the scaled row, so
  // none of them has squares of its own.
  template <class Loss>
  double mean_squared_slope() const {
    const auto iterate = [&](int64_t k) { return m.scale[k] * view.sums[k] + m.bias[k]; };
    double total = 0.0;
    if constexpr (std::is_same_v<Loss, Together>) {
      const int64_t group = view.settings.group;
      double *const score = view.room, *const slope = score + group;
      for (int64_t first = 0; first < K; first += group) {
        for (int64_t c = 0; c < group; ++c) score[c] = iterate(first + c);
        softmax(score, group, slope);
        for (int64_t c = 0; c < group; ++c) {
          const double away = slope[c] - (view.y[first + c] > 0.0 ? 1.0 : 0.0);
          total += away * away;
        }
      }
    } else {
      for (int64_t k = 0; k < K; ++k) {
        const double slope = loss_with<Loss>(m.parameter + k).slope(iterate(k), view.y[k]);
        total += slope * slope;
      }
    }
    return std::isfinite(total) ? total / static_cast<double>(K) : 0.0;  // `advance` will tell
  }

  // Progressive validation of whole classifiers: does the row's own class score highest?
  void count_multiclass_error(int64_t own) {
    const int64_t group = view.settings.group;
    for (int64_t first = 0; first + group <= K; first += group) {
      int64_t best = first;
      for (int64_t k = first + 1; k < first + group; ++k)
        if (view.score[k] > view.score[best]) best = k;
      if (m.output[best] != own) m.confusion[first] += view.w[best];
    }
  }

  // Whether the row changes any weight: beyond the margin of a hinge it does not.
  bool step_is_nonzero() const {
    bool any = false;
    for (int64_t k = 0; k < K; ++k) any |= view.step[k] != 0;
    return any;
  }

  // After the lines were written: keep scale and total in range.
  void settle() {
    for (int64_t k = 0; k < K; ++k) {
      while (m.scale[k] < 0.5 && m.scale[k] > 0.0) {  // a strong penalty needs several folds a row
        lines.fold(k, K + k, m.tau[k]);
        m.scale[k] *= 2.0;
        m.tau[k] = 0.0;
      }
      if (m.total[k] > 0x1p64) rescale_average(k, 0x1p-64);
    }
  }

  // Progressive validation: a model's score of a row it has not learned yet. Of classes that are
  // learned together only the row's own loses: what counts is its probability.
  template <class Loss>
  void validate(const Loss &loss, int64_t k, double score, double y, double w, bool own = true) {
    const double lost = own ? loss.value(score, y) : 0.0;
    m.weight[k] += w;
    m.loss[k] += w * lost;
    m.loss_squared[k] += w * lost * lost;
    m.error[k] += w * error<Loss>(score, y);
    const bool counts_fully = lost <= view.limits.cap;  // false for a loss that is not a number
    m.rated[k] += w * view.limits.share * (counts_fully ? lost : view.limits.cap);
    m.capped[k] += !counts_fully;
  }

 private:
  double mean_score(int64_t k) const {
    return (m.tau[k] * view.sums[k] + view.sums[K + k] + m.bias_sum[k]) / m.total[k];
  }

  // The penalty, then the step, of the iterate and of the sum of the iterates.
  void take_step(int64_t k, double push, double t) {
    const Settings &set = view.settings;
    if (set.implicit)
      m.scale[k] /= 1.0 + m.alpha[k] * view.gamma[k];
    else
      m.scale[k] *= 1.0 - m.alpha[k] * view.gamma[k];
    const double delta = -push / m.scale[k];
    view.step[k] = static_cast<W>(delta);
    view.step[K + k] = static_cast<W>(-m.tau[k] * delta);  // tau as it was before this row
    if (set.intercept) m.bias[k] -= push;
    const double c = averaging_weight(k, t);
    m.tau[k] += c * m.scale[k];
    m.total[k] += c;
    m.bias_sum[k] += c * m.bias[k];
  }

  void set_rates(double t) {
    const double c = view.settings.power;
    if (view.shared_rate) {
      const double gamma = learning_rate(m.gamma0[0], m.decay[0], c, t);
      for (int64_t k = 0; k < K; ++k) view.gamma[k] = gamma;
    } else {
      for (int64_t k = 0; k < K; ++k) view.gamma[k] = learning_rate(m.gamma0[k], m.decay[k], c, t);
    }
  }

  // The detector's exponential average of rate 0.01 is one more averaging rule: its weights grow
  // as total does, so the columns of the later average serve it until averaging begins.
  double averaging_weight(int64_t k, double t) const {
    if (m.start[k] < 0) return m.total[k] * (0.01 / 0.99);
    const double rows = t - m.start[k];
    if (rows <= 0) return 0.0;
    const double r = view.settings.average_power;
    if (r == 0.0) return m.unit[k];
    if (r == 3.0) return m.unit[k] * rows * rows * rows;
    return m.unit[k] * std::pow(rows, r);
  }

  // The paper's rule for when averaging begins: once the exponential average of the iterates has a
  // lower running loss than the iterate itself.
  template <class Loss>
  void detect(const Loss &loss, int64_t k, double t, double score, double mean, double y) {
    m.running_iterate[k] = 0.99 * m.running_iterate[k] + 0.01 * loss.value(score, y);
    m.running_average[k] = 0.99 * m.running_average[k] + 0.01 * loss.value(mean, y);
    if (t >= 100 && m.running_average[k] < m.running_iterate[k]) {
      m.start[k] = t;
      lines.multiply(K + k, 0.0);
      m.tau[k] = m.total[k] = m.bias_sum[k] = 0.0;
      m.unit[k] = 1.0;
    }
  }

  void rescale_average(int64_t k, double factor) {
    lines.multiply(K + k, factor);
    m.tau[k] *= factor;
    m.total[k] *= factor;
    m.bias_sum[k] *= factor;
    m.unit[k] *= factor;
  }
};

}  // namespace POLYAK_KERNELS
}  // namespace polyak
