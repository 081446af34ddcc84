// Slices of a call: some of its rows, with their targets, weights and room for scores.
#pragma once

#include <cstdint>

#include "learn/bank_args.hpp"
#include "rows/rows.hpp"

namespace polyak {

template <class Value, class Index>
SparseRows<Value, Index> rows_from(SparseRows<Value, Index> rows, int64_t begin) {
  const int64_t width = rows.offsets.wide ? sizeof(int64_t) : sizeof(int32_t);
  rows.offsets.data = static_cast<const char *>(rows.offsets.data) + begin * width;
  rows.count -= begin;
  return rows;
}

template <class Value>
DenseRows<Value> rows_from(DenseRows<Value> rows, int64_t begin) {
  rows.values += begin * rows.stride;
  rows.count -= begin;
  return rows;
}

// What is learned from `begin` to `end`. An order says which rows that is; without one they are
// those of the rows from `begin` on.
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

}  // namespace polyak
