// The losses L(s, y) of a score s and a target y. Each has its value, its slope in s, a bound on
// its curvature from s to where a step may lead, the slope of an implicit step, the targets it
// accepts, and whether scores are logarithms of predictions (log_link).
//
// The implicit slope g solves g = L'(s - q g, y): the slope at the score *after* a step of size q,
// which cannot overshoot however large q is. A loss with a parameter has it as its one member; each
// model of a bank has its own. A new loss is one more struct here and one more line in the list
// at the end.
#pragma once

#include <cmath>
#include <type_traits>

#include "kernels/kernel_namespace.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

// Defaults of losses for regression and for classification.
struct ForNumbers {
  static constexpr bool classifies = false, log_link = false;
  static constexpr const char *wants = "a number";
  static bool accepts(double y) { return std::isfinite(y); }
};
struct ForClasses {
  static constexpr bool classifies = true, log_link = false;
  static constexpr const char *wants = "a classification loss needs -1 or +1";
  static bool accepts(double y) { return y == 1.0 || y == -1.0; }
};

struct SquaredError : ForNumbers {
  static constexpr double curvature(double, double) { return 1.0; }
  static double value(double s, double y) { return 0.5 * (s - y) * (s - y); }
  static double slope(double s, double y) { return s - y; }
  static double implicit_slope(double s, double y, double q) { return (s - y) / (1.0 + q); }
};

struct SquaredHinge : ForClasses {
  static constexpr double curvature(double, double) { return 1.0; }
  static double margin_left(double s, double y) {
    const double left = 1.0 - y * s;
    return left > 0.0 ? left : 0.0;
  }
  static double value(double s, double y) {
    const double left = margin_left(s, y);
    return 0.5 * left * left;
  }
  static double slope(double s, double y) { return -y * margin_left(s, y); }
  static double implicit_slope(double s, double y, double q) { return slope(s, y) / (1.0 + q); }
};

struct Hinge : ForClasses {
  // By convention; the hinge has no curvature.
  static constexpr double curvature(double, double) { return 1.0; }
  static double value(double s, double y) { return SquaredHinge::margin_left(s, y); }
  static double slope(double s, double y) { return y * s < 1.0 ? -y : 0.0; }
  static double implicit_slope(double s, double y, double q) {
    const double left = SquaredHinge::margin_left(s, y);
    return left < q ? -y * left / q : slope(s, y);  // land on the margin, never beyond it
  }
};

struct LogLoss : ForClasses {
  static constexpr double curvature(double, double) { return 0.25; }
  static double value(double s, double y) {
    const double m = y * s;
    return m > 0.0 ? std::log1p(std::exp(-m)) : std::log1p(std::exp(m)) - m;
  }
  static double slope(double s, double y) { return -y / (1.0 + std::exp(y * s)); }
  // The margin after the step, m, solves m = m0 + q / (1 + e^m). The left side minus the right
  // increases, is convex below zero and concave above: from the inflection point, or from the end
  // of [m0, m0 + q] nearest to it, Newton's iteration converges monotonically.
  static double implicit_slope(double s, double y, double q) {
    const double m0 = y * s;
    double m = m0 > 0.0 ? m0 : m0 + q < 0.0 ? m0 + q : 0.0;
    double u = 0.0;
    for (int i = 0; i < 100; ++i) {
      u = 1.0 / (1.0 + std::exp(m));
      const double curvature = u * (1.0 - u), move = (m0 + q * u - m) / (1.0 + q * curvature);
      m += move;
      // Convergence is quadratic: after a small move the slope is known to eleven digits without
      // another exponential, which saves more than half of them.
      u -= curvature * move * (1.0 - (0.5 - u) * move);
      if (std::fabs(move) <= 1e-7 * (1.0 + std::fabs(m))) break;
    }
    return -y * u;
  }
};

// scikit-learn's: the square of the distance from the margin, but a line beyond the other one.
struct ModifiedHuber : ForClasses {
  static constexpr double curvature(double, double) { return 2.0; }
  static double value(double s, double y) {
    const double left = SquaredHinge::margin_left(s, y);
    return left <= 2.0 ? left * left : 4.0 * (left - 1.0);
  }
  static double slope(double s, double y) { return implicit_slope(s, y, 0.0); }
  static double implicit_slope(double s, double y, double q) {
    const double left = SquaredHinge::margin_left(s, y) / (1.0 + 2.0 * q);
    return left <= 2.0 ? -2.0 * y * left : -4.0 * y;
  }
};

// Half the squared distance up to delta, a line beyond.
struct Huber : ForNumbers {
  double delta;
  static constexpr double curvature(double, double) { return 1.0; }
  double value(double s, double y) const {
    const double away = std::fabs(s - y);
    return away <= delta ? 0.5 * away * away : delta * (away - 0.5 * delta);
  }
  double slope(double s, double y) const { return implicit_slope(s, y, 0.0); }
  double implicit_slope(double s, double y, double q) const {
    const double after = (s - y) / (1.0 + q);
    return std::fabs(after) <= delta ? after : std::copysign(delta, after);
  }
};

