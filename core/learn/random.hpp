// Random row weights that depend on (seed, row, replica) alone: a counter-based generator, so the
// weights are the same however the rows are split into batches.
#pragma once

#include <cstdint>

#include "kernels/kernel_namespace.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

inline uint64_t mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Sixty-four fair coins for one row: bit r belongs to replica 64 * group + r.
inline uint64_t coins(uint64_t seed, uint64_t row, uint64_t group) {
  constexpr uint64_t golden = 0x9e3779b97f4a7c15ULL;
  return mix(mix(mix(seed + golden) + row * golden) + (group + 1) * golden);
}

// The weight of one row for one replica: 0 or 2 with equal probability.
inline double replica_weight(uint64_t seed, uint64_t row, int64_t replica) {
  const uint64_t draw = coins(seed, row, static_cast<uint64_t>(replica) / 64);
  return (draw >> (static_cast<uint64_t>(replica) % 64)) & 1 ? 2.0 : 0.0;
}

}  // namespace POLYAK_KERNELS
}  // namespace polyak
