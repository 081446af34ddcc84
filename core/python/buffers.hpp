// Text that Python passes in, and lists of numbers that it gets back.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

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

template <class T>
nb::object to_numpy(std::vector<T> &&numbers) {
  auto *kept = new std::vector<T>(std::move(numbers));
  nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

}  // namespace polyak