// Losses with a kink at the target: like those of the hinge, their steps end there at most.
inline double land(double slope, double away, double q) {
  return std::fabs(away) < q * std::fabs(slope) ? away / q : slope;
}

// The check loss: its best constant is the quantile tau.
struct Quantile : ForNumbers {
  double tau;
  double curvature(double s, double y) const { return s == y ? 0.0 : slope(s, y) / (s - y); }
  double value(double s, double y) const { return (s - y) * slope(s, y); }
  double slope(double s, double y) const { return s > y ? 1.0 - tau : s < y ? -tau : 0.0; }
  double implicit_slope(double s, double y, double q) const { return land(slope(s, y), s - y, q); }
};

// The distance beyond epsilon: the loss of support vector regression.
struct EpsilonInsensitive : ForNumbers {
  double epsilon;
  double beyond(double s, double y) const {
    const double away = std::fabs(s - y) - epsilon;
    return away > 0.0 ? std::copysign(away, s - y) : 0.0;
  }
  double curvature(double s, double y) const {
    const double away = beyond(s, y);
    return away == 0.0 ? 0.0 : 1.0 / std::fabs(away);
  }
  double value(double s, double y) const { return std::fabs(beyond(s, y)); }
  double slope(double s, double y) const {
    const double away = beyond(s, y);
    return away == 0.0 ? 0.0 : std::copysign(1.0, away);
  }
  double implicit_slope(double s, double y, double q) const {
    return land(slope(s, y), beyond(s, y), q);
  }
};

// e^x, bounded so that its square is finite.
inline double bounded_exp(double x) { return std::exp(x < 300.0 ? x : 300.0); }

// Solves e^v + v = z for v. The left side is increasing and convex, and the initial value is above
// the solution, so that Newton's iteration decreases to it.
inline double log_of_omega(double z) {
  double v = z > 1.0 ? std::log(z) : z;
  for (int i = 0; i < 100; ++i) {
    const double e = std::exp(v), move = (e + v - z) / (1.0 + e);
    v -= move;
    if (std::fabs(move) <= 1e-8 * (1.0 + std::fabs(v))) break;  // as with the logistic loss
  }
  return v;
}

// Half of Poisson's deviance; a score is the logarithm of the mean.
struct Poisson : ForNumbers {
  static constexpr bool log_link = true;
  static constexpr const char *wants = "poisson needs numbers of zero or more";
  static bool accepts(double y) { return std::isfinite(y) && y >= 0.0; }
  static double curvature(double s, double y) { return std::fmax(bounded_exp(s), y); }
  static double value(double s, double y) {
    return bounded_exp(s) - y + (y > 0.0 ? y * (std::log(y) - s) : 0.0);
  }
  static double slope(double s, double y) { return bounded_exp(s) - y; }
  // The score after the step, u, solves u + q e^u = s + q y.
  static double implicit_slope(double s, double y, double q) {
    if (q < 1e-300) return slope(s, y);
    const double u = log_of_omega(s + q * y + std::log(q)) - std::log(q);
    return q > 1.0 ? (s - u) / q : bounded_exp(u) - y;
  }
};

// Half of the gamma distribution's deviance; a score is the logarithm of the mean.
struct Gamma : ForNumbers {
  static constexpr bool log_link = true;
  static constexpr const char *wants = "gamma needs numbers above zero";
  static bool accepts(double y) { return std::isfinite(y) && y > 0.0; }
  static double ratio(double s, double y) { return y * bounded_exp(-s); }
  static double curvature(double s, double y) { return std::fmax(ratio(s, y), 1.0); }
  static double value(double s, double y) { return ratio(s, y) - 1.0 + s - std::log(y); }
  static double slope(double s, double y) { return 1.0 - ratio(s, y); }
  // The score after the step, u, solves u - q y e^-u = s - q.
  static double implicit_slope(double s, double y, double q) {
    if (q * y < 1e-300) return slope(s, y);
    const double u = std::log(q * y) - log_of_omega(q - s + std::log(q * y));
    return q > 1.0 ? (s - u) / q : slope(u, y);
  }
};

// The loss with the parameter of a model; most have none.
template <class Loss>
Loss loss_with(const double *parameter) {
  if constexpr (std::is_empty_v<Loss>)
    return {};
  else
    return Loss{{}, *parameter};
}

// The error that is reported: a wrong sign, or the distance from the target.
template <class Loss>
double error(double s, double y) {
  if constexpr (Loss::classifies) return (s > 0.0) == (y > 0.0) ? 0.0 : 1.0;
  return std::fabs((Loss::log_link ? bounded_exp(s) : s) - y);
}

// Calls visit(name, loss) for every loss.
template <class Visitor>
void each_loss(Visitor &&visit) {
  visit("squared_error", SquaredError{});
  visit("squared_hinge", SquaredHinge{});
  visit("hinge", Hinge{});
  visit("log_loss", LogLoss{});
  visit("modified_huber", ModifiedHuber{});
  visit("huber", Huber{});
  visit("quantile", Quantile{});
  visit("epsilon_insensitive", EpsilonInsensitive{});
  visit("poisson", Poisson{});
  visit("gamma", Gamma{});
}

}  // namespace POLYAK_KERNELS
}  // namespace polyak
