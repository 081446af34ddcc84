// Objects of JSON in an array, or spread over several lines, to an object a line. Every byte
// becomes one byte, so that a place in the result is the same place in the source.
#pragma once

#include <cstddef>
#include <cstdint>

namespace polyak {

class JsonObjects {
 public:
  // What is to be remembered from one part of a text to the next.
  struct State {
    int64_t depth = 0;
    bool in_string = false, escaped = false, in_array = false;
  };

  explicit JsonObjects(State state) : state(state) {}

  void translate(char *text, size_t size) {
    for (size_t i = 0; i < size; ++i) text[i] = next(text[i]);
  }

  State state;

 private:
  char next(char c) {
    if (state.in_string) {
      if (state.escaped)
        state.escaped = false;
      else if (c == '\\')
        state.escaped = true;
      else if (c == '"')
        state.in_string = false;
      return c;
    }
    if (state.depth == 0) return between(c);
    if (c == '"')
      state.in_string = true;
    else if (c == '{' || c == '[')
      ++state.depth;
    else if (c == '}' || c == ']')
      --state.depth;
    return c == '\n' || c == '\r' ? ' ' : c;
  }

  char between(char c) {
    switch (c) {
      case '{':
        state.depth = 1;
        return c;
      case '[':
        state.in_array = true;
        return ' ';
      case ']':
        return state.in_array ? ' ' : c;
      case ',':
        return state.in_array ? '\n' : c;
      case '\n':
        return state.in_array ? ' ' : c;
      default:
        return c;
    }
  }
};

}  // namespace polyak
