// What cannot be learned from is refused here, with the row and the value, before anything changes.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/kernel_choice.hpp"
#include "learn/bank_args.hpp"
#include "learn/kernels.hpp"
#include "rows/check.hpp"

namespace polyak {

// How many features the rows need; refuses rows that cannot be learned from.
template <class Rows>
int64_t checked_features(const Rows &rows, int64_t limit) {
  check_offsets(rows);
  const int64_t features = POLYAK_CALL(scan(rows, limit));
  return features == looks_wrong ? check_rows(rows, limit) : features;
}

// What a loss says of its targets: which it accepts, and what it wants instead of others.
struct Targets {
  bool (*accepts)(double);
  const char *wants;
};

inline void check_targets(const Task &task, int64_t rows, const Targets &wanted) {
  for (int64_t i = 0; i < rows && task.targets; ++i)
    for (int64_t o = 0; o < task.outputs; ++o) {
      const double y = task.targets[i * task.outputs + o];
      if (!std::isfinite(y)) refuse("row ", i, " has the target ", y);
      if (!wanted.accepts(y)) refuse("row ", i, " has the target ", y, "; ", wanted.wants);
    }
}

inline void check_weights(const Task &task, int64_t rows, int64_t models) {
  if (!task.weights) return;
  const int64_t columns = task.weight_step ? models : 1;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < columns; ++k) {
      const double w = task.weights[i * task.weight_stride + k];
      if (!std::isfinite(w) || w < 0.0) refuse("row ", i, " has the weight ", w);
    }
}

inline void check_order(const Task &task, int64_t rows) {
  for (int64_t n = 0; n < task.count && task.order; ++n)
    if (task.order[n] < 0 || task.order[n] >= rows)
      refuse("the order asks for row ", task.order[n], " of ", rows);
}

inline void check_stops(const int64_t *stops, size_t number, int64_t count) {
  int64_t before = 0;
  for (size_t s = 0; s < number; ++s) {
    if (stops[s] < before || stops[s] > count)
      refuse("cannot stop at row ", stops[s], " of ", count);
    before = stops[s];
  }
}

inline void check_length(const char *what, size_t length, int64_t rows) {
  if (static_cast<int64_t>(length) != rows)
    refuse("there are ", rows, " rows but ", length, " ", what);
}

}  // namespace polyak
