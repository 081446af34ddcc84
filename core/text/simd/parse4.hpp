// Parses four features at a time if they have the most common form: an id of up to eight digits, a
// colon, one digit, a point, up to seven digits, a space, as in `1612:0.125538 `. The svmlight
// parser tries this first and parses all other features one by one. On x86-64 this raises the speed
// of one thread from 1.5 to 2.6 GB/s.
#pragma once

#include <cstdint>

namespace polyak {

// Where the features of a row go.
template <class Value>
struct FeaturesOut {
  int32_t *indices;
  Value *values;
  int64_t previous;  // the previous id
  bool ascending;    // whether all ids so far were ascending
};

template <class Value>
struct TextKernels {
  // Reads groups of four features from p on for as long as they have this form, and returns where
  // they end. 128 characters from p on must be readable.
  const char *(*read_fours)(const char *p, int base, FeaturesOut<Value> &out);
};

struct TextKernelTable : TextKernels<float>, TextKernels<double> {
  template <class Value>
  const char *read_fours(const char *p, int base, FeaturesOut<Value> &out) const {
    return TextKernels<Value>::read_fours(p, base, out);
  }
};

}  // namespace polyak
