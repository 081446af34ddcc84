// Work on rows that is done by halves, in one thread or in two: so results do not depend on it.
#pragma once

#include <cstdint>
#include <system_error>
#include <thread>

namespace polyak {

// Calls work(0, begin, middle) and work(1, middle, end); neither may throw. Where the system has no
// thread to give, this one does both.
template <class Work>
void by_halves(int64_t count, bool two_threads, Work &&work) {
  const int64_t middle = count / 2;
  std::thread helper;
  if (two_threads) try {
      helper = std::thread([&] { work(1, middle, count); });
    } catch (const std::system_error &) {
    }
  work(0, int64_t{0}, middle);
  if (helper.joinable())
    helper.join();
  else
    work(1, middle, count);
}

}  // namespace polyak
