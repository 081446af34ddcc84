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
  return {where(':'), where(' ')};
}

// The ids and values of four features after the other. Neighbouring digits are joined to pairs,
// pairs to fours and fours to eights, of all tokens at a time; only then are ids and values parted.
class FourNumbers {
 public:
  explicit FourNumbers(int32_t previous) : before_(vdupq_n_s32(previous)) {}

  // False, and nothing is written, if there is something else where digits should be.
  template <class Value>
  POLYAK_INLINE bool write(const char *p, const FourTokens &tokens, int base, int32_t *indices,
                           Value *values) {
    const uint8x16_t a = digits(p, tokens, 0), b = digits(p, tokens, 1);
    const uint8x16_t c = digits(p, tokens, 2), d = digits(p, tokens, 3);
    if (vmaxvq_u8(vmaxq_u8(vmaxq_u8(a, b), vmaxq_u8(c, d))) > 9) return false;
    const uint8x16_t pairs_ab = joined_to_pairs(a, b), pairs_cd = joined_to_pairs(c, d);

    const uint8x16_t hundreds = vuzp1q_u8(pairs_ab, pairs_cd), ones = vuzp2q_u8(pairs_ab, pairs_cd);
    const uint16x8_t fours_ab =
        vaddw_u8(vmull_u8(vget_low_u8(hundreds), vdup_n_u8(100)), vget_low_u8(ones));
    const uint16x8_t fours_cd = vaddw_high_u8(vmull_high_u8(hundreds, vdupq_n_u8(100)), ones);

    const uint16x8_t high = vuzp1q_u16(fours_ab, fours_cd), low = vuzp2q_u16(fours_ab, fours_cd);
    const uint32x4_t ab = vaddw_u16(vmull_n_u16(vget_low_u16(high), 10000), vget_low_u16(low));
    const uint32x4_t cd = vaddw_high_u16(vmull_high_n_u16(high, 10000), low);

    write_ids(vreinterpretq_s32_u32(vuzp1q_u32(ab, cd)), base, indices);
    write_values(vuzp2q_u32(ab, cd), values);
    return true;
  }

  int32_t previous() const { return vgetq_lane_s32(before_, 3); }
  bool rose() const { return vminvq_u32(rose_) != 0; }

 private:
  // A token's digits, those of its id and of its value; where there is none, zero.
  static POLYAK_INLINE uint8x16_t digits(const char *p, const FourTokens &tokens, int t) {
    const uint8x16_t chars = vld1q_u8(reinterpret_cast<const uint8_t *>(p + tokens.begin[t]));
    return vqtbl1q_u8(vsubq_u8(chars, vdupq_n_u8('0')), vld1q_u8(tokens.places(t)));
  }

  static POLYAK_INLINE uint8x16_t joined_to_pairs(uint8x16_t a, uint8x16_t b) {
    return vmlaq_u8(vuzp2q_u8(a, b), vuzp1q_u8(a, b), vdupq_n_u8(10));
  }

  template <class Value>
  static POLYAK_INLINE void write_values(uint32x4_t whole, Value *values) {
    const float64x2_t low = vcvtq_f64_u64(vmovl_u32(vget_low_u32(whole)));
    const float64x2_t high = vcvtq_f64_u64(vmovl_high_u32(whole));
    if constexpr (sizeof(Value) == 4) {
      const float32x2_t first = vcvt_f32_f64(vmulq_n_f64(low, kInverseUnit));
      vst1q_f32(values, vcvt_high_f32_f64(first, vmulq_n_f64(high, kInverseUnit)));
    } else {
      vst1q_f64(values, divided(low));
      vst1q_f64(values + 2, divided(high));
    }
  }

  // Without a division, to the same bits: see over_power_of_ten in decimal.hpp.
  static POLYAK_INLINE float64x2_t divided(float64x2_t whole) {
    const float64x2_t about = vmulq_n_f64(whole, kInverseUnit);
    const float64x2_t left = vfmsq_f64(whole, about, vdupq_n_f64(kDecimalUnit));
    return vfmaq_f64(about, left, vdupq_n_f64(kInverseUnit));
  }

  POLYAK_INLINE void write_ids(int32x4_t ids, int base, int32_t *indices) {
    rose_ = vandq_u32(rose_, vcgtq_s32(ids, vextq_s32(before_, ids, 3)));
    before_ = ids;
    vst1q_s32(indices, vsubq_s32(ids, vdupq_n_s32(base)));
  }

  int32x4_t before_;  // the last four ids
  uint32x4_t rose_ = vdupq_n_u32(~0u);
};

}  // namespace POLYAK_KERNELS
}  // namespace polyak
