// Copies spans of an array one after the other: the features of selected rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "rows/check.hpp"

namespace polyak {

template <class T>
void gather(const T *from, int64_t size, const int64_t *begins, const int64_t *lengths,
            size_t count, std::vector<T> &to) {
  int64_t total = 0;
  for (size_t i = 0; i < count; ++i) {
    if (begins[i] < 0 || lengths[i] < 0 || begins[i] > size - lengths[i])
      refuse("span ", i, " is not within the array");
    total += lengths[i];
  }
  to.reserve(static_cast<size_t>(total));
  for (size_t i = 0; i < count; ++i)
    to.insert(to.end(), from + begins[i], from + begins[i] + lengths[i]);
}

}  // namespace polyak
