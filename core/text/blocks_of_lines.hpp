// Files in blocks of whole lines: where each block ends is found first, and what is in it is read
// afterwards, piece by piece, by whoever parses it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "text/line_source.hpp"

namespace polyak {

// A file read without a buffer in between.
class PlainFile {
 public:
  bool is_open() const { return stream_.is_open(); }
  const std::string &path() const { return path_; }
  void open(const std::string &path) {
    close();
    path_ = path;
    stream_.rdbuf()->pubsetbuf(nullptr, 0);
    stream_.open(std::filesystem::u8path(path), std::ios::binary);
    if (!stream_.is_open()) fail();
  }
  void close() {
    stream_.close();
    stream_.clear();
  }
  int64_t size() {
    stream_.clear();
    stream_.seekg(0, std::ios::end);
    const auto end = stream_.tellg();
    if (end < 0) fail();
    return static_cast<int64_t>(end);
  }
  // How many characters there were.
  size_t read(int64_t from, char *to, size_t most) {
    stream_.clear();
    stream_.seekg(from);
    stream_.read(to, static_cast<std::streamsize>(most));
    if (stream_.bad()) fail();
    return static_cast<size_t>(stream_.gcount());
  }

 private:
  [[noreturn]] void fail() const { throw std::runtime_error(path_ + " cannot be read"); }

  std::string path_;
  std::ifstream stream_;
};

struct BlockOfLines {
  int64_t file = 0, begin = 0, end = 0;  // the file's number, and the block's place in it
  int64_t bytes_read = 0;                // of all files, by the end of the block
  int64_t file_size = 0;                 // when the file was opened
  Column<char> text;                     // the lines, if they cannot be read from the file later
};

struct LineTooLong : std::runtime_error {
  explicit LineTooLong(int64_t file) : std::runtime_error(std::to_string(file)) {}
};

// Where a block ends whose text is known up to `end` and has no newline before `from`; 0 if it
// takes more text to tell. `last_newline(from, to)` is negative if there is none.
template <class LastNewline>
int64_t end_of_block(const BlockOfLines &block, int64_t from, bool at_end, int64_t longest,
                     const LastNewline &last_newline) {
  const int64_t limit = block.begin + longest + 1;  // behind the newline of the longest line
  if (block.end >= limit && last_newline(from, limit) < 0) throw LineTooLong(block.file);
  return at_end ? block.end : last_newline(from, block.end) + 1;
}

[[noreturn]] inline void became_shorter(const std::string &path, int64_t before, int64_t now) {
  throw std::runtime_error(path + " became shorter while it was read: it had " +
                           std::to_string(before) + " bytes, and now has " + std::to_string(now));
}

// How text is cut into blocks, and from where on. A block begins where the one before ended and
// holds as many whole lines as fit into `size` bytes, or into as many times that as the first line
// needs; so it depends on where it begins and on nothing else. No line may have more than `longest`
// bytes.
struct Cutting {
  int64_t size, longest;
  int64_t file, offset;  // where the first block begins
  int64_t bytes_before;  // how much the files before take
};

// The blocks of files, one after the other. What is added to a file after it was opened is not
// read.
class BlocksOfLines {
 public:
  BlocksOfLines(std::vector<std::string> paths, const Cutting &cutting)
      : paths_(std::move(paths)),
        size_(std::min(cutting.size, cutting.longest)),
        longest_(cutting.longest),
        file_(cutting.file),
        offset_(cutting.offset),
        bytes_before_(cutting.bytes_before) {}

  // The next block, or none after the last file; throws std::runtime_error.
  std::optional<BlockOfLines> next() {
    for (; file_ < static_cast<int64_t>(paths_.size()); ++file_, offset_ = 0) {
      if (!text_.is_open()) {
        text_.open(path(file_));
        file_size_ = std::max(text_.size(), offset_);  // where an earlier reading had come to
      }
      BlockOfLines block{file_, offset_, offset_, 0, file_size_, Column<char>()};
      offset_ = block.end = end_of(block);
      block.bytes_read = bytes_before_ + block.end;
      if (block.end > block.begin) return block;
      bytes_before_ += file_size_;
      text_.close();
    }
    return std::nullopt;
  }

  const std::string &path(int64_t file) const { return paths_[static_cast<size_t>(file)]; }

 private:
  int64_t end_of(BlockOfLines &block) {
    const int64_t now = text_.size();
    if (now < file_size_) became_shorter(path(file_), file_size_, now);
    for (int64_t from = block.begin;; from += size_) {
      block.end = std::min(file_size_, from + size_);
      const int64_t end =
          end_of_block(block, from, block.end - from < size_, longest_,
                       [this](int64_t from, int64_t to) { return last_newline(from, to); });
      if (end > 0 || block.end - from < size_) return end;
    }
  }

  int64_t last_newline(int64_t from, int64_t to) {
    char chars[4096];
    while (to > from) {
      const int64_t begin = std::max(from, to - static_cast<int64_t>(sizeof chars));
      size_t n = text_.read(begin, chars, static_cast<size_t>(to - begin));
      while (n > 0 && chars[n - 1] != '\n') --n;
      if (n > 0) return begin + static_cast<int64_t>(n) - 1;
      to = begin;
    }
    return -1;
  }

  const std::vector<std::string> paths_;
  const int64_t size_, longest_;
  int64_t file_, offset_, bytes_before_, file_size_ = 0;
  PlainFile text_;
};

// The lines of one block after the other, in pieces small enough to stay in the caches near the
// processor from the moment they are read until they are parsed: on 1 GB that is a sixth of all
// processor time.
class LinesOfBlock : public LineSource {
 public:
  explicit LinesOfBlock(Memory memory) : memory_(std::move(memory)) {}
  void open(const std::string &path, BlockOfLines block) {
    if (!text_.is_open() || text_.path() != path) text_.open(path);
    block_ = std::move(block);
    rewind();
  }
  Memory memory() const override { return memory_; }
  void rewind() override {
    place_ = block_.begin;
    rest_ = kept_ = 0;
  }
  size_t bytes() const override { return static_cast<size_t>(block_.end - block_.begin); }

  bool next(const char *&text, size_t &size) override {
    std::copy_n(room_.begin() + static_cast<std::ptrdiff_t>(rest_), kept_, room_.begin());
    size_t filled = kept_;
    for (;;) {
      if (room_.size() < filled + kPiece) room_.resize(filled + kPiece);
      const size_t wanted = std::min(kPiece, static_cast<size_t>(block_.end - place_));
      const size_t n = text_.read(place_, room_.data() + filled, wanted);
      if (n < wanted) became_shorter(text_.path(), block_.file_size, text_.size());
      place_ += static_cast<int64_t>(n);
      filled += n;
      size_t cut = filled;
      if (n == kPiece) {  // or else the block ends here
        while (cut > filled - n && room_[cut - 1] != '\n') --cut;
        if (cut == filled - n) continue;  // a line longer than a piece
      }
      rest_ = cut;
      kept_ = filled - cut;
      text = room_.data();
      size = cut;
      return size > 0;
    }
  }

 private:
  static constexpr size_t kPiece = size_t(1) << 18;
  const Memory memory_;
  PlainFile text_;
  BlockOfLines block_;
  int64_t place_ = 0;           // how far the block was read
  size_t rest_ = 0, kept_ = 0;  // where in `room_` the beginning of the next piece is kept
  std::vector<char> room_;
};

}  // namespace polyak
