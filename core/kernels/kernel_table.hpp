// The entry points of one build of the kernels.
#pragma once

#include "learn/newton/block_kernels.hpp"
#include "learn/row_kernels.hpp"
#include "text/simd/parse4.hpp"

namespace polyak {

struct KernelTable {
  const char *name;  // of the build
  const RowKernelTable &rows;
  const BlockKernelTable &blocks;
  const TextKernelTable &text;
};

}  // namespace polyak
