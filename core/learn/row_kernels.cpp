#include "learn/row_kernels.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "learn/bank_kernel.hpp"
#include "learn/precondition.hpp"
#include "learn/proximal.hpp"
#include "learn/random.hpp"

namespace polyak {
namespace POLYAK_KERNELS {
namespace {

// Sets each model's target and weight for row i. Returns false if no model gives the row a weight.
template <class Bank>
bool set_targets(const Bank &bank, const Task &task, int64_t i) {
  auto &args = bank.args;
  const Models &m = bank.m;
  bool any = task.weights == nullptr;
  for (int64_t k = 0; k < bank.K; ++k) {
    args.y[k] = task.classes ? (task.classes[i] == m.output[k] ? 1.0 : -1.0)
                             : task.targets[i * task.outputs + m.output[k]];
    args.w[k] = task.weights ? task.weights[i * task.weight_stride + k * task.weight_step] : 1.0;
    any = any || args.w[k] > 0.0;
  }
  return any;
}

// Prefetches what `set_targets` reads of row i. Always inlined: GCC drops calls of a function that
// does nothing but prefetch.
POLYAK_INLINE void prefetch_targets(const Task &task, int64_t i) {
  if (task.classes)
    fetch(task.classes, static_cast<uintptr_t>(i));
  else
    fetch(task.targets, static_cast<uintptr_t>(i * task.outputs));
  if (task.weights) fetch(task.weights, static_cast<uintptr_t>(i * task.weight_stride));
}

template <class W>
void draw_replicas(BankArgs<W> &args) {
  for (int64_t k = 0; k < args.models.count; ++k)
    if (args.models.replica[k] >= 0)
      args.w[k] *= replica_weight(args.settings.seed, static_cast<uint64_t>(args.clock),
                                  args.models.replica[k]);
}

// The exponent's bits are all ones only for infinity and NaN.
template <class Value>
bool all_finite(const Value *values, int64_t count) {
  using Bits = std::conditional_t<sizeof(Value) == 4, uint32_t, uint64_t>;
  constexpr Bits exponent = sizeof(Value) == 4 ? Bits(0x7f800000u) : Bits(0x7ff0000000000000u);
  Bits bad = 0;
  for (int64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, values + i, sizeof bits);
    bad |= (bits & exponent) == exponent;
  }
  return bad == 0;
}

template <class Value>
bool ascending(const SparseRow<Value> &row) {
  int32_t descents = 0;
  for (int64_t e = 1; e < row.size; ++e) descents |= row.index[e - 1] >= row.index[e];
  return descents == 0;
}
template <class Value>
bool ascending(const DenseRow<Value> &) {
  return true;
}

template <class Value>
bool in_order(const SparseRow<Value> &row, int64_t features) {
  return row.size == 0 ||
         (ascending(row) && row.feature(0) >= 0 && row.feature(row.size - 1) < features);
}
template <class Value>
bool in_order(const DenseRow<Value> &row, int64_t features) {
  return row.size <= features;
}

// The nonzeros of a dense row as a sparse row. In bare arrays, since the builds of the kernels must
// not share the code of a std::vector.
template <class Value>
struct Nonzeros {
  int32_t *index = nullptr;
  Value *value = nullptr;

  // Whether at most half of the values are not zero: counting is much faster than collecting.
  static bool few(const DenseRow<Value> &row) {
    int32_t count = 0;
    for (int64_t i = 0; i < row.size; ++i) count += row.value[i] != 0;
    return 2 * int64_t(count) <= row.size;
  }

  SparseRow<Value> of(const DenseRow<Value> &row) {  // all rows have the same size
    if (!index) index = new int32_t[row.size];
    if (!value) value = new Value[row.size];
    int64_t count = 0;
    for (int64_t i = 0; i < row.size; ++i) {  // a branch would often be mispredicted
      index[count] = static_cast<int32_t>(i);
      value[count] = row.value[i];
      count += row.value[i] != 0;
    }
    return {index, value, count};
  }

