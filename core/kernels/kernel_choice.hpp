// Which build of the kernels is in use. The kernels themselves must not include this: its code runs
// before the processor's features are known.
#pragma once

#include <vector>

#include "kernels/kernel_table.hpp"

namespace polyak {

// The builds that are part of this module and that this processor can run, the fastest first.
std::vector<const KernelTable *> kernel_tables();

// The build in use: the fastest, unless a test chooses another.
extern const KernelTable *kernels;

}  // namespace polyak
