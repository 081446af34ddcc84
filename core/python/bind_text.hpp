// Text from Python, and arrays back: what the bindings of all parsers share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "memory/process.hpp"
#include "python/bind_names.hpp"
#include "python/rows/checked_rows.hpp"
#include "text/block_cutter.hpp"
#include "text/digits.hpp"
#include "text/lines.hpp"
#include "text/lines_in_order.hpp"
#include "text/read_ahead.hpp"

namespace polyak {

namespace nb = nanobind;

// Anything with a buffer: bytes, a memory view, an array, a memory map.
class Text {
 public:
  explicit Text(nb::handle source) {
    if (PyObject_GetBuffer(source.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~Text() { PyBuffer_Release(&view_); }
  Text(const Text &) = delete;
  Text &operator=(const Text &) = delete;
  const char *data() const { return static_cast<const char *>(view_.buf); }
  size_t size() const { return static_cast<size_t>(view_.len); }

 private:
  Py_buffer view_;
};

// The memory goes back to the stream that it is of when Python is done with it. What the core will
// believe must not be written to, and is `const T`.
template <class T, class Kept>
nb::ndarray<nb::numpy, T, nb::ndim<1>> to_array(Column<Kept> &&numbers) {
  auto *kept = new Column<Kept>(std::move(numbers));
  nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<Column<Kept> *>(p); });
  return {kept->data(), {kept->size()}, owner};
}

// Line (from zero), text and reason of each.
inline nb::list bad_lines(const std::vector<BadLine> &lines) {
  nb::list list;
  for (const BadLine &line : lines)
    list.append(nb::make_tuple(line.line, nb::bytes(line.text.data(), line.text.size()),
                               nb::str(line.reason)));
  return list;
}

template <class T>
using Numbers = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

// A block of text as Python sees it; what a format does not have is as it is here. Arrays become
// NumPy's when they are asked for, so that whoever asks for none need not wait for its import.
struct TextBlock {
  int64_t file = 0, end = 0, bytes_read = 0;  // where it ends, and how much was read by then
  Numbers<double> targets;
  std::optional<Numbers<double>> weights;
  CheckedRows checked;  // indptr, indices and values
  int64_t lines, bad_lines;
  nb::list label_sets;                    // whose numbers targets are, where rows may have several
  nb::list first_bad;                     // line (from zero), text and reason of the first ten
  Numbers<int64_t> bad_before;            // of every bad line: how many rows stand before it
  int64_t largest_index = -1, base = -1;  // of svmlight
  int64_t unlabelled = 0;                 // of VW text: rows left out for want of a label
  nb::list seen;                          // of VW text: which namespaces that were named it has
  nb::object tags = nb::none();           // of VW text, if asked for: a line a row
};

// What all formats have.
template <class Rows>
TextBlock to_block(Rows &rows) {
  using Index = std::remove_reference_t<decltype(rows.indices[0])>;
  using Value = std::remove_reference_t<decltype(rows.values[0])>;
  const auto indptr = to_array<const int64_t>(std::move(rows.indptr));
  const auto indices = to_array<const Index>(std::move(rows.indices));
  const auto values = to_array<const Value>(std::move(rows.values));
  TextBlock block;
  block.checked = parsed_rows(indptr, indices, values);
  block.targets = to_array<double>(std::move(rows.targets));
  for (const auto &labels : rows.labels.sets())
    block.label_sets.append(nb::tuple(nb::cast(labels)));
  block.lines = rows.lines;
  block.bad_lines = rows.bad_lines;
  block.first_bad = bad_lines(rows.first_bad);
  block.bad_before = to_array<int64_t>(std::move(rows.bad_before));
  return block;
}

// One array of a block, as NumPy's; those that the core believes cannot be written to.
template <class Get>
auto asked_for(const Get &get) {
  return [get](const TextBlock &block) { return nb::cast(get(block)); };
}
inline nb::ndarray<nb::numpy, nb::ro> read_only(const AnyArray &array) {
  return nb::ndarray<nb::numpy, nb::ro>(array);
}

inline void bind_text_block(nb::module_ &m) {
  m.attr("PADDING") = kPadding;
  nb::exception<LineTooLong>(m, "LineTooLong", PyExc_ValueError);
  nb::class_<TextBlock>(m, "TextBlock", "What came of a block of text.")
      .def_ro("file", &TextBlock::file)
      .def_ro("end", &TextBlock::end)
      .def_ro("bytes_read", &TextBlock::bytes_read)
      .def_prop_ro("targets", asked_for([](const TextBlock &block) { return block.targets; }))
      .def_prop_ro("weights", asked_for([](const TextBlock &block) { return block.weights; }))
      .def_prop_ro("indptr", asked_for([](const TextBlock &block) {
                     return read_only(*block.checked.rows.indptr);
                   }))
      .def_prop_ro("indices", asked_for([](const TextBlock &block) {
                     return read_only(*block.checked.rows.indices);
                   }))
      .def_prop_ro("values", asked_for([](const TextBlock &block) {
                     return read_only(block.checked.rows.values);
                   }))
      .def_ro("checked", &TextBlock::checked)
      .def_ro("label_sets", &TextBlock::label_sets)
      .def_ro("lines", &TextBlock::lines)
      .def_ro("bad_lines", &TextBlock::bad_lines)
      .def_ro("first_bad", &TextBlock::first_bad)
      .def_prop_ro("bad_before", asked_for([](const TextBlock &block) { return block.bad_before; }))
      .def_ro("largest_index", &TextBlock::largest_index)
      .def_ro("base", &TextBlock::base)
      .def_ro("unlabelled", &TextBlock::unlabelled)
      .def_ro("seen", &TextBlock::seen)
      .def_ro("tags", &TextBlock::tags);
}

using LinePlaces = nb::ndarray<const int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

using LineOrder = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Text that is parsed ahead, whatever its rows are: of the files at the paths, or if there are none
// of what it is fed.
template <class Rows, TextBlock (*ToPython)(Rows &&)>
class TextReader {
 public:
  using Parse = typename ReadAhead<Rows>::Parse;

