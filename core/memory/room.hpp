// Whether there is memory for the weights, asked before it is taken.
#pragma once

#include <cstdint>
#include <iomanip>
#include <sstream>
#include <stdexcept>

#include "memory/free_memory.hpp"

namespace polyak {

// There is not enough memory for the weights of so many features.
struct NoRoom : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// Asked only before much is taken: finding out takes longer than taking a little. `each` is what a
// feature takes.
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
