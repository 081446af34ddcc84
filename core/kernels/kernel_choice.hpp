// Which build of the kernels runs: the one for newer processors where there is one, unless a test
// chooses another.
#pragma once

#include <string>
#include <vector>

namespace polyak {

enum class KernelBuild { kPortable, kAvx2, kScalar };
inline KernelBuild kernel_build = KernelBuild::kPortable;

#ifdef POLYAK_HAS_AVX2
#define POLYAK_IF_AVX2(...) kernel_build == KernelBuild::kAvx2 ? avx2::__VA_ARGS__:
#else
#define POLYAK_IF_AVX2(...)
#endif
#ifdef POLYAK_HAS_SCALAR
#define POLYAK_IF_SCALAR(...) kernel_build == KernelBuild::kScalar ? scalar::__VA_ARGS__:
#else
#define POLYAK_IF_SCALAR(...)
#endif
#define POLYAK_CALL(...) \
  (POLYAK_IF_AVX2(__VA_ARGS__) POLYAK_IF_SCALAR(__VA_ARGS__) portable::__VA_ARGS__)

struct NamedBuild {
  std::string name;
  KernelBuild build;
};

// The builds that are here and that this processor can run, the best first.
inline std::vector<NamedBuild> kernel_builds() {
  std::vector<NamedBuild> builds{{"portable", KernelBuild::kPortable}};
#ifdef POLYAK_HAS_AVX2
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi"))
    builds.insert(builds.begin(), {"avx2", KernelBuild::kAvx2});
#endif
#ifdef POLYAK_HAS_SCALAR
  builds.push_back({"scalar", KernelBuild::kScalar});
#endif
  return builds;
}

}  // namespace polyak
