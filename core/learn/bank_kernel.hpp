// The bank: one row through K averaged models. Algorithm 1 of the paper is `advance` below, in the
// form that keeps the weighted *sum* of the iterates, so that every averaging rule is one
// non-negative weight per row.
//
// A loss never sees a row: between the inner products and the update of the weights there are only
// numbers per model. `BankStep` has these functions for one loss, and the loops over rows call them
// through it, so that they are compiled once for all losses.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/kernel_namespace.hpp"
#include "learn/bank_args.hpp"
#include "learn/losses.hpp"
#include "learn/proximal.hpp"
#include "learn/schedule.hpp"
#include "learn/softmax.hpp"
#include "learn/weights.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

// The logistic loss of classes that are learned together: a group of models at once.
struct Together : LogLoss {};

// The number of models, K. A bank of one model is compiled separately, for steps that are neither
// proximal nor of a softmax: its loops over models vanish, which takes a tenth of the time on the
// shortest rows.
struct One {
  static constexpr bool is_single = true;
  static constexpr int64_t K = 1;
  explicit One(int64_t) {}
};
struct Many {
  static constexpr bool is_single = false;
  const int64_t K;
  explicit Many(int64_t models) : K(models) {}
};

template <class Weight, class Count>
struct Bank : Count {
  using W = Weight;
  using Count::K;
  BankArgs<W> &args;
  Lines<W> lines;
  const Models m;

  explicit Bank(BankArgs<W> &a)
      : Count(a.models.count),
        args(a),
        lines{a.lines, a.features, 2 * a.models.count},
        m(a.models) {}

  // Updates every model for one row: computes the `step` of every column from the inner products
  // `sums`. `norm` is the row's squared norm as the step sees it; y and w are each model's target
  // and weight. Returns false if a score is not finite.
  template <class Loss>
  bool advance(double norm) {
    const Settings &set = args.settings;
    const double t = static_cast<double>(args.clock);
    set_rates(t);
    for (int64_t k = 0; k < K; ++k) {
      const double y = args.y[k], w = args.w[k], gamma = args.gamma[k];
      const double score = iterate_score(k);
      const double mean = m.total[k] > 0.0 ? mean_score(k) : score;
      if (!std::isfinite(score + mean)) return false;
      const double progressive = m.start[k] < 0.0 ? score : mean;  // before averaging: the iterate
      args.score[k] = progressive;
      const Loss loss = loss_with<Loss>(m.parameter + k);
      if (set.progressive) validate(loss, k, progressive, y, w);
      if (m.start[k] < 0.0) detect(loss, k, t, score, mean, y);

      const double q = gamma * w * norm;
      double step = gamma * w;
      if (set.implicit) {
        step *= loss.implicit_slope(score, y, q);
      } else {
        step *= loss.slope(score, y);
        const double overshoot = set.capped ? loss.curvature(score, y) * q : 0.0;
        if (overshoot > 1.0) step /= overshoot;
      }
      take_step(k, step, t);
    }
    return true;
  }

  // The same for groups of classes that are learned together. The models of a group share rate,
  // penalty and weight; the loss to validate is that of the softmax for the row's own class.
  bool advance_together(double norm) {
    const Settings &set = args.settings;
    const double t = static_cast<double>(args.clock);
    const int64_t group = set.group;
    set_rates(t);
    for (int64_t first = 0; first < K; first += group) {
      double *const score = args.scratch, *const slope = score + group;
      double *const odds = args.score + first;
      int64_t own = 0;
      for (int64_t c = 0; c < group; ++c) {
        const int64_t k = first + c;
        score[c] = iterate_score(k);
        odds[c] = m.total[k] > 0.0 ? mean_score(k) : score[c];
        if (!std::isfinite(score[c] + odds[c])) return false;
        if (args.y[k] > 0.0) own = c;
      }
      odds_of_softmax(odds, group, slope);
      const double step = args.gamma[first] * args.w[first], q = step * norm;
      double length = 1.0;
      if (set.implicit) {
        implicit_slopes(score, group, own, q, slope, slope + group, slope + 2 * group);
      } else {
        softmax(score, group, slope);
        slope[own] -= 1.0;
        if (set.capped && 0.5 * q > 1.0) length = 2.0 / q;  // a half bounds the curvature
      }
      for (int64_t c = 0; c < group; ++c) {
        const int64_t k = first + c;
        if (set.progressive) validate(LogLoss{}, k, odds[c], args.y[k], args.w[k], c == own);
        take_step(k, length * step * slope[c], t);
      }
    }
    return true;
  }

