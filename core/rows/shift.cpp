#include "rows/shift.hpp"

#include <algorithm>
#include <utility>

namespace polyak {
namespace {

// Sorts the features of a row, unless they are ascending, as those of all parsed rows.
class AscendingOrder {
 public:
  // Returns the order in which the features are ascending, or null if they already are.
  template <class Row>
  const int64_t *of(const Row &row) {
    bool ascending = true;
    for (int64_t i = 1; i < row.size; ++i) ascending &= row.feature(i - 1) < row.feature(i);
    if (ascending) return nullptr;
    places_.clear();
    for (int64_t i = 0; i < row.size; ++i) places_.emplace_back(row.feature(i), i);
    std::sort(places_.begin(), places_.end());
    order_.clear();
    for (const auto &[feature, i] : places_) order_.push_back(i);
    return order_.data();
  }

 private:
  std::vector<std::pair<int64_t, int64_t>> places_;  // feature, place in the row
  std::vector<int64_t> order_;
};

// Calls emit(feature, value) for each value of a shifted row, in ascending order of features.
template <class Row, class Emit>
void shift_row(const Shift &shift, const Row &row, const int64_t *order, Emit &&emit) {
  int64_t next = 0;
  for (int64_t e = 0; e < row.size; ++e) {
    const int64_t i = order ? order[e] : e, feature = row.feature(i);
    for (; next < shift.count && shift.features[next] < feature; ++next)
      emit(shift.features[next], -shift.means[next]);
    const bool shifted = next < shift.count && shift.features[next] == feature;
    emit(feature, double(row.value[i]) - (shifted ? shift.means[next] : 0.0));
    next += shifted;
  }
  for (; next < shift.count; ++next) emit(shift.features[next], -shift.means[next]);
}

template <class Value>
ShiftedRows shifted(const SparseRows<Value> &rows, const Shift &shift) {
  AscendingOrder order;
  std::vector<int64_t> indptr{0};
  indptr.reserve(static_cast<size_t>(rows.count) + 1);
  int64_t stored = 0;
  for (int64_t i = 0; i < rows.count; ++i) {
    shift_row(shift, rows[i], order.of(rows[i]), [&](int64_t, double) { ++stored; });
    indptr.push_back(stored);
  }
  std::vector<int32_t> indices(static_cast<size_t>(stored));
  std::vector<Value> values(static_cast<size_t>(stored));
  int32_t *index_at = indices.data();
  Value *value_at = values.data();
  for (int64_t i = 0; i < rows.count; ++i) {
    shift_row(shift, rows[i], order.of(rows[i]), [&](int64_t feature, double value) {
      *index_at++ = static_cast<int32_t>(feature);
      *value_at++ = static_cast<Value>(value);
    });
  }
  return {std::move(indptr), std::move(indices), std::move(values)};
}
template <class Value>
ShiftedRows shifted(const DenseRows<Value> &, const Shift &) {
  refuse("dense rows are not shifted here");
}

}  // namespace

ShiftedRows shift_rows(const AnyRows &any, const Shift &shift) {
  checked_features(any);
  return std::visit([&](const auto &rows) { return shifted(rows, shift); }, any);
}

}  // namespace polyak
