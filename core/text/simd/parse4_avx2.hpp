// What parse4.cpp asks of the processor, for x86-64 with AVX2.
#pragma once

#include <immintrin.h>

#include "text/simd/four_tokens.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

POLYAK_INLINE uint64_t bits(__m256i low, __m256i high) {
  return static_cast<uint32_t>(_mm256_movemask_epi8(low)) |
         static_cast<uint64_t>(static_cast<uint32_t>(_mm256_movemask_epi8(high))) << 32;
}

POLYAK_INLINE Marks mark(const char *p) {
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p + 32));
  const auto where = [&](char c) {
    const __m256i all = _mm256_set1_epi8(c);
    return bits(_mm256_cmpeq_epi8(low, all), _mm256_cmpeq_epi8(high, all));
  };
  return {where(':'), where(' ')};
}

// The ids and values of four features after the other. Neighbouring digits are joined to pairs,
// pairs to fours and fours to eights, of two tokens at a time and then of all four.
class FourNumbers {
 public:
  explicit FourNumbers(int32_t previous) : before_(_mm_set1_epi32(previous)) {}

  // False, and nothing is written, if there is something else where digits should be.
  template <class Value>
  POLYAK_INLINE bool write(const char *p, const FourTokens &tokens, int base, int32_t *indices,
                           Value *values) {
    const __m256i first = digits(p, tokens, 0, 1), second = digits(p, tokens, 2, 3);
    const __m256i nines = _mm256_set1_epi8(9), largest = _mm256_max_epu8(first, second);
    const __m256i good = _mm256_cmpeq_epi8(_mm256_max_epu8(largest, nines), nines);
    if (_mm256_movemask_epi8(good) != -1) return false;
    // As ids and whole values of token 0, 0, 2, 2, 1, 1, 3, 3, and then ids first.
    const __m256i eights =
        _mm256_madd_epi16(_mm256_packus_epi32(joined_to_fours(first), joined_to_fours(second)),
                          _mm256_set1_epi32(1 << 16 | 10000));
    const __m256i numbers =
        _mm256_permutevar8x32_epi32(eights, _mm256_setr_epi32(0, 4, 2, 6, 1, 5, 3, 7));
    write_ids(_mm256_castsi256_si128(numbers), base, indices);

    const __m256d whole = _mm256_cvtepi32_pd(_mm256_extracti128_si256(numbers, 1));
    if constexpr (sizeof(Value) == 4)
      _mm_storeu_ps(values, _mm256_cvtpd_ps(_mm256_mul_pd(whole, _mm256_set1_pd(kInverseUnit))));
    else
      _mm256_storeu_pd(values, _mm256_div_pd(whole, _mm256_set1_pd(kDecimalUnit)));
    return true;
  }

  int32_t previous() const { return _mm_extract_epi32(before_, 3); }
  bool rose() const { return _mm_movemask_epi8(rose_) == 0xffff; }

 private:
  static POLYAK_INLINE __m256i both(const void *a, const void *b) {
    return _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128(static_cast<const __m128i *>(a))),
        _mm_loadu_si128(static_cast<const __m128i *>(b)), 1);
  }

  // The digits of two tokens, those of their ids and of their values; where there is none, zero.
  static POLYAK_INLINE __m256i digits(const char *p, const FourTokens &tokens, int a, int b) {
    const __m256i chars = both(p + tokens.begin[a], p + tokens.begin[b]);
    return _mm256_shuffle_epi8(_mm256_sub_epi8(chars, _mm256_set1_epi8('0')),
                               both(tokens.places(a), tokens.places(b)));
  }

  static POLYAK_INLINE __m256i joined_to_fours(__m256i digits) {
    const __m256i pairs = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(1 << 8 | 10));
    return _mm256_madd_epi16(pairs, _mm256_set1_epi32(1 << 16 | 100));
  }

  POLYAK_INLINE void write_ids(__m128i ids, int base, int32_t *indices) {
    rose_ = _mm_and_si128(rose_, _mm_cmpgt_epi32(ids, _mm_alignr_epi8(ids, before_, 12)));
    before_ = ids;
    _mm_storeu_si128(reinterpret_cast<__m128i *>(indices),
                     _mm_sub_epi32(ids, _mm_set1_epi32(base)));
  }

  __m128i before_;  // the last four ids
  __m128i rose_ = _mm_set1_epi32(-1);
};

}  // namespace POLYAK_KERNELS
}  // namespace polyak
