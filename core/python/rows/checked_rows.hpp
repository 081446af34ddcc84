// Validated rows. Only the core constructs them: its parsers, into memory that Python cannot write
// to, or its validation of arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "python/rows/any_rows.hpp"
#include "rows/check.hpp"

namespace polyak {

class CheckedRows {
 public:
  AnyRows rows;
  int64_t features;  // number of features that they need
  // The arrays belong to the caller, who may still write to them. Their indices are ascending, and
  // learning validates them again as it reads them.
  bool borrowed;

  // Some of the rows, without copying any.
  CheckedRows slice(int64_t begin, int64_t end) const {
    CheckedRows some = *this;
    some.rows.first += begin;
    some.rows.number = std::max<int64_t>(end - begin, 0);
    return some;
  }
};

// Returns the number of features that rows of ascending indices need.
template <class Value, class Index>
int64_t features_of_rising(const SparseRows<Value, Index> &rows) {
  int64_t largest = -1;
  for (int64_t i = 0; i < rows.count; ++i) {
    const auto row = rows[i];
    if (row.size > 0) largest = std::max(largest, row.feature(row.size - 1));
  }
  // Without overflow for the largest index; no memory holds that many weights in either case.
  return largest < std::numeric_limits<int64_t>::max() ? largest + 1 : largest;
}
template <class Value>
int64_t features_of_rising(const DenseRows<Value> &rows) {
  return rows.features;
}

template <class T>
using ReadOnly = nb::ndarray<nb::numpy, const T, nb::ndim<1>>;

// The rows of a parser, which have ascending indices and finite values.
template <class Offset, class Index, class Value>
CheckedRows parsed_rows(const ReadOnly<Offset> &indptr, const ReadOnly<Index> &indices,
                        const ReadOnly<Value> &values) {
  AnyRows rows{AnyArray(indptr), AnyArray(indices), AnyArray(values)};
  const int64_t features = rows.visit([](const auto &some) { return features_of_rising(some); });
  return {std::move(rows), features, false};
}

// A copy of the rows that the caller cannot write to.
inline AnyRows copied(const AnyRows &rows) {
  const auto copy = [](const AnyArray &array) {
    auto data = std::make_unique<char[]>(array.nbytes());
    if (array.nbytes() > 0) std::memcpy(data.get(), array.data(), array.nbytes());
    nb::capsule owner(data.get(), [](void *p) noexcept { delete[] static_cast<char *>(p); });
    const size_t length = array.shape(0);
    return AnyArray(data.release(), 1, &length, owner, nullptr, array.dtype());
  };
  AnyRows own = rows;
  own.indptr = copy(*rows.indptr);
  own.indices = copy(*rows.indices);
  own.values = copy(rows.values);
  return own;
}

inline void bind_checked_rows(nb::module_ &m) {
  nb::class_<CheckedRows>(m, "CheckedRows", "Validated rows; only the core constructs them.",
                          nb::is_final())
      .def("__len__", [](const CheckedRows &self) { return self.rows.count(); })
      .def("__getitem__",
           [](const CheckedRows &self, nb::slice part) {
             const auto [begin, end, step, length] =
                 part.compute(static_cast<size_t>(self.rows.count()));
             if (step != 1) refuse("rows can be sliced with a step of one only");
             return self.slice(begin, begin + static_cast<int64_t>(length));
           })
      .def_ro("features", &CheckedRows::features);
}

}  // namespace polyak
