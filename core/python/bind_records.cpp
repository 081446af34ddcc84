// The rows of text tables as Python sees them: bytes in, places out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <unordered_map>

#include "python/buffers.hpp"
#include "rows/check.hpp"
#include "table/arrow_export.hpp"
#include "table/csv_columns.hpp"
#include "text/json/kinds.hpp"
#include "text/json/objects.hpp"
#include "text/lines_in_order.hpp"
#include "text/records.hpp"

namespace nb = nanobind;
namespace {

using namespace polyak;
using namespace polyak::records;

nb::tuple to_python(Rows &&rows) {
  return nb::make_tuple(to_numpy(std::move(rows.begins)), to_numpy(std::move(rows.ends)),
                        to_numpy(std::move(rows.lines)), to_numpy(std::move(rows.parts)));
}

template <class Find>
nb::tuple found_in(nb::handle source, Find find) {
  const Text text(source);
  Rows rows;
  {
    nb::gil_scoped_release release;
    rows = find(std::string_view(text.data(), text.size()));
  }
  return to_python(std::move(rows));
}

nb::tuple rows_of_csv(nb::handle text, char delimiter) {
  return found_in(text, [=](std::string_view all) { return csv_rows(all, delimiter); });
}

nb::tuple rows_of_json(nb::handle text) {
  return found_in(text, [](std::string_view all) { return json_rows(all); });
}

nb::tuple misfits_of_json(nb::handle source, const std::vector<std::string> &names,
                          const std::string &kinds) {
  if (names.size() != kinds.size()) throw nb::value_error("there must be a kind a name");
  const Text text(source);
  Misfits found;
  {
    nb::gil_scoped_release release;
    found = json_misfits({text.data(), text.size()}, JsonKinds(names, kinds));
  }
  return nb::make_tuple(to_numpy(std::move(found.rows)), to_numpy(std::move(found.columns)));
}

nb::object others_of_json(nb::handle source, const std::vector<std::string> &names) {
  const Text text(source);
  std::vector<int64_t> places;
  {
    nb::gil_scoped_release release;
    places = json_others({text.data(), text.size()}, JsonKinds(names, {}));
  }
  return to_numpy(std::move(places));
}

nb::tuple end_of_csv(nb::handle source, char delimiter, int state) {
  const Text text(source);
  CsvScanner scanner(delimiter, static_cast<CsvScanner::State>(state));
  int64_t end;
  {
    nb::gil_scoped_release release;
    end = csv_end(std::string_view(text.data(), text.size()), scanner);
  }
  return nb::make_tuple(end, static_cast<int>(scanner.state));
}

using Depth = std::tuple<int64_t, bool, bool, bool>;

nb::tuple lines_of_objects(nb::handle source, Depth before) {
  const Text text(source);
  const auto &[depth, in_string, escaped, in_array] = before;
  JsonObjects objects({depth, in_string, escaped, in_array});
  nb::bytearray lines(text.data(), text.size());
  objects.translate(static_cast<char *>(lines.data()), text.size());
  const JsonObjects::State &now = objects.state;
  return nb::make_tuple(lines, Depth(now.depth, now.in_string, now.escaped, now.in_array));
}

using Offsets = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::object odd_numbers(nb::handle source, Offsets offsets) {
  const Text text(source);
  const std::string_view all(text.data(), text.size());
  std::vector<int64_t> odd;
  for (size_t i = 0; i + 1 < offsets.shape(0); ++i) {
    const int32_t begin = offsets.data()[i], end = offsets.data()[i + 1];
    if (begin < 0 || end < begin || static_cast<size_t>(end) > all.size())
      throw nb::value_error("an offset leads out of the text");
    if (!is_plain_number(all.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin))))
      odd.push_back(static_cast<int64_t>(i));
  }
  return to_numpy(std::move(odd));
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

// Columns that were read, for whoever reads Arrow's interface.
class CsvColumns {
 public:
  CsvColumns(table::CsvColumns &&columns, bool or_missing)
      : data_(std::make_shared<const table::CsvColumns>(std::move(columns))) {
    for (size_t c = 0; c < data_->names.size(); ++c)
      if (!data_->is_odd[c] && (or_missing || data_->missing[c] < data_->n_rows))
        chosen_.push_back(c);
  }

  std::vector<std::string_view> names() const {
    std::vector<std::string_view> names;
    for (size_t c : chosen_) names.push_back(data_->names[c]);
    return names;
  }

  nb::tuple as_arrow(nb::handle) const {
    nb::object schema = to_capsule(arrow::schema_of(data_, chosen_), "arrow_schema");
    return nb::make_tuple(schema, to_capsule(arrow::array_of(data_, chosen_), "arrow_array"));
  }

 private:
  arrow::Shared data_;
  std::vector<size_t> chosen_;
};

