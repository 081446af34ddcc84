// The readers of svmlight and VW text, and the blocks that they return.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "hash/hashing.hpp"
#include "memory/process.hpp"
#include "python/bind_names.hpp"
#include "python/buffers.hpp"
#include "python/rows.hpp"
#include "text/block_cutter.hpp"
#include "text/read_ahead.hpp"
#include "text/svmlight.hpp"
#include "text/vw.hpp"

namespace nb = nanobind;
using namespace polyak;

namespace {

nb::list bad_lines(const std::vector<BadLine> &lines) {
  nb::list list;
  for (const BadLine &line : lines)
    list.append(nb::make_tuple(line.line, nb::bytes(line.text.data(), line.text.size()),
                               nb::str(line.reason)));
  return list;
}

template <class T>
using Numbers = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

// A parsed block of text; fields that a format lacks keep these defaults. Arrays become NumPy
// arrays only on access, so that NumPy is not imported before it is needed.
struct TextBlock {
  explicit TextBlock(CheckedRows rows) : checked(std::move(rows)) {}

  CheckedRows checked;        // indptr, indices and values
  int64_t file = 0, end = 0;  // where the block ends
  int64_t bytes_read = 0;     // of all files, by then
  Numbers<double> targets;
  std::optional<Numbers<double>> weights;
  int64_t lines = 0, bad_lines = 0;
  nb::list label_sets;                    // targets are indices of these if rows may have several
  nb::list first_bad;                     // line (from zero), text and reason of the first ten
  Numbers<int64_t> bad_before;            // for every bad line the number of rows before it
  Numbers<int64_t> no_row_before;         // for every line that is not a row
  int64_t largest_index = -1, base = -1;  // svmlight only
  int64_t unlabelled = 0;                 // VW only: rows left out because they have no label
  nb::list seen;                          // VW only: whether each named namespace occurs
  nb::object tags = nb::none();           // VW only, on request: one line per row
};

// The fields that only one format has.
template <class Value>
void set_own_fields(svmlight::Rows<Value> &rows, TextBlock &block) {
  block.largest_index = rows.largest_index;
  block.base = rows.base;
}
template <class Value>
void set_own_fields(vw::Rows<Value> &rows, TextBlock &block) {
  if (!rows.weights.empty()) block.weights = to_array<double>(std::move(rows.weights));
  block.unlabelled = rows.unlabelled;
  for (const bool seen : rows.seen) block.seen.append(seen);
  block.tags = nb::bytes(rows.tags.data(), rows.tags.size());
}

template <class Parsed>
TextBlock to_block(Parsed &rows) {
  using Value = std::remove_reference_t<decltype(rows.values[0])>;
  Rows arrays(AnyArray(to_array<const int64_t>(std::move(rows.indptr))),
              AnyArray(to_array<const int32_t>(std::move(rows.indices))),
              AnyArray(to_array<const Value>(std::move(rows.values))));
  const int64_t features = features_of_ascending(arrays.view);
  TextBlock block(CheckedRows(std::move(arrays), {features, false}));
  block.targets = to_array<double>(std::move(rows.targets));
  for (const auto &labels : rows.labels.sets())
    block.label_sets.append(nb::tuple(nb::cast(labels)));
  block.lines = rows.lines;
  block.bad_lines = rows.bad_lines;
  block.first_bad = bad_lines(rows.first_bad);
  block.bad_before = to_array<int64_t>(std::move(rows.bad_before));
  block.no_row_before = to_array<int64_t>(std::move(rows.no_row_before));
  set_own_fields(rows, block);
  return block;
}

// The rows of a block, parsed without Python.
using ParsedText =
    std::variant<svmlight::Rows<float>, svmlight::Rows<double>, vw::Rows<float>, vw::Rows<double>>;

TextBlock to_python(ParsedText &parsed) {
  return std::visit([](auto &rows) { return to_block(rows); }, parsed);
}

// Text that is parsed ahead by threads: that of files or, without paths, text that is fed.
class TextReader {
 public:
  using Parsed = std::unique_ptr<ParsedText>;
  using Parse = ReadAhead<Parsed>::Parse;

  TextReader(std::vector<std::string> paths, const Cutting &cutting, int base, int threads,
             size_t head_start, Parse parse, std::shared_ptr<SlotNames> names = nullptr);
  ~TextReader();

  std::optional<TextBlock> next();
  nb::object room();
  bool filled(size_t count, int64_t bytes_read);
  TextBlock parse(nb::handle source) const;
  nb::tuple names() const { return names_seen(names_.get()); }

 private:
  TextBlock parsed(LineSource &lines) const;
  ReadAhead<Parsed> &ahead() const;

