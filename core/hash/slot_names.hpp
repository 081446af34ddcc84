// The names of hashed features, where someone wants to see them again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace polyak {

using Names = std::unordered_map<int64_t, std::string>;

// Of two names in one slot the first in the alphabet stays, whichever came first.
inline void remember(Names &names, int64_t index, std::string_view name) {
  auto [place, is_new] = names.try_emplace(index, name);
  if (!is_new && name < place->second) place->second.assign(name);
}

}  // namespace polyak
