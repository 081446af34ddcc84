#include "kernels/kernel_choice.hpp"

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

std::vector<const KernelTable *> kernel_tables() {
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

const KernelTable *kernels = kernel_tables().front();

}  // namespace polyak
