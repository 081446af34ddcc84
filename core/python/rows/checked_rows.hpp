// Rows that can be believed. Nobody but the core can make them: either a parser of ours did, into
// memory that Python may read but not write, or the core has looked at every one of them.
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
  int64_t features;  // how many they need
  // The arrays belong to somebody who may yet write to them. Their rows rise, so that learning sees
  // in passing whether they still do; it never follows an index that nobody has looked at.
  bool borrowed;

  // Some of the rows, without copying any.
  CheckedRows slice(int64_t begin, int64_t end) const {
    CheckedRows some = *this;
    some.rows.first += begin;
    some.rows.number = std::max<int64_t>(end - begin, 0);
    return some;
  }
};

// How many features rows need whose features are known to rise: the last one of every row tells.
template <class Value, class Index>
int64_t features_of_rising(const SparseRows<Value, Index> &rows) {
  int64_t largest = -1;
  for (int64_t i = 0; i < rows.count; ++i) {
    const auto row = rows[i];
    if (row.size > 0) largest = std::max(largest, row.feature(row.size - 1));
  }
  // Of the largest number there is, one less: no memory holds that many weights in either case.
  return largest < std::numeric_limits<int64_t>::max() ? largest + 1 : largest;
}
template <class Value>
int64_t features_of_rising(const DenseRows<Value> &rows) {
  return rows.features;
}

template <class T>
using ReadOnly = nb::ndarray<nb::numpy, const T, nb::ndim<1>>;

// The rows of a parser of ours, which makes features rise and refuses what is not finite.
template <class Offset, class Index, class Value>
CheckedRows parsed_rows(const ReadOnly<Offset> &indptr, const ReadOnly<Index> &indices,
                        const ReadOnly<Value> &values) {
  AnyRows rows{AnyArray(indptr), AnyArray(indices), AnyArray(values)};
  const int64_t features = rows.visit([](const auto &some) { return features_of_rising(some); });
  return {std::move(rows), features, false};
}

// The same rows in memory of our own, which nobody else can write to.
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
  nb::class_<CheckedRows>(m, "CheckedRows",
                          "Rows that the core has made or looked at; nobody else can make any.",
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
