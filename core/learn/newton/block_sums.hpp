// Sums over the rows of a block, most of whose numbers are zero, by their nonzeros.
#pragma once

#include <cstdint>

namespace polyak {

// A view of a block of rows.
template <class Value>
struct BlockRows {
  const Value *values;
  int64_t count, columns, stride;
  const Value *operator[](int64_t i) const { return values + i * stride; }
  BlockRows part(int64_t begin, int64_t end) const {
    return {(*this)[begin], end - begin, columns, stride};
  }
};

// Returns the share of nonzeros in every sixteenth row.
template <class Value>
double share_of_nonzeros(const BlockRows<Value> &block);

// Adds h z z' of all rows to `sum`, columns x columns, which must be zero; h may be null for ones.
template <class Value>
void add_products(const BlockRows<Value> &block, const double *h, double *sum);

// Writes z' A z of each row for a symmetric matrix A.
template <class Value>
void quadratic_forms(const BlockRows<Value> &block, const double *A, double *found);

// Adds the squares of some columns, of values clipped to a limit, and their numbers of nonzeros.
template <class Value>
void add_sizes(const BlockRows<Value> &block, const int64_t *places, int64_t count, double limit,
               double *squares, double *varied);

// Adds up each column, and the squares of its values.
template <class Value>
void add_moments(const BlockRows<Value> &block, double *sums, double *squares);

// Writes the rows' squared norms and returns the largest. Trailing zeros do not change a bit.
template <class Value>
double squared_norms(const BlockRows<Value> &block, double *norms);

}  // namespace polyak
