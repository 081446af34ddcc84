#include "rows/any_rows.hpp"

#include "kernels/kernel_choice.hpp"
#include "rows/convert.hpp"

namespace polyak {
namespace {

// Returns the number of features that rows of ascending indices need.
template <class Value>
int64_t needed(const SparseRows<Value> &rows) {
  int64_t largest = -1;
  for (int64_t i = 0; i < rows.count; ++i) {
    const auto row = rows[i];
    if (row.size > 0) largest = std::max(largest, row.feature(row.size - 1));
  }
  return largest + 1;
}
template <class Value>
int64_t needed(const DenseRows<Value> &rows) {
  return rows.features;
}

}  // namespace

void check_offsets(const AnyRows &any) {
  std::visit([](const auto &rows) { check_offsets(rows); }, any);
}

int64_t scan(const AnyRows &any, int64_t limit) {
  return std::visit([&](const auto &rows) { return kernels->rows.scan(rows, limit); }, any);
}

int64_t checked_features(const AnyRows &any, int64_t limit) {
  check_offsets(any);
  const int64_t features = scan(any, limit);
  if (features != scan_failed) return features;
  return std::visit([&](const auto &rows) { return check_rows(rows, limit); }, any);
}

int64_t features_of_ascending(const AnyRows &any) {
  return std::visit([](const auto &rows) { return needed(rows); }, any);
}

void squared_norms(const AnyRows &any, double *norms) {
  checked_features(any);
  std::visit(
      [&](const auto &rows) {
        for (int64_t i = 0; i < rows.count; ++i) {
          double sum = 0.0;
          const auto row = rows[i];
          for (int64_t e = 0; e < row.size; ++e) sum += double(row.value[e]) * double(row.value[e]);
          norms[i] = sum;
        }
      },
      any);
}

template <class W>
void score_rows(const AnyRows &any, bool trusted, const W *matrix, int64_t features,
                int64_t columns, W *scores) {
  if (features > most_features) refuse("a matrix of ", features, " features is too large");
  if (!trusted) checked_features(any);
  std::visit(
      [&](const auto &rows) {
        const auto score = [&](const auto &some, int64_t begin, int64_t, bool) {
          kernels->rows.score(matrix, features, columns, some, scores + begin * columns);
          return true;
        };
        each_part<W>(rows, nullptr, 0, rows.count, score);
      },
      any);
}

template void score_rows(const AnyRows &, bool, const float *, int64_t, int64_t, float *);
template void score_rows(const AnyRows &, bool, const double *, int64_t, int64_t, double *);

}  // namespace polyak
