// The amount of free memory, tested before much is allocated: a system that overcommits memory
// would kill the process later.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iomanip>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>

#if defined(__linux__)
#include <sys/resource.h>
#include <unistd.h>
#endif

namespace polyak {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

// Returns the first number in a file, or the one after a word such as `MemAvailable:`; -1 if there
// is none.
inline int64_t number_in_file(const std::string &path, const std::string &word = "") {
  std::ifstream file(path);
  int64_t number = -1;
  if (!word.empty())
    for (std::string read; file >> read && read != word;) continue;
  return file >> number ? number : -1;
}

// Returns the memory that a cgroup may still allocate. The page cache counts as used, but is
// released when memory is needed.
inline int64_t free_in_group(const std::string &folder, const char *limit, const char *usage) {
  const int64_t most = number_in_file(folder + limit), used = number_in_file(folder + usage);
  if (most < 0 || used < 0) return kUnlimited;
  const std::string stat = folder + "memory.stat";
  const int64_t files = std::max<int64_t>(0, number_in_file(stat, "inactive_file")) +
                        std::max<int64_t>(0, number_in_file(stat, "active_file"));
  return std::max<int64_t>(0, most - used + std::min(files, used));
}

inline int64_t free_in_groups() {
  int64_t least = free_in_group("/sys/fs/cgroup/memory/", "memory.limit_in_bytes",
                                "memory.usage_in_bytes");  // version 1, as containers show it
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.compare(0, 3, "0::") != 0) continue;
    for (std::string group = line.substr(3);; group.resize(group.rfind('/'))) {
      if (!group.empty() && group.back() == '/') group.pop_back();
      least = std::min(
          least, free_in_group("/sys/fs/cgroup" + group + "/", "memory.max", "memory.current"));
      if (group.empty()) break;
    }
  }
  return least;
}

// In bytes; kUnlimited if it is unknown.
inline int64_t free_memory() {
  int64_t least = kUnlimited;
#if defined(__linux__)
  const int64_t available = number_in_file("/proc/meminfo", "MemAvailable:");
  if (available >= 0) least = std::min(available * 1024, free_in_groups());
  rlimit limit;
  const int64_t pages = number_in_file("/proc/self/statm");
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && pages >= 0) {
    const int64_t left = static_cast<int64_t>(limit.rlim_cur) - pages * sysconf(_SC_PAGESIZE);
    least = std::min(least, std::max<int64_t>(0, left));
  }
#endif
  return least;
}

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
