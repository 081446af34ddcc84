// One thread at a time in an object that lets other Python threads run while it works.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <mutex>
#include <stdexcept>

#include "memory/process.hpp"

namespace polyak {

// Who is inside keeps the others waiting, and nobody waits with the interpreter in his hands: the
// one inside may need it to come out.
class OneAtATime {
 public:
  void enter() {
    if (!inside_.try_lock()) {
      if (process_ != this_process())
        throw std::runtime_error(
            "another thread was learning when this process was forked, and what it left is neither "
            "as before nor as after its rows");
      nanobind::gil_scoped_release release;
      inside_.lock();
    }
    process_ = this_process();
  }
  void leave() { inside_.unlock(); }

 private:
  std::mutex inside_;
  std::atomic<int> process_{0};
};

class Inside {
 public:
  explicit Inside(OneAtATime &door) : door_(door) { door_.enter(); }
  ~Inside() { door_.leave(); }
  Inside(const Inside &) = delete;
  Inside &operator=(const Inside &) = delete;

 private:
  OneAtATime &door_;
};

}  // namespace polyak
