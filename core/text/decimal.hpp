// Decimal text to the nearest double: the very number Python's float() makes of it, whatever the
// locale. Each way of getting there is exact; the first that applies is taken:
//   1. a significand below 2^53 and a small power of ten: one division or product of doubles;
//   2. nineteen digits and a power up to 27: one division or product of 128-bit integers;
//   3. anything else: big_decimal.hpp.
//
// Text is read as digits.hpp says, with room behind it; and behind the number stands a character
// that cannot belong to it, such as a newline.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "text/big_decimal.hpp"
#include "text/digits.hpp"

namespace polyak {

static_assert(std::numeric_limits<double>::is_iec559, "doubles must be those of IEEE 754");

// ---- powers -------------------------------------------------------------------------------------

// Every power of ten that a double holds exactly.
constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int kLargestPowerOfTen = 22;
constexpr int32_t kSmallPowersOfTen[] = {1,      10,      100,      1000,     10000,
                                         100000, 1000000, 10000000, 100000000};

// ---- the second way -----------------------------------------------------------------------------

#if defined(__SIZEOF_INT128__)
__extension__ typedef unsigned __int128 uint128_t;

// Every power of five below 2^63.
struct PowersOfFive {
  static constexpr int kLargest = 27;
  uint64_t power[kLargest + 1] = {1};
  constexpr PowersOfFive() {
    for (int i = 1; i <= kLargest; ++i) power[i] = 5 * power[i - 1];
  }
};
constexpr PowersOfFive kPowersOfFive;

// w * 10^e, rounded once: sixty-four leading bits, the last of them set if anything below was
// lost, are all that the processor's own conversion needs to round as the exact number would.
inline double nearest_by_integers(uint64_t w, int e) {
  uint128_t number;  // times 2^exponent, since 10^e = 5^e 2^e
  int exponent = e;
  bool lost = false;
  if (e >= 0) {
    number = static_cast<uint128_t>(w) * kPowersOfFive.power[e];
  } else {
    int up = __builtin_clzll(w);
    uint128_t dividend = static_cast<uint128_t>(w << up) << 64;
    number = dividend / kPowersOfFive.power[-e];  // has more than 64 bits, the power fewer
    lost = number * kPowersOfFive.power[-e] != dividend;
    exponent -= 64 + up;
  }
  if (uint64_t high = static_cast<uint64_t>(number >> 64)) {
    int down = 64 - __builtin_clzll(high);
    lost |= (number & ((static_cast<uint128_t>(1) << down) - 1)) != 0;
    number >>= down;
    exponent += down;
  }
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

inline double nearest_by_big_decimal(const char *text, const Significand &s) {
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

inline double nearest(const char *text, const Significand &s) {
  if (s.w == 0) return 0.0;
  if (!s.cut && s.w <= (uint64_t{1} << 53)) {
    double w = static_cast<double>(s.w);
    if (s.exponent >= 0 && s.exponent <= kLargestPowerOfTen) return w * kPowersOfTen[s.exponent];
    if (s.exponent < 0 && -s.exponent <= kLargestPowerOfTen) return w / kPowersOfTen[-s.exponent];
  }
#if defined(__SIZEOF_INT128__)
  if (s.exponent >= -PowersOfFive::kLargest && s.exponent <= PowersOfFive::kLargest) {
    double low = nearest_by_integers(s.w, static_cast<int>(s.exponent));
    // What was cut lies between w and w + 1: if both round alike, so does the number.
    if (!s.cut || low == nearest_by_integers(s.w + 1, static_cast<int>(s.exponent))) return low;
  }
#endif
  return nearest_by_big_decimal(text, s);
}

// Adds the digits at p, however many there are.
inline const char *read_digits(const char *p, Significand &s) {
  for (; is_digit(*p); ++p) {
    s.add(*p - '0');
    while (s.kept > 0 && s.kept + 8 <= Significand::kDigits) {
      uint64_t chars = eight_chars(p + 1);
      if (leading_digits(chars) < 8) break;
      s.w = 100000000 * s.w + digits_to_number(chars, 8);
      s.kept += 8;
      p += 8;
    }
  }
  return p;
}

// Reads [digits][.digits][e[sign]digits]; null if there is no such number.
inline const char *read_unsigned(const char *p, double &number) {
  const char *text = p;
  Significand s;
  p = read_digits(p, s);
  bool any = p > text;
  if (*p == '.') {
    const char *fraction = p + 1;
    p = read_digits(fraction, s);
    s.exponent -= p - fraction;
    any |= p > fraction;
  }
  if (!any) return nullptr;
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
// number is infinite if the text is too large.
inline const char *read_number(const char *p, double &number) {
  bool minus = *p == '-';
  if (minus || *p == '+') ++p;
  p = read_unsigned(p, number);
  if (minus) number = -number;
  return p;
}

}  // namespace polyak