  // Updates every model's intercept and computes the `slope` of proximal steps.
  template <class Loss>
  bool advance_proximal(const ProximalRates<W> &rates) {
    for (int64_t k = 0; k < K; ++k) {
      const double y = args.y[k], w = args.w[k], score = args.sums[k] + m.bias[k] + args.offset;
      if (!std::isfinite(score)) return false;
      const Loss loss = loss_with<Loss>(m.parameter + k);
      args.score[k] = score;
      if (args.settings.progressive) validate(loss, k, score, y, w);
      const double slope = w * loss.slope(score, y);
      rates.slope[k] = static_cast<W>(slope);
      m.total[k] += w;
      if (!args.settings.intercept) continue;
      m.running_iterate[k] += slope * slope;
      m.bias[k] -= m.gamma0[k] * slope / (m.decay[k] + std::sqrt(m.running_iterate[k]));
    }
    return true;
  }

  // The squared slope at the iterate's score, averaged over all models: they share the scaled row,
  // so they share the sums of squares too. Zero if a score is not finite; `advance` reports that.
  template <class Loss>
  double mean_squared_slope() const {
    double total = 0.0;
    if constexpr (std::is_same_v<Loss, Together>) {
      const int64_t group = args.settings.group;
      double *const score = args.scratch, *const slope = score + group;
      for (int64_t first = 0; first < K; first += group) {
        for (int64_t c = 0; c < group; ++c) score[c] = iterate_score(first + c);
        softmax(score, group, slope);
        for (int64_t c = 0; c < group; ++c) {
          const double residual = slope[c] - (args.y[first + c] > 0.0 ? 1.0 : 0.0);
          total += residual * residual;
        }
      }
    } else {
      for (int64_t k = 0; k < K; ++k) {
        const double slope = loss_with<Loss>(m.parameter + k).slope(iterate_score(k), args.y[k]);
        total += slope * slope;
      }
    }
    return std::isfinite(total) ? total / static_cast<double>(K) : 0.0;
  }

  // Progressive validation of whole classifiers: does the row's own class score highest?
  void count_multiclass_error(int64_t own) {
    const int64_t group = args.settings.group;
    for (int64_t first = 0; first + group <= K; first += group) {
      int64_t best = first;
      for (int64_t k = first + 1; k < first + group; ++k)
        if (args.score[k] > args.score[best]) best = k;
      if (m.output[best] != own) m.confusion[first] += args.w[best];
    }
  }

  // Whether the row changes any weight: beyond the margin of a hinge it does not.
  bool step_is_nonzero() const {
    bool any = false;
    for (int64_t k = 0; k < K; ++k) any |= args.step[k] != 0;
    return any;
  }

  // Keeps scale and total in range; called after the weights were updated.
  void renormalize() {
    for (int64_t k = 0; k < K; ++k) {
      if (m.scale[k] < 0.5 && m.scale[k] > 0.0) {
        int power;  // below zero; a strong penalty may halve the scale many times at a row
        m.scale[k] = std::frexp(m.scale[k], &power);
        lines.fold(k, K + k, m.tau[k], std::ldexp(1.0, power));
        m.tau[k] = 0.0;
      }
      if (m.total[k] > 0x1p64) rescale_average(k, 0x1p-64);
    }
  }

 private:
  // Adds a model's loss on a row it has not learned yet. Of classes that are learned together only
  // the row's own has a loss.
  template <class Loss>
  void validate(const Loss &loss, int64_t k, double score, double y, double w, bool own = true) {
    const double value = own ? loss.value(score, y) : 0.0;
    m.weight[k] += w;
    m.loss[k] += w * value;
    m.loss_squared[k] += w * value * value;
    m.error[k] += w * error<Loss>(score, y);
    const bool counts_fully = value <= args.limits.cap;  // false for NaN
    m.rated[k] += w * args.limits.share * (counts_fully ? value : args.limits.cap);
    m.capped[k] += !counts_fully;
  }

