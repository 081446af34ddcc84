#include "learn/kernels.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "learn/bank_kernel.hpp"
#include "learn/precondition.hpp"
#include "learn/proximal.hpp"

namespace polyak {
namespace POLYAK_KERNELS {
namespace {

// Fills in each model's target and weight for row i. False if the row is not there: it has no
// weight for any model.
template <class W, class Count>
bool present(const BankKernel<W, Count> &bank, const Task &task, int64_t i) {
  BankArgs<W> &view = bank.view;
  const Models &m = view.models;
  bool any = task.weights == nullptr;
  for (int64_t k = 0; k < bank.K; ++k) {
    view.y[k] = task.classes ? (task.classes[i] == m.output[k] ? 1.0 : -1.0)
                             : task.targets[i * task.outputs + m.output[k]];
    view.w[k] = task.weights ? task.weights[i * task.weight_stride + k * task.weight_step] : 1.0;
    any = any || view.w[k] > 0.0;
  }
  return any;
}

template <class W>
void draw_replicas(BankArgs<W> &view) {
  for (int64_t k = 0; k < view.models.count; ++k)
    if (view.models.replica[k] >= 0)
      view.w[k] *= replica_weight(view.settings.seed, static_cast<uint64_t>(view.clock),
                                  view.models.replica[k]);
}

// True if every value is finite: all bits of the exponent are set just for infinity and NaN.
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

template <class Value, class Index>
bool rising(const SparseRow<Value, Index> &row) {
  Index fallen = 0;
  for (int64_t e = 1; e < row.size; ++e) fallen |= row.index[e - 1] >= row.index[e];
  return fallen == 0;
}
template <class Value>
bool rising(const DenseRow<Value> &) {
  return true;
}

template <class Value, class Index>
bool in_order(const SparseRow<Value, Index> &row, int64_t features) {
  return row.size == 0 ||
         (rising(row) && row.feature(0) >= 0 && row.feature(row.size - 1) < features);
}
template <class Value>
bool in_order(const DenseRow<Value> &row, int64_t features) {
  return row.size <= features;
}

// What of a dense row is not zero, as a sparse row. With bare arrays, since the builds of the
// kernels must not share the code of a std::vector.
template <class Value>
struct Nonzeros {
  int32_t *index = nullptr;
  Value *value = nullptr;

  // Whether they are few enough: counting is much quicker than collecting.
  static bool few(const DenseRow<Value> &row) {
    int32_t count = 0;
    for (int64_t i = 0; i < row.size; ++i) count += row.value[i] != 0;
    return 2 * int64_t(count) <= row.size;
  }