  TextReader(std::vector<std::string> paths, const Cutting &cutting, int base, int threads,
             size_t head_start, Parse parse, std::shared_ptr<SlotNames> names = nullptr)
      : base_(base), parse_(std::move(parse)), names_(std::move(names)), process_(this_process()) {
    std::optional<BlocksOfLines> files;
    if (paths.empty())
      cutter_.emplace(cutting);
    else
      files.emplace(std::move(paths), cutting);
    ahead_ = std::make_unique<ReadAhead<Rows>>(std::move(files), memory_, base, threads, head_start,
                                               parse_);
  }

  // A forked process has what the threads left, but no threads: nobody would ever answer, and not
  // even an end can be waited for.
  ~TextReader() {
    if (process_ != this_process()) static_cast<void>(ahead_.release());
  }

  std::optional<TextBlock> next() {
    std::optional<typename ReadAhead<Rows>::Parsed> parsed;
    ReadAhead<Rows> &ahead = here();
    {
      nb::gil_scoped_release release;
      parsed = ahead.next();
    }
    if (!parsed) return std::nullopt;
    TextBlock block = ToPython(std::move(parsed->rows));
    block.file = parsed->file;
    block.end = parsed->end;
    block.bytes_read = parsed->bytes_read;
    return block;
  }

  nb::object room() {
    const auto [text, size] = cutter_.value().room();
    return nb::steal(PyMemoryView_FromMemory(text, static_cast<Py_ssize_t>(size), PyBUF_WRITE));
  }

  bool filled(size_t count, int64_t bytes_read) {
    std::optional<BlockOfLines> block = cutter_.value().filled(count, bytes_read);
    if (!block) return false;
    ReadAhead<Rows> &ahead = here();
    nb::gil_scoped_release release;
    ahead.feed(std::move(*block));
    return true;
  }

  TextBlock parse(nb::handle source) const {
    Text text(source);
    LinesInMemory lines(text.data(), text.size());
    return parsed(lines);
  }

  TextBlock parse_in_order(nb::handle source, LinePlaces places, LineOrder order) const {
    const Text text(source);
    const auto *lines = reinterpret_cast<const LinePlace *>(places.data());
    const auto room = static_cast<int64_t>(text.size()) - static_cast<int64_t>(kPadding);
    for (size_t i = 0; i < order.shape(0); ++i) {
      const int64_t n = order.data()[i];
      if (n < 0 || n >= static_cast<int64_t>(places.shape(0))) refuse("there is no line ", n);
      const auto [begin, end] = lines[n];
      if (begin < 0 || begin >= end || end > room || text.data()[end - 1] != '\n')
        refuse("line ", n, " is not one of the text");
    }
    LinesInOrder in_order(text.data(), lines, order.data(), order.shape(0), memory_);
    return parsed(in_order);
  }

  int base() {
    ReadAhead<Rows> &ahead = here();
    nb::gil_scoped_release release;
    return ahead.base();
  }

  // The class, without its constructor.
  static nb::class_<TextReader> bind(nb::module_ &m, const char *name) {
    return nb::class_<TextReader>(m, name, "Text parsed ahead by threads: of files, or fed.")
        .def("next", &TextReader::next,
             "Give the next block, None after the last of files. Blocks that are fed must have\n"
             "been before they are asked for.")
        .def("room", &TextReader::room, "Say where to put the next bytes: a memory view.")
        .def("filled", &TextReader::filled, nb::arg("count"), nb::arg("bytes_read"),
             "Take what was put there, and how much of all files was read by then; fewer bytes\n"
             "than there was room for end the file. Returns whether that made a block.")
        .def("parse", &TextReader::parse, nb::arg("text"), "Parse lines that are there, apart.")
        .def("parse_in_order", &TextReader::parse_in_order, nb::arg("text"), nb::arg("lines"),
             nb::arg("order"),
             "Parse some lines of a text in an order, each from a place to a place; the text is\n"
             "longer by `PADDING` than its lines are.")
        .def(
            "names", [](const TextReader &reader) { return names_seen(reader.names_.get()); },
            "Give the slots that have a name, where each name ends, and the text of all.")
        .def_prop_ro("base", &TextReader::base, "The base that the first features show.");
  }

 private:
  TextBlock parsed(LineSource &lines) const {
    std::optional<Rows> rows;
    int base = base_;
    {
      nb::gil_scoped_release release;
      rows = parse_(lines, base);
    }
    return ToPython(std::move(*rows));
  }

  ReadAhead<Rows> &here() const {
    if (process_ != this_process())
      throw std::runtime_error(
          "what was opened before a fork cannot be read after it: open it anew");
    return *ahead_;
  }

  const int base_;
  const Parse parse_;
  const std::shared_ptr<SlotNames> names_;
  const int process_;
  const Memory memory_ = std::make_shared<Recycled>();
  std::optional<BlockCutter> cutter_;
  std::unique_ptr<ReadAhead<Rows>> ahead_;
};

}  // namespace polyak
