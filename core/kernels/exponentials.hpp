// Exponentials and logarithms without branches, so that loops over them are vectorized (with
// -fno-trapping-math).
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/kernel_namespace.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

// e^x for x below zero, to the last bit or two: 2^k e^r with |r| at most half of log 2, and
// Taylor's series of r.
inline double exp_of_negative(double x) {
  constexpr double per_log2 = 1.4426950408889634, high = 6.93147180369123816490e-01,
                   low = 1.90821492927058770002e-10, shift = 6755399441055744.0;
  x = x < -708.0 ? -708.0 : x;
  const double rounded = x * per_log2 + shift;  // the integer is in the low bits
  const double k = rounded - shift, r = (x - k * high) - k * low;
  double p = 1.0 / 479001600;
  for (const double c : {1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                         1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0})
    p = p * r + c;
  uint64_t power, bits;
  std::memcpy(&power, &rounded, 8);
  std::memcpy(&bits, &p, 8);
  bits += power << 52;
  std::memcpy(&p, &bits, 8);
  return p;
}

// log(1 + e) for e from zero to one: twice the series of the inverse hyperbolic tangent of e/(2+e).
inline double log_of_one_and(double e) {
  const double z = e / (2.0 + e), q = z * z;
  double p = 1.0 / 33;
  for (int k = 31; k >= 1; k -= 2) p = p * q + 1.0 / k;
  return 2.0 * z * p;
}

}  // namespace POLYAK_KERNELS
}  // namespace polyak
