// Tasks: slices of them, and their validation. Errors name the row and the value, and are raised
// before any state changes.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/kernel_choice.hpp"
#include "learn/bank_args.hpp"
#include "rows/check.hpp"

namespace polyak {

// The part of a task from `begin` to `end`, in the order of learning.
inline Task slice_task(Task task, int64_t begin, int64_t end, int64_t models) {
  task.count = end - begin;
  if (task.scores) task.scores += begin * models;
  if (task.limits) task.limits += begin;
  if (task.order) {
    task.order += begin;
    return task;
  }
  if (task.targets) task.targets += begin * task.outputs;
  if (task.classes) task.classes += begin;
  if (task.weights) task.weights += begin * task.weight_stride;
  return task;
}

// Returns the number of features that the rows need. Throws if the rows are invalid.
template <class Rows>
int64_t checked_features(const Rows &rows, int64_t limit) {
  check_offsets(rows);
  const int64_t features = kernels->rows.scan(rows, limit);
  return features == scan_failed ? check_rows(rows, limit) : features;
}

// The targets that a loss accepts.
struct Targets {
  bool (*accepts)(double);
  const char *wants;  // quoted in the error for other targets
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
