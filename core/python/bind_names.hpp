// The names of hashed features as Python sees them, and what every list of numbers becomes there.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

#include "hash/slot_names.hpp"

namespace polyak {

namespace nb = nanobind;

template <class T>
nb::object to_numpy(std::vector<T> &&numbers) {
  auto *kept = new std::vector<T>(std::move(numbers));
  nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

// The slots that have a name, where each name ends in the text, and the text.
inline nb::tuple names_seen(SlotNames *names) {
  SlotNames::Lists lists;
  if (names) {
    nb::gil_scoped_release release;
    lists = names->lists();
  }
  return nb::make_tuple(to_numpy(std::move(lists.slots)), to_numpy(std::move(lists.ends)),
                        to_numpy(std::move(lists.text)));
}

}  // namespace polyak
