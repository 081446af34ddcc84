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

#if defined(__SSE2__)
  uint64_t marks(const char *p) const {
    uint64_t bits = 0;
    for (int i = 0; i < 64; i += 16) {
      const __m128i chars = _mm_loadu_si128(reinterpret_cast<const __m128i *>(p + i));
      const __m128i line_ends = _mm_or_si128(_mm_cmpeq_epi8(chars, _mm_set1_epi8('\n')),
                                             _mm_cmpeq_epi8(chars, _mm_set1_epi8('\r')));
      const __m128i any = _mm_or_si128(_mm_cmpeq_epi8(chars, _mm_set1_epi8(delimiter_)), line_ends);
      bits |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(any))) << i;
    }
    return bits;
  }
#else
  uint64_t marks(const char *p) const {
    uint64_t bits = 0;
    for (int i = 0; i < 64; i += 8) {
      const uint64_t chars = eight_chars(p + i);
      const uint64_t flags = equal(chars, delimiter_) | equal(chars, '\n') | equal(chars, '\r');
      bits |= (((flags >> 7) * 0x0102040810204080u) >> 56) << i;  // gathers them in one byte
    }
    return bits;
  }

  // The high bit of each byte that is this character.
  static uint64_t equal(uint64_t chars, char c) {
    constexpr uint64_t kLow = 0x7f7f7f7f7f7f7f7fu;
    const uint64_t d = chars ^ (static_cast<unsigned char>(c) * uint64_t{0x0101010101010101u});
    return ~(((d & kLow) + kLow) | d | kLow);
  }
#endif

  const char *base_;
  const char *const end_;
  const char delimiter_;
  uint64_t bits_ = 0;
};

}  // namespace polyak
