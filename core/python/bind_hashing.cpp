// The hash of names as Python sees it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string_view.h>

#include "hash/hashing.hpp"

namespace nb = nanobind;

void bind_hashing(nb::module_ &m) {
  m.def(
      "hash_name",
      [](std::string_view name) { return polyak::hashing::hash_bytes(name.data(), name.size()); },
      nb::arg("name"), "Hash a feature's name: XXH64 of its UTF-8 bytes, seed zero.");
  m.def(
      "hash_name",
      [](nb::bytes name) { return polyak::hashing::hash_bytes(name.c_str(), name.size()); },
      nb::arg("name"), "Hash bytes as they are.");
}
