// Which build of the kernels runs: the one for newer processors where there is one.
#pragma once

#include "kernels.hpp"

namespace polyak {

inline bool use_avx2 = false;

#ifdef POLYAK_HAS_AVX2
#define POLYAK_CALL(...) (use_avx2 ? avx2::__VA_ARGS__ : portable::__VA_ARGS__)
inline bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi");
}
#else
#define POLYAK_CALL(...) portable::__VA_ARGS__
inline bool has_avx2() { return false; }
#endif

}  // namespace polyak
