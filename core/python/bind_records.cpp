// The rows of text tables as Python sees them: bytes in, places out.
#include "python/bind_text.hpp"
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

}  // namespace

void bind_records(nb::module_ &m) {
  m.def("csv_rows", rows_of_csv, nb::arg("text"), nb::arg("delimiter"),
        "Find the rows of CSV: where each begins and ends, the number of its first line, both\n"
        "from zero, and how many fields it has; -1 where a quotation mark is not closed.");
  m.def("json_rows", rows_of_json, nb::arg("text"),
        "Find the lines of JSON that are not blank: where each begins and ends, its number, and\n"
        "how many objects it is; -1 where anything else stands there.");
  m.def("csv_end", end_of_csv, nb::arg("text"), nb::arg("delimiter"), nb::arg("state") = 0,
        "Find the end of the last whole row, 0 if there is none, and the state behind the text,\n"
        "to go on with.");
  m.def("odd_numbers", odd_numbers, nb::arg("text"), nb::arg("offsets"),
        "Of words between offsets into a text, tell which are more than digits and a point.");
}
