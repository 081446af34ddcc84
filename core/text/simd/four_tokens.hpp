// Where four features stand, found from a bit for each of 64 characters.
#pragma once

#include <cstdint>
#if defined(__BMI__)
#include <immintrin.h>
#endif

#include "kernels/kernel_namespace.hpp"
#include "rows/rows.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

// Which of 64 characters are colons and spaces.
struct Marks {
  uint64_t colons, spaces;
};

constexpr unsigned kIdDigits = 8, kDecimals = 7, kTokenSize = 16;

// For an id of i digits and a value of v characters, its colon included, which of a token's
// characters go where: those of the id to the end of the first eight places, those of the value,
// without its point, to the beginning of the last eight, as if it had all its decimals. A place
// that stays empty asks for character 128, which is none. Where i or v cannot be, the first place
// asks for the colon, which is no digit.
struct Places {
  alignas(16) unsigned char from[kTokenSize][kTokenSize][kTokenSize];
  constexpr Places() : from() {
    for (unsigned i = 0; i < kTokenSize; ++i)
      for (unsigned v = 0; v < kTokenSize; ++v) {
        unsigned char *place = from[i][v];
        for (unsigned c = 0; c < kTokenSize; ++c) place[c] = 128;
        if (i < 1 || i > kIdDigits || v < 4 || v > 3 + kDecimals || i + v > kTokenSize) {
          place[0] = static_cast<unsigned char>(i);
          continue;
        }
        for (unsigned c = 0; c < i; ++c) place[8 - i + c] = static_cast<unsigned char>(c);
        place[8] = static_cast<unsigned char>(i + 1);
        for (unsigned c = 3; c < v; ++c) place[6 + c] = static_cast<unsigned char>(i + c);
      }
  }
};
constexpr Places kPlaces;

// Values are whole numbers of these. As a float, the product with the inverse is the quotient:
// tried with all of them.
constexpr double kDecimalUnit = 1e7, kInverseUnit = 1e-7;

#if defined(__BMI__)
POLYAK_INLINE unsigned lowest_or_64(uint64_t bits) {
  return static_cast<unsigned>(_tzcnt_u64(bits));
}
#else
POLYAK_INLINE unsigned lowest_or_64(uint64_t bits) {
  return bits ? static_cast<unsigned>(__builtin_ctzll(bits)) : 64;
}
#endif

struct FourTokens {
  unsigned begin[4], id_size[4], value_size[4];
  unsigned end;  // behind the space of the fourth

  POLYAK_INLINE const unsigned char *places(int t) const {
    return kPlaces.from[id_size[t]][value_size[t]];
  }

  // False unless the text begins with four features as parse4.hpp describes them, but for their
  // digits: those are looked at as they are picked.
  POLYAK_INLINE bool find(const char *p, const Marks &marks) {
    uint64_t colons = marks.colons, spaces = marks.spaces, last = 0;
    unsigned sizes = 0, place = 0;
    POLYAK_UNROLL
    for (int t = 0; t < 4; ++t) {
      const unsigned colon = lowest_or_64(colons), space = lowest_or_64(spaces);
      last = spaces;
      colons &= colons - 1;
      spaces &= spaces - 1;
      begin[t] = place;
      id_size[t] = colon - place;
      value_size[t] = space - colon;
      sizes |= id_size[t] | value_size[t];
      place = space + 1;
    }
    end = place;
    if (last == 0 || sizes >= kTokenSize) return false;
    const auto has_point = [&](int t) { return p[begin[t] + id_size[t] + 2] == '.'; };
    return has_point(0) && has_point(1) && has_point(2) && has_point(3);
  }
};

}  // namespace POLYAK_KERNELS
}  // namespace polyak
