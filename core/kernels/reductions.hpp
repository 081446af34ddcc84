// The inner product of two arrays.
#pragma once

#include <cstdint>

#include "kernels/kernel_namespace.hpp"
#include "kernels/pack.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

// In two vectors of partial sums, since an addition to one sum waits for the previous one.
template <class W, class A, class B>
POLYAK_INLINE W inner_product(const A *a, const B *b, int64_t size) {
  using Eight = Pack<W, 8>;
  Eight partial[2] = {Eight::zero(), Eight::zero()};
  int64_t i = 0;
  for (; i + 16 <= size; i += 16)
    for (int u = 0; u < 2; ++u)
      partial[u].add_product(Eight::load(a + i + 8 * u), Eight::load(b + i + 8 * u));
  for (; i + 8 <= size; i += 8) partial[1].add_product(Eight::load(a + i), Eight::load(b + i));
  W rest = 0;
  for (; i < size; ++i) rest += static_cast<W>(a[i]) * static_cast<W>(b[i]);
  partial[0].add_product(Eight::all(1), partial[1]);
  return partial[0].sum() + rest;
}

}  // namespace POLYAK_KERNELS
}  // namespace polyak
