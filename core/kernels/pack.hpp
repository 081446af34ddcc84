// A fixed-width SIMD vector. With GCC and Clang a pack is a vector register, or two packs of half
// the width if registers are narrower; with other compilers, and in the scalar build, it is an
// array.
#pragma once

#include "kernels/kernel_namespace.hpp"
#include "rows/rows.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

// The bytes of a register. A wider pack is split in two, since GCC passes a vector that does not
// fit a register through memory, and dense rows take three times as long on ARM.
#if !defined(POLYAK_VECTORS)
constexpr int kRegister = 1 << 20;
#elif defined(__AVX__)
constexpr int kRegister = 32;
#else
constexpr int kRegister = 16;
#endif

template <class W, int N, bool Fits = (N * int(sizeof(W)) <= kRegister)>
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

  POLYAK_INLINE W operator[](int i) const { return lanes[i]; }

  POLYAK_INLINE static Pack zero() {
    Pack p;
    for (int i = 0; i < N; ++i) p.lanes[i] = 0;
    return p;
  }
  POLYAK_INLINE static Pack all(W x) {
    Pack p;
#if defined(POLYAK_VECTORS)
    if constexpr (N > 2) {  // one instruction; the loop below takes one per lane
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
};

template <class W, int N>
struct Pack<W, N, false> {
  using Half = Pack<W, N / 2>;
  Half low, high;

  POLYAK_INLINE W operator[](int i) const { return i < N / 2 ? low[i] : high[i - N / 2]; }

  POLYAK_INLINE static Pack zero() { return {Half::zero(), Half::zero()}; }
  POLYAK_INLINE static Pack all(W x) { return {Half::all(x), Half::all(x)}; }
  template <class Other>
  POLYAK_INLINE static Pack load(const Other *from) {
    return {Half::load(from), Half::load(from + N / 2)};
  }
  POLYAK_INLINE void store(W *to) const {
    low.store(to);
    high.store(to + N / 2);
  }
  POLYAK_INLINE W sum() const {
    W total = 0;
    for (int i = 0; i < N; ++i) total += (*this)[i];
    return total;
  }
  POLYAK_INLINE void add(const Pack &x) {
    low.add(x.low);
    high.add(x.high);
  }
  POLYAK_INLINE void add_product(const Pack &x, const Pack &y) {
    low.add_product(x.low, y.low);
    high.add_product(x.high, y.high);
  }
};

}  // namespace POLYAK_KERNELS
}  // namespace polyak