  const int base_;
  const Parse parse_;
  const std::shared_ptr<SlotNames> names_;
  const int process_;
  const Memory memory_ = std::make_shared<Recycled>();
  std::optional<BlockCutter> cutter_;
  std::unique_ptr<ReadAhead<Parsed>> ahead_;
};

TextReader::TextReader(std::vector<std::string> paths, const Cutting &cutting, int base,
                       int threads, size_t head_start, Parse parse,
                       std::shared_ptr<SlotNames> names)
    : base_(base), parse_(std::move(parse)), names_(std::move(names)), process_(this_process()) {
  std::optional<BlocksOfLines> files;
  if (paths.empty())
    cutter_.emplace(cutting);
  else
    files.emplace(std::move(paths), cutting);
  ahead_ = std::make_unique<ReadAhead<Parsed>>(std::move(files), memory_, base, threads, head_start,
                                               parse_);
}

// A forked process has no threads of this reader, so that its end must not be waited for.
TextReader::~TextReader() {
  if (process_ != this_process()) static_cast<void>(ahead_.release());
}

std::optional<TextBlock> TextReader::next() {
  std::optional<ReadAhead<Parsed>::Parsed> parsed;
  ReadAhead<Parsed> &reader = ahead();
  {
    nb::gil_scoped_release release;
    parsed = reader.next();
  }
  if (!parsed) return std::nullopt;
  TextBlock block = to_python(*parsed->rows);
  block.file = parsed->file;
  block.end = parsed->end;
  block.bytes_read = parsed->bytes_read;
  return block;
}

nb::object TextReader::room() {
  const auto [text, size] = cutter_.value().room();
  return nb::steal(PyMemoryView_FromMemory(text, static_cast<Py_ssize_t>(size), PyBUF_WRITE));
}

bool TextReader::filled(size_t count, int64_t bytes_read) {
  std::optional<BlockOfLines> block = cutter_.value().filled(count, bytes_read);
  if (!block) return false;
  ReadAhead<Parsed> &reader = ahead();
  nb::gil_scoped_release release;
  reader.feed(std::move(*block));
  return true;
}

TextBlock TextReader::parse(nb::handle source) const {
  Text text(source);
  LinesInMemory lines(text.data(), text.size());
  return parsed(lines);
}

TextBlock TextReader::parsed(LineSource &lines) const {
  Parsed rows;
  int base = base_;
  {
    nb::gil_scoped_release release;
    rows = parse_(lines, base);
  }
  return to_python(*rows);
}

ReadAhead<TextReader::Parsed> &TextReader::ahead() const {
  if (process_ != this_process())
    throw std::runtime_error("what was opened before a fork cannot be read after it: open it anew");
  return *ahead_;
}

// The two readers differ in their constructors only.
struct SvmlightText : TextReader {
  using TextReader::TextReader;
};
struct VwText : TextReader {
  using TextReader::TextReader;
};

template <class Value>
TextReader::Parsed parse_svmlight(LineSource &source, const svmlight::Options &options, int &base) {
  svmlight::Rows<Value> rows = svmlight::parse<Value>(source, options);
  base = rows.base;
  return std::make_unique<ParsedText>(std::move(rows));
}

using Strings = std::vector<std::string>;

void open_svmlight(SvmlightText *reader, Strings paths, int64_t file, int64_t offset,
                   int64_t bytes_before, int64_t block_bytes, int64_t longest_line, int threads,
                   size_t head_start, bool float64, int base, int64_t largest_index,
                   bool skip_bad_lines, bool several_labels) {
  const Cutting cutting{block_bytes, longest_line, file, offset, bytes_before};
  const auto parse = [=](LineSource &lines, int &base) {
    const svmlight::Options options{base, largest_index, skip_bad_lines, several_labels};
    return float64 ? parse_svmlight<double>(lines, options, base)
                   : parse_svmlight<float>(lines, options, base);
  };
  new (reader) SvmlightText(std::move(paths), cutting, base, threads, head_start, parse);
}

void open_vw(VwText *reader, Strings paths, int64_t file, int64_t offset, int64_t bytes_before,
             int64_t block_bytes, int64_t longest_line, int threads, size_t head_start,
             bool float64, int bits, bool need_labels, bool skip_bad_lines, bool several_labels,
             size_t names, bool with_tags, bool with_base, std::vector<Strings> crossed,
             Strings dropped) {
  if (bits < 1 || bits + with_base > 31) throw nb::value_error("bits must be between 1 and 31");
  const Cutting cutting{block_bytes, longest_line, file, offset, bytes_before};
  const int base = 0;  // slots are counted from zero, so that no block waits for the first
  const auto seen = names ? std::make_shared<SlotNames>(bits, names) : nullptr;
  const vw::Options options{bits, need_labels, skip_bad_lines, several_labels,
                            seen, with_tags,   with_base,      vw::Namespaces(crossed, dropped)};
  const auto parse_lines = [=](LineSource &lines, int &) {
    return float64 ? std::make_unique<ParsedText>(vw::parse<double>(lines, options))
                   : std::make_unique<ParsedText>(vw::parse<float>(lines, options));
  };
  new (reader) VwText(std::move(paths), cutting, base, threads, head_start, parse_lines, seen);
}

// Converts one array of a block to NumPy; those of validated rows are read-only.
template <class Get>
auto on_access(const Get &get) {
  return [get](const TextBlock &block) { return nb::cast(get(block)); };
}
nb::ndarray<nb::numpy, nb::ro> read_only(const AnyArray &array) {
  return nb::ndarray<nb::numpy, nb::ro>(array);
}

}  // namespace

