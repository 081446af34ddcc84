// Which build of the kernels is in use. The kernels themselves must not include this: its code runs
// before the processor's features are known.
#pragma once

#include <vector>

#include "kernels/kernel_table.hpp"

namespace polyak {

namespace portable {
extern const KernelTable kernel_table;
}
namespace avx2 {
extern const KernelTable kernel_table;
}
namespace scalar {
extern const KernelTable kernel_table;
}

// The builds that are part of this module and that this processor can run, the fastest first.
inline std::vector<const KernelTable *> kernel_tables() {
  std::vector<const KernelTable *> tables;
#ifdef POLYAK_HAS_AVX2
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi"))
    tables.push_back(&avx2::kernel_table);
#endif
  tables.push_back(&portable::kernel_table);
#ifdef POLYAK_HAS_SCALAR
  tables.push_back(&scalar::kernel_table);
#endif
  return tables;
}

// The build in use: the fastest, unless a test chooses another.
inline const KernelTable *kernels = kernel_tables().front();

}  // namespace polyak
