// Cholesky factors of each class's own Hessian, in 32 bits: precise enough for a preconditioner.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/cholesky.hpp"
#include "kernels/kernel_namespace.hpp"
#include "kernels/transposed.hpp"
#include "learn/newton/block_sums.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

// Rows padded with zeros.
template <class Value>
struct Padded {
  int64_t count, columns, stride;
  std::vector<Value> values;

  explicit Padded(const BlockRows<double> &given)
      : count(given.count),
        columns(given.columns),
        stride(rounded_up(columns, kTileColumns<Value>)),
        values(static_cast<size_t>(count * stride)) {
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = 0; j < columns; ++j)
        values[i * stride + j] = static_cast<Value>(given[i][j]);
  }
  const Value *operator[](int64_t row) const { return values.data() + row * stride; }
  BlockRows<Value> rows() const { return {values.data(), count, columns, stride}; }
};

// Rows in 64 and in 32 bits.
struct PaddedRows {
  Padded<double> exact;
  Padded<float> of_32_bits;
  explicit PaddedRows(const BlockRows<double> &given) : exact(given), of_32_bits(given) {}
};

class ClassFactors {
 public:
  ClassFactors(int64_t classes, const Padded<float> &rows)
      : classes_(classes),
        rows_(rows),
        stride_(rows.stride),
        size_(static_cast<size_t>(rounded_up(rows.columns, kTileRows) * stride_)),
        scaled_(static_cast<size_t>(kChunk * stride_)),
        x_(static_cast<size_t>(rows.columns)),
        factors_(static_cast<size_t>(classes) * size_) {}

  // Factors the sum of h z z' plus the diagonal.
  void find(int64_t which, const float *h, const double *diagonal) {
    float *sum = factors_.data() + which * static_cast<int64_t>(size_);
    std::fill_n(sum, size_, 0.0f);
    for (int64_t first = 0; first < rows_.count; first += kChunk) {
      const int64_t count = std::min(kChunk, rows_.count - first);
      const float *row = rows_[first];
      for (int64_t i = 0; i < count; ++i)
        for (int64_t j = 0; j < stride_; ++j)
          scaled_[i * stride_ + j] = h[first + i] * row[i * stride_ + j];
      add_transposed<float>({scaled_.data(), stride_}, rows_.columns, {row, stride_}, rows_.columns,
                            count, sum, true);
    }
    for (int64_t j = 0; j < rows_.columns; ++j)
      sum[j * stride_ + j] += static_cast<float>(diagonal[j]);
    factor(sum, rows_.columns, stride_, 1e-6f);  // rounding may cancel a pivot
  }

  // Solves for each class, one row each, and subtracts the mean over classes: adding the same to
  // all classes changes no probability.
  void solve(const double *right, double *found) {
    const int64_t columns = rows_.columns;
    for (int64_t c = 0; c < classes_; ++c) {
      for (int64_t j = 0; j < columns; ++j) x_[j] = static_cast<float>(right[c * columns + j]);
      substitute(factors_.data() + c * static_cast<int64_t>(size_));
      for (int64_t j = 0; j < columns; ++j) found[c * columns + j] = x_[j];
    }
    for (int64_t j = 0; j < columns; ++j) {
      double mean = 0.0;
      for (int64_t c = 0; c < classes_; ++c) mean += found[c * columns + j];
      mean /= static_cast<double>(classes_);
      for (int64_t c = 0; c < classes_; ++c) found[c * columns + j] -= mean;
    }
  }

 private:
  static constexpr int64_t kChunk = 64;

  void substitute(const float *L) {
    const int64_t columns = rows_.columns;
    for (int64_t i = 0; i < columns; ++i)
      x_[i] = (x_[i] - inner_product<float>(L + i * stride_, x_.data(), i)) * L[i * stride_ + i];
    for (int64_t i = columns - 1; i >= 0; --i) {
      const float *row = L + i * stride_, x = x_[i] *= row[i];
      for (int64_t j = 0; j < i; ++j) x_[j] -= x * row[j];
    }
  }

  int64_t classes_;
  const Padded<float> &rows_;
  int64_t stride_;
  size_t size_;
  std::vector<float> scaled_, x_, factors_;
};

}  // namespace POLYAK_KERNELS
}  // namespace polyak
