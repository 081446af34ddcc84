// A libFuzzer harness of the svmlight parser: `make fuzz`. Any bytes must be parsed into consistent
// rows, and into the same rows by all builds of the kernels.
#include "text/svmlight.hpp"

#include <cmath>
#include <cstdlib>
#include <vector>

#include "kernels/kernel_choice.hpp"

using namespace polyak::svmlight;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

template <class Value>
Rows<Value> check(const char *text, size_t size, const Options &options) {
  polyak::LinesInMemory lines(text, size);
  Rows<Value> rows = parse<Value>(lines, options);
  require(rows.indptr.size() == rows.targets.size() + 1);
  require(static_cast<int64_t>(rows.targets.size()) + rows.bad_lines <= rows.lines + 1);
  require(rows.first_bad.size() <= 10 && (options.skip_bad_lines || rows.bad_lines <= 1));
  for (double target : rows.targets) require(std::isfinite(target));
  for (size_t row = 0; row < rows.targets.size(); ++row) {
    require(rows.indptr[row] <= rows.indptr[row + 1]);
    int64_t previous = -1;
    for (int64_t i = rows.indptr[row]; i < rows.indptr[row + 1]; ++i) {
      require(rows.indices[i] > previous && rows.indices[i] <= rows.largest_index);
      require(std::isfinite(rows.values[i]));
      previous = rows.indices[i];
    }
  }
  return rows;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // A copy of exactly this size, so that the sanitizer detects a read beyond it.
  std::vector<char> text(data, data + size);
  Options options;
  options.skip_bad_lines = true;
  const polyak::KernelTable *best = polyak::kernel_tables().front();
  polyak::kernels = best;
  const Rows<double> fast = check<double>(text.data(), size, options);
  polyak::kernels = polyak::kernel_tables().back();  // the scalar build
  const Rows<double> plain = check<double>(text.data(), size, options);
  require(plain.targets == fast.targets && plain.indptr == fast.indptr);
  require(plain.indices == fast.indices && plain.values == fast.values);
  polyak::kernels = best;
  options.skip_bad_lines = false;
  options.largest_index = 100;
  for (options.base = -1; options.base <= 1; ++options.base) {
    require(check<float>(text.data(), size, options).largest_index <= 100);
  }
  options = Options();
  options.skip_bad_lines = options.several_labels = true;
  const Rows<float> labelled = check<float>(text.data(), size, options);
  const auto sets = static_cast<double>(labelled.labels.sets().size());
  for (double target : labelled.targets) require(target >= 0 && target < sets);
  return 0;
}