void bind_text(nb::module_ &m) {
  nb::exception<LineTooLong>(m, "LineTooLong", PyExc_ValueError);
  nb::class_<TextBlock>(m, "TextBlock", "The rows of a block of text.")
      .def_ro("file", &TextBlock::file)
      .def_ro("end", &TextBlock::end)
      .def_ro("bytes_read", &TextBlock::bytes_read)
      .def_prop_ro("targets", on_access([](const TextBlock &block) { return block.targets; }))
      .def_prop_ro("weights", on_access([](const TextBlock &block) { return block.weights; }))
      .def_prop_ro("indptr", on_access([](const TextBlock &block) {
                     return read_only(*block.checked.indptr);
                   }))
      .def_prop_ro("indices", on_access([](const TextBlock &block) {
                     return read_only(*block.checked.indices);
                   }))
      .def_prop_ro("values", on_access([](const TextBlock &block) {
                     return read_only(block.checked.values);
                   }))
      .def_ro("checked", &TextBlock::checked)
      .def_ro("label_sets", &TextBlock::label_sets)
      .def_ro("lines", &TextBlock::lines)
      .def_ro("bad_lines", &TextBlock::bad_lines)
      .def_ro("first_bad", &TextBlock::first_bad)
      .def_prop_ro("bad_before", on_access([](const TextBlock &block) { return block.bad_before; }))
      .def_prop_ro("no_row_before",
                   on_access([](const TextBlock &block) { return block.no_row_before; }))
      .def_ro("largest_index", &TextBlock::largest_index)
      .def_ro("base", &TextBlock::base)
      .def_ro("unlabelled", &TextBlock::unlabelled)
      .def_ro("seen", &TextBlock::seen)
      .def_ro("tags", &TextBlock::tags);
  nb::class_<TextReader>(m, "TextReader", "Text parsed ahead by threads: of files, or fed.")
      .def("next", &TextReader::next,
           "Return the next block, or None after the last block of files. Text without files must\n"
           "be fed before its blocks are asked for.")
      .def("room", &TextReader::room, "Return a memory view to write the next bytes to.")
      .def(
          "filled", &TextReader::filled, nb::arg("count"), nb::arg("bytes_read"),
          "Take the bytes written there, and the number of bytes read of all files by then; fewer\n"
          "than there is room for end the file. Return whether that completed a block.")
      .def("parse", &TextReader::parse, nb::arg("text"),
           "Parse lines apart from those of the files.")
      .def("names", &TextReader::names,
           "Return the slots that have a name, where each name ends, and the text of all.");
  // How text is cut into blocks does not matter to lines that are parsed apart.
  nb::class_<SvmlightText, TextReader>(m, "SvmlightText")
      .def("__init__", open_svmlight, nb::arg("paths") = Strings(), nb::kw_only(),
           nb::arg("file") = 0, nb::arg("offset") = 0, nb::arg("bytes_before") = 0,
           nb::arg("block_bytes") = 1, nb::arg("longest_line") = 1, nb::arg("threads") = 0,
           nb::arg("head_start") = 0, nb::arg("float64") = false, nb::arg("base") = -1,
           nb::arg("largest_index") = std::numeric_limits<int64_t>::max(),
           nb::arg("skip_bad_lines") = false, nb::arg("several_labels") = false);
  nb::class_<VwText, TextReader>(m, "VwText")
      .def("__init__", open_vw, nb::arg("paths") = Strings(), nb::kw_only(), nb::arg("file") = 0,
           nb::arg("offset") = 0, nb::arg("bytes_before") = 0, nb::arg("block_bytes") = 1,
           nb::arg("longest_line") = 1, nb::arg("threads") = 0, nb::arg("head_start") = 0,
           nb::arg("float64") = false, nb::arg("bits") = 18, nb::arg("need_labels") = true,
           nb::arg("skip_bad_lines") = false, nb::arg("several_labels") = false,
           nb::arg("names") = 0, nb::arg("with_tags") = false, nb::arg("with_base") = false,
           nb::arg("crossed") = std::vector<Strings>(), nb::arg("dropped") = Strings());
  m.def(
      "hash_name",
      [](std::string_view name) { return hashing::hash_bytes(name.data(), name.size()); },
      nb::arg("name"), "Hash a feature's name: XXH64 of its UTF-8 bytes, seed zero.");
  m.def(
      "hash_name", [](nb::bytes name) { return hashing::hash_bytes(name.c_str(), name.size()); },
      nb::arg("name"), "Hash bytes as they are.");
}
