// Parses svmlight text: `label [qid:n] id:value id:value ... [# comment]`, one row per line. If
// rows may have several labels, a row is `1,5,7 id:value ...`, and a row without labels begins with
// a feature.
#pragma once

#include <cstdint>
#include <limits>

#include "text/lines.hpp"

namespace polyak::svmlight {

struct Options {
  int base = -1;  // the id of the first feature, 0 or 1; -1 for 0 if an id is 0, otherwise 1
  int64_t largest_index = std::numeric_limits<int64_t>::max();  // larger ones are errors
  bool skip_bad_lines = false;                                  // otherwise stop at the first
  bool several_labels = false;
};

template <class Value>
struct Rows : TextRows<Value> {
  int64_t largest_index = -1;
  int base = -1;  // -1 if there is no feature to infer it from
};

// Parses a block of whole lines.
template <class Value>
Rows<Value> parse(LineSource &source, const Options &options);

}  // namespace polyak::svmlight
