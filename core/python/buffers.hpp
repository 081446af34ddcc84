// Text and arrays that Python passes in, and arrays that it gets back.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "memory/column.hpp"

namespace polyak {

namespace nb = nanobind;

// Anything with a buffer: bytes, a memory view, an array, a memory map.
class Text {
 public:
  explicit Text(nb::handle source) {
    if (PyObject_GetBuffer(source.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~Text() { PyBuffer_Release(&view_); }
  Text(const Text &) = delete;
  Text &operator=(const Text &) = delete;
  const char *data() const { return static_cast<const char *>(view_.buf); }
  size_t size() const { return static_cast<size_t>(view_.len); }

 private:
  Py_buffer view_;
};

using Doubles = nb::ndarray<const double, nb::device::cpu, nb::c_contig>;
using Integers = nb::ndarray<const int64_t, nb::ndim<1>, nb::device::cpu, nb::c_contig>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu, nb::c_contig>;
using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu, nb::c_contig>;
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

// Moves numbers to an array. Its memory is recycled when Python releases it. Arrays of validated
// rows must not be written to, and are of `const T`.
template <class T, class Kept>
nb::ndarray<nb::numpy, T, nb::ndim<1>> to_array(Column<Kept> &&numbers) {
  auto *kept = new Column<Kept>(std::move(numbers));
  nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<Column<Kept> *>(p); });
  return {kept->data(), {kept->size()}, owner};
}

// Moves numbers to an array of this shape.
template <class T>
nb::object to_numpy(std::vector<T> &&numbers, std::initializer_list<size_t> shape) {
  auto *kept = new std::vector<T>(std::move(numbers));
  nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), shape.size(), shape.begin(), owner));
}
template <class T>
nb::object to_numpy(std::vector<T> &&numbers) {
  const size_t size = numbers.size();
  return to_numpy(std::move(numbers), {size});
}

}  // namespace polyak
