// Text that comes once, as from a pipe or out of a compressed file, cut into the blocks that a
// plain file of the same text has: whoever has the bytes fills them in, as many as are asked for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "text/blocks_of_lines.hpp"

namespace polyak {

class BlockCutter {
 public:
  explicit BlockCutter(const Cutting &cutting)
      : size_(std::min(cutting.size, cutting.longest)),
        longest_(cutting.longest),
        file_(cutting.file),
        offset_(cutting.offset) {}

  // Where to put the next bytes, and how many are wanted.
  std::pair<char *, size_t> room() {
    text_.reserve(static_cast<size_t>(looked_ + size_));
    return {text_.end(), wanted()};
  }

  // Takes what was filled in: fewer bytes than wanted are the file's last, after which the next
  // file begins. Gives a block as soon as there is one.
  std::optional<BlockOfLines> filled(size_t count, int64_t bytes_read) {
    const bool at_end = count < wanted();
    text_.resize(text_.size() + count);
    BlockOfLines block{file_, offset_, offset_ + length(), bytes_read, 0, Column<char>()};
    const int64_t end =
        end_of_block(block, offset_ + looked_, at_end, longest_,
                     [this](int64_t from, int64_t to) { return last_newline(from, to); });
    if (end <= offset_ && !at_end) {
      looked_ += size_;
      return std::nullopt;
    }
    block.end = end;
    block.text = cut(static_cast<size_t>(end - offset_));
    looked_ = 0;
    offset_ = end;
    if (at_end) ++file_, offset_ = 0;
    if (block.text.empty()) return std::nullopt;
    return block;
  }

 private:
  int64_t length() const { return static_cast<int64_t>(text_.size()); }
  size_t wanted() const { return static_cast<size_t>(looked_ + size_) - text_.size(); }

  int64_t last_newline(int64_t from, int64_t to) const {
    while (to > from && text_[to - offset_ - 1] != '\n') --to;
    return to > from ? to - 1 : -1;
  }

  // Takes so many characters off the front.
  Column<char> cut(size_t count) {
    Column<char> rest(memory_);
    rest.resize(text_.size() - count);
    if (!rest.empty()) std::memcpy(rest.data(), text_.data() + count, rest.size());
    std::swap(text_, rest);
    rest.resize(count);
    return rest;
  }

  const int64_t size_, longest_;
  int64_t file_, offset_;  // where the block begins
  int64_t looked_ = 0;     // how much of it has no newline
  // Apart from that of rows, which fill only some of theirs: what text has filled stays filled.
  const Memory memory_ = std::make_shared<Recycled>();
  Column<char> text_{memory_};  // of the block, and what was read behind it
};

}  // namespace polyak
