// Counts of scores in bins, from which probabilities are found.
#pragma once

#include <cmath>
#include <cstdint>

namespace polyak {

// The bin of a score: all scores fit between -1 and 1 once squeezed. What is no number falls into
// the last bin rather than out of memory.
inline int64_t score_bin(double score, int64_t bins) {
  const double squeezed = score / (1.0 + std::fabs(score));
  const double place = (squeezed + 1.0) * (static_cast<double>(bins) / 2.0);
  if (place < static_cast<double>(bins)) return place > 0.0 ? static_cast<int64_t>(place) : 0;
  return bins - 1;
}

// Adds each row's weight to its scores' bins, row after row, so that the sums do not depend on how
// the rows came in batches. Scores and signs have a column a model; counts are models x 2 x bins.
inline void count_scores(const double *scores, const bool *positive, const double *weights,
                         int64_t rows, int64_t models, int64_t bins, double *counts) {
  for (int64_t i = 0; i < rows; ++i) {
    const double weight = weights ? weights[i] : 1.0;
    for (int64_t k = 0; k < models; ++k) {
      const int64_t cell = i * models + k, side = positive[cell] ? 1 : 0;
      counts[(2 * k + side) * bins + score_bin(scores[cell], bins)] += weight;
    }
  }
}

}  // namespace polyak
