// The nearest double to a decimal number of any length, by integers of any length. Slow and always
// right: decimal.hpp comes here only for what its faster ways cannot settle.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace polyak {

class BigInteger {
 public:
  explicit BigInteger(uint64_t n = 0) {
    for (; n; n >>= 32) limbs_.push_back(static_cast<uint32_t>(n));
  }
  void multiply_add(uint32_t factor, uint32_t addend) {
    uint64_t carry = addend;
    for (uint32_t &limb : limbs_) {
      carry += static_cast<uint64_t>(limb) * factor;
      limb = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry) limbs_.push_back(static_cast<uint32_t>(carry));
  }
  void multiply_by_power_of_five(int n) {
    for (; n >= 13; n -= 13) multiply_add(1220703125u, 0);
    for (; n > 0; --n) multiply_add(5, 0);
  }
  void multiply_by_power_of_two(int n) {
    if (limbs_.empty()) return;
    multiply_add(uint32_t{1} << (n % 32), 0);
    limbs_.insert(limbs_.begin(), static_cast<size_t>(n / 32), 0);
  }
  // Negative, zero or positive as this is below, equal to or above the other.
  int compare(const BigInteger &other) const {
    if (limbs_.size() != other.limbs_.size()) return limbs_.size() < other.limbs_.size() ? -1 : 1;
    for (size_t i = limbs_.size(); i-- > 0;)
      if (limbs_[i] != other.limbs_[i]) return limbs_[i] < other.limbs_[i] ? -1 : 1;
    return 0;
  }

 private:
  std::vector<uint32_t> limbs_;  // lowest first, the highest never zero
};

// The number digits * 10^exponent, held beside doubles.
class BigDecimal {
 public:
  BigDecimal(BigInteger digits, int exponent) : digits_(std::move(digits)), exponent_(exponent) {
    digits_.multiply_by_power_of_five(exponent);  // if positive; compare() sees to the rest
  }

  // Positive doubles are ordered as their bits are, so the largest that is not above the number
  // is found by halving, in a few steps when the guess is good. Then comes the choice between it
  // and the next: the nearer, or the even one of two as near.
  double nearest(double guess) const {
    const uint64_t infinity = 0x7ff0000000000000u, slack = 8;
    uint64_t low = 0, high = infinity, near;
    std::memcpy(&near, &guess, 8);
    if (near >= slack && near < infinity && compare(near - slack) >= 0) low = near - slack;
    if (near < infinity - slack && compare(near + slack) < 0) high = near + slack;
    while (high - low > 1) {
      uint64_t middle = low + (high - low) / 2;
      (compare(middle) >= 0 ? low : high) = middle;
    }
    int side = compare(2 * significand(low) + 1, power(low) - 1);
    if (side > 0 || (side == 0 && (low & 1))) ++low;
    double result;
    std::memcpy(&result, &low, 8);
    return result;
  }

 private:
  static uint64_t significand(uint64_t bits) {
    uint64_t fraction = bits & 0x000fffffffffffffu;
    return bits >> 52 ? fraction | 0x0010000000000000u : fraction;
  }
  static int power(uint64_t bits) { return std::max(static_cast<int>(bits >> 52), 1) - 1075; }

  int compare(uint64_t bits) const { return compare(significand(bits), power(bits)); }

  // The sign of this number - m * 2^q, with everything brought to whole numbers.
  int compare(uint64_t m, int q) const {
    BigInteger left = digits_, right(m);
    right.multiply_by_power_of_five(-exponent_);
    left.multiply_by_power_of_two(std::max(exponent_ - q, 0));
    right.multiply_by_power_of_two(std::max(q - exponent_, 0));
    return left.compare(right);
  }

  BigInteger digits_;
  int exponent_;
};

}  // namespace polyak
