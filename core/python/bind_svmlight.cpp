// The reader of svmlight text as Python sees it: text in, arrays out, the interpreter free
// meanwhile.
#include <variant>

#include "python/bind_text.hpp"
#include "text/svmlight.hpp"

namespace nb = nanobind;
namespace {

using namespace polyak;
using namespace polyak::svmlight;

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

TextBlock to_python(ParsedRows &&parsed) {
  return std::visit(
      [](auto &rows) {
        TextBlock block = to_block(rows);
        block.largest_index = rows.largest_index;
        block.base = rows.base;
        return block;
      },
      parsed);
}

using SvmlightText = TextReader<ParsedRows, to_python>;

void open_svmlight(SvmlightText *reader, std::vector<std::string> paths, int64_t file,
                   int64_t offset, int64_t bytes_before, int64_t block_bytes, int64_t longest_line,
                   int threads, size_t head_start, bool float64, int base, int64_t largest_index,
                   bool skip_bad_lines, bool several_labels) {
  const Cutting cutting{block_bytes, longest_line, file, offset, bytes_before};
  const auto parse = [=](LineSource &lines, int &base) {
    const Options options{base, largest_index, skip_bad_lines, several_labels};
    ParsedRows parsed =
        float64 ? parse_values<double>(lines, options) : parse_values<float>(lines, options);
    base = std::visit([](auto &rows) { return rows.base; }, parsed);
    return parsed;
  };
  new (reader) SvmlightText(std::move(paths), cutting, base, threads, head_start, parse);
}

}  // namespace

void bind_svmlight(nb::module_ &m) {
  bind_text_block(m);
  SvmlightText::bind(m, "SvmlightText")
      .def("__init__", open_svmlight, nb::arg("paths"), nb::kw_only(), nb::arg("file"),
           nb::arg("offset"), nb::arg("bytes_before"), nb::arg("block_bytes"),
           nb::arg("longest_line"), nb::arg("threads"), nb::arg("head_start"), nb::arg("float64"),
           nb::arg("base"), nb::arg("largest_index"), nb::arg("skip_bad_lines"),
           nb::arg("several_labels"));
}
