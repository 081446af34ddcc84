// Lines of a text in another order than they stand there: a parser is given them one by one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "text/line_source.hpp"

namespace polyak {

// Where a line is in a text, with its newline.
struct LinePlace {
  int64_t begin, end;
};

// Where the lines are that stand between two places of a text; the last has a newline, too.
inline void find_lines(const char *text, LinePlace between, std::vector<LinePlace> &lines) {
  for (int64_t at = between.begin; at < between.end;) {
    const char *from = text + at;
    const void *found = std::memchr(from, '\n', static_cast<size_t>(between.end - at));
    const int64_t end = found ? at + (static_cast<const char *>(found) - from) + 1 : between.end;
    lines.push_back({at, end});
    at = end;
  }
}

// The text has kPadding readable bytes behind the last line.
class LinesInOrder : public LineSource {
 public:
  LinesInOrder(const char *text, const LinePlace *lines, const int64_t *order, size_t count,
               Memory memory)
      : text_(text), lines_(lines), order_(order), count_(count), memory_(std::move(memory)) {
    for (size_t i = 0; i < count; ++i)
      bytes_ += static_cast<size_t>(lines[order[i]].end - lines[order[i]].begin);
  }

  bool next(const char *&text, size_t &size) override {
    if (given_ == count_) return false;
    const LinePlace &line = lines_[order_[given_++]];
    text = text_ + line.begin;
    size = static_cast<size_t>(line.end - line.begin);
    if (given_ < count_) ask_for(lines_[order_[given_]]);
    return true;
  }
  void rewind() override { given_ = 0; }
  size_t bytes() const override { return bytes_; }
  bool is_padded() const override { return true; }
  Memory memory() const override { return memory_; }

 private:
  // Has the next line brought near while this one is parsed: it may be anywhere.
  void ask_for(const LinePlace &line) const {
#if defined(__GNUC__)
    const int64_t end = std::min(line.end, line.begin + (1 << 12));
    for (int64_t at = line.begin; at < end; at += 64) __builtin_prefetch(text_ + at);
#else
    (void)line;
#endif
  }

  const char *const text_;
  const LinePlace *const lines_;
  const int64_t *const order_;
  const size_t count_;
  const Memory memory_;
  size_t bytes_ = 0, given_ = 0;
};

}  // namespace polyak
