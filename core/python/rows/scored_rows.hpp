// Rows times a matrix of features x columns, in the types that Python has them in.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <limits>

#include "learn/tasks.hpp"
#include "python/rows/checked_rows.hpp"
#include "rows/convert.hpp"

namespace polyak {

template <class W>
using Matrix = nb::ndarray<const W, nb::ndim<2>, nb::device::cpu, nb::c_contig>;

// Fills rows x columns of scores, without Python. Only rows that are not trusted are validated.
template <class W>
void score_into(const AnyRows &any, bool trusted, const Matrix<W> &matrix, W *scores) {
  const int64_t features = static_cast<int64_t>(matrix.shape(0));
  const int64_t width = static_cast<int64_t>(matrix.shape(1));
  if (features > most_features) refuse("a matrix of ", features, " features is too large");
  any.visit([&](const auto &rows) {
    if (!trusted) checked_features(rows, std::numeric_limits<int64_t>::max());
    each_part<W>(rows, nullptr, 0, rows.count, [&](const auto &some, int64_t begin, int64_t, bool) {
      kernels->rows.score(matrix.data(), features, width, some, scores + begin * width);
      return true;
    });
  });
}

}  // namespace polyak
