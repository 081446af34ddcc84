// The line store: where the weights of K models live, and the only file that writes them.
//
// Feature j owns one contiguous line [v_1 .. v_K, u_1 .. u_K]. Model k's iterate is
// theta = s_k v_k, and the weighted sum of its iterates is tau_k v_k + u_k, with the scalars s and
// tau kept in bank.hpp. A row touches only the lines of its own features: `gather` takes the inner
// products of the row with all 2K columns, `scatter` adds the row times one step per column.
#pragma once

#include <cstdint>

#include "kernel_namespace.hpp"
#include "rows.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

template <class W>
struct Lines {
  W *data;
  int64_t features;
  int64_t width;

  // sums[c] = inner product of the row and column c.
  template <class Row>
  POLYAK_NOINLINE void gather(const Row &row, W *sums) const {
    in_blocks([&](auto block, int64_t c) { gather_block<decltype(block)::size>(row, c, sums + c); });
  }

  // column c += step[c] * row.
  template <class Row>
  POLYAK_NOINLINE void scatter(const Row &row, const W *step) {
    in_blocks(
        [&](auto block, int64_t c) { scatter_block<decltype(block)::size>(row, c, step + c); });
  }

  // Brings a row's lines towards the processor while it still works on an earlier row.
  template <class Value, class Index>
  void prefetch(const SparseRow<Value, Index> &row) const {
#if defined(__GNUC__)
    for (int64_t i = 0; i < row.size; ++i) __builtin_prefetch(data + row.feature(i) * width, 1);
#endif
  }
  template <class Value>
  void prefetch(const DenseRow<Value> &) const {}

  // v halves exactly, and what tau carried of the sum moves into u: the caller doubles s and
  // clears tau. Were tau kept, tau v and u would both grow like 1/s and their sum cancel.
  void fold(int64_t v, int64_t u, double tau) {
    for (W *line = data, *end = data + features * width; line != end; line += width) {
      line[u] += static_cast<W>(tau * line[v]);
      line[v] *= W(0.5);
    }
  }

  void multiply(int64_t c, double factor) {
    for (W *line = data, *end = data + features * width; line != end; line += width)
      line[c] *= static_cast<W>(factor);
  }

 private:
  template <int B>
  struct Block {
    static constexpr int size = B;
  };

  // Cuts the columns into blocks of fixed width, whose sums stay in registers.
  template <class Visit>
  void in_blocks(Visit &&visit) const {
    int64_t c = 0;
    for (; c + 32 <= width; c += 32) visit(Block<32>{}, c);
    if (c + 16 <= width) visit(Block<16>{}, c), c += 16;
    if (c + 8 <= width) visit(Block<8>{}, c), c += 8;
    if (c + 4 <= width) visit(Block<4>{}, c), c += 4;
    if (c + 2 <= width) visit(Block<2>{}, c), c += 2;
    if (c < width) visit(Block<1>{}, c);
  }

  // Narrow blocks keep several running sums, since each addition waits for the one before it.
  template <int B, class Row>
  void gather_block(const Row &row, int64_t c, W *sums) const {
    constexpr int U = B >= 16 ? 1 : 16 / B;
    W partial[U][B] = {};
    int64_t i = 0;
    for (; i + U <= row.size; i += U)
      for (int u = 0; u < U; ++u) {
        const W x = static_cast<W>(row.value[i + u]);
        const W *line = data + row.feature(i + u) * width + c;
        for (int b = 0; b < B; ++b) partial[u][b] += x * line[b];
      }
    for (; i < row.size; ++i) {
      const W x = static_cast<W>(row.value[i]);
      const W *line = data + row.feature(i) * width + c;
      for (int b = 0; b < B; ++b) partial[0][b] += x * line[b];
    }
    for (int b = 0; b < B; ++b) {
      W sum = 0;
      for (int u = 0; u < U; ++u) sum += partial[u][b];
      sums[b] = sum;
    }
  }

  template <int B, class Row>
  void scatter_block(const Row &row, int64_t c, const W *step) {
    W local[B];
    for (int b = 0; b < B; ++b) local[b] = step[b];
    for (int64_t i = 0; i < row.size; ++i) {
      const W x = static_cast<W>(row.value[i]);
      W *line = data + row.feature(i) * width + c;
      for (int b = 0; b < B; ++b) line[b] += x * local[b];
    }
  }
};

}  // namespace POLYAK_KERNELS
}  // namespace polyak
