// The arrays that Python hands in and gets back.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <initializer_list>
#include <memory>

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

}  // namespace polyak
