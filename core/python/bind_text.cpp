// The reader of text that all formats share, and the blocks that it returns.
#include "python/bind_text.hpp"

namespace polyak {

nb::list bad_lines(const std::vector<BadLine> &lines) {
  nb::list list;
  for (const BadLine &line : lines)
    list.append(nb::make_tuple(line.line, nb::bytes(line.text.data(), line.text.size()),
                               nb::str(line.reason)));
  return list;
}

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
  TextBlock block = parsed->rows->to_python();
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

TextBlock TextReader::parse_in_order(nb::handle source, LinePlaces places, LineOrder order) const {
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

int TextReader::base() {
  ReadAhead<Parsed> &reader = ahead();
  nb::gil_scoped_release release;
  return reader.base();
}

TextBlock TextReader::parsed(LineSource &lines) const {
  Parsed rows;
  int base = base_;
  {
    nb::gil_scoped_release release;
    rows = parse_(lines, base);
  }
  return rows->to_python();
}

ReadAhead<TextReader::Parsed> &TextReader::ahead() const {
  if (process_ != this_process())
    throw std::runtime_error("what was opened before a fork cannot be read after it: open it anew");
  return *ahead_;
}

namespace {

// Converts one array of a block to NumPy; those of validated rows are read-only.
template <class Get>
auto on_access(const Get &get) {
  return [get](const TextBlock &block) { return nb::cast(get(block)); };
}
nb::ndarray<nb::numpy, nb::ro> read_only(const AnyArray &array) {
  return nb::ndarray<nb::numpy, nb::ro>(array);
}

}  // namespace
}  // namespace polyak

using namespace polyak;

void bind_text(nb::module_ &m) {
  m.attr("PADDING") = kPadding;
  nb::exception<LineTooLong>(m, "LineTooLong", PyExc_ValueError);
  nb::class_<TextBlock>(m, "TextBlock", "The rows of a block of text.")
      .def_ro("file", &TextBlock::file)
      .def_ro("end", &TextBlock::end)
      .def_ro("bytes_read", &TextBlock::bytes_read)
      .def_prop_ro("targets", on_access([](const TextBlock &block) { return block.targets; }))
      .def_prop_ro("weights", on_access([](const TextBlock &block) { return block.weights; }))
      .def_prop_ro("indptr", on_access([](const TextBlock &block) {
                     return read_only(*block.checked.rows.indptr);
                   }))
      .def_prop_ro("indices", on_access([](const TextBlock &block) {
                     return read_only(*block.checked.rows.indices);
                   }))
      .def_prop_ro("values", on_access([](const TextBlock &block) {
                     return read_only(block.checked.rows.values);
                   }))
      .def_ro("checked", &TextBlock::checked)
      .def_ro("label_sets", &TextBlock::label_sets)
      .def_ro("lines", &TextBlock::lines)
      .def_ro("bad_lines", &TextBlock::bad_lines)
      .def_ro("first_bad", &TextBlock::first_bad)
      .def_prop_ro("bad_before", on_access([](const TextBlock &block) { return block.bad_before; }))
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
      .def("parse_in_order", &TextReader::parse_in_order, nb::arg("text"), nb::arg("lines"),
           nb::arg("order"),
           "Parse some lines of a text, each given by its begin and end, in an order; the text is\n"
           "longer than its lines by `PADDING`.")
      .def("names", &TextReader::names,
           "Return the slots that have a name, where each name ends, and the text of all.")
      .def_prop_ro("base", &TextReader::base, "The base that the first features show.");
}
