// Rows in the types that the kernels are compiled for: values as precise as the weights. Other rows
// are converted a few at a time.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "rows/rows.hpp"

namespace polyak {

// No weights are wider than this, so that the largest 32-bit index is never one of theirs.
constexpr int64_t most_features = std::numeric_limits<int32_t>::max();

template <class W>
class RowBuffer {
 public:
  // Returns rows from `begin` to at most `end`, in the order that is given: at least one, and as
  // many as fit a cache. They are valid until the next call.
  template <class V>
  SparseRows<W> convert(const SparseRows<V> &rows, const int64_t *order, int64_t begin,
                        int64_t end) {
    offsets_.assign(1, 0);
    indices_.clear();
    values_.clear();
    for (int64_t n = begin; n < end && size() < kMostValues; ++n) {
      const auto row = rows[order ? order[n] : n];
      for (int64_t e = 0; e < row.size; ++e) {
        indices_.push_back(row.index[e]);
        values_.push_back(static_cast<W>(row.value[e]));
      }
      offsets_.push_back(size());
    }
    const auto count = static_cast<int64_t>(offsets_.size()) - 1;
    return {offsets_.data(), indices_.data(), values_.data(), count, size()};
  }

  template <class V>
  DenseRows<W> convert(const DenseRows<V> &rows, const int64_t *order, int64_t begin, int64_t end) {
    values_.clear();
    int64_t n = begin;
    for (; n < end && size() < kMostValues; ++n) {
      const auto row = rows[order ? order[n] : n];
      for (int64_t j = 0; j < row.size; ++j) values_.push_back(static_cast<W>(row.value[j]));
    }
    return {values_.data(), n - begin, rows.features, rows.features};
  }

 private:
  static constexpr int64_t kMostValues = 1 << 14;

  int64_t size() const { return static_cast<int64_t>(values_.size()); }

  std::vector<int64_t> offsets_;
  std::vector<int32_t> indices_;
  std::vector<W> values_;
};

// Calls use(rows, begin, end, gathered) for consecutive parts of the order, or of the rows if there
// is no order, until it returns false. Rows that need no conversion are one part; the others are
// `gathered`: copied in the order that is given.
template <class W, class Rows, class Use>
void each_part(const Rows &rows, const int64_t *order, int64_t begin, int64_t end, Use &&use) {
  if (begin == end) return;
  if constexpr (std::is_same_v<typename Rows::Number, W>) {
    use(rows.from(order ? 0 : begin), begin, end, false);
  } else {
    RowBuffer<W> buffer;
    for (bool more = true; more && begin < end;) {
      const auto some = buffer.convert(rows, order, begin, end);
      more = use(some, begin, begin + some.count, true);
      begin += some.count;
    }
  }
}

}  // namespace polyak
