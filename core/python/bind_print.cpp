// Numbers as text, as Python sees it: arrays in, bytes out, the interpreter free meanwhile.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "print/print_lines.hpp"
#include "print/print_rows.hpp"
#include "python/rows/any_rows.hpp"
#include "python/rows/arrays.hpp"
#include "python/rows/scored_rows.hpp"

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

// Returns the lines of rows' scores or labels without arrays in between, so that NumPy need not be
// imported.
template <class W>
nb::bytes lines_of(const AnyRows &rows, bool trusted, const Matrix<W> &matrix,
                   const Doubles &intercept, const std::optional<std::vector<std::string>> &names) {
  const size_t columns = matrix.shape(1);
  if (intercept.size() != columns) throw nb::value_error("columns and intercepts differ in number");
  if (names && names->size() != std::max<size_t>(columns, 2))
    throw nb::value_error("columns and names differ in number");
  std::string text;
  {
    nb::gil_scoped_release release;
    const int64_t count = rows.count();
    std::vector<W> scores(static_cast<size_t>(count) * columns);
    score_into(rows, trusted, matrix, scores.data());
    std::vector<double> table(scores.size());
    for (size_t i = 0; i < table.size(); ++i)
      table[i] = static_cast<double>(scores[i]) + intercept.data()[i % columns];
    const auto width = static_cast<int64_t>(columns);
    text = names ? print_names(table.data(), count, width, *names)
                 : print_lines(table.data(), count, width);
  }
  return nb::bytes(text.data(), text.size());
}

template <class W>
void bind_lines_of(nb::module_ &m) {
  using Names = std::optional<std::vector<std::string>>;
  const char *about =
      "Score rows, and return a line for each: all scores, or the name of the best.";
  m.def(
      "score_lines",
      [](const CheckedRows &rows, const Matrix<W> &matrix, const Doubles &intercept,
         const Names &names) {
        return lines_of(rows.rows, !rows.borrowed, matrix, intercept, names);
      },
      nb::arg("rows"), nb::arg("matrix"), nb::arg("intercept"), nb::arg("names").none(), about);
  m.def(
      "score_lines",
      [](std::optional<AnyArray> indptr, std::optional<AnyArray> indices, AnyArray values,
         const Matrix<W> &matrix, const Doubles &intercept, const Names &names) {
        return lines_of({indptr, indices, values}, false, matrix, intercept, names);
      },
      nb::arg("indptr").none(), nb::arg("indices").none(), nb::arg("values"), nb::arg("matrix"),
      nb::arg("intercept"), nb::arg("names").none(), about);
}

}  // namespace

void bind_print(nb::module_ &m) {
  m.def("print_svmlight", print_svmlight, nb::arg("indptr").none(), nb::arg("indices").none(),
        nb::arg("values"), nb::arg("targets"),
        "Return rows as svmlight text, with ids from 1, that is read back to the same bits.");
  m.def("print_lines", print_table, nb::arg("table"),
        "Return a table as text, one line per row, with spaces between numbers.");
  bind_lines_of<float>(m);
  bind_lines_of<double>(m);
}
