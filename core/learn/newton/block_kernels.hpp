// What Newton's steps ask of a block of rows: scores, and for the logistic loss all there is to
// know of weights that are tried, in one go over rows that stay in the cache. NumPy would make a
// dozen passes over as many arrays, and a product with few columns is what BLAS is slow at.
#pragma once

#include <cstdint>

#include "learn/bank_args.hpp"
#include "learn/newton/block_sums.hpp"

namespace polyak {

// Rows with targets of -1 or +1, a column of scores for each of `models`, and weights, if any.
template <class Value>
struct LogisticBlock {
  BlockRows<Value> rows;
  const double *targets, *weights;
  int64_t models;
};
template <class Value>
LogisticBlock(BlockRows<Value>, const double *, const double *, int64_t) -> LogisticBlock<Value>;

// What rows from `begin` to `end` say of weights: scores, which are lowered by those that `move`, a
// row a model, stands for, if there is one; the losses and their gradient, a row a model, are added
// to what is there.
struct LogisticLook {
  int64_t begin, end;
  const double *move;
  double *scores, *values, *gradient;
};

// Sums over rows, a number a model each: losses, their squares and wrong signs times the rows'
// weights, losses within the rows' limits, and how many were capped.
struct LogisticSums {
  const RowLimits *limits;
  double *losses, *squares, *errors, *rated, *capped;
};

#define POLYAK_DECLARE(build)                                                               \
  namespace build {                                                                         \
  template <class Value>                                                                    \
  void score_rows(const BlockRows<Value> &rows, const Value *weights, int64_t models,       \
                  double *scores);                                                          \
  template <class Value>                                                                    \
  void weigh_squares(const BlockRows<Value> &rows, const Value *weights, double *sums);     \
  template <class Value>                                                                    \
  void invert_factor_of(Value *matrix, int64_t columns);                                    \
  template <class Value>                                                                    \
  void look_at(const LogisticBlock<Value> &block, const LogisticLook &look);                \
  void add_up(const LogisticBlock<double> &block, const double *scores, LogisticSums sums); \
  void bend(const double *scores, int64_t count, double *curvature);                        \
  }
POLYAK_DECLARE(portable)
POLYAK_DECLARE(avx2)
POLYAK_DECLARE(scalar)
#undef POLYAK_DECLARE

}  // namespace polyak
