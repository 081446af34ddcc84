// Which process this is: threads and locks do not survive a fork, the memory they left does.
#pragma once

#if !defined(_WIN32)
#include <unistd.h>
#endif

namespace polyak {

inline int this_process() {
#if defined(_WIN32)
  return 0;  // nothing forks there
#else
  return static_cast<int>(getpid());
#endif
}

}  // namespace polyak
