// Memory for wide banks. With ordinary pages nearly every touch of a bank of millions of features
// also misses the table of pages; huge ones take that away, where the system lends them.
#pragma once

#include <cstddef>
#include <cstdlib>
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
      void *memory = std::aligned_alloc(page, (bytes + page - 1) / page * page);
      if (!memory) throw std::bad_alloc();
      madvise(memory, bytes, MADV_HUGEPAGE);  // a wish: without it all is as before
      return static_cast<T *>(memory);
    }
#endif
    void *memory = std::malloc(bytes);
    if (!memory) throw std::bad_alloc();
    return static_cast<T *>(memory);
  }
  void deallocate(T *memory, size_t) { std::free(memory); }

  template <class Other>
  bool operator==(const HugePages<Other> &) const {
    return true;
  }
  template <class Other>
  bool operator!=(const HugePages<Other> &) const {
    return false;
  }

 private:
  static constexpr size_t page = size_t(1) << 21;
  static constexpr size_t worthwhile = size_t(1) << 23;
};

}  // namespace polyak
