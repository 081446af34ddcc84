#include "learn/newton/block_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cholesky.hpp"
#include "kernels/exponentials.hpp"
#include "kernels/kernel_namespace.hpp"
#include "kernels/pack.hpp"
#include "rows/prefetch.hpp"

namespace polyak {
namespace POLYAK_KERNELS {
namespace {

constexpr int64_t kChunk = 64;  // rows at a time, so that their loops are vectorized
constexpr int64_t kLanes = 8;
constexpr int64_t kRows = 4, kModels = 4;  // of a register tile
// Columns that are summed up in the rows' precision before they are added up in 64 bits.
constexpr int64_t kTogether = 256;

// `Count` rows from `first` on; beyond the end the last one again.
template <class Value, int64_t Count>
struct SomeRows {
  const Value *row[Count];
  SomeRows(const BlockRows<Value> &rows, int64_t first, int64_t end) {
    for (int64_t r = 0; r < Count; ++r) row[r] = rows[std::min(first + r, end - 1)];
  }
  const Value *operator[](int64_t r) const { return row[r]; }
};

// The inner products of four rows with one model's weights, which are loaded once for all four.
template <class Value>
void inner_of_four(const SomeRows<Value, kRows> &row, const Value *weights, int64_t columns,
                   int64_t ahead, double *found) {
  using Part = Pack<Value, kLanes>;
  for (int64_t r = 0; r < kRows; ++r) found[r] = 0.0;
  for (int64_t begin = 0; begin < columns; begin += kTogether) {
    const int64_t end = std::min(begin + kTogether, columns);
    Part part[kRows] = {Part::zero(), Part::zero(), Part::zero(), Part::zero()};
    Value rest[kRows] = {};
    int64_t j = begin;
    for (; j + kLanes <= end; j += kLanes) {
      const Part w = Part::load(weights + j);
      POLYAK_UNROLL
      for (int64_t r = 0; r < kRows; ++r) {
        fetch(row[r], static_cast<uintptr_t>(j + ahead));
        part[r].add_product(Part::load(row[r] + j), w);
      }
    }
    for (; j < end; ++j) {
      POLYAK_UNROLL
      for (int64_t r = 0; r < kRows; ++r) rest[r] += row[r][j] * weights[j];
    }
    for (int64_t r = 0; r < kRows; ++r) found[r] += double(part[r].sum() + rest[r]);
  }
}

// Calls visit(row, its inner product) for rows from `begin` to `end`.
template <class Value, class Visit>
void each_inner(const BlockRows<Value> &rows, int64_t begin, int64_t end, const Value *weights,
                Visit &&visit) {
  double found[kRows];
  for (int64_t i = begin; i < end; i += kRows) {
    inner_of_four<Value>({rows, i, end}, weights, rows.columns, kRows * rows.stride, found);
    for (int64_t r = 0; r < std::min(kRows, end - i); ++r) visit(i + r, found[r]);
  }
}

// The inner products of four rows with the weights of four models, which are stored feature by
// feature: every load serves four products, and no sum across a vector is needed.
template <class Value>
void inner_of_few(const SomeRows<Value, kRows> &row, const Value *weights, int64_t columns,
                  double found[kRows][kModels]) {
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t m = 0; m < kModels; ++m) found[r][m] = 0.0;
  for (int64_t begin = 0; begin < columns; begin += kTogether) {
    const int64_t end = std::min(begin + kTogether, columns);
    Value sum[kRows][kModels] = {};
    for (int64_t j = begin; j < end; ++j) {
      const Value *w = weights + j * kModels;
      POLYAK_UNROLL
      for (int64_t r = 0; r < kRows; ++r) {
        const Value x = row[r][j];
        POLYAK_UNROLL
        for (int64_t m = 0; m < kModels; ++m) sum[r][m] += x * w[m];
      }
    }
    for (int64_t r = 0; r < kRows; ++r)
      for (int64_t m = 0; m < kModels; ++m) found[r][m] += double(sum[r][m]);
  }
}

// Adds slopes times rows to `sum`, eight rows at a time, so that it is loaded and stored less
// often.
template <class Value>
void add_rows(const BlockRows<Value> &rows, int64_t first, const double *slopes, int64_t count,
              Value *sum) {
  constexpr int64_t kAdded = 8, kHalf = kAdded / 2;
  constexpr int kNumbers = 32 / int(sizeof(Value));  // more would spill registers
  using Part = Pack<Value, kNumbers>;
  const int64_t columns = rows.columns;
  for (int64_t i = 0; i < count; i += kAdded) {
    const SomeRows<Value, kAdded> row(rows, first + i, first + count);
    Value slope[kAdded];
    Part slope_of_all[kAdded];
    for (int64_t r = 0; r < kAdded; ++r) {
      slope[r] = i + r < count ? Value(slopes[i + r]) : Value(0);
      slope_of_all[r] = Part::all(slope[r]);
    }
    int64_t j = 0;
    for (; j + kNumbers <= columns; j += kNumbers) {
      Part part[2] = {Part::load(sum + j), Part::zero()};
      POLYAK_UNROLL
      for (int64_t r = 0; r < kAdded; ++r)
        part[r / kHalf].add_product(slope_of_all[r], Part::load(row[r] + j));
      part[0].add(part[1]);
      part[0].store(sum + j);
    }
    for (; j < columns; ++j)
      for (int64_t r = 0; r < kAdded; ++r) sum[j] += slope[r] * row[r][j];
  }
}

// Computes the slopes of the losses, and returns the sum of the losses. A sum of logarithms is the
// logarithm of a product; the product is kept minus one, so that the smallest losses keep all their
// digits.
double slopes_and_loss(const double *scores, const double *targets, int64_t count, double *slopes) {
  double small[kChunk], below = 0.0, product = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    const double margin = targets[i] * scores[i], e = exp_of_negative(-std::fabs(margin));
    small[i] = e;
    slopes[i] = -targets[i] * (margin > 0.0 ? e : 1.0) / (1.0 + e);
  }
  for (int64_t i = 0; i < count; ++i) {
    const double margin = targets[i] * scores[i];
    below += margin < 0.0 ? margin : 0.0;
    product += small[i] + product * small[i];
  }
  return std::log1p(product) - below;
}

void losses_of(const double *scores, const double *targets, int64_t count, double *losses) {
  for (int64_t i = 0; i < count; ++i) {
    const double margin = targets[i] * scores[i];
    losses[i] = log_of_one_and(exp_of_negative(-std::fabs(margin))) - (margin < 0.0 ? margin : 0.0);
  }
}

}  // namespace

