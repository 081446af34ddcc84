// svmlight text as Python sees it: bytes in, arrays out, and back; the interpreter free meanwhile.
#include <nanobind/stl/optional.h>

#include <optional>

#include "any_rows.hpp"
#include "bind_text.hpp"
#include "print_rows.hpp"
#include "svmlight.hpp"

namespace nb = nanobind;
namespace {

using namespace polyak;
using namespace polyak::svmlight;

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
  return nb::make_tuple(to_numpy(std::move(rows.targets)), to_numpy(std::move(rows.indptr)),
                        to_numpy(std::move(rows.indices), n), to_numpy(std::move(rows.values), n),
                        rows.largest_index, rows.base, rows.lines, rows.bad_lines,
                        bad_lines(rows.first_bad));
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

nb::bytes print_svmlight(std::optional<AnyArray> indptr, std::optional<AnyArray> indices,
                         AnyArray values,
                         nb::ndarray<const double, nb::ndim<1>, nb::c_contig> targets) {
  const AnyRows rows{indptr, indices, values};
  if (static_cast<int64_t>(targets.shape(0)) != rows.count())
    throw nb::value_error("rows and targets differ in number");
  std::string text;
  {
    nb::gil_scoped_release release;
    text = rows.visit([&](const auto &typed) { return print_rows(typed, targets.data()); });
  }
  return nb::bytes(text.data(), text.size());
}

}  // namespace

void bind_svmlight(nb::module_ &m) {
  m.def("parse_svmlight", parse_svmlight, nb::arg("text"), nb::kw_only(), nb::arg("float64"),
        nb::arg("base"), nb::arg("largest_index"), nb::arg("skip_bad_lines"),
        "Parse whole lines of svmlight text.\n\n"
        "Returns targets, indptr, indices, values, the largest index (-1: no feature), the base\n"
        "(-1: not known yet), the number of lines, the number of bad ones, and of the first ten\n"
        "of these the line (from zero), the text and the reason.");
  m.def("print_svmlight", print_svmlight, nb::arg("indptr").none(), nb::arg("indices").none(),
        nb::arg("values"), nb::arg("targets"),
        "Write rows as svmlight text, ids from 1, that reads back to the last bit.");
}
