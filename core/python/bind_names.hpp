// The names of hashed features as Python sees them.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "hash/slot_names.hpp"
#include "python/buffers.hpp"

namespace polyak {

namespace nb = nanobind;

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
