// One thread at a time in an object that lets other Python threads run while it works.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <mutex>
#include <stdexcept>

#include "memory/process.hpp"

namespace polyak {

// A mutex that is waited for without holding the interpreter, which its owner may need to finish.
class OneAtATime {
 public:
  void lock() {
    if (!mutex_.try_lock()) {
      if (process_ != this_process())
        throw std::runtime_error(
            "another thread was learning when this process was forked, and what it left is neither "
            "as before nor as after its rows");
      nanobind::gil_scoped_release release;
      mutex_.lock();
    }
    process_ = this_process();
  }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
  std::atomic<int> process_{0};
};

using Locked = std::lock_guard<OneAtATime>;

}  // namespace polyak
