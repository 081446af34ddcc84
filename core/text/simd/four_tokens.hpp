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

// Which characters are what; `others` are neither of these nor digits.
struct Marks {
  uint64_t colons, points, spaces, others;
  POLYAK_INLINE Marks(uint64_t colons, uint64_t points, uint64_t spaces, uint64_t no_digits)
      : colons(colons),
        points(points),
        spaces(spaces),
        others(no_digits ^ (colons | points | spaces)) {}
};

constexpr unsigned kIdDigits = 8, kDecimals = 7, kTokenSize = 16;
constexpr double kDecimalUnits[kDecimals + 1] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7};

// For an id of i digits and a value of n decimals, which of a token's characters go where: those
// of the id to the end of the first eight places, those of the value, without its point, to the
// end of the last eight. A place that stays empty asks for character 128, which is none.
struct Places {
  alignas(16) unsigned char from[kIdDigits + 1][kDecimals + 1][kTokenSize];
  constexpr Places() : from() {
    for (unsigned i = 0; i <= kIdDigits; ++i)
      for (unsigned n = 0; n <= kDecimals; ++n) {
        unsigned char *place = from[i][n];
        for (unsigned c = 0; c < kTokenSize; ++c) place[c] = 128;
        for (unsigned c = 0; c < i; ++c) place[8 - i + c] = static_cast<unsigned char>(c);
        place[15 - n] = static_cast<unsigned char>(i + 1);
        for (unsigned c = 0; c < n; ++c) place[16 - n + c] = static_cast<unsigned char>(i + 3 + c);
      }
  }
};
constexpr Places kPlaces;

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
  unsigned begin[4], id_digits[4], decimals[4];
  unsigned end;  // behind the space of the fourth

  POLYAK_INLINE const unsigned char *places(int t) const {
    return kPlaces.from[id_digits[t]][decimals[t]];
  }

  // False unless the text begins with four features as described above.
  POLYAK_INLINE bool find(const Marks &marks) {
    uint64_t colons = marks.colons, spaces = marks.spaces, last = 0;
    unsigned wide = 0, place = 0;
    int room = 0;
    POLYAK_UNROLL
    for (int t = 0; t < 4; ++t) {
      const unsigned colon = lowest_or_64(colons), space = lowest_or_64(spaces);
      last = spaces;
      colons &= colons - 1;
      spaces &= spaces - 1;
      begin[t] = place;
      id_digits[t] = colon - place;     // 1 to 8 ...
      decimals[t] = space - colon - 3;  // ... and 1 to 7, or else a bit beyond 7 is set here
      wide |= (id_digits[t] - 1) | decimals[t] | (decimals[t] - 1);
      room |= static_cast<int>(kTokenSize - 3 - id_digits[t] - decimals[t]);  // else negative
      place = space + 1;
    }
    end = place;
    // Up to the fourth space there is a point two behind each colon, nothing else, and no fifth.
    const uint64_t up_to_last = last ^ (last - 1);
    const uint64_t wrong = marks.others | (marks.points ^ marks.colons << 2) | colons;
    return last != 0 && (wrong & up_to_last) == 0 && wide <= 7 && room >= 0;
  }
};

}  // namespace POLYAK_KERNELS
}  // namespace polyak
