// Kernels of the block Newton steps. For the logistic loss, one pass over rows that stay in the
// cache evaluates scores, losses and gradient, where NumPy would make a dozen passes; and scores
// are products with few columns, for which BLAS is slow.
#pragma once

#include <cstdint>

#include "learn/bank_args.hpp"
#include "learn/newton/block_sums.hpp"

namespace polyak {

template <class Value>
struct LogisticBlock {
  BlockRows<Value> rows;
  const double *targets;  // -1 or +1
  const double *weights;  // of the rows; may be null
  int64_t models;         // each has a column of scores
};
template <class Value>
LogisticBlock(BlockRows<Value>, const double *, const double *, int64_t) -> LogisticBlock<Value>;

// The logistic loss of the rows from `begin` to before `end`.
struct LogisticLoss {
  int64_t begin, end;
  const double *step;  // models x columns; its scores are subtracted first. May be null
  double *scores;      // rows x models
  double *values;      // the sum of each model's losses is added
  double *gradient;    // models x columns; is added to
};

// Sums over rows; each array has one number per model.
struct LogisticSums {
  const RowLimits *limits;  // one per row
  double *losses;           // weighted losses
  double *squares;          // weighted squared losses
  double *errors;           // weights of rows with the wrong sign
  double *rated;            // weighted losses within the rows' limits
  double *capped;           // number of losses above their cap
};

template <class Value>
struct BlockKernels {
  // Computes scores, rows x models, by weights, models x columns. A row's scores do not depend on
  // the other rows.
  void (*score_rows)(const BlockRows<Value> &rows, const Value *weights, int64_t models,
                     double *scores);
  // sums[i] = the sum of row i's squares, each times the weight of its column.
  void (*weigh_squares)(const BlockRows<Value> &rows, const Value *weights, double *sums);
  // Replaces a matrix with the inverse of its lower Cholesky factor.
  void (*invert_factor_of)(Value *matrix, int64_t columns);
  void (*logistic_loss)(const LogisticBlock<Value> &block, const LogisticLoss &out);
};

struct BlockKernelTable : BlockKernels<float>, BlockKernels<double> {
  void (*logistic_sums)(const LogisticBlock<double> &block, const double *scores,
                        const LogisticSums &sums);
  // The second derivative of the logistic loss at each score.
  void (*logistic_curvature)(const double *scores, int64_t count, double *curvature);

  template <class Value>
  const BlockKernels<Value> &of() const {
    return *this;
  }
};

namespace POLYAK_KERNELS {
template <class Value>
void score_rows(const BlockRows<Value> &rows, const Value *weights, int64_t models, double *scores);
}

}  // namespace polyak
