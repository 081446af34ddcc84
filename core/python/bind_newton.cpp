// What block Newton steps need of the core, as Python sees it.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>

#include "learn/newton/block_sums.hpp"
#include "learn/newton/coordinate_descent.hpp"
#include "python/rows/any_rows.hpp"
#include "python/rows/arrays.hpp"
#include "rows/standard_units.hpp"

namespace nb = nanobind;
namespace {

using namespace polyak;

using Column = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu, nb::c_contig>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu, nb::c_contig>;
using Weights = nb::ndarray<double, nb::ndim<1>, nb::device::cpu, nb::c_contig>;

bool descend(Matrix H, Column c, Column ridge, Column threshold, Column lowest, Weights v,
             double enough, int64_t rounds) {
  const size_t n = H.shape(0);
  if (H.shape(1) != n) throw nb::value_error("the matrix is not square");
  for (const size_t size :
       {c.shape(0), ridge.shape(0), threshold.shape(0), lowest.shape(0), v.shape(0)})
    if (size != n) throw nb::value_error("the matrix and the columns differ in size");
  const PenalizedQuadratic goal{static_cast<int64_t>(n), H.data(),     c.data(), ridge.data(),
                                threshold.data(),        lowest.data()};
  nb::gil_scoped_release release;
  return CoordinateDescent(goal, v.data()).descend(enough, rounds);
}

using Block = nb::ndarray<nb::ndim<2>, nb::device::cpu>;
using ReadBlock = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;  // as that of a pickled model

// Calls visit(first number, stride) in the type of the block's numbers.
template <class AnyBlock, class Visit>
auto visit_block(const AnyBlock &block, Visit &&visit) {
  if (block.shape(1) > 1 && block.stride(1) != 1)
    throw nb::type_error("a row of the block must be contiguous");
  const int64_t stride = block.shape(0) > 1 ? block.stride(0) : 0;
  constexpr bool read = std::is_same_v<AnyBlock, ReadBlock>;
  using Float = std::conditional_t<read, const float, float>;
  using Double = std::conditional_t<read, const double, double>;
  if (block.dtype() == nb::dtype<float>()) return visit(static_cast<Float *>(block.data()), stride);
  if (block.dtype() == nb::dtype<double>())
    return visit(static_cast<Double *>(block.data()), stride);
  throw nb::type_error("a block's numbers are float32 or float64");
}

template <class Visit>
auto visit_rows(const ReadBlock &block, Visit &&visit) {
  return visit_block(block, [&](auto *values, int64_t stride) {
    using Value = std::remove_const_t<std::remove_pointer_t<decltype(values)>>;
    return visit(BlockRows<Value>{values, static_cast<int64_t>(block.shape(0)),
                                  static_cast<int64_t>(block.shape(1)), stride});
  });
}

void check_size(size_t size, size_t wanted) {
  if (size != wanted) throw nb::value_error("the rows and the columns differ in size");
}

int64_t fill_standard(std::optional<AnyArray> indptr, std::optional<AnyArray> indices,
                      AnyArray values, std::optional<Integers> order, Integers features,
                      Column centre, Column per_unit, Block out) {
  const AnyRows any{indptr, indices, values};
  const size_t columns = features.shape(0);
  check_size(centre.shape(0), columns);
  check_size(per_unit.shape(0), columns);
  check_size(out.shape(1), columns);
  check_size(out.shape(0), order ? order->shape(0) : static_cast<size_t>(any.count()));
  const StandardUnits units{features.data(), centre.data(), per_unit.data(),
                            static_cast<int64_t>(columns)};
  const int64_t *taken = order ? order->data() : nullptr;
  const int64_t count = static_cast<int64_t>(out.shape(0));
  nb::gil_scoped_release release;
  return visit_block(out, [&](auto *at, int64_t stride) {
    using Out = std::remove_pointer_t<decltype(at)>;
    return any.visit([&](const auto &rows) {
      return fill_rows(rows, taken, count, units, Room<Out>{at, stride});
    });
  });
}

std::optional<NewDoubles> sparse_gram(ReadBlock Z, std::optional<Column> h, double most) {
  const size_t n = Z.shape(1);
  if (h) check_size(h->shape(0), Z.shape(0));
  const bool few = visit_rows(Z, [&](const auto &rows) { return share_of_nonzeros(rows) < most; });
  if (!few) return std::nullopt;
  auto sum = new_array<double>({n, n});
  nb::gil_scoped_release release;
  visit_rows(Z, [&](const auto &rows) { add_products(rows, h ? h->data() : nullptr, sum.data()); });
  return sum;
}

void column_sizes(ReadBlock Z, double limit, Weights squares, Weights varied) {
  check_size(squares.shape(0), Z.shape(1));
  check_size(varied.shape(0), Z.shape(1));
  nb::gil_scoped_release release;
  visit_rows(Z, [&](const auto &rows) { add_sizes(rows, limit, squares.data(), varied.data()); });
}

double row_norms(ReadBlock Z, Weights norms) {
  check_size(norms.shape(0), Z.shape(0));
  nb::gil_scoped_release release;
  return visit_rows(Z, [&](const auto &rows) { return squared_norms(rows, norms.data()); });
}

}  // namespace

void bind_newton(nb::module_ &m) {
  m.def("coordinate_descent", descend, nb::arg("H"), nb::arg("c"), nb::arg("ridge"),
        nb::arg("threshold"), nb::arg("lowest"), nb::arg("v"), nb::arg("enough"), nb::arg("rounds"),
        "Move v to the minimum of a quadratic with an L1 penalty and lower bounds.");
  m.def("fill_standard", fill_standard, nb::arg("indptr").none(), nb::arg("indices").none(),
        nb::arg("values"), nb::arg("order").none(), nb::arg("features"), nb::arg("centre"),
        nb::arg("per_unit"), nb::arg("out"),
        "Write rows in standard units; say how many values had no column.");
  m.def("sparse_gram", sparse_gram, nb::arg("Z"), nb::arg("h").none(), nb::arg("most"),
        "Add up h z z' over rows, unless more than such a share of their numbers is not zero.");
  m.def("column_sizes", column_sizes, nb::arg("Z"), nb::arg("limit"), nb::arg("squares"),
        nb::arg("varied"), "Add to the squares of columns and to how many are not zero.");
  m.def("block_norms", row_norms, nb::arg("Z"), nb::arg("norms"),
        "Give the squared norms of rows; the largest is returned.");
}
