// A few numbers that move through the processor together. With GCC and Clang a pack is a vector
// register (or two, where registers are narrow); elsewhere, and in the build that the others are
// compared with, it is a plain array.
#pragma once

#include "kernels/kernel_namespace.hpp"
#include "rows/rows.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

template <class W, int N>
struct Pack {
#if defined(POLYAK_VECTORS)
  typedef W Lanes __attribute__((vector_size(N * sizeof(W))));
  typedef W InMemory __attribute__((vector_size(N * sizeof(W)), aligned(alignof(W)), may_alias));
#else
  struct Lanes {
    W lane[N];
    W &operator[](int i) { return lane[i]; }
    const W &operator[](int i) const { return lane[i]; }
  };
#endif
  Lanes lanes;

  POLYAK_INLINE static Pack zero() {
    Pack p;
    for (int i = 0; i < N; ++i) p.lanes[i] = 0;
    return p;
  }
  POLYAK_INLINE static Pack all(W x) {
    Pack p;
#if defined(POLYAK_VECTORS)
    if constexpr (N > 2) {  // one instruction; of the loop below GCC makes one for each lane
      p.lanes = x - Lanes{};
      return p;
    }
#endif
    for (int i = 0; i < N; ++i) p.lanes[i] = x;
    return p;
  }
#if defined(POLYAK_VECTORS)
  POLYAK_INLINE static Pack load(const W *from) {
    Pack p;
    p.lanes = *reinterpret_cast<const InMemory *>(from);
    return p;
  }
#endif
  template <class Other>
  POLYAK_INLINE static Pack load(const Other *from) {
    Pack p;
    for (int i = 0; i < N; ++i) p.lanes[i] = static_cast<W>(from[i]);
    return p;
  }
  POLYAK_INLINE void store(W *to) const {
#if defined(POLYAK_VECTORS)
    *reinterpret_cast<InMemory *>(to) = lanes;
#else
    for (int i = 0; i < N; ++i) to[i] = lanes[i];
#endif
  }

  POLYAK_INLINE W sum() const {
    W total = 0;
    for (int i = 0; i < N; ++i) total += lanes[i];
    return total;
  }

  POLYAK_INLINE void add(const Pack &x) {
#if defined(POLYAK_VECTORS)
    lanes += x.lanes;
#else
    for (int i = 0; i < N; ++i) lanes[i] += x.lanes[i];
#endif
  }

  // this += x * y
  POLYAK_INLINE void add_product(const Pack &x, const Pack &y) {
#if defined(POLYAK_VECTORS)
    lanes += x.lanes * y.lanes;
#else
    for (int i = 0; i < N; ++i) lanes[i] += x.lanes[i] * y.lanes[i];
#endif
  }

  // Every lane twice: the lower or the upper half of a0 a0 a1 a1 a2 a2 ...
  POLYAK_INLINE Pack doubled(bool upper) const {
    Pack p;
    for (int i = 0; i < N; ++i) p.lanes[i] = lanes[(upper ? N / 2 : 0) + i / 2];
    return p;
  }
};

}  // namespace POLYAK_KERNELS
}  // namespace polyak
