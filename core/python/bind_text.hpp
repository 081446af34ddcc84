// What the bindings of all parsers share: text from Python, and arrays of rows for it.
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
#include "python/buffers.hpp"
#include "python/rows/checked_rows.hpp"
#include "text/block_cutter.hpp"
#include "text/digits.hpp"
#include "text/lines.hpp"
#include "text/lines_in_order.hpp"
#include "text/read_ahead.hpp"

namespace polyak {

namespace nb = nanobind;

// The memory returns to its stream when Python releases the array. Arrays of validated rows must
// not be written to, and are of `const T`.
template <class T, class Kept>
nb::ndarray<nb::numpy, T, nb::ndim<1>> to_array(Column<Kept> &&numbers) {
  auto *kept = new Column<Kept>(std::move(numbers));
  nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<Column<Kept> *>(p); });
  return {kept->data(), {kept->size()}, owner};
}

// Returns line (from zero), text and reason of each.
nb::list bad_lines(const std::vector<BadLine> &lines);

template <class T>
using Numbers = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

// A parsed block of text; fields that a format lacks keep these defaults. Arrays become NumPy
// arrays only on access, so that NumPy is not imported before it is needed.
struct TextBlock {
  int64_t file = 0, end = 0;  // where the block ends
  int64_t bytes_read = 0;     // of all files, by then
  Numbers<double> targets;
  std::optional<Numbers<double>> weights;
  CheckedRows checked;  // indptr, indices and values
  int64_t lines, bad_lines;
  nb::list label_sets;                    // targets are indices of these if rows may have several
  nb::list first_bad;                     // line (from zero), text and reason of the first ten
  Numbers<int64_t> bad_before;            // for every bad line the number of rows before it
  int64_t largest_index = -1, base = -1;  // svmlight only
  int64_t unlabelled = 0;                 // VW only: rows left out because they have no label
  nb::list seen;                          // VW only: whether each named namespace occurs
  nb::object tags = nb::none();           // VW only, on request: one line per row
};

// The fields that all formats have.
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

// The rows of a block, parsed without Python.
class ParsedText {
 public:
  virtual ~ParsedText() = default;
  virtual TextBlock to_python() = 0;
};

template <class Rows>
class ParsedRows final : public ParsedText {
 public:
  using Finish = void (*)(Rows &, TextBlock &);  // sets the fields that only this format has
  ParsedRows(Rows &&rows, Finish finish) : rows_(std::move(rows)), finish_(finish) {}
  TextBlock to_python() override {
    TextBlock block = to_block(rows_);
    finish_(rows_, block);
    return block;
  }

 private:
  Rows rows_;
  const Finish finish_;
};

using LinePlaces = nb::ndarray<const int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using LineOrder = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

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
  TextBlock parse_in_order(nb::handle source, LinePlaces places, LineOrder order) const;
  int base();
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

}  // namespace polyak
