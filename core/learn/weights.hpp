// The weight store of K models; no other file writes weights.
//
// Feature j owns one contiguous line [v_1 .. v_K, u_1 .. u_K]. Model k's iterate is
// theta = s_k v_k, and the weighted sum of its iterates is tau_k v_k + u_k; the scalars s and tau
// are fields of the model (bank_args.hpp). A row touches only the lines of its own features:
// `gather` computes the inner products of the row with all 2K columns, `scatter` adds the row times
// one step per column.
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
  int64_t apart = -1;  // features whose columns are stored apart, or -1; see ColumnsApart

  // sums[c] = inner product of the row and column c. Returns what the scan of the row found.
  template <class Row>
  POLYAK_NOINLINE ScanResult gather(const Row &row, W *sums, const Context<Row> &context) const {
    if (!has_valid_start(row, features)) return {false, 0.0};
    ScanResult seen{true, 0.0};
    if constexpr (Row::dense)
      if (apart >= 0) return gather_apart(row, sums, context);
    if (width == 2) return gather_block<Block<2, true>, RowScan<W, Row>>(row, 0, sums, context);
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
      if (apart >= 0) return scatter_apart(row, step);
    if (width == 2) return scatter_block<Block<2, true>>(row, 0, step);
    in_blocks([&](auto block, int64_t c) { scatter_block<decltype(block)>(row, c, step + c); });
  }

  // Multiplies v by a power of two, which is exact, and moves tau v into u; the caller divides s by
  // it and sets tau to zero. If tau were kept, tau v and u would both grow like 1/s and cancel each
  // other.
  void fold(int64_t v, int64_t u, double tau, double factor) {
    for (int64_t j = 0; j < features; ++j) {
      at(j, u) += static_cast<W>(tau * at(j, v));
      at(j, v) *= static_cast<W>(factor);
    }
  }

  void multiply(int64_t c, double factor) {
    for (int64_t j = 0; j < features; ++j) at(j, c) *= static_cast<W>(factor);
  }

  // Features of a group whose columns are stored apart.
  static constexpr int64_t kTogether = 16;

 private:
  // A block of B columns. If it is the whole line, its width is a constant too and the address of a
  // feature is part of the load: a fifth of the instructions less.
  template <int B, bool Whole = false>
  struct Block {
    static constexpr int size = B;
    POLYAK_INLINE static int64_t begin(int64_t feature, int64_t width, int64_t c) {
      return Whole ? feature * B : feature * width + c;
    }
  };

  POLYAK_INLINE W &at(int64_t j, int64_t c) {
    const int64_t within = j % kTogether;
    return j < apart ? data[2 * (j - within) + c * kTogether + within] : data[j * width + c];
  }

  // Cuts the columns into blocks of fixed width, whose sums stay in registers.
  template <class Visit>
  void in_blocks(Visit &&visit) const {
    if (width == 16) return visit(Block<16, true>{}, 0);
    int64_t c = 0;
    for (; c + 32 <= width; c += 32) visit(Block<32>{}, c);
    if (c + 16 <= width) visit(Block<16>{}, c), c += 16;
    if (c + 8 <= width) visit(Block<8>{}, c), c += 8;
    if (c + 4 <= width) visit(Block<4>{}, c), c += 4;
    if (c + 2 <= width) visit(Block<2>{}, c), c += 2;
    if (c < width) visit(Block<1>{}, c);
  }

  // The number of partial sums per column of a block of B, since an addition to one sum waits for
  // the previous one. On ARM, whose registers are half as wide as those of AVX2, eight columns are
  // independent sums enough: more take 5% longer on sparse rows.
#if defined(__aarch64__)
  static constexpr int running_sums(int B) { return B >= 8 ? 1 : 4; }
#else
  static constexpr int running_sums(int B) { return B >= 32 ? 2 : 4; }
