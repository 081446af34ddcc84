// Sorts the slots of a hashed row and merges repeated ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace polyak {

// Sorts a row's slots and adds up the values of equal slots, in their original order. Slots are
// hashes and hence evenly distributed: with as many buckets as features, most buckets hold one,
// which takes a third of the time of std::sort.
template <class Value>
class SlotOrder {
 public:
  explicit SlotOrder(int bits) : bits_(bits) {}

  // Returns the number of distinct slots.
  int64_t sort(int32_t *slots, Value *values, int64_t n) {
    keys_.resize(static_cast<size_t>(n));
    if (n <= kFew || n > kMany)
      for (int64_t i = 0; i < n; ++i) keys_[i] = key(slots[i], i);
    else if (n <= kShort && bits_ >= kShortBits)
      fill_short_buckets(slots, n);
    else
      fill_buckets(slots, n);
    if (n > kMany)
      std::sort(keys_.begin(), keys_.end());
    else
      insert_each(n);
    before_.assign(values, values + n);
    int64_t kept = 0;
    for (int64_t i = 0; i < n;) {
      const uint64_t slot = keys_[i] >> 32;
      double sum = static_cast<double>(before_[static_cast<uint32_t>(keys_[i])]);
      for (++i; i < n && keys_[i] >> 32 == slot; ++i)
        sum += static_cast<double>(before_[static_cast<uint32_t>(keys_[i])]);
      slots[kept] = static_cast<int32_t>(slot);
      values[kept++] = static_cast<Value>(sum);
    }
    return kept;
  }

 private:
  static constexpr int64_t kFew = 12, kMany = 4096;
  static constexpr int64_t kShort = 255;  // the largest count of one byte
  static constexpr int kShortBits = 9;

  // The slot in the high bits and the place in the row in the low bits, so that keys are distinct.
  static uint64_t key(int32_t slot, int64_t place) {
    return static_cast<uint64_t>(slot) << 32 | static_cast<uint64_t>(place);
  }

  void fill_buckets(const int32_t *slots, int64_t n) {
    int wide = 0;
    while (wide < bits_ && (int64_t{1} << wide) < n) ++wide;
    const int shift = bits_ - wide;
    starts_.assign((size_t{1} << wide) + 1, 0);
    for (int64_t i = 0; i < n; ++i) ++starts_[(static_cast<uint64_t>(slots[i]) >> shift) + 1];
    for (size_t b = 1; b < starts_.size(); ++b) starts_[b] += starts_[b - 1];
    for (int64_t i = 0; i < n; ++i)
      keys_[starts_[static_cast<uint64_t>(slots[i]) >> shift]++] = key(slots[i], i);
  }

  // The same for rows of up to 255 features, with counts of one byte: one multiplication computes
  // the prefix sums of eight. That allows several times as many buckets as features, so that few
  // buckets hold two.
  void fill_short_buckets(const int32_t *slots, int64_t n) {
    constexpr uint64_t each = 0x0101010101010101u;
    uint8_t starts[1 << kShortBits] = {};
    const int shift = bits_ - kShortBits;
    for (int64_t i = 0; i < n; ++i) ++starts[static_cast<uint64_t>(slots[i]) >> shift];
    uint64_t before = 0;
    for (size_t b = 0; b < sizeof starts; b += 8) {
      uint64_t counts;
      std::memcpy(&counts, starts + b, 8);
      const uint64_t sums = counts * each;  // prefix sums
      counts = (sums << 8) + before * each;
      std::memcpy(starts + b, &counts, 8);
      before += sums >> 56;
    }
    for (int64_t i = 0; i < n; ++i)
      keys_[starts[static_cast<uint64_t>(slots[i]) >> shift]++] = key(slots[i], i);
  }

  void insert_each(int64_t n) {
    for (int64_t i = 1; i < n; ++i) {
      const uint64_t key = keys_[i];
      int64_t j = i;
      for (; j > 0 && keys_[j - 1] > key; --j) keys_[j] = keys_[j - 1];
      keys_[j] = key;
    }
  }

  const int bits_;
  std::vector<uint64_t> keys_;
  std::vector<uint32_t> starts_;
  std::vector<Value> before_;
};

}  // namespace polyak
