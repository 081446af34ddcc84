// The hash of a feature's name: XXH64 with seed zero, as its public specification defines it, so
// that any other program finds the same slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace polyak {
namespace hashing {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87ULL;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4FULL;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9ULL;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63ULL;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5ULL;

inline uint64_t turn(uint64_t x, int bits) { return (x << bits) | (x >> (64 - bits)); }

// Little-endian, at any address; compilers make one load of it.
inline uint64_t read4(const unsigned char *p) {
  return static_cast<uint64_t>(p[0]) | static_cast<uint64_t>(p[1]) << 8 |
         static_cast<uint64_t>(p[2]) << 16 | static_cast<uint64_t>(p[3]) << 24;
}
inline uint64_t read8(const unsigned char *p) { return read4(p) | read4(p + 4) << 32; }

inline uint64_t lane(uint64_t sum, uint64_t word) {
  return turn(sum + word * kPrime2, 31) * kPrime1;
}
inline uint64_t join(uint64_t hash, uint64_t sum) {
  return (hash ^ lane(0, sum)) * kPrime1 + kPrime4;
}

inline uint64_t hash_bytes(const char *text, size_t size) {
  const unsigned char *p = reinterpret_cast<const unsigned char *>(text);
  const unsigned char *end = p + size;
  uint64_t hash = kPrime5;
  if (size >= 32) {
    uint64_t a = kPrime1 + kPrime2, b = kPrime2, c = 0, d = 0 - kPrime1;
    for (; end - p >= 32; p += 32) {
      a = lane(a, read8(p));
      b = lane(b, read8(p + 8));
      c = lane(c, read8(p + 16));
      d = lane(d, read8(p + 24));
    }
    hash = turn(a, 1) + turn(b, 7) + turn(c, 12) + turn(d, 18);
    for (uint64_t sum : {a, b, c, d}) hash = join(hash, sum);
  }
  hash += size;
  for (; end - p >= 8; p += 8) hash = turn(hash ^ lane(0, read8(p)), 27) * kPrime1 + kPrime4;
  if (end - p >= 4) {
    hash = turn(hash ^ read4(p) * kPrime1, 23) * kPrime2 + kPrime3;
    p += 4;
  }
  for (; p < end; ++p) hash = turn(hash ^ *p * kPrime5, 11) * kPrime1;
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

// The slot of a name among 2^bits: the low bits of its hash.
inline int64_t slot(uint64_t hash, int bits) {
  return static_cast<int64_t>(hash & ((uint64_t{1} << bits) - 1));
}

}  // namespace hashing
}  // namespace polyak
