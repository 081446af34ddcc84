// Parses the text format of Vowpal Wabbit, one row per line:
//
//   [label[,...] [importance [base]]] ['tag]|namespace[:scale] feature[:value] ... |namespace ...
//
// A token directly before the bar is a tag, with or without the quote, as in VW. A feature's slot
// is the hash of `namespace^feature`, or of `feature` in a namespace without a name; names that are
// numbers are hashed as well. The features without a name of a namespace are called 0, 1, 2, ...
// Values of equal slots are added up.
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
  bool need_labels = true;  // leave out and count rows without a label
  bool skip_bad_lines = false;
  bool several_labels = false;
  std::shared_ptr<SlotNames> names;  // receives a name for every slot; may be null
  bool with_tags = false;
  bool with_base = false;  // the base of a row is the value of slot 2^bits
  Namespaces spaces;       // which are crossed, and which are left out
};

template <class Value>
struct Rows : TextRows<Value> {
  Column<double> weights;  // empty if all are one
  int64_t unlabelled = 0;  // number of rows left out because they have no label
  std::vector<bool> seen;  // which namespaces of the options occur
  std::string tags;        // on request, one line per row: tags contain no spaces
};

// Parses a block of whole lines.
template <class Value>
Rows<Value> parse(LineSource &source, const Options &options);

}  // namespace polyak::vw
