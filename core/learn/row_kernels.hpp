// Entry points of the kernels that learn from rows, score them and validate them. They exist once
// per build of the kernels (see kernels/kernel_table.hpp) and once per type of row.
#pragma once

#include <cstdint>

#include "learn/bank_args.hpp"
#include "rows/rows.hpp"

namespace polyak {

constexpr int64_t scan_failed = -1;

// Rows whose values have the type of the weights; rows of other types are converted first, see
// rows/convert.hpp.
template <class Rows>
struct RowKernels {
  using W = typename Rows::Number;

  // Learns the task's rows one by one. Returns all_learned, or the row where learning stopped
  // because its indices are invalid or its score is not finite.
  int64_t (*learn)(const char *loss, BankArgs<W> &args, const Rows &rows, const Task &task);

  // scores[i * width + c] = the inner product of row i and column c of a matrix that is stored
  // feature by feature. Features beyond the matrix are ignored.
  void (*score)(const W *matrix, int64_t features, int64_t width, const Rows &rows, W *scores);

  // Returns the number of features that the rows need. Returns scan_failed if a value is not
  // finite, or an index is out of range or not in ascending order: then `check_rows` finds out
  // whether that is an error.
  int64_t (*scan)(const Rows &rows, int64_t limit);
};

struct RowKernelTable : RowKernels<DenseRows<float>>,
                        RowKernels<DenseRows<double>>,
                        RowKernels<SparseRows<float>>,
                        RowKernels<SparseRows<double>> {
  template <class Rows>
  int64_t learn(const char *loss, BankArgs<typename Rows::Number> &args, const Rows &rows,
                const Task &task) const {
    return RowKernels<Rows>::learn(loss, args, rows, task);
  }
  template <class Rows>
  void score(const typename Rows::Number *matrix, int64_t features, int64_t width, const Rows &rows,
             typename Rows::Number *scores) const {
    RowKernels<Rows>::score(matrix, features, width, rows, scores);
  }
  template <class Rows>
  int64_t scan(const Rows &rows, int64_t limit) const {
    return RowKernels<Rows>::scan(rows, limit);
  }
};

}  // namespace polyak
