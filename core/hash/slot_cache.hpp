// Slots of words met before, so that a word that comes again and again is hashed once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "hash/hashing.hpp"

namespace polyak {
namespace table {

// The slots of short words met before. A word of up to eight bytes and its length make a key that
// no other has; a place that is taken is simply taken over.
class SlotCache {
 public:
  static constexpr size_t kPlaces = 1024;
  struct Place {
    uint64_t word = 0;
    size_t size = 0;
    int64_t slot = 0;
  };
  // Must come first; a table may have thousands of columns that need none.
  void prepare() { places_.resize(kPlaces); }
  static bool takes(std::string_view word) { return word.size() <= 8; }
  Place &place(std::string_view word, uint64_t &key) {
    const unsigned char *p = reinterpret_cast<const unsigned char *>(word.data());
    const size_t n = word.size();
    if (n >= 4)
      key = hashing::read4(p) | hashing::read4(p + n - 4) << 32;
    else
      key = p[0] | uint64_t{p[n / 2]} << 8 | uint64_t{p[n - 1]} << 16;
    return places_[((key + n) * hashing::kPrime1) >> 54];
  }

 private:
  std::vector<Place> places_;
};

}  // namespace table
}  // namespace polyak
