// Whether text is one JSON value, as far as its form goes: what a parser would refuse for its
// form is found here in one pass, without asking the parser line by line. NaN and Inf are numbers,
// as for pyarrow; bytes that are not UTF-8 are for others to find. It recurses, so the caller
// bounds the depth.
#pragma once

#include <cstddef>
#include <string_view>

namespace polyak {
namespace records {

class JsonSyntax {
 public:
  // Whether the text holds one value and, but for blanks, nothing else.
  static bool accepts(std::string_view text) {
    JsonSyntax at{text};
    at.blanks();
    return at.value() && (at.blanks(), at.here_ == text.size());
  }

 private:
  explicit JsonSyntax(std::string_view text) : text_(text) {}

  char peek() const { return here_ < text_.size() ? text_[here_] : '\0'; }
  bool take(char c) { return peek() == c && (++here_, true); }
  bool word(std::string_view w) {
    return text_.substr(here_, w.size()) == w && (here_ += w.size(), true);
  }
  void blanks() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\r') ++here_;
  }

  bool value() {
    switch (peek()) {
      case '{':
        return list('}', true);
      case '[':
        return list(']', false);
      case '"':
        return string();
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number();
    }
  }

  bool list(char close, bool named) {
    ++here_;
    blanks();
    if (take(close)) return true;
    while (true) {
      if (named) {
        if (!string()) return false;
        blanks();
        if (!take(':')) return false;
        blanks();
      }
      if (!value()) return false;
      blanks();
      if (take(close)) return true;
      if (!take(',')) return false;
      blanks();
    }
  }

  bool string() {
    if (!take('"')) return false;
    for (; here_ < text_.size(); ++here_) {
      const char c = text_[here_];
      if (c == '"') return ++here_, true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c == '\\' && ++here_ < text_.size() &&
          std::string_view("\"\\/bfnrtu").find(text_[here_]) == std::string_view::npos)
        return false;
    }
    return false;
  }

  bool digits() {
    const size_t begin = here_;
    while (peek() >= '0' && peek() <= '9') ++here_;
    return here_ > begin;
  }

  bool number() {
    take('-');
    if (word("NaN") || word("Infinity") || word("Inf")) return true;
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      return digits();
    }
    return true;
  }

  std::string_view text_;
  size_t here_ = 0;
};

}  // namespace records
}  // namespace polyak
