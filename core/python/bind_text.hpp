// Text from Python, and arrays back: what the bindings of all parsers share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "memory/process.hpp"
#include "python/checked_rows.hpp"
#include "text/lines.hpp"
#include "text/read_ahead.hpp"

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

// What the core will believe must not be written to.
template <class T>
ReadOnly<T> to_read_only(std::vector<T> &&numbers) {
  auto *kept = new std::vector<T>(std::move(numbers));
  nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
  return ReadOnly<T>(kept->data(), {kept->size()}, owner);
}

template <class T>
ReadOnly<T> to_read_only(Array<T> &&numbers, size_t n) {
  // The parser asked for the most that the text could have held: give the rest back.
  void *all = numbers.release();
  void *used = std::realloc(all, std::max<size_t>(n, 1) * sizeof(T));
  T *kept = static_cast<T *>(used ? used : all);
  nb::capsule owner(kept, [](void *p) noexcept { std::free(p); });
  return ReadOnly<T>(kept, {n}, owner);
}

// Line (from zero), text and reason of each.
inline nb::list bad_lines(const std::vector<BadLine> &lines) {
  nb::list list;
  for (const BadLine &line : lines)
    list.append(nb::make_tuple(line.line, nb::bytes(line.text.data(), line.text.size()),
                               nb::str(line.reason)));
  return list;
}

// Files that are read and parsed ahead, whatever their rows are.
template <class Rows, nb::tuple (*ToPython)(Rows &&)>
class TextFiles {
 public:
  TextFiles(BlocksOfLines blocks, int base, int threads, size_t head_start,
            typename ReadAhead<Rows>::Parse parse)
      : ahead_(std::make_unique<ReadAhead<Rows>>(std::move(blocks), base, threads, head_start,
                                                 std::move(parse))),
        process_(this_process()) {}

  // A forked process has what the threads left, but no threads: nobody would ever answer, and not
  // even an end can be waited for.
  ~TextFiles() {
    if (process_ != this_process()) static_cast<void>(ahead_.release());
  }

  nb::object next() {
    std::optional<typename ReadAhead<Rows>::Parsed> block;
    ReadAhead<Rows> &ahead = here();
    {
      nb::gil_scoped_release release;
      block = ahead.next();
    }
    if (!block) return nb::none();
    return nb::make_tuple(block->file, block->end, ToPython(std::move(block->rows)));
  }

  int base() {
    ReadAhead<Rows> &ahead = here();
    nb::gil_scoped_release release;
    return ahead.base();
  }

  // The class, without its constructor.
  static nb::class_<TextFiles> bind(nb::module_ &m, const char *name) {
    return nb::class_<TextFiles>(m, name, "Files read and parsed ahead by threads.")
        .def("next", &TextFiles::next,
             "Give the next block: which file, where in it the block ends, and what the parser\n"
             "of its text returns. None after the last.")
        .def_prop_ro("base", &TextFiles::base, "The base that the first features show.");
  }

 private:
  ReadAhead<Rows> &here() const {
    if (process_ != this_process())
      throw std::runtime_error(
          "what was opened before a fork cannot be read after it: open it anew");
    return *ahead_;
  }

  std::unique_ptr<ReadAhead<Rows>> ahead_;
  const int process_;
};

}  // namespace polyak