using Names = std::vector<std::string>;

std::optional<CsvColumns> columns_of_csv(nb::handle source, char delimiter, const Names &header,
                                         const Names &numbers, const Names &words,
                                         const Names &missing, bool or_missing,
                                         bool words_may_miss) {
  const Text text(source);
  nb::gil_scoped_release release;
  Names wanted = numbers;
  wanted.insert(wanted.end(), words.begin(), words.end());
  std::unordered_map<std::string_view, int32_t> columns;
  for (const std::string &name : wanted)
    columns.emplace(name, static_cast<int32_t>(columns.size()));
  std::vector<int32_t> places;
  for (const std::string &name : header) {
    const auto found = columns.find(name);
    places.push_back(found == columns.end() ? -1 : found->second);
  }
  const table::CsvParser::Words for_missing(missing.begin(), missing.end());
  table::CsvParser parser({text.data(), text.size()}, delimiter, wanted, numbers.size(), places,
                          for_missing, words_may_miss);
  if (!parser.run()) return std::nullopt;
  return CsvColumns(parser.take(), or_missing);
}

nb::object places_of_lines(nb::handle source, int64_t begin, int64_t end) {
  const Text text(source);
  if (begin < 0 || end > static_cast<int64_t>(text.size())) refuse("there is no such text");
  std::vector<LinePlace> lines;
  {
    nb::gil_scoped_release release;
    find_lines(text.data(), {begin, end}, lines);
  }
  const size_t count = lines.size();
  auto *kept = new std::vector<LinePlace>(std::move(lines));
  nb::capsule owner(kept,
                    [](void *p) noexcept { delete static_cast<std::vector<LinePlace> *>(p); });
  auto *numbers = reinterpret_cast<int64_t *>(kept->data());
  return nb::cast(nb::ndarray<nb::numpy, int64_t, nb::ndim<2>>(numbers, {count, 2}, owner));
}

}  // namespace

void bind_records(nb::module_ &m) {
  nb::class_<CsvColumns>(m, "CsvColumns", "Columns of numbers and words, read from CSV.")
      .def_prop_ro("names", &CsvColumns::names)
      .def("__arrow_c_array__", &CsvColumns::as_arrow, nb::arg("requested_schema") = nb::none(),
           "Give the two capsules of a record batch.");
  m.def("csv_columns", columns_of_csv, nb::arg("text"), nb::arg("delimiter"), nb::arg("header"),
        nb::arg("numbers"), nb::arg("words"), nb::arg("missing"), nb::arg("or_missing"),
        nb::arg("words_may_miss"),
        "Read the columns of CSV that hold nothing but plain numbers and words for missing ones,\n"
        "of those wanted, and columns of words; `or_missing` says whether to read columns where\n"
        "all are missing, `words_may_miss` whether words may stand for missing ones as well. None\n"
        "if the rows do not have as many cells as the header.");
  m.def("line_places", places_of_lines, nb::arg("text"), nb::arg("begin"), nb::arg("end"),
        "Find the lines between two places of a text: where each begins and ends.");
  m.def("csv_rows", rows_of_csv, nb::arg("text"), nb::arg("delimiter"),
        "Find the rows of CSV: where each begins and ends, the number of its first line, both\n"
        "from zero, and how many fields it has; -1 where a quotation mark is not closed.");
  m.def("json_rows", rows_of_json, nb::arg("text"),
        "Find the lines of JSON that are not blank: where each begins and ends, its number, and\n"
        "how many objects it is; -1 where anything else stands there, -2 where values are nested\n"
        "too deep.");
  m.def("json_objects", lines_of_objects, nb::arg("text"), nb::arg("state"),
        "Write objects of an array, or spread over several lines, as an object a line, byte for\n"
        "byte; and give the state behind the text, to go on with: depth, in a string, behind a\n"
        "backslash, in an array.");
  m.def(
      "json_misfits", misfits_of_json, nb::arg("text"), nb::arg("names"), nb::arg("kinds"),
      "Of lines that are an object each, tell which hold a value that is neither null nor of its\n"
      "column's kind (n: number, s: string, b: boolean, l: list, o: object), and in which column.");
  m.def("json_others", others_of_json, nb::arg("text"), nb::arg("names"),
        "Of lines that are an object each, tell where those begin and end that have fields, not\n"
        "null, of other names than these.");
  m.def("csv_end", end_of_csv, nb::arg("text"), nb::arg("delimiter"), nb::arg("state") = 0,
        "Find the end of the last whole row, 0 if there is none, and the state behind the text,\n"
        "to go on with.");
  m.def("odd_numbers", odd_numbers, nb::arg("text"), nb::arg("offsets"),
        "Of words between offsets into a text, tell which are more than digits and a point.");
}
