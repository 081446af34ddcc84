// What parse4.cpp asks of the processor, for 64-bit ARM; all of them have NEON.
#pragma once

#include <arm_neon.h>

#include "text/simd/four_tokens.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

// 64 characters, or what is true of each: all ones or none.
struct Chars64 {
  uint8x16_t part[4];
};

template <class Test>
POLYAK_INLINE Chars64 each(const Chars64 &chars, Test test) {
  return {{test(chars.part[0]), test(chars.part[1]), test(chars.part[2]), test(chars.part[3])}};
}

// There is no instruction for this as on x86-64: each character of eight keeps another bit, and
// three times adding neighbours brings the eight together in one byte.
POLYAK_INLINE uint64_t bits(const Chars64 &holds) {
  const uint8x16_t weights = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201u));
  const Chars64 own = each(holds, [&](uint8x16_t part) { return vandq_u8(part, weights); });
  const uint8x16_t low = vpaddq_u8(own.part[0], own.part[1]);
  const uint8x16_t high = vpaddq_u8(own.part[2], own.part[3]);
  const uint8x16_t fours = vpaddq_u8(low, high);
  return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(fours, fours)), 0);
}

POLYAK_INLINE Marks mark(const char *p) {
  const auto *from = reinterpret_cast<const uint8_t *>(p);
  const Chars64 chars{
      {vld1q_u8(from), vld1q_u8(from + 16), vld1q_u8(from + 32), vld1q_u8(from + 48)}};
  const auto where = [&](char c) {
    const uint8x16_t all = vdupq_n_u8(static_cast<uint8_t>(c));
    return bits(each(chars, [&](uint8x16_t part) { return vceqq_u8(part, all); }));
  };
  const uint64_t no_digits = bits(each(chars, [](uint8x16_t part) {
    return vcgtq_u8(vsubq_u8(part, vdupq_n_u8('0')), vdupq_n_u8(9));
  }));
  return {where(':'), where('.'), where(' '), no_digits};
}

// The ids and values of four features after the other. Neighbouring digits are joined to pairs,
// pairs to fours and fours to eights, of two tokens at a time; only then are ids and values parted.
class FourNumbers {
 public:
  explicit FourNumbers(int32_t previous) : before_(vdupq_n_s32(previous)) {}

  template <class Index, class Value>
  POLYAK_INLINE void write(const char *p, const FourTokens &tokens, int base, Index *indices,
                           Value *values) {
    const uint32x4_t first = joined(p, tokens, 0, 1), second = joined(p, tokens, 2, 3);
    write_ids(vreinterpretq_s32_u32(vuzp1q_u32(first, second)), base, indices);

    const uint32x4_t whole = vuzp2q_u32(first, second);
    const float64x2_t low = divided(vget_low_u32(whole), tokens.decimals);
    const float64x2_t high = divided(vget_high_u32(whole), tokens.decimals + 2);
    if constexpr (sizeof(Value) == 4) {
      vst1q_f32(values, vcvt_high_f32_f64(vcvt_f32_f64(low), high));
    } else {
      vst1q_f64(values, low);
      vst1q_f64(values + 2, high);
    }
  }

  int32_t previous() const { return vgetq_lane_s32(before_, 3); }
  bool rose() const { return vminvq_u32(rose_) != 0; }

 private:
  // A token's digits with those at even places times ten, which still fits in a byte.
  static POLYAK_INLINE uint8x16_t weighted(const char *token, const unsigned char *places) {
    const uint8x16_t chars =
        vqtbl1q_u8(vld1q_u8(reinterpret_cast<const uint8_t *>(token)), vld1q_u8(places));
    const uint8x16_t digits = vqsubq_u8(chars, vdupq_n_u8('0'));  // none: zero
    return vmulq_u8(digits, vreinterpretq_u8_u16(vdupq_n_u16(1 << 8 | 10)));
  }

  // Token a's id and whole value, then token b's.
  static POLYAK_INLINE uint32x4_t joined(const char *p, const FourTokens &tokens, int a, int b) {
    const uint8x16_t pairs = vpaddq_u8(weighted(p + tokens.begin[a], tokens.places(a)),
                                       weighted(p + tokens.begin[b], tokens.places(b)));
    const uint8x16_t hundreds = vreinterpretq_u8_u16(vdupq_n_u16(1 << 8 | 100));
    const uint16x8_t fours = vpaddq_u16(vmull_u8(vget_low_u8(pairs), vget_low_u8(hundreds)),
                                        vmull_high_u8(pairs, hundreds));
    const uint16x8_t myriads = vreinterpretq_u16_u32(vdupq_n_u32(1 << 16 | 10000));
    return vpaddq_u32(vmull_u16(vget_low_u16(fours), vget_low_u16(myriads)),
                      vmull_high_u16(fours, myriads));
  }

  // Two values of a table.
  static POLYAK_INLINE float64x2_t both(const double *table, const unsigned *places) {
    return vld1q_lane_f64(table + places[1], vld1q_dup_f64(table + places[0]), 1);
  }

  // Without a division, to the same bits: see over_power_of_ten in decimal.hpp.
  static POLYAK_INLINE float64x2_t divided(uint32x2_t whole, const unsigned *decimals) {
    constexpr static double inverses[kDecimals + 1] = {1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7};
    const float64x2_t w = vcvtq_f64_u64(vmovl_u32(whole)), inverse = both(inverses, decimals);
    const float64x2_t about = vmulq_f64(w, inverse);
    return vfmaq_f64(about, vfmsq_f64(w, about, both(kDecimalUnits, decimals)), inverse);
  }

  template <class Index>
  POLYAK_INLINE void write_ids(int32x4_t ids, int base, Index *indices) {
    rose_ = vandq_u32(rose_, vcgtq_s32(ids, vextq_s32(before_, ids, 3)));
    before_ = ids;
    const int32x4_t from_zero = vsubq_s32(ids, vdupq_n_s32(base));
    if constexpr (sizeof(Index) == 4) {
      vst1q_s32(indices, from_zero);
    } else {
      vst1q_s64(indices, vmovl_s32(vget_low_s32(from_zero)));
      vst1q_s64(indices + 2, vmovl_high_s32(from_zero));
    }
  }

  int32x4_t before_;  // the last four ids
  uint32x4_t rose_ = vdupq_n_u32(~0u);
};

}  // namespace POLYAK_KERNELS
}  // namespace polyak
