// Whether there is enough free memory for the weights.
#pragma once

#include <cstdint>
#include <iomanip>
#include <sstream>
#include <stdexcept>

#include "memory/free_memory.hpp"

namespace polyak {

// Not enough memory for the weights.
struct NoRoom : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// Throws if the weights do not fit the free memory; `each` is the number of bytes per feature.
// Small banks are not tested, since reading the free memory takes longer than allocating them.
inline void require_room(int64_t features, int64_t each) {
  constexpr int64_t much = int64_t(1) << 26;
  if (features < much / each) return;
  const int64_t room = free_memory();
  if (features <= room / each) return;
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << "the weights of " << features
      << " features would take " << static_cast<double>(features) * static_cast<double>(each) / 1e9
      << " GB of memory, of which " << static_cast<double>(room) / 1e9 << " GB are free";
  throw NoRoom(out.str());
}

}  // namespace polyak