  double iterate_score(int64_t k) const {
    return m.scale[k] * args.sums[k] + m.bias[k] + args.offset;
  }

  double mean_score(int64_t k) const {
    const double sum = m.tau[k] * args.sums[k] + args.sums[K + k] + m.bias_sum[k];
    return sum / m.total[k] + args.offset;
  }

  // Applies the penalty, then the step, to the iterate and to the sum of the iterates.
  void take_step(int64_t k, double step, double t) {
    const Settings &set = args.settings;
    if (set.implicit)
      m.scale[k] /= 1.0 + m.alpha[k] * args.gamma[k];
    else
      m.scale[k] *= 1.0 - m.alpha[k] * args.gamma[k];
    const double delta = -step / m.scale[k];
    args.step[k] = static_cast<W>(delta);
    args.step[K + k] = static_cast<W>(-m.tau[k] * delta);  // tau as it was before this row
    if (set.intercept) m.bias[k] -= step;
    const double c = averaging_weight(k, t);
    m.tau[k] += c * m.scale[k];
    m.total[k] += c;
    m.bias_sum[k] += c * m.bias[k];
  }

  void set_rates(double t) {
    const double c = args.settings.power;
    if (args.shared_rate) {
      const double gamma = learning_rate(m.gamma0[0], m.decay[0], c, t);
      for (int64_t k = 0; k < K; ++k) args.gamma[k] = gamma;
    } else {
      for (int64_t k = 0; k < K; ++k) args.gamma[k] = learning_rate(m.gamma0[k], m.decay[k], c, t);
    }
  }

  // The detector's exponential average of rate 0.01 is one more averaging rule: its weights grow
  // as total does, so the columns of the later average serve it until averaging begins.
  double averaging_weight(int64_t k, double t) const {
    if (m.start[k] < 0) return m.total[k] * (0.01 / 0.99);
    const double rows = t - m.start[k];
    if (rows <= 0) return 0.0;
    const double r = args.settings.average_power;
    if (r == 0.0) return m.unit[k];
    if (r == 3.0) return m.unit[k] * rows * rows * rows;
    return m.unit[k] * std::pow(rows, r);
  }

  // The paper's rule for when averaging begins: once the exponential average of the iterates has a
  // lower running loss than the iterate itself. Until then start is minus the earliest such row.
  template <class Loss>
  void detect(const Loss &loss, int64_t k, double t, double score, double mean, double y) {
    m.running_iterate[k] = 0.99 * m.running_iterate[k] + 0.01 * loss.value(score, y);
    m.running_average[k] = 0.99 * m.running_average[k] + 0.01 * loss.value(mean, y);
    if (t >= -m.start[k] && m.running_average[k] < m.running_iterate[k]) {
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

// What the loops over rows need of a loss.
template <class Bank>
struct BankStep {
  using Rates = ProximalRates<typename Bank::W>;
  bool (*advance)(Bank &bank, double norm);
  double (*mean_squared_slope)(const Bank &bank);
  bool (*advance_proximal)(Bank &bank, const Rates &rates);
};

template <class Bank, class Loss>
BankStep<Bank> bank_step() {
  using Rates = typename BankStep<Bank>::Rates;
  BankStep<Bank> step{};
  step.mean_squared_slope = [](const Bank &bank) {
    return bank.template mean_squared_slope<Loss>();
  };
  if constexpr (std::is_same_v<Loss, Together>) {
    step.advance = [](Bank &bank, double norm) { return bank.advance_together(norm); };
  } else {
    step.advance = [](Bank &bank, double norm) { return bank.template advance<Loss>(norm); };
    if constexpr (!Bank::is_single)
      step.advance_proximal = [](Bank &bank, const Rates &rates) {
        return bank.template advance_proximal<Loss>(rates);
      };
  }
  return step;
}

template <class Bank>
BankStep<Bank> bank_step(const char *loss, bool softmax) {
  if constexpr (!Bank::is_single)
    if (softmax) return bank_step<Bank, Together>();
  BankStep<Bank> step{};
  each_loss([&](const char *name, auto kind) {
    if (std::strcmp(name, loss) == 0) step = bank_step<Bank, decltype(kind)>();
  });
  return step;
}

}  // namespace POLYAK_KERNELS
}  // namespace polyak
