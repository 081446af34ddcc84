#include "learn/score_counts.hpp"

#include <algorithm>
#include <cmath>

namespace polyak {
namespace {

// The bin of a score, which is mapped to [-1, 1] first. NaN falls into the last bin.
int64_t score_bin(double score, int64_t bins) {
  const double squeezed = score / (1.0 + std::fabs(score));
  const double place = (squeezed + 1.0) * (static_cast<double>(bins) / 2.0);
  if (place < static_cast<double>(bins)) return place > 0.0 ? static_cast<int64_t>(place) : 0;
  return bins - 1;
}

// Returns the sum of the numbers and squares each. In several partial sums, since an addition to
// one sum waits for the previous one.
double sum_and_square(double *numbers, int64_t count) {
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

}  // namespace

void count_scores(const double *scores, const bool *positive, const double *weights, int64_t rows,
                  int64_t models, int64_t bins, double *counts) {
  for (int64_t i = 0; i < rows; ++i) {
    const double weight = weights ? weights[i] : 1.0;
    for (int64_t k = 0; k < models; ++k) {
      const int64_t cell = i * models + k, side = positive[cell] ? 1 : 0;
      counts[(2 * k + side) * bins + score_bin(scores[cell], bins)] += weight;
    }
  }
}

void add_softmax_losses(const double *scores, const bool *positive, const double *weights,
                        int64_t rows, int64_t groups, int64_t classes, double first, int64_t scales,
                        double *losses, double *small) {
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
      const double total =
          std::log(sum_and_square(small, classes));  // and squares them for the next scale
      own[c] += weight * (total + scale * mine);
      all[c] += weight * (total + scale * mean);
    }
  }
}

// Several kinds at a time, since an addition to one sum waits for the previous one.
void add_in_order(const double *numbers, int64_t kinds, int64_t count, double *totals) {
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
