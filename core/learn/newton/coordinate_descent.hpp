// Coordinate descent for a quadratic with an L1 penalty; zeros of the solution are exact.
#pragma once

#include <cstdint>

namespace polyak {

// The objective over v, with a symmetric matrix H:
//   v H v / 2 + c v + sum of ridge_j v_j^2 / 2 + threshold_j |v_j|,  subject to v_j >= lowest_j,
// which is zero or minus infinity.
struct PenalizedQuadratic {
  int64_t n;
  const double *H, *c, *ridge, *threshold, *lowest;

  double curvature(int64_t j) const { return H[j * n + j] + ridge[j]; }
  bool is_free(int64_t j) const { return threshold[j] == 0.0 && lowest[j] != 0.0; }
};

// Moves v to the minimum, until no coordinate changes the objective by more than `enough`, for at
// most `rounds`. Returns whether it converged.
bool descend(const PenalizedQuadratic &goal, double *v, double enough, int64_t rounds);

}  // namespace polyak
