// Standardized rows: features become columns, centred and scaled.
#pragma once

#include <cstdint>

#include "rows/any_rows.hpp"

namespace polyak {

struct StandardUnits {
  const int64_t *features;  // of the columns
  const double *centre, *per_unit;
  int64_t columns;
};

// Where rows are written; `stride` numbers lie between them.
template <class Out>
struct RowsOut {
  Out *at;
  int64_t stride;
};

// Writes `count` rows, in the order that is given or, if that is null, in storage order. Returns
// the number of nonzeros that have no column. Throws if there is no such row.
template <class Out>
int64_t fill_standard(const AnyRows &any, const int64_t *order, int64_t count,
                      const StandardUnits &units, RowsOut<Out> out, bool two_threads);

}  // namespace polyak
