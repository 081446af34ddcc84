// Where names end in VW text, many characters at a time. As digits.hpp it reads ahead: a caller
// owes `kPadding` readable bytes after the text.
#pragma once

#include "text/digits.hpp"

namespace polyak {

// A bit for each of the next 64 characters, set where a name or a value may end: at a colon, a
// bar, a space and whatever lies below the space.
#if defined(__SSE2__)
inline uint64_t name_ends(const char *p) {
  uint64_t bits = 0;
  for (int i = 0; i < 64; i += 16) {
    __m128i chars = _mm_loadu_si128(reinterpret_cast<const __m128i *>(p + i));
    __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(chars, _mm_set1_epi8(' ')), chars);
    __m128i colon = _mm_cmpeq_epi8(chars, _mm_set1_epi8(':'));
    __m128i bar = _mm_cmpeq_epi8(chars, _mm_set1_epi8('|'));
    __m128i any = _mm_or_si128(low, _mm_or_si128(colon, bar));
    bits |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(any))) << i;
  }
  return bits;
}
#else
// The high bit of each byte that is zero. A byte of 0x80 and more never counts as one.
inline uint64_t flag_zeros(uint64_t chars) {
  return ~(((chars & 0x7f7f7f7f7f7f7f7fu) + 0x7f7f7f7f7f7f7f7fu) | chars) & 0x8080808080808080u;
}
inline uint64_t name_ends(const char *p) {
  uint64_t bits = 0;
  for (int i = 0; i < 64; i += 8) {
    uint64_t chars = eight_chars(p + i);
    // At most a space, and no high bit: adding 0x5f carries into the high bit from 0x21 on.
    uint64_t low = ~(((chars & 0x7f7f7f7f7f7f7f7fu) + 0x5f5f5f5f5f5f5f5fu) | chars);
    uint64_t flags = (low & 0x8080808080808080u) | flag_zeros(chars ^ 0x3a3a3a3a3a3a3a3au) |
                     flag_zeros(chars ^ 0x7c7c7c7c7c7c7c7cu);
    bits |= (((flags >> 7) * 0x0102040810204080u) >> 56) << i;  // gathers the flags in one byte
  }
  return bits;
}
#endif

}  // namespace polyak