template <class Value>
void score_rows(const BlockRows<Value> &rows, const Value *weights, int64_t models,
                double *scores) {
  if (models == 1) {
    each_inner(rows, 0, rows.count, weights, [&](int64_t i, double score) { scores[i] = score; });
    return;
  }
  std::vector<Value> packed(static_cast<size_t>(kModels * rows.columns));
  for (int64_t m = 0; m < models; m += kModels) {
    const int64_t some = std::min(kModels, models - m);
    for (int64_t j = 0; j < rows.columns; ++j)
      for (int64_t k = 0; k < some; ++k)
        packed[j * kModels + k] = weights[(m + k) * rows.columns + j];
    int64_t i = 0;
    double found[kRows][kModels];
    for (; i < rows.count; i += kRows) {
      const int64_t count = std::min(kRows, rows.count - i);
      inner_of_few<Value>({rows, i, rows.count}, packed.data(), rows.columns, found);
      for (int64_t r = 0; r < count; ++r)
        for (int64_t k = 0; k < some; ++k) scores[(i + r) * models + m + k] = found[r][k];
    }
  }
}
template void score_rows(const BlockRows<float> &, const float *, int64_t, double *);
template void score_rows(const BlockRows<double> &, const double *, int64_t, double *);

namespace {

// In partial sums of the rows' precision; as an inner product of weighted rows it takes 1.4 to 1.7
// times as long.
template <class Value>
double weighted_square(const Value *row, const Value *weights, int64_t columns) {
  double total = 0.0;
  for (int64_t begin = 0; begin < columns; begin += kTogether) {
    const int64_t end = std::min(begin + kTogether, columns);
    Value lane[kLanes] = {};
    int64_t j = begin;
    for (; j + kLanes <= end; j += kLanes)
      for (int64_t k = 0; k < kLanes; ++k) lane[k] += row[j + k] * row[j + k] * weights[j + k];
    for (int64_t k = 0; j < end; ++j, ++k) lane[k] += row[j] * row[j] * weights[j];
    for (int64_t k = 0; k < kLanes / 2; ++k) lane[k] += lane[k + kLanes / 2];
    total += double((lane[0] + lane[1]) + (lane[2] + lane[3]));
  }
  return total;
}

template <class Value>
void weigh_squares(const BlockRows<Value> &rows, const Value *weights, double *sums) {
  for (int64_t i = 0; i < rows.count; ++i)
    sums[i] = weighted_square(rows[i], weights, rows.columns);
}

template <class Value>
void invert_factor_of(Value *matrix, int64_t columns) {
  factor(matrix, columns, columns, Value(0));
  invert_factor(matrix, columns, columns);
}

template <class Value>
void logistic_loss(const LogisticBlock<Value> &block, const LogisticLoss &out) {
  const int64_t columns = block.rows.columns, numbers = out.step ? block.models * columns : 0;
  const std::vector<Value> step(out.step, out.step + numbers);
  std::vector<Value> gradient(static_cast<size_t>(columns));
  double scores[kChunk], slopes[kChunk], losses[kChunk];
  for (int64_t first = out.begin; first < out.end; first += kChunk) {
    const int64_t count = std::min(kChunk, out.end - first);
    const double *targets = block.targets + first;
    for (int64_t m = 0; m < block.models; ++m) {
      double *own = out.scores + first * block.models + m;
      if (out.step)
        each_inner(block.rows, first, first + count, step.data() + m * columns,
                   [&](int64_t i, double change) { own[(i - first) * block.models] -= change; });
      for (int64_t i = 0; i < count; ++i) scores[i] = own[i * block.models];
      double loss = slopes_and_loss(scores, targets, count, slopes);
      if (block.weights) {
        const double *weights = block.weights + first;
        losses_of(scores, targets, count, losses);
        loss = 0.0;
        for (int64_t i = 0; i < count; ++i) {
          loss += weights[i] == 0.0 ? 0.0 : weights[i] * losses[i];
          slopes[i] = weights[i] == 0.0 ? 0.0 : weights[i] * slopes[i];
        }
      }
      out.values[m] += loss;
      std::fill(gradient.begin(), gradient.end(), Value(0));
      add_rows(block.rows, first, slopes, count, gradient.data());
      for (int64_t j = 0; j < columns; ++j) out.gradient[m * columns + j] += double(gradient[j]);
    }
  }
}

void logistic_sums(const LogisticBlock<double> &block, const double *scores,
                   const LogisticSums &sums) {
  double own[kChunk], losses[kChunk];
  for (int64_t first = 0; first < block.rows.count; first += kChunk) {
    const int64_t count = std::min(kChunk, block.rows.count - first);
    const double *targets = block.targets + first, *weights = block.weights + first;
    for (int64_t m = 0; m < block.models; ++m) {
      for (int64_t i = 0; i < count; ++i) own[i] = scores[(first + i) * block.models + m];
      losses_of(own, targets, count, losses);
      double loss = 0.0, square = 0.0, error = 0.0, rated = 0.0, capped = 0.0;
      for (int64_t i = 0; i < count; ++i) {
        loss += weights[i] * losses[i];
        square += weights[i] * losses[i] * losses[i];
        error += (own[i] > 0.0) != (targets[i] > 0.0) ? weights[i] : 0.0;
        const auto [cap, share] = sums.limits[first + i];
        const bool counts_fully = losses[i] <= cap;
        rated += weights[i] * share * (counts_fully ? losses[i] : cap);
        capped += !counts_fully && weights[i] > 0.0;
      }
      sums.losses[m] += loss;
      sums.squares[m] += square;
      sums.errors[m] += error;
      sums.rated[m] += rated;
      sums.capped[m] += capped;
    }
  }
}

void logistic_curvature(const double *scores, int64_t count, double *curvature) {
  for (int64_t i = 0; i < count; ++i) {
    const double e = exp_of_negative(-std::fabs(scores[i]));
    curvature[i] = e / ((1.0 + e) * (1.0 + e));
  }
}

template <class Value>
constexpr BlockKernels<Value> kernels_of() {
  return {&score_rows<Value>, &weigh_squares<Value>, &invert_factor_of<Value>,
          &logistic_loss<Value>};
}

}  // namespace

extern const BlockKernelTable block_kernels;
constexpr BlockKernelTable block_kernels{kernels_of<float>(), kernels_of<double>(), &logistic_sums,
                                         &logistic_curvature};

}  // namespace POLYAK_KERNELS
}  // namespace polyak