  SparseRow<Value, int32_t> of(const DenseRow<Value> &row) {  // all rows are of one size
    if (!index) index = new int32_t[row.size];
    if (!value) value = new Value[row.size];
    int64_t count = 0;
    for (int64_t i = 0; i < row.size; ++i) {  // no branch: which are zero is hard to guess
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

// Learns one row that is there, while `next` is on its way. False if a score is no longer a number,
// or if the row is not in order.
template <class Loss, class Bank, class Row>
bool learn_row(Bank &bank, const Row &row, const Row &next, bool checked) {
  auto &view = bank.view;
  if constexpr (IsProximal<Loss>::value) {
    return (checked || in_order(row, view.features)) &&
           learn_proximally<typename Loss::Own>(bank, row);
  } else {
    const double p = view.settings.precondition;
    const double constant = view.settings.intercept ? 1.0 : 0.0;  // the intercept's own feature
    const ScanResult seen = bank.lines.gather(row, view.sums, {next, checked});
    if (!seen.in_order) return false;
    if (p == 0.0) {
      if (!bank.template advance<Loss>(seen.squared_norm + constant)) return false;
      if (bank.step_is_nonzero()) bank.lines.scatter(row, view.step);
    } else {
      const double rows = static_cast<double>(view.clock + view.looked);
      const double gain = view.settings.adagrad ? bank.template mean_squared_slope<Loss>() : 1.0;
      const double norm =
          precondition(row, p, rows, gain, view.settings.least, view.squares, view.scaled);
      prefetch_each(view.squares, next);
      if (!bank.template advance<Loss>(norm + constant)) return false;
      if (bank.step_is_nonzero()) bank.lines.scatter(row.with(view.scaled), view.step);
    }
    return true;
  }
}

template <class Loss, class Bank, class Value, class Index>
bool learn_row(Bank &bank, const SparseRow<Value, Index> &row, const SparseRow<Value, Index> &next,
               bool checked, Nonzeros<Value> &) {
  return learn_row<Loss>(bank, row, next, checked);
}

// A wide bank does much for every feature, so it pays to find out which are zero; one model does
// not, and takes them eight at a time.
template <class Loss, class Bank, class Value>
bool learn_row(Bank &bank, const DenseRow<Value> &row, const DenseRow<Value> &next, bool checked,
               Nonzeros<Value> &nonzeros) {
  if (4 > bank.K || row.size > INT32_MAX || !Nonzeros<Value>::few(row))
    return learn_row<Loss>(bank, row, next, checked);
  return learn_row<Loss>(bank, nonzeros.of(row), {nullptr, nullptr, 0}, checked);
}

template <class Loss, class Bank, class Rows>
int64_t learn_rows(Bank &bank, const Rows &rows, const Task &task) {
  auto &view = bank.view;
  Nonzeros<typename Rows::Number> nonzeros;
  for (int64_t n = 0; n < task.count; ++n) {
    const int64_t i = task.order ? task.order[n] : n;
    const auto row = rows[i];
    if (!present(bank, task, i)) {  // then no score would tell
      if (task.unchecked && !(in_order(row, view.features) && all_finite(row.value, row.size)))
        return i;
      continue;
    }
    ++view.clock;
    if (view.replicas) draw_replicas(view);
    if (task.scores) view.score = task.scores + n * view.models.count;
    view.limits = task.limits ? task.limits[n] : no_limits;
    const int64_t next = n + 1 < task.count ? task.order ? task.order[n + 1] : n + 1 : i;
    if (!learn_row<Loss>(bank, row, rows[next], !task.unchecked, nonzeros)) return i;
    if (task.classes && view.settings.progressive) bank.count_multiclass_error(task.classes[i]);
    if constexpr (!IsProximal<Loss>::value) bank.settle();
  }
  return all_learned;
}

template <class Loss, class Count, class W, class Rows>
int64_t learn_with(BankArgs<W> &view, const Rows &rows, const Task &task) {
  BankKernel<W, Count> bank(view);
  if constexpr (Rows::Row::dense && std::is_same_v<Count, One>) {
    const ColumnsApart<W> apart(bank.lines, rows.features, task.count);
    return learn_rows<Loss>(bank, rows, task);
  } else {
    return learn_rows<Loss>(bank, rows, task);
  }
}

}  // namespace

template <class W, class Rows>
int64_t learn(const char *loss, BankArgs<W> &view, const Rows &rows, const Task &task) {
  if (view.settings.softmax) return learn_with<Together, Many>(view, rows, task);
  int64_t stopped = all_learned;
  each_loss([&](const char *name, auto kind) {
    if (std::strcmp(name, loss) != 0) return;
    if (view.settings.proximal)
      stopped = learn_with<Proximal<decltype(kind)>, Many>(view, rows, task);
    else
      stopped = view.models.count == 1 ? learn_with<decltype(kind), One>(view, rows, task)
                                       : learn_with<decltype(kind), Many>(view, rows, task);
  });
  return stopped;
}

template <class Rows>
int64_t scan(const Rows &rows, int64_t limit) {
  int64_t largest = -1;
  if constexpr (Rows::Row::dense)
    if (rows.stride == rows.features && rows.count > 0) {  // as one: short ones take twice as long
      if (!all_finite(rows.values, rows.count * rows.features)) return looks_wrong;
      return rows.features <= limit ? rows.features : looks_wrong;
    }
  for (int64_t i = 0; i < rows.count; ++i) {
    const auto row = rows[i];
    if (!all_finite(row.value, row.size) || !rising(row)) return looks_wrong;
    if (row.size > 0) {
      if (row.feature(0) < 0) return looks_wrong;
      largest = std::max(largest, row.feature(row.size - 1));
    }
  }
  return largest < limit ? largest + 1 : looks_wrong;
}

template <class W, class Rows>
void score(const W *matrix, int64_t features, int64_t width, const Rows &rows, W *scores) {
  const Lines<W> lines{const_cast<W *>(matrix), features, width};
  for (int64_t i = 0; i < rows.count; ++i) {
    const auto row = rows[i];
    W *out = scores + i * width;
    const auto next = rows[i + 1 < rows.count ? i + 1 : i];
    if (lines.gather(row, out, {next, false}).in_order) continue;
    for (int64_t c = 0; c < width; ++c) out[c] = 0;
    for (int64_t e = 0; e < row.size; ++e)
      if (row.feature(e) < features)
        for (int64_t c = 0; c < width; ++c)
          out[c] += static_cast<W>(row.value[e]) * matrix[row.feature(e) * width + c];
  }
}

#define INSTANTIATE(W, ROWS)                                                                \
  template int64_t learn<W, ROWS>(const char *, BankArgs<W> &, const ROWS &, const Task &); \
  template void score<W, ROWS>(const W *, int64_t, int64_t, const ROWS &, W *);
#define INSTANTIATE_ROWS(W, V)                       \
  INSTANTIATE(W, DenseRows<V>)                       \
  INSTANTIATE(W, SparseRows<V POLYAK_COMMA int32_t>) \
  INSTANTIATE(W, SparseRows<V POLYAK_COMMA int64_t>)
#define INSTANTIATE_SCAN(V)                                                   \
  template int64_t scan(const DenseRows<V> &, int64_t);                       \
  template int64_t scan(const SparseRows<V POLYAK_COMMA int32_t> &, int64_t); \
  template int64_t scan(const SparseRows<V POLYAK_COMMA int64_t> &, int64_t);
#define POLYAK_COMMA ,
INSTANTIATE_SCAN(float)
INSTANTIATE_SCAN(double)
INSTANTIATE_ROWS(float, float)
INSTANTIATE_ROWS(float, double)
INSTANTIATE_ROWS(double, float)
INSTANTIATE_ROWS(double, double)

}  // namespace POLYAK_KERNELS
}  // namespace polyak
