// Rows times a matrix of features x columns, in whatever types Python has them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <limits>

#include "kernels/kernel_choice.hpp"
#include "learn/kernels.hpp"
#include "learn/task_checks.hpp"
#include "python/rows/checked_rows.hpp"

namespace polyak {

template <class W>
using Matrix = nb::ndarray<const W, nb::ndim<2>, nb::device::cpu, nb::c_contig>;

// Fills rows x columns of scores, without Python. Rows of a parser are not looked through again.
template <class W>
void score_into(const AnyRows &any, bool believed, const Matrix<W> &matrix, W *scores) {
  const int64_t features = static_cast<int64_t>(matrix.shape(0));
  const int64_t width = static_cast<int64_t>(matrix.shape(1));
  any.visit([&](const auto &rows) {
    if (!believed) checked_features(rows, std::numeric_limits<int64_t>::max());
    POLYAK_CALL(score(matrix.data(), features, width, rows, scores));
  });
}

}  // namespace polyak
