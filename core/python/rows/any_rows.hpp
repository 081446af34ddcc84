// Rows as Python passes them, of types known only at run time.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <optional>

#include "rows/rows.hpp"

namespace polyak {

namespace nb = nanobind;
using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;

// The rows of a call: dense (indptr and indices absent) or compressed sparse.
struct AnyRows {
  std::optional<AnyArray> indptr, indices;
  AnyArray values;
  int64_t first = 0, number = -1;  // the part of the rows that counts; a negative number: all

  int64_t count() const {
    if (number >= 0) return number;
    if (!indptr) return static_cast<int64_t>(values.shape(0));
    return static_cast<int64_t>(indptr->shape(0)) - 1;
  }

  // Calls visit(rows) with the rows in their own types.
  template <class Visit>
  auto visit(Visit &&visit) const {
    if (values.dtype() == nb::dtype<float>()) return visit_values<float>(visit);
    if (values.dtype() == nb::dtype<double>()) return visit_values<double>(visit);
    throw nb::type_error("values must be float32 or float64");
  }

 private:
  template <class V, class Visit>
  auto visit_values(Visit &visit) const {
    const V *data = static_cast<const V *>(values.data());
    if (!indptr) {
      if (values.ndim() != 2) throw nb::type_error("dense rows must be two-dimensional");
      if (values.shape(1) > 1 && values.stride(1) != 1)
        throw nb::type_error("a dense row must be contiguous");
      const int64_t stride = values.shape(0) > 1 ? values.stride(0) : 0;
      return visit(DenseRows<V>{data + first * stride, count(),
                                static_cast<int64_t>(values.shape(1)), stride});
    }
    if (indices->dtype() == nb::dtype<int32_t>()) return visit(sparse<V, int32_t>(data));
    if (indices->dtype() == nb::dtype<int64_t>()) return visit(sparse<V, int64_t>(data));
    throw nb::type_error("indices must be int32 or int64");
  }

  template <class V, class I>
  SparseRows<V, I> sparse(const V *data) const {
    const bool wide = indptr->dtype() == nb::dtype<int64_t>();
    if (!wide && indptr->dtype() != nb::dtype<int32_t>())
      throw nb::type_error("indptr must be int32 or int64");
    for (const AnyArray *array : {&*indptr, &*indices, &values})
      if (array->ndim() != 1 || (array->shape(0) > 1 && array->stride(0) != 1))
        throw nb::type_error("indptr, indices and values must be one-dimensional and contiguous");
    if (indptr->shape(0) == 0) throw nb::value_error("indptr is empty");
    if (indices->shape(0) != values.shape(0))
      throw nb::value_error("indices and values differ in length");
    const int64_t begin = first * static_cast<int64_t>(indptr->itemsize());
    return {{static_cast<const char *>(indptr->data()) + begin, wide},
            static_cast<const I *>(indices->data()),
            data,
            count(),
            static_cast<int64_t>(values.shape(0))};
  }
};

}  // namespace polyak
