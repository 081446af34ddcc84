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
constexpr int64_t kRows = 4;                                         // of a register tile
constexpr int64_t kMany = kRegister < 32 ? 4 : 8, kFew = kMany / 2;  // its models
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

// Weights of several models, feature by feature for a few models at a time.
template <class Value, int64_t Models>
std::vector<Value> packed(const Value *weights, int64_t models, int64_t columns) {
  std::vector<Value> found(static_cast<size_t>(Models * columns));
  for (int64_t k = 0; k < models; ++k)
    for (int64_t j = 0; j < columns; ++j) found[j * Models + k] = weights[k * columns + j];
  return found;
}

// The inner products of four rows with packed weights: every load serves four products, and no sum
// across a vector is needed.
template <int64_t Models, class Value>
void inner_of_few(const SomeRows<Value, kRows> &row, const Value *weights, int64_t columns,
                  double found[kRows][Models]) {
  using Part = Pack<Value, Models>;
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t m = 0; m < Models; ++m) found[r][m] = 0.0;
  for (int64_t begin = 0; begin < columns; begin += kTogether) {
    const int64_t end = std::min(begin + kTogether, columns);
    Part part[kRows] = {Part::zero(), Part::zero(), Part::zero(), Part::zero()};
    for (int64_t j = begin; j < end; ++j) {
      const Part w = Part::load(weights + j * Models);
      POLYAK_UNROLL
      for (int64_t r = 0; r < kRows; ++r) part[r].add_product(Part::all(row[r][j]), w);
    }
    for (int64_t r = 0; r < kRows; ++r)
      for (int64_t m = 0; m < Models; ++m) found[r][m] += double(part[r][m]);
  }
}

// Calls visit(row, its inner products) for rows from `begin` to `end`.
template <int64_t Models, class Value, class Visit>
void each_of_few(const BlockRows<Value> &rows, int64_t begin, int64_t end, const Value *weights,
                 Visit &&visit) {
  double found[kRows][Models];
  for (int64_t i = begin; i < end; i += kRows) {
    inner_of_few<Models, Value>({rows, i, end}, weights, rows.columns, found);
    for (int64_t r = 0; r < std::min(kRows, end - i); ++r) visit(i + r, found[r]);
  }
}

