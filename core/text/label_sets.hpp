// Several labels a row, as in `1,5,7`: each set that comes up is read once, and then known by its
// number.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/decimal.hpp"

namespace polyak {

class LabelSets {
 public:
  using Labels = std::vector<double>;

  // Finds the number of the set that is written there, perhaps an empty one; returns null, or what
  // is wrong with it.
  const char *read(const char *begin, const char *end, double &number) {
    const auto [found, is_new] =
        numbers_.try_emplace(std::string(begin, end), static_cast<double>(sets_.size()));
    if (is_new) {
      Labels labels;
      if (const char *why = read_labels(begin, end, labels)) {
        numbers_.erase(found);
        return why;
      }
      sets_.push_back(std::move(labels));
    }
    number = found->second;
    return nullptr;
  }

  // The labels of each set, in ascending order.
  const std::vector<Labels> &sets() const { return sets_; }

 private:
  static const char *read_labels(const char *begin, const char *end, Labels &labels) {
    for (const char *p = begin; begin < end; ++p) {
      double label = 0;
      const char *const behind = read_number(p, label);
      if (!behind || (behind != end && *behind != ',')) return "a label is not a number";
      if (!std::isfinite(label)) return "a label is too large";
      labels.push_back(label + 0.0);  // there is one zero
      if ((p = behind) == end) break;
    }
    std::sort(labels.begin(), labels.end());
    if (std::adjacent_find(labels.begin(), labels.end()) != labels.end())
      return "a label appears twice";
    return nullptr;
  }

  std::unordered_map<std::string, double> numbers_;
  std::vector<Labels> sets_;
};

}  // namespace polyak
