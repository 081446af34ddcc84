// Which lines of JSON hold a value of another kind than their column's: pyarrow's parser stops at
// each of them, so that to find a hundred through it takes a hundred calls.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace polyak {

class JsonKinds {
 public:
  // A letter a column: n for numbers, s for strings, b for booleans, l for lists, o for objects.
  JsonKinds(const std::vector<std::string> &names, std::string_view kinds) : kinds_(kinds) {
    for (size_t c = 0; c < names.size(); ++c) columns_.emplace(names[c], c);
  }

  // The first column whose value does not fit in a line that is one object; -1 if all do. Names
  // with a backslash and all that is no JSON are left to others.
  int64_t misfit(std::string_view line) {
    int64_t wrong = -1;
    each(line, [&](std::string_view name, bool plain, char kind) {
      if (!plain || kind == kAny) return false;
      const auto found = columns_.find(name);
      if (found == columns_.end() || kinds_[found->second] == kind) return false;
      wrong = static_cast<int64_t>(found->second);
      return true;
    });
    return wrong;
  }

  // Whether a line that is one object has a field, not null, of a name that is none of these.
  bool has_others(std::string_view line) {
    bool others = false;
    each(line, [&](std::string_view name, bool, char kind) {
      return others = kind != kAny && columns_.find(name) == columns_.end();
    });
    return others;
  }

 private:
  // Calls visit(name, whether it has no backslash, kind) for every field, until that says stop.
  template <class Visit>
  void each(std::string_view line, Visit visit) {
    at_ = line.data();
    end_ = at_ + line.size();
    skip_to('{');
    while (at_ < end_) {
      skip_to('"');
      const char *const begin = at_;
      const bool plain = skip_string();
      if (at_ >= end_) break;
      const std::string_view name(begin, static_cast<size_t>(at_ - 1 - begin));
      skip_to(':');
      while (at_ < end_ && (*at_ == ' ' || *at_ == '\t')) ++at_;
      if (at_ >= end_) break;
      const char kind = kind_of(*at_);
      skip_value();
      if (visit(name, plain, kind)) return;
    }
  }

  static constexpr char kAny = 0;  // null fits everywhere

  static char kind_of(char c) {
    if (c == '"') return 's';
    if (c == '-' || (c >= '0' && c <= '9') || c == 'N' || c == 'I') return 'n';  // NaN, Infinity
    if (c == 't' || c == 'f') return 'b';
    if (c == '[') return 'l';
    return c == '{' ? 'o' : kAny;
  }

  // Goes on behind the next of a character.
  void skip_to(char c) {
    at_ = std::find(at_, end_, c);
    at_ += at_ < end_;
  }

  // Goes on from within a string to behind it; tells whether it has no backslash.
  bool skip_string() {
    bool plain = true;
    for (; at_ < end_ && *at_ != '"'; ++at_)
      if (*at_ == '\\') {
        plain = false;
        if (++at_ == end_) return plain;
      }
    at_ += at_ < end_;
    return plain;
  }

  // Goes on to the comma or brace behind a value.
  void skip_value() {
    for (int64_t depth = 0; at_ < end_;) {
      const char c = *at_;
      if (depth == 0 && (c == ',' || c == '}')) return;
      depth += (c == '{' || c == '[') - (c == '}' || c == ']');
      ++at_;
      if (c == '"') skip_string();
    }
  }

  std::unordered_map<std::string_view, size_t> columns_;
  std::string_view kinds_;
  const char *at_ = nullptr, *end_ = nullptr;
};

// Of the lines that are not blank, from zero, those with a misfit; and its column.
struct Misfits {
  std::vector<int64_t> rows, columns;
};

inline Misfits json_misfits(std::string_view text, JsonKinds &&kinds) {
  Misfits found;
  int64_t row = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const int64_t column = kinds.misfit(line);
    if (column >= 0) {
      found.rows.push_back(row);
      found.columns.push_back(column);
    }
    ++row;
  }
  return found;
}

// Where lines begin and end that have fields of other names, one after the other.
inline std::vector<int64_t> json_others(std::string_view text, JsonKinds &&known) {
  std::vector<int64_t> places;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (known.has_others(text.substr(begin, end - begin)))
      places.insert(places.end(), {static_cast<int64_t>(begin), static_cast<int64_t>(end)});
    begin = end + 1;
  }
  return places;
}

}  // namespace polyak
