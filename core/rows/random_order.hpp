#pragma once

#include <cstdint>

namespace polyak {

// Writes the numbers 0 to n - 1 in a random order that is the same on every machine.
void random_order(int64_t n, uint64_t seed, int64_t *order);

}  // namespace polyak