// Adds slopes times rows to sums, which are packed as weights are, and so are the slopes of a row.
template <int64_t Models, class Value>
void add_rows_of_few(const BlockRows<Value> &rows, int64_t first, const Value *slopes,
                     int64_t count, Value *sums) {
  using Part = Pack<Value, Models>;
  for (int64_t i = 0; i < count; i += kRows) {
    const SomeRows<Value, kRows> row(rows, first + i, first + count);
    Part slope[kRows];
    for (int64_t r = 0; r < kRows; ++r)
      slope[r] = i + r < count ? Part::load(slopes + (i + r) * Models) : Part::zero();
    for (int64_t j = 0; j < rows.columns; ++j) {
      Part sum = Part::load(sums + j * Models);
      POLYAK_UNROLL
      for (int64_t r = 0; r < kRows; ++r) sum.add_product(Part::all(row[r][j]), slope[r]);
      sum.store(sums + j * Models);
    }
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
// digits. Four products at a time: each has to wait for the number before it.
double slopes_and_loss(const double *scores, const double *targets, int64_t count, double *slopes) {
  constexpr int64_t kProducts = 4;
  double small[kChunk] = {}, negative[kChunk] = {}, below[kProducts] = {}, product[kProducts] = {};
  for (int64_t i = 0; i < count; ++i) {
    const double margin = targets[i] * scores[i], e = exp_of_negative(-std::fabs(margin));
    small[i] = e;
    negative[i] = margin < 0.0 ? margin : 0.0;
    slopes[i] = -targets[i] * (margin > 0.0 ? e : 1.0) / (1.0 + e);
  }
  for (int64_t i = 0; i < count; i += kProducts) {
    POLYAK_UNROLL
    for (int64_t k = 0; k < kProducts; ++k) {
      below[k] += negative[i + k];
      product[k] += small[i + k] + product[k] * small[i + k];
    }
  }
  for (int64_t k = 1; k < kProducts; ++k) {
    below[0] += below[k];
    product[0] += product[k] + product[0] * product[k];
  }
  return std::log1p(product[0]) - below[0];
}

void losses_of(const double *scores, const double *targets, int64_t count, double *losses) {
  for (int64_t i = 0; i < count; ++i) {
    const double margin = targets[i] * scores[i];
    losses[i] = log_of_one_and(exp_of_negative(-std::fabs(margin))) - (margin < 0.0 ? margin : 0.0);
  }
}

}  // namespace

template <int64_t Models, class Value>
void score_rows_of_few(const BlockRows<Value> &rows, const Value *weights, int64_t some,
                       int64_t models, double *scores) {
  const auto own = packed<Value, Models>(weights, some, rows.columns);
  each_of_few<Models>(rows, 0, rows.count, own.data(), [&](int64_t i, const double *found) {
    std::copy_n(found, some, scores + i * models);
  });
}

template <class Value>
void score_rows(const BlockRows<Value> &rows, const Value *weights, int64_t models,
                double *scores) {
  if (models == 1) {
    each_inner(rows, 0, rows.count, weights, [&](int64_t i, double score) { scores[i] = score; });
    return;
  }
  for (int64_t m = 0; m < models; m += kMany) {
    const int64_t some = std::min(kMany, models - m);
    const auto score =
        some > kFew ? score_rows_of_few<kMany, Value> : score_rows_of_few<kFew, Value>;
    score(rows, weights + m * rows.columns, some, models, scores + m);
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

// Computes the slopes of rows' losses times their weights, and returns the sum of the losses.
double weighted_slopes(const double *scores, const double *targets, const double *weights,
                       int64_t count, double *slopes) {
  const double sum = slopes_and_loss(scores, targets, count, slopes);
  if (!weights) return sum;
  double losses[kChunk], loss = 0.0;
  losses_of(scores, targets, count, losses);
  for (int64_t i = 0; i < count; ++i) {
    loss += weights[i] == 0.0 ? 0.0 : weights[i] * losses[i];
    slopes[i] = weights[i] == 0.0 ? 0.0 : weights[i] * slopes[i];
  }
  return loss;
}

template <class Value>
void logistic_loss_of_one(const LogisticBlock<Value> &block, const LogisticLoss &out) {
  const int64_t columns = block.rows.columns;
  const std::vector<Value> step(out.step, out.step + (out.step ? columns : 0));
  std::vector<Value> gradient(static_cast<size_t>(columns));
  double slopes[kChunk];
  for (int64_t first = out.begin; first < out.end; first += kChunk) {
    const int64_t count = std::min(kChunk, out.end - first);
    if (out.step)
      each_inner(block.rows, first, first + count, step.data(),
                 [&](int64_t i, double change) { out.scores[i] -= change; });
    const double *weights = block.weights ? block.weights + first : nullptr;
    *out.values +=
        weighted_slopes(out.scores + first, block.targets + first, weights, count, slopes);
    std::fill(gradient.begin(), gradient.end(), Value(0));
    add_rows(block.rows, first, slopes, count, gradient.data());
    for (int64_t j = 0; j < columns; ++j) out.gradient[j] += double(gradient[j]);
  }
}

// The losses of `some` models from number `m` on.
template <int64_t Models, class Value>
void logistic_loss_of_few(const LogisticBlock<Value> &block, const LogisticLoss &out, int64_t m,
                          int64_t some) {
  const int64_t columns = block.rows.columns, numbers = Models * columns;
  std::vector<Value> step, gradient(static_cast<size_t>(numbers));
  std::vector<double> total(gradient.size());
  if (out.step) {
    const std::vector<Value> own(out.step + m * columns, out.step + (m + some) * columns);
    step = packed<Value, Models>(own.data(), some, columns);
  }
  double scores[kChunk], slopes[kChunk];
  Value slopes_of_rows[kChunk * Models] = {};
  for (int64_t first = out.begin; first < out.end; first += kChunk) {
    const int64_t count = std::min(kChunk, out.end - first);
    const double *weights = block.weights ? block.weights + first : nullptr;
    if (out.step)
      each_of_few<Models>(block.rows, first, first + count, step.data(),
                          [&](int64_t i, const double *change) {
                            double *own = out.scores + i * block.models + m;
                            for (int64_t k = 0; k < some; ++k) own[k] -= change[k];
                          });
    for (int64_t k = 0; k < some; ++k) {
      const double *own = out.scores + first * block.models + m + k;
      for (int64_t i = 0; i < count; ++i) scores[i] = own[i * block.models];
      out.values[m + k] += weighted_slopes(scores, block.targets + first, weights, count, slopes);
      for (int64_t i = 0; i < count; ++i) slopes_of_rows[i * Models + k] = Value(slopes[i]);
    }
    std::fill(gradient.begin(), gradient.end(), Value(0));
    add_rows_of_few<Models>(block.rows, first, slopes_of_rows, count, gradient.data());
    for (int64_t j = 0; j < numbers; ++j) total[j] += double(gradient[j]);
  }
  for (int64_t k = 0; k < some; ++k)
    for (int64_t j = 0; j < columns; ++j)
      out.gradient[(m + k) * columns + j] += total[j * Models + k];
}

template <class Value>
void logistic_loss(const LogisticBlock<Value> &block, const LogisticLoss &out) {
  if (block.models == 1) return logistic_loss_of_one(block, out);
  for (int64_t m = 0; m < block.models; m += kMany) {
    const int64_t some = std::min(kMany, block.models - m);
    const auto loss =
        some > kFew ? logistic_loss_of_few<kMany, Value> : logistic_loss_of_few<kFew, Value>;
    loss(block, out, m, some);
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
