// The softmax regression of a few rows: the minimum of the penalized loss of all classes.
//
// The Hessian of all classes has a block for each pair of classes; summing it up takes long, and
// factoring it longer. Conjugate gradients only multiply by it, which is two passes over the rows.
// Preconditioned by the blocks on the diagonal, each class against the rest, they take two to five
// iterations.
#pragma once

#include <cstdint>

#include "kernels/kernel_namespace.hpp"
#include "learn/newton/block_sums.hpp"

namespace polyak {

struct ClassRows {
  BlockRows<double> rows;
  const int64_t *own;     // each row's class
  const double *weights;  // of the rows; may be null
  int64_t classes;
};

struct SoftmaxGoals {
  int64_t penalties;     // number of ridge penalties, each with a fit of its own
  const double *shrink;  // penalties x columns: adds w shrink w / 2 to the loss
  double *W;             // penalties x classes x columns: from initial weights to the solution
  double *gradient;      // of the losses alone, with the shape of W
};

namespace POLYAK_KERNELS {
void fit_softmax(const ClassRows &given, const SoftmaxGoals &goals, bool two_threads);
}

}  // namespace polyak
