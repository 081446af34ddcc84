#include "rows/standard_units.hpp"

#include <algorithm>
#include <vector>

#include "kernels/halves.hpp"

namespace polyak {
namespace {

// A hash table from features to columns.
class ColumnOf {
 public:
  ColumnOf(const int64_t *features, int64_t count) {
    size_t size = 16;
    while (size < 2 * static_cast<size_t>(count)) size *= 2;
    table_.assign(size, {-1, -1});
    for (int64_t j = 0; j < count; ++j) *find(features[j]) = {features[j], j};
  }

  // Returns -1 for a feature without a column.
  int64_t operator()(int64_t feature) const {
    return const_cast<ColumnOf *>(this)->find(feature)->column;
  }

 private:
  struct Entry {
    int64_t feature, column;
  };

  Entry *find(int64_t feature) {
    const size_t last = table_.size() - 1;
    size_t place = (static_cast<uint64_t>(feature) * 0x9E3779B97F4A7C15u >> 32) & last;
    while (table_[place].column >= 0 && table_[place].feature != feature)
      place = (place + 1) & last;
    return &table_[place];
  }

  std::vector<Entry> table_;
};

// Returns order[i], or i without an order, if there is such a row.
int64_t row_number(const int64_t *order, int64_t i, int64_t rows) {
  const int64_t row = order ? order[i] : i;
  if (row < 0 || row >= rows) refuse("there is no row ", row, " among ", rows);
  return row;
}

constexpr int64_t kAhead = 16;

template <class Wide, class In, class Out>
void fill_dense(const DenseRows<In> &rows, const int64_t *order, int64_t count,
                const StandardUnits &units, RowsOut<Out> out, bool two_threads) {
  const std::vector<Wide> centre(units.centre, units.centre + units.columns);
  const std::vector<Wide> per_unit(units.per_unit, units.per_unit + units.columns);
  for (int64_t i = 0; i < count; ++i) row_number(order, i, rows.count);  // before any is written
  by_halves(count, two_threads, [&](int, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const In *x = rows[order ? order[i] : i].value;
#if defined(__GNUC__)
      if (order && i + kAhead < end)  // the order may be random
        for (int64_t j = 0; j < units.columns; j += 64 / int64_t(sizeof(In)))
          __builtin_prefetch(rows.values + order[i + kAhead] * rows.stride + j);
#endif
      Out *z = out.at + i * out.stride;
      const Wide *c = centre.data(), *u = per_unit.data();
      for (int64_t j = 0; j < units.columns; ++j)
        z[j] = static_cast<Out>((static_cast<Wide>(x[j]) - c[j]) * u[j]);
    }
  });
}

// The same if columns are some of the features, in any order. Returns the number of nonzeros that
// have no column.
template <class In, class Out>
int64_t gather_dense(const DenseRows<In> &rows, const int64_t *order, int64_t count,
                     const StandardUnits &units, RowsOut<Out> out, bool two_threads) {
  int64_t left_out[2] = {0, 0};
  for (int64_t i = 0; i < count; ++i) row_number(order, i, rows.count);
  by_halves(count, two_threads, [&](int half, int64_t begin, int64_t end) {
    int64_t without = 0;
    for (int64_t i = begin; i < end; ++i) {
      const In *x = rows[order ? order[i] : i].value;
      Out *z = out.at + i * out.stride;
      for (int64_t j = 0; j < rows.features; ++j) without += x[j] != 0;
      for (int64_t j = 0; j < units.columns; ++j) {
        const In value = units.features[j] < rows.features ? x[units.features[j]] : In(0);
        without -= value != 0;
        z[j] = static_cast<Out>((static_cast<double>(value) - units.centre[j]) * units.per_unit[j]);
      }
    }
    left_out[half] = without;
  });
  return left_out[0] + left_out[1];
}

// Returns the number of nonzeros that have no column.
template <class In, class Out>
int64_t fill_rows(const DenseRows<In> &rows, const int64_t *order, int64_t count,
                  const StandardUnits &units, RowsOut<Out> out, bool two_threads) {
  bool as_they_stand = rows.features == units.columns;
  for (int64_t j = 0; j < units.columns && as_they_stand; ++j)
    as_they_stand = units.features[j] == j;
  if (!as_they_stand) return gather_dense(rows, order, count, units, out, two_threads);
  // With centres that float32 holds exactly, float32 arithmetic is used.
  if constexpr (sizeof(In) == 4 && sizeof(Out) == 4)
    if (std::all_of(units.centre, units.centre + units.columns,
                    [](double c) { return c == static_cast<double>(static_cast<float>(c)); })) {
      fill_dense<float>(rows, order, count, units, out, two_threads);
      return 0;
    }
  fill_dense<double>(rows, order, count, units, out, two_threads);
  return 0;
}

template <class In, class Out>
int64_t fill_rows(const SparseRows<In> &rows, const int64_t *order, int64_t count,
                  const StandardUnits &units, RowsOut<Out> out, bool two_threads) {
  for (int64_t i = 0; i < count; ++i) check_offsets(rows, row_number(order, i, rows.count));
  const ColumnOf column_of(units.features, units.columns);
  std::vector<Out> zeros(static_cast<size_t>(units.columns));
  for (int64_t j = 0; j < units.columns; ++j)
    zeros[j] = static_cast<Out>(-units.centre[j] * units.per_unit[j]);
  int64_t left_out[2] = {0, 0};
  by_halves(count, two_threads, [&](int half, int64_t begin, int64_t end) {
    int64_t without = 0;
    for (int64_t i = begin; i < end; ++i) {
      const auto row = rows[order ? order[i] : i];
#if defined(__GNUC__)
      if (order && i + kAhead < end) {  // the order may be random
        const auto next = rows[order[i + kAhead]];
        __builtin_prefetch(next.index);
        __builtin_prefetch(next.value);
        __builtin_prefetch(next.value + 64 / int64_t(sizeof(In)));
      }
#endif
      Out *z = out.at + i * out.stride;
      std::copy(zeros.begin(), zeros.end(), z);
      for (int64_t e = 0; e < row.size; ++e) {
        const int64_t j = column_of(row.feature(e));
        if (j < 0)
          without += row.value[e] != 0;
        else
          z[j] = static_cast<Out>((static_cast<double>(row.value[e]) - units.centre[j]) *
                                  units.per_unit[j]);
      }
    }
    left_out[half] = without;
  });
  return left_out[0] + left_out[1];
}

}  // namespace

template <class Out>
int64_t fill_standard(const AnyRows &any, const int64_t *order, int64_t count,
                      const StandardUnits &units, RowsOut<Out> out, bool two_threads) {
  return std::visit(
      [&](const auto &rows) { return fill_rows(rows, order, count, units, out, two_threads); },
      any);
}

template int64_t fill_standard(const AnyRows &, const int64_t *, int64_t, const StandardUnits &,
                               RowsOut<float>, bool);
template int64_t fill_standard(const AnyRows &, const int64_t *, int64_t, const StandardUnits &,
                               RowsOut<double>, bool);

}  // namespace polyak
