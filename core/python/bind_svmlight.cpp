// The reader of svmlight text as Python sees it.
#include "python/bind_text.hpp"
#include "text/svmlight.hpp"

namespace nb = nanobind;
namespace {

using namespace polyak;
using namespace polyak::svmlight;

struct SvmlightText : TextReader {
  using TextReader::TextReader;
};

template <class Index, class Value>
TextReader::Parsed to_parsed(Rows<Index, Value> &&rows, int &base) {
  base = rows.base;
  return std::make_unique<ParsedRows<Rows<Index, Value>>>(
      std::move(rows), [](Rows<Index, Value> &rows, TextBlock &block) {
        block.largest_index = rows.largest_index;
        block.base = rows.base;
      });
}

template <class Value>
TextReader::Parsed parse_values(LineSource &source, const Options &options, int &base) {
  Rows<int32_t, Value> narrow;
  if (parse(source, options, narrow)) return to_parsed(std::move(narrow), base);
  Rows<int64_t, Value> wide;
  parse(source, options, wide);
  return to_parsed(std::move(wide), base);
}

void open_svmlight(SvmlightText *reader, std::vector<std::string> paths, int64_t file,
                   int64_t offset, int64_t bytes_before, int64_t block_bytes, int64_t longest_line,
                   int threads, size_t head_start, bool float64, int base, int64_t largest_index,
                   bool skip_bad_lines, bool several_labels) {
  const Cutting cutting{block_bytes, longest_line, file, offset, bytes_before};
  const auto parse = [=](LineSource &lines, int &base) {
    const Options options{base, largest_index, skip_bad_lines, several_labels};
    return float64 ? parse_values<double>(lines, options, base)
                   : parse_values<float>(lines, options, base);
  };
  new (reader) SvmlightText(std::move(paths), cutting, base, threads, head_start, parse);
}

}  // namespace

void bind_svmlight(nb::module_ &m) {
  nb::class_<SvmlightText, TextReader>(m, "SvmlightText")
      .def("__init__", open_svmlight, nb::arg("paths"), nb::kw_only(), nb::arg("file"),
           nb::arg("offset"), nb::arg("bytes_before"), nb::arg("block_bytes"),
           nb::arg("longest_line"), nb::arg("threads"), nb::arg("head_start"), nb::arg("float64"),
           nb::arg("base"), nb::arg("largest_index"), nb::arg("skip_bad_lines"),
           nb::arg("several_labels"));
}
