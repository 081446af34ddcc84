// The doors into the compiled kernels: learn from rows, and score rows. Each exists once per build
// of the kernels (see kernel_namespace.hpp) and once per type of row.
#pragma once

#include <cstdint>

#include "learn/bank_args.hpp"
#include "rows/rows.hpp"

namespace polyak {

#define POLYAK_KERNEL_DOORS                                                                        \
  /* Learns the task's rows one by one; answers all_learned, or the row where it had to stop: one  \
     not in order, or a score that is not a number. */                                             \
  template <class W, class Rows>                                                                   \
  int64_t learn(const char *loss, BankArgs<W> &view, const Rows &rows, const Task &task);          \
  /* How many features the rows need, or looks_wrong if a close look is called for: something is   \
     not finite, out of range, or not in rising order. */                                          \
  template <class Rows>                                                                            \
  int64_t scan(const Rows &rows, int64_t limit);                                                   \
  /* scores[i * width + c] = row i times column c of a matrix stored feature by feature; a feature \
     beyond the matrix counts nothing. */                                                          \
  template <class W, class Rows>                                                                   \
  void score(const W *matrix, int64_t features, int64_t width, const Rows &rows, W *scores);

constexpr int64_t looks_wrong = -1;

namespace portable {
POLYAK_KERNEL_DOORS
}
#ifdef POLYAK_HAS_AVX2
namespace avx2 {
POLYAK_KERNEL_DOORS
}
#endif
#ifdef POLYAK_HAS_SCALAR
namespace scalar {
POLYAK_KERNEL_DOORS
}
#endif

}  // namespace polyak
