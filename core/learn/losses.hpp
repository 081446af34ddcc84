// The losses L(s, y) of a score s and a target y. Each gives its value, its slope in s, a bound on
// its curvature, the slope of an implicit step, and the error a person would count.
//
// The implicit slope g solves g = L'(s - q g, y): the slope at the score *after* a step of size q,
// which cannot overshoot however large q is. A new loss (Huber, quantile) is one more struct here
// and one more line in the list at the end.
#pragma once

#include <cmath>

#include "kernels/kernel_namespace.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

struct SquaredError {
  static constexpr double curvature = 1.0;
  static constexpr bool classifies = false;
  static double value(double s, double y) { return 0.5 * (s - y) * (s - y); }
  static double slope(double s, double y) { return s - y; }
  static double implicit_slope(double s, double y, double q) { return (s - y) / (1.0 + q); }
};

struct SquaredHinge {
  static constexpr double curvature = 1.0;
  static constexpr bool classifies = true;
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

struct Hinge {
  static constexpr double curvature = 1.0;  // by convention: the hinge has none to bound
  static constexpr bool classifies = true;
  static double value(double s, double y) { return SquaredHinge::margin_left(s, y); }
  static double slope(double s, double y) { return y * s < 1.0 ? -y : 0.0; }
  static double implicit_slope(double s, double y, double q) {
    const double left = SquaredHinge::margin_left(s, y);
    return left < q ? -y * left / q : slope(s, y);  // land on the margin, never beyond it
  }
};

struct LogLoss {
  static constexpr double curvature = 0.25;
  static constexpr bool classifies = true;
  static double value(double s, double y) {
    const double m = y * s;
    return m > 0.0 ? std::log1p(std::exp(-m)) : std::log1p(std::exp(m)) - m;
  }
  static double slope(double s, double y) { return -y / (1.0 + std::exp(y * s)); }
  // The margin after the step, m, solves m = m0 + q / (1 + e^m). The left side minus the right
  // increases, is convex below zero and concave above: begun at the bend, or at the end of
  // [m0, m0 + q] nearest to it, Newton's iteration goes straight to the solution.
  static double implicit_slope(double s, double y, double q) {
    const double m0 = y * s;
    double m = m0 > 0.0 ? m0 : m0 + q < 0.0 ? m0 + q : 0.0;
    for (int i = 0; i < 100; ++i) {
      const double u = 1.0 / (1.0 + std::exp(m));
      const double move = (m0 + q * u - m) / (1.0 + q * u * (1.0 - u));
      m += move;
      // Each move squares the error of the one before, so what is left after this one is nothing.
      if (std::fabs(move) <= 1e-8 * (1.0 + std::fabs(m))) break;
    }
    return -y / (1.0 + std::exp(m));
  }
};

// What a person counts: a wrong sign, or the distance from the target.
template <class Loss>
double error(double s, double y) {
  if constexpr (Loss::classifies) return (s > 0.0) == (y > 0.0) ? 0.0 : 1.0;
  return std::fabs(s - y);
}

// Calls visit(name, loss) for every loss there is.
template <class Visitor>
void each_loss(Visitor &&visit) {
  visit("squared_error", SquaredError{});
  visit("squared_hinge", SquaredHinge{});
  visit("hinge", Hinge{});
  visit("log_loss", LogLoss{});
}

}  // namespace POLYAK_KERNELS
}  // namespace polyak
