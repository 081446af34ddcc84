// Namespaces of VW text that are crossed with each other, or left out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace polyak::vw {

// Which namespaces somebody named, each by a number.
class Namespaces {
 public:
  Namespaces() = default;
  Namespaces(const std::vector<std::vector<std::string>> &crossed,
             const std::vector<std::string> &dropped) {
    for (const auto &names : crossed) {
      crosses_.emplace_back();
      for (const std::string &name : names) crosses_.back().push_back(number(name));
    }
    n_crossed_ = names_.size();
    for (const std::string &name : dropped) number(name);
  }

  bool empty() const { return names_.empty(); }
  size_t size() const { return names_.size(); }
  const std::vector<std::vector<size_t>> &crosses() const { return crosses_; }
  bool is_crossed(size_t number) const { return number < n_crossed_; }
  bool is_dropped(size_t number) const { return number >= n_crossed_ && number < names_.size(); }

  // The number of a namespace; size() if nobody named it.
  size_t find(std::string_view name) const {
    return static_cast<size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
  }

 private:
  size_t number(const std::string &name) {
    const size_t found = find(name);
    if (found == names_.size()) names_.push_back(name);
    return found;
  }

  std::vector<std::string> names_;  // first those that are crossed
  size_t n_crossed_ = 0;
  std::vector<std::vector<size_t>> crosses_;
};

// The features of a row that are crossed, and what becomes of them.
//
// The slot of a pair is that of Vowpal Wabbit's `-q`: the first hash times a prime, and the second
// added without carrying. The low bits of it need only the low bits of both. A namespace that is
// crossed with itself gives each pair once, features with themselves included.
class Crosses {
 public:
  struct Feature {
    uint64_t slot;
    double value;
    std::string name;  // if names are remembered
  };

  explicit Crosses(const Namespaces &spaces) : spaces_(spaces), found_(spaces.size()) {}

  void clear() {
    for (auto &features : found_) features.clear();
  }
  void add(size_t space, Feature feature) { found_[space].push_back(std::move(feature)); }

  // At most how many features come of it.
  double count() const {
    double sum = 0;
    for (const auto &cross : spaces_.crosses()) {
      double product = 1;
      for (const size_t space : cross) product *= static_cast<double>(found_[space].size());
      sum += product;
    }
    return sum;
  }

  // Calls add(feature) for each.
  template <class Add>
  void each(bool with_names, Add add) {
    for (const auto &cross : spaces_.crosses()) {
      at_.assign(cross.size(), 0);
      extend(cross, 0, {0, 1.0, {}}, with_names, add);
    }
  }

 private:
  template <class Add>
  void extend(const std::vector<size_t> &cross, size_t depth, const Feature &so_far,
              bool with_names, Add &add) {
    const auto &features = found_[cross[depth]];
    size_t first = 0;
    for (size_t d = 0; d < depth; ++d)
      if (cross[d] == cross[depth]) first = at_[d];
    for (size_t i = first; i < features.size(); ++i) {
      at_[depth] = i;
      Feature made = joined(so_far, features[i], depth, with_names);
      if (depth + 1 == cross.size())
        add(made);
      else
        extend(cross, depth + 1, made, with_names, add);
    }
  }

  static Feature joined(const Feature &a, const Feature &b, size_t depth, bool with_names) {
    if (depth == 0) return b;
    Feature made{(a.slot * kPrime) ^ b.slot, a.value * b.value, {}};
    if (with_names) made.name = a.name + "*" + b.name;
    return made;
  }

  static constexpr uint64_t kPrime = 16777619;  // of FNV
  const Namespaces &spaces_;
  std::vector<std::vector<Feature>> found_;  // by namespace, in the order they stood
  std::vector<size_t> at_;
};

}  // namespace polyak::vw
