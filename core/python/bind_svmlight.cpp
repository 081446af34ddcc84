// The svmlight parser as Python sees it: bytes in, arrays out, the interpreter free meanwhile.
#include <optional>
#include <variant>

#include "python/bind_text.hpp"
#include "text/svmlight.hpp"

namespace nb = nanobind;
namespace {

using namespace polyak;
using namespace polyak::svmlight;

template <class Index, class Value>
nb::tuple typed_to_python(Rows<Index, Value> &&rows) {
  size_t n = static_cast<size_t>(rows.indptr.back());
  const auto indptr = to_read_only(std::move(rows.indptr));
  const auto indices = to_read_only(std::move(rows.indices), n);
  const auto values = to_read_only(std::move(rows.values), n);
  return nb::make_tuple(to_numpy(std::move(rows.targets)), indptr, indices, values,
                        rows.largest_index, rows.base, rows.lines, rows.bad_lines,
                        bad_lines(rows.first_bad), parsed_rows(indptr, indices, values));
}

// Whatever the ids and values are, parsed without Python.
using ParsedRows = std::variant<Rows<int32_t, float>, Rows<int64_t, float>, Rows<int32_t, double>,
                                Rows<int64_t, double>>;

template <class Value>
ParsedRows parse_values(LineSource &source, const Options &options) {
  Rows<int32_t, Value> narrow;
  if (parse(source, options, narrow)) return narrow;
  Rows<int64_t, Value> wide;
  parse(source, options, wide);
  return wide;
}

ParsedRows parse_any(LineSource &source, bool float64, const Options &options) {
  return float64 ? parse_values<double>(source, options) : parse_values<float>(source, options);
}

nb::tuple to_python(ParsedRows &&rows) {
  return std::visit([](auto &rows) { return typed_to_python(std::move(rows)); }, rows);
}

nb::tuple parse_svmlight(nb::handle source, bool float64, int base, int64_t largest_index,
                         bool skip_bad_lines) {
  Text text(source);
  LinesInMemory lines(text.data(), text.size());
  ParsedRows rows;
  {
    nb::gil_scoped_release release;
    rows = parse_any(lines, float64, {base, largest_index, skip_bad_lines});
  }
  return to_python(std::move(rows));
}

using SvmlightFiles = TextFiles<ParsedRows, to_python>;

void open_svmlight(SvmlightFiles *files, std::vector<std::string> paths, int64_t file,
                   int64_t offset, size_t block_bytes, size_t longest_line, int threads,
                   size_t head_start, bool float64, int base, int64_t largest_index,
                   bool skip_bad_lines) {
  new (files) SvmlightFiles(
      BlocksOfLines(std::move(paths), block_bytes, longest_line, file, offset), base, threads,
      head_start, [float64, largest_index, skip_bad_lines](LineSource &lines, int &base) {
        ParsedRows rows = parse_any(lines, float64, {base, largest_index, skip_bad_lines});
        base = std::visit([](auto &rows) { return rows.base; }, rows);
        return rows;
      });
}

}  // namespace

void bind_svmlight(nb::module_ &m) {
  m.def("parse_svmlight", parse_svmlight, nb::arg("text"), nb::kw_only(), nb::arg("float64"),
        nb::arg("base"), nb::arg("largest_index"), nb::arg("skip_bad_lines"),
        "Parse whole lines of svmlight text.\n\n"
        "Returns targets, indptr, indices, values, the largest index (-1: no feature), the base\n"
        "(-1: not known yet), the number of lines, the number of bad ones, of the first ten of\n"
        "these the line (from zero), the text and the reason, and the rows once more as\n"
        "CheckedRows.");
  SvmlightFiles::bind(m, "SvmlightFiles")
      .def("__init__", open_svmlight, nb::arg("paths"), nb::kw_only(), nb::arg("file"),
           nb::arg("offset"), nb::arg("block_bytes"), nb::arg("longest_line"), nb::arg("threads"),
           nb::arg("head_start"), nb::arg("float64"), nb::arg("base"), nb::arg("largest_index"),
           nb::arg("skip_bad_lines"));
}
