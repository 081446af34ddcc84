// Text to be parsed, whole lines at a time.
#pragma once

#include <cstddef>
#include <utility>

#include "memory/column.hpp"

namespace polyak {

class LineSource {
 public:
  virtual ~LineSource() = default;
  // The next piece; false after the last. A piece ends with a newline, save perhaps the last.
  virtual bool next(const char *&text, size_t &size) = 0;
  virtual void rewind() = 0;
  virtual size_t bytes() const = 0;  // of all pieces
  // Where the rows may go; none: wherever there is room.
  virtual Memory memory() const { return nullptr; }
};

// Text that is there already: a single piece.
class LinesInMemory : public LineSource {
 public:
  LinesInMemory(const char *text, size_t size, Memory memory = nullptr)
      : text_(text), size_(size), memory_(std::move(memory)) {}
  bool next(const char *&text, size_t &size) override {
    text = text_, size = size_;
    return !std::exchange(given_, true);
  }
  void rewind() override { given_ = false; }
  size_t bytes() const override { return size_; }
  Memory memory() const override { return memory_; }

 private:
  const char *text_;
  size_t size_;
  Memory memory_;
  bool given_ = false;
};

}  // namespace polyak
