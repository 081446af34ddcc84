// The optimum of few rows of several classes, whose probabilities are a softmax of their scores.
//
// Newton's equations for all classes at once have a matrix with a block for each pair of classes,
// which takes long to add up and longer to factor. Conjugate gradients only multiply by it, which
// is two passes over the rows; preconditioned by the blocks on its diagonal, each class against the
// rest, they take two to five rounds where the weights' own curvature is in these blocks.
#pragma once

#include <cstdint>

#include "learn/newton/block_sums.hpp"

namespace polyak {

// Rows of one class each, and how often each counts, if not once.
struct ClassRows {
  BlockRows<double> rows;
  const int64_t *own;
  const double *weights;
  int64_t classes;
};

// For each penalty, `shrink` has a number a column, `W` and `gradient` a row a class. Of W, which
// add up to zero over classes, it begins, and there it puts the least sum of the losses and of w
// shrink w / 2; the gradient is that of the losses alone.
struct SoftmaxGoals {
  int64_t penalties;
  const double *shrink;
  double *W, *gradient;
};

#define POLYAK_DECLARE(build)                                                            \
  namespace build {                                                                      \
  void fit_softmax(const ClassRows &given, const SoftmaxGoals &goals, bool two_threads); \
  }
POLYAK_DECLARE(portable)
POLYAK_DECLARE(avx2)
POLYAK_DECLARE(scalar)
#undef POLYAK_DECLARE

}  // namespace polyak
