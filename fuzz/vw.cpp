// A libFuzzer harness of the parser of VW text. Any bytes must come out as rows that hold together,
// under the sanitizers, and as the same rows whether or not those without a label are wanted:
//
//   clang++ -std=c++17 -Icore -g -O1 -fsanitize=fuzzer,address,undefined fuzz/vw.cpp
//     core/text/vw.cpp -o build/fuzz-vw
//   build/fuzz-vw -max_total_time=600 -dict=fuzz/vw.dict
#include "text/vw.hpp"

#include <cmath>
#include <cstdlib>

using namespace polyak::vw;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

template <class Value>
Rows<Value> check(const char *text, size_t size, const Options &options) {
  polyak::LinesInMemory lines(text, size);
  Rows<Value> rows = parse<Value>(lines, options);
  const int64_t n = static_cast<int64_t>(rows.targets.size());
  require(rows.indptr.size() == rows.targets.size() + 1);
  require(rows.weights.empty() || rows.weights.size() == rows.targets.size());
  require(n + rows.unlabelled + rows.bad_lines <= rows.lines);
  require(rows.first_bad.size() <= 10 && (options.skip_bad_lines || rows.bad_lines <= 1));
  for (double target : rows.targets)
    require(std::isfinite(target) || (!options.need_labels && std::isnan(target)));
  for (double weight : rows.weights) require(weight >= 0 && std::isfinite(weight));
  for (int64_t row = 0; row < n; ++row) {
    require(rows.indptr[row] <= rows.indptr[row + 1]);
    int64_t previous = -1;
    for (int64_t i = rows.indptr[row]; i < rows.indptr[row + 1]; ++i) {
      require(rows.indices[i] > previous && rows.indices[i] < int64_t{1} << options.bits);
      require(std::isfinite(rows.values[i]));
      previous = rows.indices[i];
    }
  }
  return rows;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // A copy of exactly this size, so that a read one byte behind it is seen.
  std::vector<char> text(data, data + size);
  Options options;
  options.skip_bad_lines = true;
  Rows<double> labelled = check<double>(text.data(), size, options);
  options.need_labels = false;
  Rows<double> all = check<double>(text.data(), size, options);
  require(all.bad_lines == labelled.bad_lines && all.lines == labelled.lines);
  require(all.targets.size() == labelled.targets.size() + labelled.unlabelled);
  size_t row = 0;
  for (size_t i = 0; i < all.targets.size(); ++i) {
    if (std::isnan(all.targets[i])) continue;
    const int64_t length = all.indptr[i + 1] - all.indptr[i];
    require(all.targets[i] == labelled.targets[row]);
    require(length == labelled.indptr[row + 1] - labelled.indptr[row]);
    for (int64_t k = 0; k < length; ++k) {
      const int64_t a = all.indptr[i] + k, b = labelled.indptr[row] + k;
      require(all.indices[a] == labelled.indices[b] && all.values[a] == labelled.values[b]);
    }
    ++row;
  }
  options.names = std::make_shared<polyak::SlotNames>(options.bits, 3);
  options.with_tags = true;
  options.spaces = Namespaces({{"a", "b"}, {"a", "a"}, {"b", "a", "b"}}, {"c"});
  check<float>(text.data(), size, options);
  options.skip_bad_lines = false;
  for (int bits : {1, 5, 31}) {
    options.bits = bits;
    // It asks for room per slot: with 31 bits that is more than a run of the fuzzer may take.
    options.names = bits < 31 ? std::make_shared<polyak::SlotNames>(bits, 3) : nullptr;
    check<float>(text.data(), size, options);
  }
  options = Options();
  options.skip_bad_lines = options.several_labels = true;
  const Rows<float> several = check<float>(text.data(), size, options);
  const auto sets = static_cast<double>(several.labels.sets().size());
  for (double target : several.targets) require(target >= 0 && target < sets);
  return 0;
}
