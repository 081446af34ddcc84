// Bindings of the readers of CSV, JSON and lines.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <unordered_map>

#include "python/buffers.hpp"
#include "table/arrow_export.hpp"
#include "table/csv_columns.hpp"
#include "text/records.hpp"

namespace nb = nanobind;
namespace {

using namespace polyak;

nb::tuple end_of_csv(nb::handle source, char delimiter, int state) {
  const Text text(source);
  auto now = static_cast<records::CsvState>(state);
  int64_t end;
  {
    nb::gil_scoped_release release;
    end = records::csv_end({text.data(), text.size()}, delimiter, now);
  }
  return nb::make_tuple(end, static_cast<int>(now));
}

using JsonDepth = std::tuple<int64_t, bool, bool, bool>;

nb::tuple lines_of_objects(nb::handle source, JsonDepth before) {
  const Text text(source);
  const auto &[depth, in_string, escaped, in_array] = before;
  records::JsonState now{depth, in_string, escaped, in_array};
  nb::bytearray lines(text.data(), text.size());
  records::objects_to_lines(static_cast<char *>(lines.data()), text.size(), now);
  return nb::make_tuple(lines, JsonDepth(now.depth, now.in_string, now.escaped, now.in_array));
}

template <class Node>
nb::object to_capsule(Node &&node, const char *name) {
  PyObject *capsule = PyCapsule_New(new Node(node), name, [](PyObject *capsule) {
    auto *node = static_cast<Node *>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
    if (node->release != nullptr) node->release(node);
    delete node;
  });
  if (capsule == nullptr) throw nb::python_error();
  return nb::steal(capsule);
}

// Columns that were read, with Arrow's interface for Python.
class CsvColumns {
 public:
  explicit CsvColumns(table::CsvColumns &&columns)
      : data_(std::make_shared<const table::CsvColumns>(std::move(columns))) {}

  nb::tuple as_arrow(nb::handle) const {
    nb::object schema = to_capsule(arrow::schema_of(data_), "arrow_schema");
    return nb::make_tuple(schema, to_capsule(arrow::array_of(data_), "arrow_array"));
  }

  nb::object lines() const { return to_numpy(std::vector<int64_t>(data_->lines)); }

  nb::list bad_rows() const {
    nb::list rows;
    for (const table::BadRow &row : data_->bad)
      rows.append(nb::make_tuple(row.begin, row.end, row.line, row.cells));
    return rows;
  }

  nb::list no_numbers() const {
    nb::list values;
    for (const table::NoNumber &value : data_->no_numbers)
      values.append(nb::make_tuple(value.row, data_->names[value.column],
                                   nb::bytes(value.text.data(), value.text.size())));
    return values;
  }

  nb::list no_text() const {
    nb::list values;
    for (const table::NoText &value : data_->no_text)
      values.append(nb::make_tuple(value.row, data_->names[value.column]));
    return values;
  }

 private:
  arrow::Shared data_;
};

using Strings = std::vector<std::string>;

CsvColumns columns_of_csv(nb::handle source, char delimiter, const Strings &header,
                          const Strings &numbers, const Strings &words, const Strings &missing) {
  const Text text(source);
  if (text.size() > std::numeric_limits<int32_t>::max())
    throw nb::value_error("a block of CSV has at most 2^31 bytes");
  nb::gil_scoped_release release;
  Strings wanted = numbers;
  wanted.insert(wanted.end(), words.begin(), words.end());
  std::unordered_map<std::string_view, int32_t> columns;
  for (const std::string &name : wanted)
    columns.emplace(name, static_cast<int32_t>(columns.size()));
  std::vector<int32_t> places;
  for (const std::string &name : header) {
    const auto found = columns.find(name);
    places.push_back(found == columns.end() ? -1 : found->second);
  }
  return CsvColumns(table::parse_csv({text.data(), text.size()}, delimiter, wanted, numbers.size(),
                                     places, {missing.begin(), missing.end()}));
}

}  // namespace

void bind_records(nb::module_ &m) {
  nb::class_<CsvColumns>(m, "CsvColumns", "Columns of numbers and words, read from CSV.")
      .def_prop_ro("lines", &CsvColumns::lines, "The line where each row begins, from zero.")
      .def_prop_ro("bad_rows", &CsvColumns::bad_rows,
                   "Rows left out for their number of cells: begin, end, line and that number, or\n"
                   "-1 where a quotation mark is not closed.")
      .def_prop_ro("no_numbers", &CsvColumns::no_numbers,
                   "The first value of each column of numbers that is none: row, column, bytes.")
      .def_prop_ro("no_text", &CsvColumns::no_text, "Words that are not UTF-8: row and column.")
      .def("__arrow_c_array__", &CsvColumns::as_arrow, nb::arg("requested_schema") = nb::none(),
           "Return the two capsules of a record batch.");
  m.def(
      "csv_columns", columns_of_csv, nb::arg("text"), nb::arg("delimiter"), nb::arg("header"),
      nb::arg("numbers"), nb::arg("words"), nb::arg("missing"),
      "Read columns of numbers and of words from CSV. Words in `missing` denote a missing number.");
  m.def(
      "json_objects", lines_of_objects, nb::arg("text"), nb::arg("state"),
      "Return objects of an array, or spread over several lines, as an object a line, byte for\n"
      "byte; and the state at the end of the text, to continue with: depth, in a string, behind a\n"
      "backslash, in an array.");
  m.def(
      "csv_end", end_of_csv, nb::arg("text"), nb::arg("delimiter"), nb::arg("state") = 0,
      "Return the end of the last whole row, 0 if there is none, and the state at the end of the\n"
      "text, to continue with.");
}
