// Digits many characters at a time, without a branch for each. All of it reads ahead: a caller owes
// `kPadding` readable bytes after the text, whatever they hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "text/marks.hpp"

// Here and in slot_order.hpp the first of eight bytes is the lowest of a number.
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "polyak runs on little-endian machines"
#endif

namespace polyak {

constexpr size_t kPadding = 128;

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

// A bit for each of the next 64 characters, set where there is no digit. This makes the parser half
// as fast again.
inline uint64_t non_digits(const char *p) {
  return bits_where(p, [](Chars chars) { return chars.no_digits(); });
}

}  // namespace polyak
