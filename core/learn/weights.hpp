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
  int64_t apart = 0;  // of so many features the columns are kept apart, see ColumnsApart

  // sums[c] = inner product of the row and column c; and what was seen of the row on the way.
  template <class Row>
  POLYAK_NOINLINE ScanResult gather(const Row &row, W *sums, const Context<Row> &context) const {
    if (!may_begin(row, features)) return {false, 0.0};
    ScanResult seen{true, 0.0};
    if constexpr (Row::dense)
      if (width == 2)
        return apart ? gather_apart(row, sums, context) : gather_pairs(row, sums, context);
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
      if (width == 2) return apart ? scatter_apart(row, step) : scatter_pairs(row, step);
    if (width == 2) return scatter_block<Block<2, true>>(row, 0, step);
    in_blocks([&](auto block, int64_t c) { scatter_block<decltype(block)>(row, c, step + c); });
  }

  // v halves exactly, and what tau carried of the sum moves into u: the caller doubles s and
  // clears tau. Were tau kept, tau v and u would both grow like 1/s and their sum cancel.
  void fold(int64_t v, int64_t u, double tau) {
    for (int64_t j = 0; j < features; ++j) {
      at(j, u) += static_cast<W>(tau * at(j, v));
      at(j, v) *= W(0.5);
    }
  }

  void multiply(int64_t c, double factor) {
    for (int64_t j = 0; j < features; ++j) at(j, c) *= static_cast<W>(factor);
  }

  // So many features have their columns apart together.
  static constexpr int64_t kTogether = 16;

 private:
  // A block of B columns. Where it is the whole line, the compiler knows its width too, and that
  // it begins with the first: a feature's place is then part of the load, a fifth of the
  // instructions less.
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

  // Cuts the columns into blocks of fixed width, whose sums stay in registers. One model's two are
  // not worth the detour: without it, one model on sparse rows is 4% faster on ARM.
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

  // How many running sums a column of a block of B has, since each addition waits for the one
  // before it. On ARM, whose registers are half as wide as those of AVX2, the columns themselves
  // are enough of them from eight on: several each take 5% longer on sparse rows.
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
    // Copies, since for all the compiler knows a store to a line could change the originals.
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
    const Eight &pairs = partial[0];
    for (int c = 0; c < 2; ++c) sums[c] = pairs[c] + pairs[c + 2] + pairs[c + 4] + pairs[c + 6];
    gather_rest(row, i, sums, scan);
    return {true, scan.squared_norm()};
  }

  template <class Value>
  void scatter_pairs(const DenseRow<Value> &whole, const W *step) {
    using Eight = Pack<W, 8>;
    const DenseRow<Value> row = whole;  // as in scatter_block
    W *const pairs = data;
    W step_of_each[8];
    for (int b = 0; b < 8; ++b) step_of_each[b] = step[b % 2];
    const Eight steps = Eight::load(step_of_each);
    int64_t i = 0;
    for (; i + 8 <= row.size; i += 8) {
      const Eight x = Eight::load(row.value + i);
      for (int h = 0; h < 2; ++h) {
        Eight part = Eight::load(pairs + 2 * i + 8 * h);
        part.add_product(x.doubled(h), steps);
        part.store(pairs + 2 * i + 8 * h);
      }
    }
    scatter_rest(row, i, step);
  }

  // The same where the columns are apart: no value is needed twice. To the same bits.
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

  // The features from i on, whose number is not worth a pack.
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

// While dense rows are learned by one model, its two columns are apart for sixteen features each,
// v0 .. v15 u0 .. u15, so that a value need not be spread over pairs: a fifth of the time on ARM.
// Sparse rows want pairs, since each is one load.
template <class W>
class ColumnsApart {
 public:
  // For a few rows it is not worth the while, and rows that are too wide are for others to refuse.
  ColumnsApart(Lines<W> &lines, int64_t row_size, int64_t rows) : lines_(lines) {
    if (rows < 8 || row_size > lines.features) return;
    lines_.apart = row_size / kTogether * kTogether;
    each_group([](const W *from, W *to, int64_t f, int64_t c) {
      to[c * kTogether + f] = from[2 * f + c];
    });
  }
  ~ColumnsApart() {
    each_group([](const W *from, W *to, int64_t f, int64_t c) {
      to[2 * f + c] = from[c * kTogether + f];
    });
    lines_.apart = 0;
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
