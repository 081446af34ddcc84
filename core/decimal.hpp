// Decimal text to the nearest double: the very number Python's float() makes of it, whatever the
// locale. Each way of getting there is exact; the first that applies is taken:
//   1. a significand below 2^53 and a small power of ten: one division or product of doubles;
//   2. nineteen digits and a power up to 27: one division or product of 128-bit integers;
//   3. anything else: big_decimal.hpp.
//
// Text is read eight characters at a time, so a caller owes `kPadding` readable bytes after the
// text, and a character behind the number that cannot belong to it (a newline does).
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "big_decimal.hpp"

namespace polyak {

static_assert(std::numeric_limits<double>::is_iec559, "doubles must be those of IEEE 754");

constexpr int kPadding = 16;

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') <= 9; }

// ---- eight characters at a time ----------------------------------------------------------------

// The first character ends up in the lowest byte on every machine.
inline uint64_t eight_chars(const char* p) {
  uint64_t chars;
  std::memcpy(&chars, p, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  chars = __builtin_bswap64(chars);
#endif
  return chars;
}

// How many of the eight characters are digits before the first that is not.
inline unsigned leading_digits(uint64_t chars) {
  uint64_t d = chars ^ 0x3030303030303030u;  // digits become 0..9, and only they
  // The high bit of a byte tells that it is above 9. A carry may spoil the bytes behind such a
  // byte, never those before it, and only the first counts.
  uint64_t others = ((d + 0x7676767676767676u) | d) & 0x8080808080808080u;
#if defined(__GNUC__)
  return others ? static_cast<unsigned>(__builtin_ctzll(others)) >> 3 : 8;
#else
  uint64_t below_first = ((others & (0 - others)) >> 7) - 1;
  return static_cast<unsigned>(((below_first & 0x0101010101010101u) * 0x0101010101010101u) >> 56);
#endif
}

// The whole number that the first n characters spell, 1 <= n <= 8: neighbours are joined to
// pairs, pairs to fours and fours to eights, three products instead of n.
inline uint64_t digits_to_number(uint64_t chars, unsigned n) {
  chars <<= 64 - 8 * n;  // the empty places in front count as zeros
  chars = ((chars & 0x0f0f0f0f0f0f0f0fu) * (10 * (1u << 8) + 1)) >> 8;
  chars = ((chars & 0x00ff00ff00ff00ffu) * (100 * (1u << 16) + 1)) >> 16;
  return ((chars & 0x0000ffff0000ffffu) * (10000 * (uint64_t{1} << 32) + 1)) >> 32;
}

// ---- powers -------------------------------------------------------------------------------------

// Every power of ten that a double holds exactly.
constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int kLargestPowerOfTen = 22;
constexpr uint32_t kSmallPowersOfTen[] = {1,      10,      100,      1000,     10000,
                                          100000, 1000000, 10000000, 100000000};

// ---- the second way -----------------------------------------------------------------------------

#if defined(__SIZEOF_INT128__)
__extension__ typedef unsigned __int128 uint128_t;

constexpr int kLargestPowerOfFive = 27;  // the last below 2^63

// w * 10^e, rounded once: sixty-four leading bits, the last of them set if anything below was
// lost, are all that the processor's own conversion needs to round as the exact number would.
inline double nearest_by_integers(uint64_t w, int e) {
  uint64_t five = 1;
  for (int i = e < 0 ? -e : e; i > 0; --i) five *= 5;
  uint128_t number;  // times 2^exponent, since 10^e = 5^e 2^e
  int exponent = e;
  bool lost = false;
  if (e >= 0) {
    number = static_cast<uint128_t>(w) * five;
  } else {
    for (; !(w >> 63); w <<= 1) --exponent;
    exponent -= 64;
    uint128_t dividend = static_cast<uint128_t>(w) << 64;
    number = dividend / five;  // has more than 64 bits, for `five` has fewer than 64
    lost = number * five != dividend;
  }
  for (; number >> 64; number >>= 1, ++exponent) lost |= static_cast<bool>(number & 1);
  return std::ldexp(static_cast<double>(static_cast<uint64_t>(number) | lost), exponent);
}
#endif

// ---- any number ---------------------------------------------------------------------------------

// The digits of a number: w * 10^exponent, where w holds the first nineteen significant ones, and
// `cut` tells that some of the others were not zero.
struct Significand {
  static constexpr int kDigits = 19;
  uint64_t w = 0;
  int64_t exponent = 0;
  int kept = 0;
  bool cut = false;

  void add(int digit) {
    if (kept == kDigits) {
      cut |= digit != 0;
      ++exponent;
    } else {
      w = 10 * w + static_cast<uint64_t>(digit);
      kept += w != 0;
    }
  }
};

inline double nearest_by_big_decimal(const char* text, const Significand& s) {
  // 10^-350 * 10^19 is below half the smallest double, 10^310 above the largest.
  if (s.exponent < -350) return 0.0;
  if (s.exponent > 310) return std::numeric_limits<double>::infinity();
  // No point halfway between doubles has more than 767 digits, so what comes after these can only
  // matter by being there; one more digit says so, and keeps a very long number cheap.
  constexpr int most = 770;
  BigInteger digits;
  int kept = 0;
  bool rest = false;
  for (; is_digit(*text) || *text == '.'; ++text) {
    if (*text == '.' || (kept == 0 && *text == '0')) continue;
    if (kept < most)
      digits.multiply_add(10, static_cast<uint32_t>(*text - '0')), ++kept;
    else
      rest |= *text != '0';
  }
  if (rest) digits.multiply_add(10, 1), ++kept;
  int exponent = static_cast<int>(s.exponent) - (kept - s.kept);
  double guess = static_cast<double>(s.w) * std::pow(10.0, static_cast<double>(s.exponent / 2)) *
                 std::pow(10.0, static_cast<double>(s.exponent - s.exponent / 2));
  return BigDecimal(digits, exponent).nearest(guess);
}

inline double nearest(const char* text, const Significand& s) {
  if (s.w == 0) return 0.0;
  if (!s.cut && s.w <= (uint64_t{1} << 53)) {
    double w = static_cast<double>(s.w);
    if (s.exponent >= 0 && s.exponent <= kLargestPowerOfTen) return w * kPowersOfTen[s.exponent];
    if (s.exponent < 0 && -s.exponent <= kLargestPowerOfTen) return w / kPowersOfTen[-s.exponent];
  }
#if defined(__SIZEOF_INT128__)
  if (s.exponent >= -kLargestPowerOfFive && s.exponent <= kLargestPowerOfFive) {
    double low = nearest_by_integers(s.w, static_cast<int>(s.exponent));
    // What was cut lies between w and w + 1: if both round alike, so does the number.
    if (!s.cut || low == nearest_by_integers(s.w + 1, static_cast<int>(s.exponent))) return low;
  }
#endif
  return nearest_by_big_decimal(text, s);
}

// Reads [digits][.digits][e[sign]digits]; null if there is no such number.
inline const char* read_any_number(const char* p, double& number) {
  const char* text = p;
  Significand s;
  int digits = 0;
  for (; is_digit(*p); ++p, digits = 1) s.add(*p - '0');
  if (*p == '.')
    for (++p; is_digit(*p); ++p, digits = 1) {
      s.add(*p - '0');
      --s.exponent;
    }
  if (!digits) return nullptr;
  if ((*p | 0x20) == 'e') {
    ++p;
    bool minus = *p == '-';
    if (minus || *p == '+') ++p;
    if (!is_digit(*p)) return nullptr;
    int64_t e = 0;
    for (; is_digit(*p); ++p)
      if (e < (int64_t{1} << 50)) e = 10 * e + (*p - '0');
    s.exponent += minus ? -e : e;
  }
  number = nearest(text, s);
  return p;
}

// Reads a number with an optional sign and returns where it ends, or null if there is none. The
// number may be infinite if the text is too large.
inline const char* read_number(const char* p, double& number) {
  bool minus = *p == '-';
  if (minus || *p == '+') ++p;
  // Nearly every number of a data file is one digit, or one digit and a few behind the point.
  if (is_digit(*p)) {
    uint64_t whole = static_cast<uint64_t>(*p - '0');
    if (p[1] == '.') {
      uint64_t chars = eight_chars(p + 2);
      unsigned n = leading_digits(chars);
      if (n - 1 < 7 && (p[2 + n] | 0x20) != 'e') {
        uint64_t w = whole * kSmallPowersOfTen[n] + digits_to_number(chars, n);
        double value = static_cast<double>(static_cast<int64_t>(w)) / kPowersOfTen[n];
        number = minus ? -value : value;
        return p + 2 + n;
      }
    } else if (!is_digit(p[1]) && (p[1] | 0x20) != 'e') {
      number = minus ? -static_cast<double>(whole) : static_cast<double>(whole);
      return p + 1;
    }
  }
  p = read_any_number(p, number);
  if (minus) number = -number;
  return p;
}

}  // namespace polyak