#endif

  template <class Columns, class Scan, class Row>
  ScanResult gather_block(const Row &row, int64_t c, W *sums, const Context<Row> &context) const {
    constexpr int B = Columns::size, N = B < 8 ? B : 8, P = B / N, U = running_sums(B);
    using Part = Pack<W, N>;
    const Row local = row;
    const W *const lines = data;
    Scan scan(local, context, lines, features, width);
    Part partial[U][P];
    for (auto &parts : partial)
      for (Part &part : parts) part = Part::zero();
    const auto add = [&](Part *parts, int64_t i) {
      const Part x = Part::all(static_cast<W>(local.value[i]));
      const W *line = lines + Columns::begin(local.feature(i), width, c);
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
    // Local copies, since the compiler must assume that a store to a line changes the originals.
    const Row local = row;
    W *const lines = data;
    Part steps[P];
    for (int p = 0; p < P; ++p) steps[p] = Part::load(step + p * N);
    for (int64_t i = 0; i < local.size; ++i) {
      const Part x = Part::all(static_cast<W>(local.value[i]));
      W *line = lines + Columns::begin(local.feature(i), width, c);
      for (int p = 0; p < P; ++p) {
        Part part = Part::load(line + p * N);
        part.add_product(x, steps[p]);
        part.store(line + p * N);
      }
    }
  }

  // One model on dense rows: eight features of one column at a time.
  template <class Row>
  ScanResult gather_apart(const Row &whole, W *sums, const Context<Row> &context) const {
    using Eight = Pack<W, 8>;
    using Four = Pack<W, 4>;
    const Row row = whole;  // as in scatter_block
    const W *from = data;
    RowScan<W, Row> scan(row, context, data, features, width);
    Eight partial[2][2] = {{Eight::zero(), Eight::zero()}, {Eight::zero(), Eight::zero()}};
    for (int64_t i = 0; i < apart; i += kTogether, from += 2 * kTogether)
      for (int h = 0; h < 2; ++h) {
        scan.eight(i + 8 * h, h);
        const Eight x = Eight::load(row.value + i + 8 * h);
        for (int c = 0; c < 2; ++c)
          partial[c][h].add_product(x, Eight::load(from + c * kTogether + 8 * h));
      }
    for (int c = 0; c < 2; ++c) {
      W sixteen[16];
      for (int h = 0; h < 2; ++h) partial[c][h].store(sixteen + 8 * h);
      Four four = Four::load(sixteen);
      for (int u = 1; u < 4; ++u) four.add(Four::load(sixteen + 4 * u));
      sums[c] = four[0] + four[1] + four[2] + four[3];
    }
    gather_rest(row, apart, sums, scan);
    return {true, scan.squared_norm()};
  }

  template <class Value>
  void scatter_apart(const DenseRow<Value> &whole, const W *step) {
    using Eight = Pack<W, 8>;
    const DenseRow<Value> row = whole;
    W *to = data;
    const Eight steps[2] = {Eight::all(step[0]), Eight::all(step[1])};
    for (int64_t i = 0; i < apart; i += kTogether, to += 2 * kTogether)
      for (int h = 0; h < 2; ++h) {
        const Eight x = Eight::load(row.value + i + 8 * h);
        for (int c = 0; c < 2; ++c) {
          W *const place = to + c * kTogether + 8 * h;
          Eight part = Eight::load(place);
          part.add_product(x, steps[c]);
          part.store(place);
        }
      }
    scatter_rest(row, apart, step);
  }

  // The features from i on, which do not fill a group.
  template <class Row>
  POLYAK_INLINE void gather_rest(const Row &row, int64_t i, W *sums, RowScan<W, Row> &scan) const {
    W v = sums[0], u = sums[1];
    for (; i < row.size; ++i) {
      scan.one(i);
      v += static_cast<W>(row.value[i]) * data[2 * i];
      u += static_cast<W>(row.value[i]) * data[2 * i + 1];
    }
    sums[0] = v, sums[1] = u;
  }
  template <class Row>
  POLYAK_INLINE void scatter_rest(const Row &row, int64_t i, const W *step) {
    W *const pairs = data;
    const W v = step[0], u = step[1];
    for (; i < row.size; ++i) {
      pairs[2 * i] += static_cast<W>(row.value[i]) * v;
      pairs[2 * i + 1] += static_cast<W>(row.value[i]) * u;
    }
  }
};

// While one model learns dense rows, its two columns are stored apart in groups of sixteen
// features, v0 .. v15 u0 .. u15, so that a row's values need not be interleaved to match pairs:
// wide rows of float32 take a quarter less time on ARM. Sparse rows want pairs, since each is one
// load.
template <class W>
class ColumnsApart {
 public:
  // `wanted` is false for sparse rows and for several models. Rows that are wider than the store
  // are left to `gather` to refuse.
  ColumnsApart(Lines<W> &lines, int64_t row_size, bool wanted) : lines_(lines) {
    if (!wanted || row_size > lines.features) return;
    lines_.apart = row_size / kTogether * kTogether;
    each_group([](const W *from, W *to, int64_t f, int64_t c) {
      to[c * kTogether + f] = from[2 * f + c];
    });
  }
  ~ColumnsApart() {
    each_group([](const W *from, W *to, int64_t f, int64_t c) {
      to[2 * f + c] = from[c * kTogether + f];
    });
    lines_.apart = -1;
  }
  ColumnsApart(const ColumnsApart &) = delete;

 private:
  static constexpr int64_t kTogether = Lines<W>::kTogether;

  template <class Move>
  void each_group(Move &&move) {
    for (int64_t i = 0; i < lines_.apart; i += kTogether) {
      W before[2 * kTogether];
      W *const group = lines_.data + 2 * i;
      for (int64_t k = 0; k < 2 * kTogether; ++k) before[k] = group[k];
      for (int64_t f = 0; f < kTogether; ++f)
        for (int64_t c = 0; c < 2; ++c) move(before, group, f, c);
    }
  }
  Lines<W> &lines_;
};

}  // namespace POLYAK_KERNELS
}  // namespace polyak
