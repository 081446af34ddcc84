// Rows as Python passes them: arrays, and a view of them in their own types.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "rows/any_rows.hpp"

namespace polyak {

namespace nb = nanobind;
using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;

// Compressed sparse rows, with indptr of 64 bits and indices of 32, or dense rows, which have
// neither.
struct Rows {
  std::optional<AnyArray> indptr, indices;
  AnyArray values;
  AnyRows view;
  Validation known;

  Rows(std::optional<AnyArray> own_indptr, std::optional<AnyArray> own_indices, AnyArray own_values)
      : indptr(std::move(own_indptr)),
        indices(std::move(own_indices)),
        values(std::move(own_values)) {
    if (values.dtype() == nb::dtype<float>())
      view = view_of<float>();
    else if (values.dtype() == nb::dtype<double>())
      view = view_of<double>();
    else
      throw nb::type_error("values must be float32 or float64");
  }

  int64_t count() const { return count_of(view); }

 private:
  template <class V>
  AnyRows view_of() const {
    const V *data = static_cast<const V *>(values.data());
    if (indptr && indices) return sparse<V>(data);
    if (values.ndim() != 2) throw nb::type_error("dense rows must be two-dimensional");
    if (values.size() > 0 && values.shape(1) > 1 && values.stride(1) != 1)
      throw nb::type_error("a dense row must be contiguous");
    const int64_t stride = values.shape(0) > 1 ? values.stride(0) : 0;
    return DenseRows<V>{data, static_cast<int64_t>(values.shape(0)),
                        static_cast<int64_t>(values.shape(1)), stride};
  }

  template <class V>
  SparseRows<V> sparse(const V *data) const {
    // Python converts int32 to int64 and vice versa.
    if (indptr->dtype() != nb::dtype<int64_t>() || indices->dtype() != nb::dtype<int32_t>())
      throw nb::type_error("indptr and indices must be int32 or int64");
    for (const AnyArray *array : {&*indptr, &*indices, &values})
      if (array->ndim() != 1 || (array->shape(0) > 1 && array->stride(0) != 1))
        throw nb::type_error("indptr, indices and values must be one-dimensional and contiguous");
    if (indptr->shape(0) == 0) throw nb::value_error("indptr is empty");
    if (indices->shape(0) != values.shape(0))
      throw nb::value_error("indices and values differ in length");
    return {static_cast<const int64_t *>(indptr->data()),
            static_cast<const int32_t *>(indices->data()), data,
            static_cast<int64_t>(indptr->shape(0)) - 1, static_cast<int64_t>(values.shape(0))};
  }
};

// Validated rows. Only the core constructs them: its parsers, into memory that Python cannot write
// to, or its validation of arrays.
struct CheckedRows : Rows {
  CheckedRows(Rows rows, const Validation &found) : Rows(std::move(rows)) { known = found; }

  // Some of the rows, without copying any.
  CheckedRows slice(int64_t begin, int64_t end) const {
    CheckedRows some = *this;
    some.view = slice_rows(view, begin, end);
    return some;
  }
};

}  // namespace polyak
