// Memory for wide banks. With ordinary pages nearly every touch of a bank of millions of features
// also misses the table of pages; huge ones take that away, where the system lends them.
#pragma once

#include <cstddef>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace polyak {

template <class T>
struct HugePages {
  using value_type = T;
  HugePages() = default;
  template <class Other>
  HugePages(const HugePages<Other> &) {}

  T *allocate(size_t count) {
    const size_t bytes = count * sizeof(T);
#if defined(__linux__)
    if (bytes >= worthwhile) {
      void *memory = ::operator new((bytes + page - 1) / page * page, std::align_val_t(page));
      madvise(memory, bytes, MADV_HUGEPAGE);  // a wish: without it all is as before
      return static_cast<T *>(memory);
    }
#endif
    return static_cast<T *>(::operator new(bytes, std::align_val_t(piece)));
  }
  void deallocate(T *memory, [[maybe_unused]] size_t count) {
#if defined(__linux__)
    if (count * sizeof(T) >= worthwhile) return ::operator delete(memory, std::align_val_t(page));
#endif
    ::operator delete(memory, std::align_val_t(piece));
  }

  template <class Other>
  bool operator==(const HugePages<Other> &) const {
    return true;
  }
  template <class Other>
  bool operator!=(const HugePages<Other> &) const {
    return false;
  }

 private:
  // What the processor fetches at a time. The line of eight models is as long, and takes two where
  // it does not begin with one: a fifth of the time on ARM.
  static constexpr size_t piece = 64;
  static constexpr size_t page = size_t(1) << 21;
  static constexpr size_t worthwhile = size_t(1) << 23;
};

}  // namespace polyak
