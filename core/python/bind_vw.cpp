// The reader of VW text as Python sees it.
#include "python/bind_text.hpp"
#include "text/vw.hpp"

namespace nb = nanobind;
namespace {

using namespace polyak;

struct VwText : TextReader {
  using TextReader::TextReader;
};

template <class Value>
TextReader::Parsed parse_rows(LineSource &lines, const vw::Options &options) {
  return std::make_unique<ParsedRows<vw::Rows<Value>>>(
      vw::parse<Value>(lines, options), [](vw::Rows<Value> &rows, TextBlock &block) {
        if (!rows.weights.empty()) block.weights = to_array<double>(std::move(rows.weights));
        block.unlabelled = rows.unlabelled;
        for (const bool seen : rows.seen) block.seen.append(seen);
        block.tags = nb::bytes(rows.tags.data(), rows.tags.size());
      });
}

void open_vw(VwText *reader, std::vector<std::string> paths, int64_t file, int64_t offset,
             int64_t bytes_before, int64_t block_bytes, int64_t longest_line, int threads,
             size_t head_start, bool float64, int bits, bool need_labels, bool skip_bad_lines,
             bool several_labels, size_t names, bool with_tags,
             std::vector<std::vector<std::string>> crossed, std::vector<std::string> dropped) {
  if (bits < 1 || bits > 31) throw nb::value_error("bits must be between 1 and 31");
  const Cutting cutting{block_bytes, longest_line, file, offset, bytes_before};
  const int base = 0;  // slots are counted from zero, so that no block waits for the first
  const auto seen = names ? std::make_shared<SlotNames>(bits, names) : nullptr;
  const vw::Options options{bits,
                            need_labels,
                            skip_bad_lines,
                            several_labels,
                            seen,
                            with_tags,
                            vw::Namespaces(crossed, dropped)};
  const auto parse_lines = [=](LineSource &lines, int &) {
    return float64 ? parse_rows<double>(lines, options) : parse_rows<float>(lines, options);
  };
  new (reader) VwText(std::move(paths), cutting, base, threads, head_start, parse_lines, seen);
}

}  // namespace

void bind_vw(nb::module_ &m) {
  nb::class_<VwText, TextReader>(m, "VwText")
      .def("__init__", open_vw, nb::arg("paths"), nb::kw_only(), nb::arg("file"), nb::arg("offset"),
           nb::arg("bytes_before"), nb::arg("block_bytes"), nb::arg("longest_line"),
           nb::arg("threads"), nb::arg("head_start"), nb::arg("float64"), nb::arg("bits"),
           nb::arg("need_labels"), nb::arg("skip_bad_lines"), nb::arg("several_labels"),
           nb::arg("names"), nb::arg("with_tags"), nb::arg("crossed"), nb::arg("dropped"));
}
