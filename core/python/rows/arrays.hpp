// The arrays that Python hands in and gets back.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

namespace polyak {

namespace nb = nanobind;

using Doubles = nb::ndarray<const double, nb::device::cpu, nb::c_contig>;
using Integers = nb::ndarray<const int64_t, nb::ndim<1>, nb::device::cpu, nb::c_contig>;
using NewDoubles = nb::ndarray<nb::numpy, double>;

template <class T>
nb::ndarray<nb::numpy, T> new_array(std::initializer_list<size_t> shape) {
  size_t size = 1;
  for (size_t s : shape) size *= s;
  auto data = std::make_unique<T[]>(size);
  nb::capsule owner(data.get(), [](void *p) noexcept { delete[] static_cast<T *>(p); });
  return {data.release(), shape.size(), shape.begin(), owner};
}

template <class Vector>
nb::ndarray<nb::numpy, typename Vector::value_type> new_copy(const Vector &from,
                                                             std::initializer_list<size_t> shape) {
  auto out = new_array<typename Vector::value_type>(shape);
  std::copy(from.begin(), from.end(), out.data());
  return out;
}

// Some columns of numbers that stand row by row.
template <class T>
nb::ndarray<nb::numpy, T> columns_of(const T *row, size_t rows, size_t width,
                                     const std::vector<int64_t> &columns) {
  auto out = new_array<T>({rows, columns.size()});
  T *to = out.data();
  for (size_t i = 0; i < rows; ++i, row += width)
    for (const int64_t column : columns) *to++ = row[column];
  return out;
}

}  // namespace polyak
