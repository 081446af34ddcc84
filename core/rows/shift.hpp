// Sparse rows minus the means of some features, which become nonzero in every row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "rows/rows.hpp"

namespace polyak {

struct Shift {
  const int64_t *features;  // ascending
  const double *means;
  int64_t count;

  // Calls emit(feature, value) for each value of a shifted row, in ascending order of features.
  template <class Row, class Emit>
  void each(const Row &row, std::vector<int64_t> &order, Emit &&emit) const {
    bool ascending = true;
    for (int64_t i = 1; i < row.size; ++i) ascending &= row.feature(i - 1) < row.feature(i);
    if (ascending) {  // as all parsed rows are: no sorted list is needed
      merge(row, [](int64_t i) { return i; }, emit);
      return;
    }
    order.resize(static_cast<size_t>(row.size));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return row.feature(a) < row.feature(b); });
    merge(row, [&](int64_t i) { return order[i]; }, emit);
  }

 private:
  template <class Row, class Place, class Emit>
  void merge(const Row &row, Place &&place, Emit &emit) const {
    int64_t next = 0;
    for (int64_t e = 0; e < row.size; ++e) {
      const int64_t i = place(e), feature = row.feature(i);
      while (next < count && features[next] < feature) {
        emit(features[next], -means[next]);
        ++next;
      }
      const bool shifted = next < count && features[next] == feature;
      emit(feature, double(row.value[i]) - (shifted ? means[next] : 0.0));
      next += shifted;
    }
    for (; next < count; ++next) emit(features[next], -means[next]);
  }
};

}  // namespace polyak
