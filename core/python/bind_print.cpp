// Numbers as text, as Python sees it: arrays in, bytes out, the interpreter free meanwhile.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>
#include <string>

#include "print/print_lines.hpp"
#include "print/print_rows.hpp"
#include "python/rows/any_rows.hpp"

namespace nb = nanobind;
namespace {

using namespace polyak;

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

nb::bytes print_table(nb::ndarray<const double, nb::ndim<2>, nb::c_contig> table) {
  std::string text;
  {
    nb::gil_scoped_release release;
    text = print_lines(table.data(), static_cast<int64_t>(table.shape(0)),
                       static_cast<int64_t>(table.shape(1)));
  }
  return nb::bytes(text.data(), text.size());
}

}  // namespace

void bind_print(nb::module_ &m) {
  m.def("print_svmlight", print_svmlight, nb::arg("indptr").none(), nb::arg("indices").none(),
        nb::arg("values"), nb::arg("targets"),
        "Write rows as svmlight text, ids from 1, that reads back to the last bit.");
  m.def("print_lines", print_table, nb::arg("table"),
        "Write a table as text, a line a row, with spaces between the numbers of a row.");
}
