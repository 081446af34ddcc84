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
  int64_t file, begin, end;  // which of the files, and from where to where in it
  int64_t file_size;         // what the file held when it was opened
};

[[noreturn]] inline void became_shorter(const std::string &path, int64_t before, int64_t now) {
  throw std::runtime_error(path + " became shorter while it was read: it had " +
                           std::to_string(before) + " bytes, and now has " + std::to_string(now));
}

// The blocks of files, one after the other. A block begins where the one before ended and holds as
// many whole lines as fit into `size` bytes, or into as many times that as the first line needs; so
// it depends on where it begins and on nothing else. What is added to a file after it was opened is
// not read, and no line may have more than `longest` bytes.
class BlocksOfLines {
 public:
  BlocksOfLines(std::vector<std::string> paths, size_t size, size_t longest, int64_t file,
                int64_t offset)
      : paths_(std::move(paths)),
        size_(static_cast<int64_t>(std::min(size, longest))),
        longest_(static_cast<int64_t>(longest)),
        file_(file),
        offset_(offset) {}

  // The next block, or none after the last file; throws std::runtime_error, and std::length_error
  // with the file's number where a line is too long.
  std::optional<BlockOfLines> next() {
    for (; file_ < static_cast<int64_t>(paths_.size()); ++file_, offset_ = 0) {
      if (!text_.is_open()) {
        text_.open(path(file_));
        file_size_ = std::max(text_.size(), offset_);  // where an earlier reading had come to
      }
      const int64_t begin = std::exchange(offset_, end_of_block());
      if (offset_ > begin) return BlockOfLines{file_, begin, offset_, file_size_};
      text_.close();
    }
    return std::nullopt;
  }

  const std::string &path(int64_t file) const { return paths_[static_cast<size_t>(file)]; }

 private:
  int64_t end_of_block() {
    const int64_t now = text_.size();
    if (now < file_size_) became_shorter(path(file_), file_size_, now);
    for (int64_t from = offset_;; from += size_) {
      const int64_t limit = offset_ + longest_ + 1;  // behind the newline of the longest line
      if (std::min(file_size_, from + size_) >= limit && last_newline(from, limit) < 0)
        throw std::length_error(std::to_string(file_));
      if (file_size_ - from < size_) return file_size_;  // with or without a newline
      const int64_t newline = last_newline(from, from + size_);
      if (newline >= 0) return newline + 1;
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
  int64_t file_, offset_, file_size_ = 0;
  PlainFile text_;
};

// The lines of one block after the other, in pieces small enough to stay in the caches near the
// processor from the moment they are read until they are parsed: on 1 GB that is a sixth of all
// processor time.
class LinesOfBlock : public LineSource {
 public:
  void open(const std::string &path, const BlockOfLines &block) {
    if (!text_.is_open() || text_.path() != path) text_.open(path);
    block_ = block;
    rewind();
  }
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
  PlainFile text_;
  BlockOfLines block_{};
  int64_t place_ = 0;           // how far the block was read
  size_t rest_ = 0, kept_ = 0;  // where in `room_` the beginning of the next piece is kept
  std::vector<char> room_;
};

}  // namespace polyak
