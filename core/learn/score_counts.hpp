// Counts of scores in bins, from which probabilities are found.
#pragma once

#include <algorithm>
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

// Adds numbers up and squares each: many sums side by side, since one would make the processor wait
// for every addition.
inline double sum_and_square(double *numbers, int64_t count) {
  constexpr int64_t kSums = 8;
  double sums[kSums] = {};
  int64_t k = 0;
  for (; k + kSums <= count; k += kSums)
    for (int64_t j = 0; j < kSums; ++j) {
      sums[j] += numbers[k + j];
      numbers[k + j] *= numbers[k + j];
    }
  for (int64_t j = 0; k < count; ++k, ++j) {
    sums[j] += numbers[k];
    numbers[k] *= numbers[k];
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// Adds up, row after row, what a softmax of the scores of each group of classes would lose were
// they multiplied by `first`, by twice that, by four times and so on: `losses` are groups x 2 x
// scales, first of the row's own class, then of all classes alike. `small` is room for a group.
inline void add_softmax_losses(const double *scores, const bool *positive, const double *weights,
                               int64_t rows, int64_t groups, int64_t classes, double first,
                               int64_t scales, double *losses, double *small) {
  for (int64_t g = 0; g < rows * groups; ++g) {
    const double *s = scores + g * classes;
    double *own = losses + g % groups * 2 * scales, *all = own + scales;
    const double weight = weights ? weights[g / groups] : 1.0;
    double highest = s[0], mean = 0.0, mine = 0.0;
    for (int64_t k = 1; k < classes; ++k) highest = s[k] > highest ? s[k] : highest;
    for (int64_t k = 0; k < classes; ++k) {
      small[k] = std::exp(first * (s[k] - highest));
      mean += highest - s[k];
      if (positive[g * classes + k]) mine = highest - s[k];
    }
    mean /= static_cast<double>(classes);
    double scale = first;
    for (int64_t c = 0; c < scales; ++c, scale *= 2.0) {
      const double total = std::log(sum_and_square(small, classes));  // then those of twice as much
      own[c] += weight * (total + scale * mine);
      all[c] += weight * (total + scale * mean);
    }
  }
}

// Adds the numbers of each kind, one after the other, to its total; kinds side by side, since an
// addition waits for the one before it.
inline void add_in_order(const double *numbers, int64_t kinds, int64_t count, double *totals) {
  constexpr int64_t kTogether = 8;
  for (int64_t first = 0; first < kinds; first += kTogether) {
    const int64_t some = std::min(kTogether, kinds - first);
    const double *at = numbers + first * count;
    double sum[kTogether] = {};
    std::copy_n(totals + first, some, sum);
    for (int64_t i = 0; i < count; ++i)
      for (int64_t k = 0; k < some; ++k) sum[k] += at[k * count + i];
    std::copy_n(sum, some, totals + first);
  }
}

}  // namespace polyak
