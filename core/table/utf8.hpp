// Whether bytes are UTF-8: no stray or missing bytes, no character in more bytes than it needs, no
// half of a pair of UTF-16, nothing beyond the last character there is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace polyak {

inline bool is_ascii(std::string_view text) {
  uint64_t any = 0;
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t eight;
    std::memcpy(&eight, text.data() + i, 8);
    any |= eight;
  }
  for (; i < text.size(); ++i) any |= static_cast<uint64_t>(text[i] & 0x80);
  return (any & 0x8080808080808080u) == 0;
}

inline bool is_utf8(std::string_view text) {
  const auto *p = reinterpret_cast<const unsigned char *>(text.data());
  const auto *const end = p + text.size();
  while (p < end) {
    const unsigned first = *p++;
    if (first < 0x80) continue;
    const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    if (first < 0xC2 || first > 0xF4 || end - p < more) return false;
    unsigned low = 0x80, high = 0xBF;  // what the second byte may be
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
    if (*p < low || *p > high) return false;
    for (int i = 1; i < more; ++i)
      if ((p[i] & 0xC0) != 0x80) return false;
    p += more;
  }
  return true;
}

}  // namespace polyak
