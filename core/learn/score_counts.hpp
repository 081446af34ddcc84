// Histograms of scores, from which probabilities are calibrated.
#pragma once

#include <cstdint>

namespace polyak {

// Adds each row's weight to its scores' bins, row by row, so that the sums do not depend on
// batches. Scores and signs are rows x models; counts are models x 2 x bins.
void count_scores(const double *scores, const bool *positive, const double *weights, int64_t rows,
                  int64_t models, int64_t bins, double *counts);

// Adds, row by row, the softmax loss of each group of classes for scores times `first`, twice that,
// four times that and so on. `losses` is groups x 2 x scales: of the row's own class, then of the
// mean over all classes. `small` is scratch space for a group.
void add_softmax_losses(const double *scores, const bool *positive, const double *weights,
                        int64_t rows, int64_t groups, int64_t classes, double first, int64_t scales,
                        double *losses, double *small);

// Adds the numbers of each kind to its total, one by one.
void add_in_order(const double *numbers, int64_t kinds, int64_t count, double *totals);

}  // namespace polyak
