// The learning rate of section 5: gamma_t = gamma0 (1 + a gamma0 t)^-c.
#pragma once

#include <cmath>

#include "kernels/kernel_namespace.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

// x^-c. The recipe's own powers are computed by roots, which is several times as fast as pow and
// agrees to one unit in the last place; this runs once per row and model.
inline double inverse_power(double x, double c) {
  if (c == 0.75) {
    const double root = std::sqrt(x);
    return 1.0 / (root * std::sqrt(root));
  }
  if (c == 2.0 / 3.0) {
    const double root = std::cbrt(x);
    return 1.0 / (root * root);
  }
  if (c == 0.5) return 1.0 / std::sqrt(x);
  if (c == 0.25) return 1.0 / std::sqrt(std::sqrt(x));
  if (c == 1.0) return 1.0 / x;
  if (c == 0.0) return 1.0;
  return std::pow(x, -c);
}

inline double learning_rate(double gamma0, double a, double c, double t) {
  return gamma0 * inverse_power(1.0 + a * gamma0 * t, c);
}

}  // namespace POLYAK_KERNELS
}  // namespace polyak
