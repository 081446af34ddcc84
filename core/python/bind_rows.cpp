// Bindings of rows: views of arrays, scores, and text.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "print/print_text.hpp"
#include "python/buffers.hpp"
#include "python/rows.hpp"
#include "rows/random_order.hpp"
#include "rows/shift.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;
using namespace polyak;

namespace {

nb::object score(const Rows &rows, const AnyMatrix &matrix) {
  const auto features = static_cast<int64_t>(matrix.shape(0));
  const auto columns = static_cast<int64_t>(matrix.shape(1));
  const auto scored = [&](auto number) -> nb::object {
    using W = decltype(number);
    auto scores = new_array<W>({static_cast<size_t>(rows.count()), matrix.shape(1)});
    {
      nb::gil_scoped_release release;
      score_rows(rows.view, rows.known.trusted(), static_cast<const W *>(matrix.data()), features,
                 columns, scores.data());
    }
    return nb::cast(scores);
  };
  if (matrix.dtype() == nb::dtype<float>()) return scored(float{});
  if (matrix.dtype() == nb::dtype<double>()) return scored(double{});
  throw nb::type_error("the matrix must be float32 or float64");
}

auto norms_of(const Rows &rows) {
  auto norms = new_array<double>({static_cast<size_t>(rows.count())});
  squared_norms(rows.view, norms.data());
  return norms;
}

nb::tuple shifted(const Rows &rows, const Integers &features, const Doubles &means) {
  if (means.size() != features.size()) refuse("features and means differ in number");
  ShiftedRows found =
      shift_rows(rows.view, {features.data(), means.data(), static_cast<int64_t>(features.size())});
  const auto numpy = [](auto &numbers) { return to_numpy(std::move(numbers)); };
  return nb::make_tuple(to_numpy(std::move(found.indptr)), to_numpy(std::move(found.indices)),
                        std::visit(numpy, found.values));
}

auto order_of(size_t count, uint64_t seed) {
  auto order = new_array<int64_t>({count});
  nb::gil_scoped_release release;
  random_order(static_cast<int64_t>(count), seed, order.data());
  return order;
}

// Returns what print() returns, which runs without the interpreter.
template <class Print>
nb::bytes printed(Print &&print) {
  std::string text;
  {
    nb::gil_scoped_release release;
    text = print();
  }
  return nb::bytes(text.data(), text.size());
}

nb::bytes svmlight_text(const Rows &rows, const Doubles &targets) {
  if (static_cast<int64_t>(targets.size()) != rows.count())
    throw nb::value_error("rows and targets differ in number");
  return printed([&] { return print_rows(rows.view, targets.data()); });
}

nb::bytes lines_of(const Matrix &table) {
  return printed([&] {
    return print_lines(table.data(), static_cast<int64_t>(table.shape(0)),
                       static_cast<int64_t>(table.shape(1)));
  });
}

nb::bytes names_of(const Matrix &scores, const std::vector<std::string> &names) {
  const size_t columns = scores.shape(1);
  if (names.size() != std::max<size_t>(columns, 2))
    throw nb::value_error("columns and names differ in number");
  return printed([&] {
    return print_names(scores.data(), static_cast<int64_t>(scores.shape(0)),
                       static_cast<int64_t>(columns), names);
  });
}

}  // namespace

void bind_rows(nb::module_ &m) {
  nb::class_<Rows>(m, "Rows", "Compressed sparse rows, or dense rows without indptr and indices.")
      .def(nb::init<std::optional<AnyArray>, std::optional<AnyArray>, AnyArray>(),
           "indptr"_a.none(), "indices"_a.none(), "values"_a)
      .def("__len__", &Rows::count);
  nb::class_<CheckedRows, Rows>(m, "CheckedRows", "Validated rows; only the core constructs them.",
                                nb::is_final())
      .def("__init__",
           [](CheckedRows *, nb::args) {
             throw nb::type_error("only the core constructs validated rows");
           })
      .def("__getitem__",
           [](const CheckedRows &self, nb::slice part) {
             const auto [begin, end, step, length] =
                 part.compute(static_cast<size_t>(self.count()));
             if (step != 1) refuse("rows can be sliced with a step of one only");
             return self.slice(begin, begin + static_cast<int64_t>(length));
           })
      .def_prop_ro("features", [](const CheckedRows &self) { return self.known.features; });
  m.def("score_rows", &score, "rows"_a, "matrix"_a,
        "Return rows times a matrix of features x columns; features beyond it are ignored.");
  m.def("squared_norms", &norms_of, "rows"_a, "Return the squared norm of every row.");
  m.def("shift_rows", &shifted, "rows"_a, "features"_a, "means"_a,
        "Return sparse rows with some features, in ascending order, minus their means.");
  m.def("random_order", &order_of, "count"_a, "seed"_a,
        "Return the numbers from 0 to count - 1 in random order.");
  m.def("print_svmlight", &svmlight_text, "rows"_a, "targets"_a,
        "Return rows as svmlight text, with ids from 1, that is read back to the same bits.");
  m.def("print_lines", &lines_of, "table"_a,
        "Return a table as text, one line per row, with spaces between numbers.");
  m.def("print_names", &names_of, "scores"_a, "names"_a,
        "Return a line for each row: the name of its highest score. With one column there are two\n"
        "names, of which the second is of scores above zero.");
}
