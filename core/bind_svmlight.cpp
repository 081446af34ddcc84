// The svmlight parser as Python sees it: bytes in, arrays out, the interpreter free meanwhile.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>

#include "svmlight.hpp"

namespace nb = nanobind;
namespace {

using namespace polyak::svmlight;

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

template <class T>
nb::object to_numpy(Array<T> &&numbers, size_t n) {
  // The parser asked for the most that the text could have held: give the rest back.
  void *all = numbers.release();
  void *used = std::realloc(all, std::max<size_t>(n, 1) * sizeof(T));
  T *kept = static_cast<T *>(used ? used : all);
  nb::capsule owner(kept, [](void *p) noexcept { std::free(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept, {n}, owner));
}

template <class Index, class Value>
std::optional<nb::tuple> parse_as(const Text &text, const Options &options) {
  Rows<Index, Value> rows;
  bool fits;
  {
    nb::gil_scoped_release release;
    fits = parse(text.data(), text.size(), options, rows);
  }
  if (!fits) return std::nullopt;
  size_t n = static_cast<size_t>(rows.indptr.back());
  nb::list bad;
  for (const BadLine &line : rows.first_bad)
    bad.append(nb::make_tuple(line.line, nb::bytes(line.text.data(), line.text.size()),
                              nb::str(line.reason)));
  return nb::make_tuple(to_numpy(std::move(rows.targets)), to_numpy(std::move(rows.indptr)),
                        to_numpy(std::move(rows.indices), n), to_numpy(std::move(rows.values), n),
                        rows.largest_index, rows.base, rows.lines, rows.bad_lines, bad);
}

template <class Value>
nb::tuple parse_values(const Text &text, const Options &options) {
  if (auto rows = parse_as<int32_t, Value>(text, options)) return *rows;
  return *parse_as<int64_t, Value>(text, options);
}

nb::tuple parse_svmlight(nb::handle source, bool float64, int base, int64_t largest_index,
                         bool skip_bad_lines) {
  Text text(source);
  Options options{base, largest_index, skip_bad_lines};
  return float64 ? parse_values<double>(text, options) : parse_values<float>(text, options);
}

}  // namespace

void bind_svmlight(nb::module_ &m) {
  m.def("parse_svmlight", parse_svmlight, nb::arg("text"), nb::kw_only(), nb::arg("float64"),
        nb::arg("base"), nb::arg("largest_index"), nb::arg("skip_bad_lines"),
        "Parse whole lines of svmlight text.\n\n"
        "Returns targets, indptr, indices, values, the largest index (-1: no feature), the base\n"
        "(-1: not known yet), the number of lines, the number of bad ones, and of the first ten\n"
        "of these the line (from zero), the text and the reason.");
}
