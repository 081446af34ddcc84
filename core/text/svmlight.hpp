// Rows from svmlight text: `label [qid:n] id:value id:value ... [# comment]`, one row a line.
// Where a row may have several labels, it is `1,5,7 id:value ...`, and a row without any begins
// with a feature.
#pragma once

#include <cstdint>
#include <limits>

#include "text/lines.hpp"

namespace polyak::svmlight {

struct Options {
  int base = -1;  // the id of the first feature, 0 or 1; -1: 0 if that id is seen, else 1
  int64_t largest_index = std::numeric_limits<int64_t>::max();  // a feature beyond is an error
  bool skip_bad_lines = false;                                  // or else end with the first
  bool several_labels = false;
};

template <class Value>
struct Rows : TextRows<Value> {
  int64_t largest_index = -1;
  int base = -1;  // as found; still -1 if there was no feature to tell by
};

// Parses a block of whole lines.
template <class Value>
Rows<Value> parse(LineSource &source, const Options &options);

}  // namespace polyak::svmlight
