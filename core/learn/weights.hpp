// The line store: where the weights of K models live, and the only file that writes them.
//
// Feature j owns one contiguous line [v_1 .. v_K, u_1 .. u_K]. Model k's iterate is
// theta = s_k v_k, and the weighted sum of its iterates is tau_k v_k + u_k, with the scalars s and
// tau kept in bank.hpp. A row touches only the lines of its own features: `gather` takes the inner
// products of the row with all 2K columns, `scatter` adds the row times one step per column.
#pragma once

#include <cstdint>

#include "kernels/kernel_namespace.hpp"
#include "kernels/pack.hpp"
#include "rows/row_scan.hpp"
#include "rows/rows.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

template <class W>
struct Lines {
  W *data;
  int64_t features;
  int64_t width;

  // sums[c] = inner product of the row and column c; and what was seen of the row on the way.
  template <class Row>
  POLYAK_NOINLINE ScanResult gather(const Row &row, W *sums, const Context<Row> &context) const {
    if (!may_begin(row, features)) return {false, 0.0};
    ScanResult seen{true, 0.0};
    if constexpr (Row::dense)
      if (width == 2) return gather_pairs(row, sums, context);
    in_blocks([&](auto block, int64_t c) {
      if (c == 0)
        seen = gather_block<decltype(block), RowScan<W, Row>>(row, 0, sums, context);
      else if (seen.in_order)
        gather_block<decltype(block), NoScan<W, Row>>(row, c, sums + c, context);
    });
    return seen;
  }

  // column c += step[c] * row.
  template <class Row>
  POLYAK_NOINLINE void scatter(const Row &row, const W *step) {
    if constexpr (Row::dense)
      if (width == 2) return scatter_pairs(row, step);
    in_blocks([&](auto block, int64_t c) { scatter_block<decltype(block)>(row, c, step + c); });
  }

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
  // A block of B columns. Where it is the whole line, its width is known to the compiler too,
  // which spares a multiplication a nonzero.
  template <int B, bool Whole = false>
  struct Block {
    static constexpr int size = B;
    static int64_t stride(int64_t width) { return Whole ? B : width; }
  };

  // Cuts the columns into blocks of fixed width, whose sums stay in registers.
  template <class Visit>
  void in_blocks(Visit &&visit) const {
    if (width == 2) return visit(Block<2, true>{}, 0);
    if (width == 16) return visit(Block<16, true>{}, 0);
    int64_t c = 0;
    for (; c + 32 <= width; c += 32) visit(Block<32>{}, c);
    if (c + 16 <= width) visit(Block<16>{}, c), c += 16;
    if (c + 8 <= width) visit(Block<8>{}, c), c += 8;
    if (c + 4 <= width) visit(Block<4>{}, c), c += 4;
    if (c + 2 <= width) visit(Block<2>{}, c), c += 2;
    if (c < width) visit(Block<1>{}, c);
  }

  // Several running sums, since each addition waits for the one before it.
  template <class Columns, class Scan, class Row>
  ScanResult gather_block(const Row &row, int64_t c, W *sums, const Context<Row> &context) const {
    constexpr int B = Columns::size, N = B < 8 ? B : 8, P = B / N, U = B >= 32 ? 2 : 4;
    using Part = Pack<W, N>;
    const Row local = row;
    const W *const lines = data;
    Scan scan(local, context, lines, features, width);
    Part partial[U][P];
    for (auto &parts : partial)
      for (Part &part : parts) part = Part::zero();
    const auto add = [&](Part *parts, int64_t i) {
      const Part x = Part::all(static_cast<W>(local.value[i]));
      const W *line = lines + local.feature(i) * Columns::stride(width) + c;
      for (int p = 0; p < P; ++p) parts[p].add_product(x, Part::load(line + p * N));
    };
    int64_t i = 0;
    for (; i + 8 < local.size; i += 8) {
      if (!scan.eight(i)) return {false, 0.0};
      POLYAK_UNROLL
      for (int u = 0; u < 8; ++u) add(partial[u % U], i + u);
    }
    for (; i < local.size; ++i) {
      if (!scan.one(i)) return {false, 0.0};
      add(partial[0], i);
    }
    for (int p = 0; p < P; ++p) {
      for (int u = 1; u < U; ++u) partial[0][p].add(partial[u][p]);
      partial[0][p].store(sums + p * N);
    }
    return {true, scan.squared_norm()};
  }

  template <class Columns, class Row>
  void scatter_block(const Row &row, int64_t c, const W *step) {
    constexpr int B = Columns::size, N = B < 8 ? B : 8, P = B / N;
    using Part = Pack<W, N>;
    // Copies, since for all the compiler knows a store to a line could change the originals.
    const Row local = row;
    W *const lines = data;
    Part steps[P];
    for (int p = 0; p < P; ++p) steps[p] = Part::load(step + p * N);
    for (int64_t i = 0; i < local.size; ++i) {
      const Part x = Part::all(static_cast<W>(local.value[i]));
      W *line = lines + local.feature(i) * Columns::stride(width) + c;
      for (int p = 0; p < P; ++p) {
        Part part = Part::load(line + p * N);
        part.add_product(x, steps[p]);
        part.store(line + p * N);
      }
    }
  }

  // One model on dense rows: the whole store is v0 u0 v1 u1 ..., so eight features at a time are
  // two packs of it against the features' values, each twice.
  template <class Row>
  ScanResult gather_pairs(const Row &row, W *sums, const Context<Row> &context) const {
    using Eight = Pack<W, 8>;
    RowScan<W, Row> scan(row, context, data, features, width);
    Eight partial[4] = {Eight::zero(), Eight::zero(), Eight::zero(), Eight::zero()};
    int64_t i = 0;
    for (; i + 16 <= row.size; i += 16)
      for (int h = 0; h < 2; ++h) {
        scan.eight(i + 8 * h, h);
        const Eight x = Eight::load(row.value + i + 8 * h);
        partial[2 * h].add_product(x.doubled(false), Eight::load(data + 2 * i + 16 * h));
        partial[2 * h + 1].add_product(x.doubled(true), Eight::load(data + 2 * i + 16 * h + 8));
      }
    for (int u = 1; u < 4; ++u) partial[0].add(partial[u]);
    const auto &pairs = partial[0].lanes;
    for (int c = 0; c < 2; ++c) sums[c] = pairs[c] + pairs[c + 2] + pairs[c + 4] + pairs[c + 6];
    for (; i < row.size; ++i) {
      scan.one(i);
      for (int c = 0; c < 2; ++c) sums[c] += static_cast<W>(row.value[i]) * data[2 * i + c];
    }
    return {true, scan.squared_norm()};
  }

  template <class Value>
  void scatter_pairs(const DenseRow<Value> &whole, const W *step) {
    using Eight = Pack<W, 8>;
    const DenseRow<Value> row = whole;  // as in scatter_block
    W *const pairs = data;
    Eight steps;
    for (int b = 0; b < 8; ++b) steps.lanes[b] = step[b % 2];
    int64_t i = 0;
    for (; i + 8 <= row.size; i += 8) {
      const Eight x = Eight::load(row.value + i);
      for (int h = 0; h < 2; ++h) {
        Eight part = Eight::load(pairs + 2 * i + 8 * h);
        part.add_product(x.doubled(h), steps);
        part.store(pairs + 2 * i + 8 * h);
      }
    }
    for (; i < row.size; ++i)
      for (int c = 0; c < 2; ++c) pairs[2 * i + c] += static_cast<W>(row.value[i]) * step[c];
  }
};

}  // namespace POLYAK_KERNELS
}  // namespace polyak
