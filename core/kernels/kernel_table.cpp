#include "kernels/kernel_table.hpp"

#include "kernels/kernel_namespace.hpp"

#define POLYAK_TEXT(name) #name
#define POLYAK_NAME_OF(name) POLYAK_TEXT(name)

namespace polyak {
namespace POLYAK_KERNELS {

extern const RowKernelTable row_kernels;
extern const BlockKernelTable block_kernels;
extern const TextKernelTable text_kernels;

extern const KernelTable kernel_table;
const KernelTable kernel_table{POLYAK_NAME_OF(POLYAK_KERNELS), row_kernels, block_kernels,
                               text_kernels};

}  // namespace POLYAK_KERNELS
}  // namespace polyak
