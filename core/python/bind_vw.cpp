// The parser of VW text as Python sees it: bytes in, arrays out, the interpreter free meanwhile.
#include <variant>

#include "python/bind_text.hpp"
#include "text/vw.hpp"

namespace nb = nanobind;
namespace {

using namespace polyak;

template <class Value>
nb::tuple typed_to_python(vw::Rows<Value> &&rows) {
  size_t n = static_cast<size_t>(rows.indptr.back());
  nb::dict names;
  for (const auto &[slot, name] : rows.names)
    names[nb::int_(slot)] = nb::bytes(name.data(), name.size());
  nb::object weights = nb::none();
  if (!rows.weights.empty()) weights = to_numpy(std::move(rows.weights));
  const auto indptr = to_read_only(std::move(rows.indptr));
  const auto indices = to_read_only(std::move(rows.indices), n);
  const auto values = to_read_only(std::move(rows.values), n);
  return nb::make_tuple(to_numpy(std::move(rows.targets)), weights, indptr, indices, values,
                        rows.unlabelled, rows.lines, rows.bad_lines, bad_lines(rows.first_bad),
                        names, parsed_rows(indptr, indices, values));
}

// Whatever the values are, parsed without Python.
using ParsedRows = std::variant<vw::Rows<float>, vw::Rows<double>>;

ParsedRows parse_any(LineSource &source, bool float64, const vw::Options &options) {
  if (float64) return vw::parse<double>(source, options);
  return vw::parse<float>(source, options);
}

nb::tuple to_python(ParsedRows &&rows) {
  return std::visit([](auto &rows) { return typed_to_python(std::move(rows)); }, rows);
}

vw::Options checked(int bits, bool need_labels, bool skip_bad_lines, bool with_names) {
  if (bits < 1 || bits > 31) throw nb::value_error("bits must be between 1 and 31");
  return {bits, need_labels, skip_bad_lines, with_names};
}

nb::tuple parse_vw(nb::handle source, bool float64, int bits, bool need_labels, bool skip_bad_lines,
                   bool with_names) {
  const vw::Options options = checked(bits, need_labels, skip_bad_lines, with_names);
  Text text(source);
  LinesInMemory lines(text.data(), text.size());
  ParsedRows rows;
  {
    nb::gil_scoped_release release;
    rows = parse_any(lines, float64, options);
  }
  return to_python(std::move(rows));
}

using VwFiles = TextFiles<ParsedRows, to_python>;

void open_vw(VwFiles *files, std::vector<std::string> paths, int64_t file, int64_t offset,
             size_t block_bytes, size_t longest_line, int threads, size_t head_start, bool float64,
             int bits, bool need_labels, bool skip_bad_lines, bool with_names) {
  const vw::Options options = checked(bits, need_labels, skip_bad_lines, with_names);
  const int base = 0;  // slots are counted from zero, so no block has to wait for the first
  new (files) VwFiles(BlocksOfLines(std::move(paths), block_bytes, longest_line, file, offset),
                      base, threads, head_start, [float64, options](LineSource &lines, int &) {
                        return parse_any(lines, float64, options);
                      });
}

}  // namespace

void bind_vw(nb::module_ &m) {
  m.def("parse_vw", parse_vw, nb::arg("text"), nb::kw_only(), nb::arg("float64"), nb::arg("bits"),
        nb::arg("need_labels"), nb::arg("skip_bad_lines"), nb::arg("with_names") = false,
        "Parse whole lines of VW text.\n\n"
        "Returns targets (NaN where there is no label), weights (None if all are one), indptr,\n"
        "indices, values, the number of rows left out for want of a label, the number of lines,\n"
        "the number of bad ones, and of the first ten of these the line (from zero), the text\n"
        "and the reason; a name for every slot that was seen, if asked for; and the rows once\n"
        "more as CheckedRows.");
  VwFiles::bind(m, "VwFiles")
      .def("__init__", open_vw, nb::arg("paths"), nb::kw_only(), nb::arg("file"), nb::arg("offset"),
           nb::arg("block_bytes"), nb::arg("longest_line"), nb::arg("threads"),
           nb::arg("head_start"), nb::arg("float64"), nb::arg("bits"), nb::arg("need_labels"),
           nb::arg("skip_bad_lines"), nb::arg("with_names"));
}
