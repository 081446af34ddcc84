// Text to words: letters and digits belong to words, and so does all that is not ASCII, but for the
// spaces and punctuation that Unicode keeps in three blocks of their own.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace polyak {

// How many bytes at `p` separate words; 0 where a word goes on.
inline size_t separator(const unsigned char *p, const unsigned char *end) {
  const unsigned char c = p[0];
  if (c < 0x80) {
    const unsigned char lower = c | 0x20;
    const bool is_word = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '_';
    return is_word ? 0 : 1;
  }
  if (c == 0xC2 && end - p > 1 && p[1] < 0xC0) return 2;                     // U+0080 to U+00BF
  if (c == 0xE2 && end - p > 2 && (p[1] == 0x80 || p[1] == 0x81)) return 3;  // U+2000 to U+207F
  if (c == 0xE3 && end - p > 2 && p[1] == 0x80) return 3;                    // U+3000 to U+303F
  return 0;
}

inline void split_words(std::string_view text, std::vector<std::string_view> &words) {
  words.clear();
  const unsigned char *p = reinterpret_cast<const unsigned char *>(text.data());
  const unsigned char *end = p + text.size();
  const unsigned char *word = nullptr;
  const auto finish = [&] {
    if (word != nullptr)
      words.emplace_back(reinterpret_cast<const char *>(word), static_cast<size_t>(p - word));
    word = nullptr;
  };
  while (p < end) {
    const size_t gap = separator(p, end);
    if (gap > 0) {
      finish();
      p += gap;
    } else {
      if (word == nullptr) word = p;
      ++p;
    }
  }
  finish();
}

}  // namespace polyak
