#include "learn/newton/block_sums.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

namespace polyak {
namespace {

// Lists the columns of a row's nonzeros and returns their number. Tests four columns at a time, and
// within those has no branch that could be mispredicted.
template <class Value>
int64_t list_nonzeros(const Value *row, int64_t columns, int64_t *found) {
  int64_t size = 0, j = 0;
  for (; j + 4 <= columns; j += 4) {
    uint64_t bits[4 * sizeof(Value) / 8];
    std::memcpy(bits, row + j, sizeof(bits));
    uint64_t any = 0;
    for (uint64_t some : bits) any |= some;
    if (any == 0) continue;
    for (int64_t k = j; k < j + 4; ++k) {
      found[size] = k;
      size += row[k] != 0;
    }
  }
  for (; j < columns; ++j) {
    found[size] = j;
    size += row[j] != 0;
  }
  return size;
}

using ColumnList = std::vector<int64_t>;

}  // namespace

template <class Value>
double share_of_nonzeros(const BlockRows<Value> &block) {
  ColumnList column(static_cast<size_t>(block.columns));
  int64_t found = 0, rows = 0;
  for (int64_t i = 0; i < block.count; i += 16, ++rows)
    found += list_nonzeros(block[i], block.columns, column.data());
  return rows * block.columns > 0 ? double(found) / (double(rows) * double(block.columns)) : 1.0;
}

template <class Value>
void add_products(const BlockRows<Value> &block, const double *h, double *sum) {
  const int64_t n = block.columns;
  ColumnList column(static_cast<size_t>(block.columns));
  std::vector<double> value(column.size());
  for (int64_t i = 0; i < block.count; ++i) {
    const double weight = h ? h[i] : 1.0;
    const Value *row = block[i];
    const int64_t size = weight == 0.0 ? 0 : list_nonzeros(row, n, column.data());
    for (int64_t a = 0; a < size; ++a) value[a] = row[column[a]];
    for (int64_t a = 0; a < size; ++a) {
      double *line = sum + column[a] * n;
      const double own = weight * value[a];
      for (int64_t b = a; b < size; ++b) line[column[b]] += own * value[b];
    }
  }
  for (int64_t a = 0; a < n; ++a)
    for (int64_t b = a + 1; b < n; ++b) sum[b * n + a] = sum[a * n + b];
}

template <class Value>
void quadratic_forms(const BlockRows<Value> &block, const double *A, double *found) {
  const int64_t n = block.columns;
  ColumnList column(static_cast<size_t>(n));
  std::vector<double> value(column.size());
  for (int64_t i = 0; i < block.count; ++i) {
    const int64_t size = list_nonzeros(block[i], n, column.data());
    for (int64_t a = 0; a < size; ++a) value[a] = block[i][column[a]];
    double squares = 0.0, products = 0.0;
    for (int64_t a = 0; a < size; ++a) {
      const double *line = A + column[a] * n;
      squares += line[column[a]] * value[a] * value[a];
      double others = 0.0;
      for (int64_t b = a + 1; b < size; ++b) others += line[column[b]] * value[b];
      products += value[a] * others;
    }
    found[i] = squares + 2.0 * products;
  }
}

// If these are most of the columns, works by nonzeros.
template <class Value>
void add_sizes(const BlockRows<Value> &block, const int64_t *places, int64_t count, double limit,
               double *squares, double *varied) {
  const auto add = [&](double value, int64_t k) {
    const double z = std::min(std::fabs(value), limit);
    squares[k] += z * z;
    varied[k] += value != 0.0 ? 1.0 : 0.0;
  };
  bool all = count == block.columns && share_of_nonzeros(block) > 0.5;
  for (int64_t k = 0; k < count && all; ++k) all = places[k] == k;
  if (all) {  // a zero adds nothing
    for (int64_t i = 0; i < block.count; ++i)
      for (int64_t k = 0; k < count; ++k) add(double(block[i][k]), k);
    return;
  }
  if (4 * count < block.columns) {
    for (int64_t i = 0; i < block.count; ++i)
      for (int64_t k = 0; k < count; ++k) add(double(block[i][places[k]]), k);
    return;
  }
  ColumnList column(static_cast<size_t>(block.columns)), place(column.size(), -1);
  for (int64_t k = 0; k < count; ++k) place[places[k]] = k;
  for (int64_t i = 0; i < block.count; ++i) {
    const int64_t size = list_nonzeros(block[i], block.columns, column.data());
    for (int64_t a = 0; a < size; ++a)
      if (place[column[a]] >= 0) add(double(block[i][column[a]]), place[column[a]]);
  }
}

// Four rows at a time, so that the sums are read and written once for all of them: a sixth
// less time. Each sum is added up in the order of the rows.
template <class Value>
void add_moments(const BlockRows<Value> &block, double *__restrict sums,
                 double *__restrict squares) {
  constexpr int64_t kTogether = 4;
  const auto add = [&](int64_t i, auto rows) {
    for (int64_t k = 0; k < block.columns; ++k) {
      double sum = sums[k], square = squares[k];
      for (int64_t r = 0; r < rows; ++r) {
        const double value = double(block[i + r][k]);
        sum += value;
        square += value * value;
      }
      sums[k] = sum, squares[k] = square;
    }
  };
  int64_t i = 0;
  for (; i + kTogether <= block.count; i += kTogether)
    add(i, std::integral_constant<int64_t, kTogether>{});
  for (; i < block.count; ++i) add(i, std::integral_constant<int64_t, 1>{});
}

template <class Value>
double squared_norms(const BlockRows<Value> &block, double *norms) {
  double largest = 0.0;
  for (int64_t i = 0; i < block.count; ++i) {
    const Value *row = block[i];
    double four[4] = {0.0, 0.0, 0.0, 0.0};
    int64_t j = 0;
    for (; j + 4 <= block.columns; j += 4)
      for (int64_t k = 0; k < 4; ++k) four[k] += double(row[j + k]) * double(row[j + k]);
    for (int64_t k = 0; j < block.columns; ++j, ++k) four[k] += double(row[j]) * double(row[j]);
    norms[i] = (four[0] + four[1]) + (four[2] + four[3]);
    largest = norms[i] > largest ? norms[i] : largest;
  }
  return largest;
}

#define POLYAK_INSTANTIATE(Value)                                                               \
  template double share_of_nonzeros(const BlockRows<Value> &);                                  \
  template void add_products(const BlockRows<Value> &, const double *, double *);               \
  template void quadratic_forms(const BlockRows<Value> &, const double *, double *);            \
  template void add_sizes(const BlockRows<Value> &, const int64_t *, int64_t, double, double *, \
                          double *);                                                            \
  template void add_moments(const BlockRows<Value> &, double *, double *);                      \
  template double squared_norms(const BlockRows<Value> &, double *);
POLYAK_INSTANTIATE(float)
POLYAK_INSTANTIATE(double)

}  // namespace polyak
