// Where cells of CSV end, found 64 characters ahead: cells are short and of any length, so that a
// loop over their characters would guess wrong at nearly every one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "text/digits.hpp"

namespace polyak {

class CellEnds {
 public:
  CellEnds(std::string_view text, char delimiter)
      : base_(text.data()), end_(base_ + text.size()), delimiter_(delimiter) {
    bits_ = look(base_);
  }

  // The next delimiter, newline or carriage return from `p` on, or the end of the text. Asked for
  // places that never go back.
  const char *next(const char *p) {
    for (;;) {
      const ptrdiff_t ahead = p - base_;
      if (ahead < 64) {
        const uint64_t left = bits_ >> ahead;
        if (left) return p + lowest_bit(left);
        p = base_ + 64;
      }
      if (p >= end_) return end_;
      base_ = p;
      bits_ = look(p);
    }
  }

 private:
  uint64_t look(const char *p) const {
    if (end_ - p >= 64) return marks(p);
    char last[64] = {};
    if (p < end_) std::memcpy(last, p, static_cast<size_t>(end_ - p));
    const uint64_t inside = (uint64_t{1} << (end_ - p)) - 1;
    return marks(last) & inside;
  }

  uint64_t marks(const char *p) const {
    return bits_where(p, [delimiter = delimiter_](Chars chars) {
      return (chars == delimiter) | (chars == '\n') | (chars == '\r');
    });
  }

  const char *base_;
  const char *const end_;
  const char delimiter_;
  uint64_t bits_ = 0;
};

}  // namespace polyak
