// Rows of types known only at run time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <variant>

#include "rows/check.hpp"
#include "rows/rows.hpp"

namespace polyak {

using AnyRows =
    std::variant<DenseRows<float>, DenseRows<double>, SparseRows<float>, SparseRows<double>>;

inline int64_t count_of(const AnyRows &any) {
  return std::visit([](const auto &rows) { return rows.count; }, any);
}

// The rows from `begin` to before `end`, without copying any.
inline AnyRows slice_rows(const AnyRows &any, int64_t begin, int64_t end) {
  return std::visit(
      [&](const auto &rows) {
        auto some = rows.from(begin);
        some.count = std::max<int64_t>(end - begin, 0);
        return AnyRows(some);
      },
      any);
}

// Whether rows were validated, and what is known of them then.
struct Validation {
  int64_t features = -1;  // the number of features that validated rows need; -1 before validation
  // The arrays belong to the caller, who may still write to them. Their indices are ascending, and
  // learning validates them again as it reads them.
  bool borrowed = false;

  bool trusted() const { return features >= 0 && !borrowed; }
};

// Throws if offsets are out of bounds; must be called before any row is read.
void check_offsets(const AnyRows &any);

// Returns the number of features that valid rows with ascending indices need, or scan_failed.
int64_t scan(const AnyRows &any, int64_t limit);

// Returns the number of features that the rows need. Throws if the rows are invalid.
int64_t checked_features(const AnyRows &any, int64_t limit = std::numeric_limits<int64_t>::max());

// Returns the number of features that rows of ascending indices need.
int64_t features_of_ascending(const AnyRows &any);

// Writes the squared norm of every row. Throws if the rows are invalid.
void squared_norms(const AnyRows &any, double *norms);

// Writes rows times a matrix of features x columns, as rows x columns. Features beyond the matrix
// are ignored. Throws if rows that are not trusted are invalid.
template <class W>
void score_rows(const AnyRows &any, bool trusted, const W *matrix, int64_t features,
                int64_t columns, W *scores);

}  // namespace polyak
