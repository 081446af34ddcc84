#include "rows/random_order.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace polyak {
namespace {

// Returns the i-th of a sequence of random numbers (SplitMix64); none depends on the previous one.
uint64_t random_number(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace

// Sandelius' shuffle: every number goes to a random pile, and each pile is shuffled by itself
// within the nearest cache, so that all orders are equally likely. Exchanging numbers across all of
// the memory takes five times as long.
void random_order(int64_t n, uint64_t seed, int64_t *order) {
  constexpr int64_t kPile = 2048, kMostPiles = 512;
  int64_t piles = 1;
  while (piles < kMostPiles && piles * kPile < n) piles *= 2;
  const auto pile_of = [&](int64_t i) {
    return random_number(seed, uint64_t(i)) & uint64_t(piles - 1);
  };
  std::vector<int64_t> end(static_cast<size_t>(piles) + 1);
  for (int64_t i = 0; i < n; ++i) ++end[pile_of(i) + 1];
  for (int64_t p = 0; p < piles; ++p) end[p + 1] += end[p];
  for (int64_t i = 0; i < n; ++i) order[end[pile_of(i)]++] = i;  // begins become ends
  const uint64_t again = random_number(seed, ~uint64_t{0});
  for (int64_t p = 0; p < piles; ++p) {
    int64_t *at = order + (p ? end[p - 1] : 0);
    for (int64_t left = order + end[p] - at; left > 1; --left) {
      const uint64_t place = uint64_t(at + left - order);
      const uint64_t chance = random_number(again, place) >> 32;
      std::swap(at[left - 1], at[(chance * uint64_t(left)) >> 32]);
    }
  }
}

}  // namespace polyak
