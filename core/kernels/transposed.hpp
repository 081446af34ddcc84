// Matrix products a' b, summed over rows, in register tiles.
#pragma once

#include <cstdint>

#include "kernels/kernel_namespace.hpp"
#include "kernels/pack.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

constexpr int64_t kTileRows = 4;
template <class Value>
constexpr int64_t kTileColumns = 64 / int64_t(sizeof(Value));

inline int64_t rounded_up(int64_t size, int64_t step) { return (size + step - 1) / step * step; }

// Rows that are padded with zeros to full tiles.
template <class Value>
struct Rectangle {
  const Value *values;
  int64_t stride;
};

// Adds one tile of the product.
template <class Value>
POLYAK_NOINLINE void add_tile(const Value *a, int64_t of_a, const Value *b, int64_t of_b,
                              int64_t rows, Value *sum, int64_t of_sum) {
  constexpr int kLanes = 32 / int(sizeof(Value)), kPacks = 2;
  using Some = Pack<Value, kLanes>;
  Some total[kTileRows][kPacks];
  for (auto &row : total)
    for (Some &some : row) some = Some::zero();
  for (int64_t r = 0; r < rows; ++r, a += of_a, b += of_b) {
    const Some first = Some::load(b), second = Some::load(b + kLanes);
    POLYAK_UNROLL
    for (int64_t i = 0; i < kTileRows; ++i) {
      const Some each = Some::all(a[i]);
      total[i][0].add_product(each, first);
      total[i][1].add_product(each, second);
    }
  }
  for (int64_t i = 0; i < kTileRows; ++i)
    for (int64_t k = 0; k < kPacks; ++k) {
      Value *at = sum + i * of_sum + k * kLanes;
      Some before = Some::load(at);
      before.add(total[i][k]);
      before.store(at);
    }
}

// Adds a' b to `sum`, for `high` columns of a and `wide` of b. For a symmetric product, only the
// tiles below the diagonal are computed; the rest is undefined.
template <class Value>
void add_transposed(Rectangle<Value> a, int64_t high, Rectangle<Value> b, int64_t wide,
                    int64_t rows, Value *sum, bool below_diagonal) {
  const int64_t stride = rounded_up(wide, kTileColumns<Value>);
  for (int64_t i = 0; i < high; i += kTileRows)
    for (int64_t j = 0; j < wide; j += kTileColumns<Value>) {
      if (below_diagonal && j > i + kTileRows - 1) break;
      add_tile(a.values + i, a.stride, b.values + j, b.stride, rows, sum + i * stride + j, stride);
    }
}

}  // namespace POLYAK_KERNELS
}  // namespace polyak
