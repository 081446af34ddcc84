// Work on rows in two halves, by one thread or two, so that results do not depend on the number.
#pragma once

#include <cstdint>
#include <system_error>
#include <thread>

namespace polyak {

// Calls work(0, begin, middle) and work(1, middle, end); neither may throw. If no thread can be
// started, this one does both.
template <class Work>
void by_halves(int64_t count, bool two_threads, Work &&work) {
  const int64_t middle = count / 2;
  std::thread other;
  if (two_threads) try {
      other = std::thread([&] { work(1, middle, count); });
    } catch (const std::system_error &) {
    }
  work(0, int64_t{0}, middle);
  if (other.joinable())
    other.join();
  else
    work(1, middle, count);
}

}  // namespace polyak
