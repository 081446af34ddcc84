// Rows from Vowpal Wabbit's text, one a line:
//
//   [label[,...] [importance [base]]] ['tag]|namespace[:scale] feature[:value] ... |namespace ...
//
// What touches the bar is a tag, with or without the quote, as VW has it. A feature's slot is the
// hash of `namespace^feature`, or of `feature` alone in a namespace without a name; a name that is
// a number is hashed like any other. A feature without a name is called by its place among those
// of its namespace, 0, 1, 2, ... Values that share a slot are added up.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hash/slot_names.hpp"
#include "text/lines.hpp"
#include "text/vw_crosses.hpp"

namespace polyak::vw {

struct Options {
  int bits = 18;            // features share 2^bits slots; at most 31
  bool need_labels = true;  // leave out rows without one, and count them
  bool skip_bad_lines = false;
  bool several_labels = false;
  std::shared_ptr<SlotNames> names;  // to remember a name for every slot
  bool with_tags = false;
  Namespaces spaces;  // what is crossed, and what is left out
};

template <class Value>
struct Rows : TextRows<Value> {
  Column<double> weights;  // empty while every row counts once
  int64_t unlabelled = 0;  // how many rows were left out for want of a label
  std::vector<bool> seen;  // which of the namespaces that were named
  std::string tags;        // if asked for, a line each: tags have no blanks
};

// Parses a block of whole lines.
template <class Value>
Rows<Value> parse(LineSource &source, const Options &options);

}  // namespace polyak::vw