  ~Nonzeros() {
    delete[] index;
    delete[] value;
  }
};

// Learns one row while `next` is prefetched. Returns false if a score is not finite, or if the
// row's indices are invalid.
template <class Bank, class Row>
bool learn_row(Bank &bank, const BankStep<Bank> &step, const Row &row,
               const Context<Row> &context) {
  auto &args = bank.args;
  if constexpr (!Bank::is_single)
    if (args.settings.proximal) {
      if (!context.checked && !in_order(row, args.features)) return false;
      const ProximalRates<typename Bank::W> rates(args);
      gather_proximal(args, row, rates);
      if (!step.advance_proximal(bank, rates)) return false;
      scatter_proximal(args, row, rates);
      return true;
    }
  const double p = args.settings.precondition;
  const double constant = args.settings.intercept ? 1.0 : 0.0;  // the intercept's own feature
  const ScanResult scan = bank.lines.gather(row, args.sums, context);
  if (!scan.in_order) return false;
  if (p == 0.0) {
    if (!step.advance(bank, scan.squared_norm + constant)) return false;
    if (bank.step_is_nonzero()) bank.lines.scatter(row, args.step);
  } else {
    const double rows = static_cast<double>(args.clock + args.looked);
    const double gain = args.settings.adagrad ? step.mean_squared_slope(bank) : 1.0;
    const double norm =
        precondition(row, p, rows, gain, args.settings.least, args.squares, args.scaled);
    prefetch_each(args.squares, context.next);
    if (!step.advance(bank, norm + constant)) return false;
    if (bank.step_is_nonzero()) bank.lines.scatter(row.with(args.scaled), args.step);
  }
  bank.renormalize();
  return true;
}

template <class Bank, class W>
bool learn_row(Bank &bank, const BankStep<Bank> &step, const SparseRow<W> &row,
               const Context<SparseRow<W>> &context, Nonzeros<W> &) {
  return learn_row(bank, step, row, context);
}

// A wide bank does much work per feature, so it pays to skip zeros; a bank of one model takes eight
// values at a time instead.
template <class Bank, class W>
bool learn_row(Bank &bank, const BankStep<Bank> &step, const DenseRow<W> &row,
               const Context<DenseRow<W>> &context, Nonzeros<W> &nonzeros) {
  if (4 > bank.K || row.size > INT32_MAX || !Nonzeros<W>::few(row))
    return learn_row(bank, step, row, context);
  const SparseRow<W> none{nullptr, nullptr, 0};
  return learn_row(bank, step, nonzeros.of(row), {none, none, context.checked});
}

template <class Count, class W, class Rows>
int64_t learn_rows(const char *loss, BankArgs<W> &args, const Rows &rows, const Task &task) {
  Bank<W, Count> bank(args);
  const auto step = bank_step<Bank<W, Count>>(loss, args.settings.softmax);
  const ColumnsApart<W> apart(bank.lines, rows[0].size, Rows::Row::dense && Count::is_single);
  Nonzeros<W> nonzeros;
  const bool as_they_stand = !task.order || task.gathered;
  constexpr int64_t ahead = Rows::Row::dense ? kRowsAhead : kSparseRowsAhead;
  const auto place = [&](int64_t n) { return task.order[std::min(n, task.count - 1)]; };
  const auto stored_row = [&](int64_t n) {
    return rows[as_they_stand ? std::min(n, task.count - 1) : place(n)];
  };
  for (int64_t n = 0; n < task.count; ++n) {
    const int64_t i = task.order ? task.order[n] : n;
    const auto row = stored_row(n);
    if (!set_targets(bank, task, i)) {  // no score would reveal an invalid row
      if (task.unchecked && !(in_order(row, args.features) && all_finite(row.value, row.size)))
        return i;
      continue;
    }
    ++args.clock;
    if (args.replicas) draw_replicas(args);
    if (task.scores) args.score = task.scores + n * args.models.count;
    args.limits = task.limits ? task.limits[n] : no_limits;
    args.offset = task.offsets ? task.offsets[i] : 0.0;
    const auto next = stored_row(n + 1);
    if (task.order) prefetch_targets(task, place(n + ahead));
    if (!as_they_stand) prefetch_offsets(rows, place(n + 2 * ahead));
    const auto later = as_they_stand ? following(row) : prefetched(stored_row(n + ahead));
    if (!learn_row(bank, step, row, {next, later, !task.unchecked}, nonzeros)) return i;
    if (task.classes && args.settings.progressive) bank.count_multiclass_error(task.classes[i]);
  }
  return all_learned;
}

template <class W, class Rows>
int64_t learn(const char *loss, BankArgs<W> &args, const Rows &rows, const Task &task) {
  const bool single = args.models.count == 1 && !args.settings.proximal;
  return single ? learn_rows<One>(loss, args, rows, task)
                : learn_rows<Many>(loss, args, rows, task);
}

template <class Rows>
int64_t scan(const Rows &rows, int64_t limit) {
  int64_t largest = -1;
  if constexpr (Rows::Row::dense)
    if (rows.stride == rows.features && rows.count > 0) {  // twice as fast if rows are short
      if (!all_finite(rows.values, rows.count * rows.features)) return scan_failed;
      return rows.features <= limit ? rows.features : scan_failed;
    }
  for (int64_t i = 0; i < rows.count; ++i) {
    const auto row = rows[i];
    if (!all_finite(row.value, row.size) || !ascending(row)) return scan_failed;
    if (row.size > 0) {
      if (row.feature(0) < 0) return scan_failed;
      largest = std::max(largest, row.feature(row.size - 1));
    }
  }
  return largest < limit ? largest + 1 : scan_failed;
}

template <class W, class Rows>
void score(const W *matrix, int64_t features, int64_t width, const Rows &rows, W *scores) {
  const Lines<W> lines{const_cast<W *>(matrix), features, width};
  for (int64_t i = 0; i < rows.count; ++i) {
    const auto row = rows[i];
    W *out = scores + i * width;
    const auto next = rows[i + 1 < rows.count ? i + 1 : i];
    if (lines.gather(row, out, {next, following(row), false}).in_order) continue;
    for (int64_t c = 0; c < width; ++c) out[c] = 0;
    for (int64_t e = 0; e < row.size; ++e)
      if (row.feature(e) < features)
        for (int64_t c = 0; c < width; ++c)
          out[c] += static_cast<W>(row.value[e]) * matrix[row.feature(e) * width + c];
  }
}

template <class Rows>
constexpr RowKernels<Rows> kernels_of() {
  return {&learn<typename Rows::Number, Rows>, &score<typename Rows::Number, Rows>, &scan<Rows>};
}

}  // namespace

extern const RowKernelTable row_kernels;
constexpr RowKernelTable row_kernels{
    kernels_of<DenseRows<float>>(), kernels_of<DenseRows<double>>(),
    kernels_of<SparseRows<float>>(), kernels_of<SparseRows<double>>()};

}  // namespace POLYAK_KERNELS
}  // namespace polyak
