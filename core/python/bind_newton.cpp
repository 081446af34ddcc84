// Bindings of the kernels of block Newton steps.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "kernels/halves.hpp"
#include "kernels/kernel_choice.hpp"
#include "learn/newton/block_sums.hpp"
#include "learn/newton/coordinate_descent.hpp"
#include "python/buffers.hpp"
#include "python/rows.hpp"
#include "rows/standard_units.hpp"

namespace nb = nanobind;
using namespace polyak;

namespace {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu, nb::c_contig>;
using Weights = nb::ndarray<double, nb::ndim<1>, nb::device::cpu, nb::c_contig>;

bool minimize(Matrix H, Vector c, Vector ridge, Vector threshold, Vector lowest, Weights v,
              double enough, int64_t rounds) {
  const size_t n = H.shape(0);
  if (H.shape(1) != n) throw nb::value_error("the matrix is not square");
  for (const size_t size :
       {c.shape(0), ridge.shape(0), threshold.shape(0), lowest.shape(0), v.shape(0)})
    if (size != n) throw nb::value_error("the matrix and the columns differ in size");
  const PenalizedQuadratic goal{static_cast<int64_t>(n), H.data(),     c.data(), ridge.data(),
                                threshold.data(),        lowest.data()};
  nb::gil_scoped_release release;
  return descend(goal, v.data(), enough, rounds);
}

using Block = nb::ndarray<nb::ndim<2>, nb::device::cpu>;
using ReadBlock =
    nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;  // a pickled model's is read-only

// Calls visit(pointer, stride) in the type of the block's numbers.
template <class AnyBlock, class Visit>
auto visit_block(const AnyBlock &block, Visit &&visit) {
  if (block.size() > 0 && block.shape(1) > 1 && block.stride(1) != 1)
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

// Starting a thread takes about 30 us, so that two threads pay off from about 120 us of work on.
// `each` is the work per number in nanoseconds.
bool worth_two_threads(size_t numbers, int threads, double each = 1.0) {
  return threads > 1 && static_cast<double>(numbers) * each >= 120e3;
}

int64_t fill(const Rows &rows, const std::optional<Integers> &order, const Integers &features,
             const Vector &centre, const Vector &per_unit, const Block &out, int threads) {
  const size_t columns = features.shape(0);
  check_size(centre.shape(0), columns);
  check_size(per_unit.shape(0), columns);
  check_size(out.shape(1), columns);
  check_size(out.shape(0), order ? order->shape(0) : static_cast<size_t>(rows.count()));
  const StandardUnits units{features.data(), centre.data(), per_unit.data(),
                            static_cast<int64_t>(columns)};
  const int64_t *taken = order ? order->data() : nullptr;
  const int64_t count = static_cast<int64_t>(out.shape(0));
  nb::gil_scoped_release release;
  return visit_block(out, [&](auto *at, int64_t stride) {
    using Out = std::remove_pointer_t<decltype(at)>;
    return fill_standard(rows.view, taken, count, units, RowsOut<Out>{at, stride},
                         worth_two_threads(out.shape(0) * columns, threads));
  });
}

std::optional<NewDoubles> sparse_gram(ReadBlock Z, std::optional<Vector> h, double most) {
  const size_t n = Z.shape(1);
  if (h) check_size(h->shape(0), Z.shape(0));
  const bool few = visit_rows(Z, [&](const auto &rows) { return share_of_nonzeros(rows) < most; });
  if (!few) return std::nullopt;
  auto sum = new_array<double>({n, n});
  nb::gil_scoped_release release;
  visit_rows(Z, [&](const auto &rows) { add_products(rows, h ? h->data() : nullptr, sum.data()); });
  return sum;
}

std::optional<NewDoubles> sparse_forms(ReadBlock Z, Matrix A, double most) {
  check_size(A.shape(0), Z.shape(1));
  check_size(A.shape(1), Z.shape(1));
  const bool few = visit_rows(Z, [&](const auto &rows) { return share_of_nonzeros(rows) < most; });
  if (!few) return std::nullopt;
  auto found = new_array<double>({Z.shape(0)});
  nb::gil_scoped_release release;
  visit_rows(Z, [&](const auto &rows) { quadratic_forms(rows, A.data(), found.data()); });
  return found;
}

// Sums of squares of some columns, of values clipped to `limit`, and numbers of nonzeros.
nb::tuple column_sizes(ReadBlock Z, Integers places, double limit, int threads) {
  const size_t count = places.shape(0);
  for (size_t k = 0; k < count; ++k)
    if (places.data()[k] < 0 || places.data()[k] >= int64_t(Z.shape(1)))
      throw nb::value_error("there is no such column");
  auto squares = new_array<double>({count}), varied = new_array<double>({count});
  {
    nb::gil_scoped_release release;
    std::vector<double> sums(4 * count);  // of both halves of the rows
    const bool two = worth_two_threads(Z.shape(0) * count, threads, 4.0);
    visit_rows(Z, [&](const auto &rows) {
      by_halves(rows.count, two, [&](int half, int64_t begin, int64_t end) {
        double *own = sums.data() + 2 * count * size_t(half);
        add_sizes(rows.part(begin, end), places.data(), int64_t(count), limit, own, own + count);
      });
    });
    for (size_t k = 0; k < count; ++k) {
      squares.data()[k] = sums[k] + sums[2 * count + k];
      varied.data()[k] = sums[count + k] + sums[3 * count + k];
    }
  }
  return nb::make_tuple(squares, varied);
}

nb::tuple column_moments(ReadBlock Z) {
  auto sums = new_array<double>({Z.shape(1)}), squares = new_array<double>({Z.shape(1)});
  {
    nb::gil_scoped_release release;
    std::fill_n(sums.data(), Z.shape(1), 0.0);
    std::fill_n(squares.data(), Z.shape(1), 0.0);
    visit_rows(Z, [&](const auto &rows) { add_moments(rows, sums.data(), squares.data()); });
  }
  return nb::make_tuple(sums, squares);
}

double row_norms(ReadBlock Z, Weights norms, int threads) {
  check_size(norms.shape(0), Z.shape(0));
  nb::gil_scoped_release release;
  const bool two = worth_two_threads(Z.shape(0) * Z.shape(1), threads, 0.25);
  double largest[2];
  visit_rows(Z, [&](const auto &rows) {
    by_halves(rows.count, two, [&](int half, int64_t begin, int64_t end) {
      largest[half] = squared_norms(rows.part(begin, end), norms.data() + begin);
    });
  });
  return std::max(largest[0], largest[1]);
}

NewDoubles block_scores(ReadBlock Z, ReadBlock W, int threads) {
  const size_t rows = Z.shape(0), columns = Z.shape(1), models = W.shape(0);
  check_size(W.shape(1), columns);
  if (W.dtype() != Z.dtype() || (models > 1 && W.stride(0) != int64_t(columns)))
    throw nb::type_error("weights are contiguous, and as precise as the rows");
  auto scores = new_array<double>({rows, models});
  nb::gil_scoped_release release;
  const bool two = worth_two_threads(rows * columns * models, threads, 0.4);
  visit_rows(Z, [&](const auto &some) {
    using Value = std::remove_cv_t<std::remove_pointer_t<decltype(some.values)>>;
    const auto *weights = static_cast<const Value *>(W.data());
    by_halves(int64_t(rows), two, [&](int, int64_t begin, int64_t end) {
      double *own = scores.data() + begin * int64_t(models);
      kernels->blocks.of<Value>().score_rows(some.part(begin, end), weights, int64_t(models), own);
    });
  });
  return scores;
}

NewDoubles block_squares(ReadBlock Z, Vector weights, int threads) {
  const size_t rows = Z.shape(0), columns = Z.shape(1);
  check_size(weights.shape(0), columns);
  auto sums = new_array<double>({rows});
  nb::gil_scoped_release release;
  visit_rows(Z, [&](const auto &some) {
    using Value = std::remove_cv_t<std::remove_pointer_t<decltype(some.values)>>;
    const std::vector<Value> own(weights.data(), weights.data() + columns);
    const bool two = worth_two_threads(rows * columns, threads, 0.4);
    by_halves(int64_t(rows), two, [&](int, int64_t begin, int64_t end) {
      kernels->blocks.of<Value>().weigh_squares(some.part(begin, end), own.data(),
                                                sums.data() + begin);
    });
  });
  return sums;
}

// The inverse of the lower Cholesky factor; contains NaN if the matrix has none.
template <class Value>
auto inverse_of_factor(
    nb::ndarray<const Value, nb::ndim<2>, nb::device::cpu, nb::c_contig> matrix) {
  const size_t columns = matrix.shape(1);
  check_size(matrix.shape(0), columns);
  auto inverse = new_array<Value>({columns, columns});
  nb::gil_scoped_release release;
  std::copy_n(matrix.data(), columns * columns, inverse.data());
  kernels->blocks.of<Value>().invert_factor_of(inverse.data(), int64_t(columns));
  return inverse;
}

// Returns each model's loss, followed by the gradients.
template <class Value>
std::vector<double> loss_by_halves(const LogisticBlock<Value> &block, const double *step,
                                   double *scores, bool two_threads) {
  const int64_t models = block.models, size = models * (block.rows.columns + 1);
  std::vector<double> sums(static_cast<size_t>(2 * size));
  by_halves(block.rows.count, two_threads, [&](int half, int64_t begin, int64_t end) {
    double *own = sums.data() + half * size;
    kernels->blocks.of<Value>().logistic_loss(block, {begin, end, step, scores, own, own + models});
  });
  for (int64_t k = 0; k < size; ++k) sums[k] += sums[size + k];
  return sums;
}

nb::tuple logistic_loss(ReadBlock Z, Vector targets, std::optional<Vector> weights, Matrix scores,
                        std::optional<Matrix> step, int threads) {
  const size_t rows = Z.shape(0), columns = Z.shape(1), models = scores.shape(1);
  for (const size_t size : {targets.shape(0), scores.shape(0), weights ? weights->shape(0) : rows})
    check_size(size, rows);
  check_size(step ? step->shape(0) : models, models);
  check_size(step ? step->shape(1) : columns, columns);
  auto found = new_array<double>({rows, models}), values = new_array<double>({models}),
       gradient = new_array<double>({models, columns});
  const double *change = step ? step->data() : nullptr, *own = weights ? weights->data() : nullptr;
  {
    nb::gil_scoped_release release;
    std::copy_n(scores.data(), rows * models, found.data());
    const bool two = worth_two_threads(rows * columns * models, threads);
    const auto sums = visit_rows(Z, [&](const auto &some) {
      const LogisticBlock block{some, targets.data(), own, static_cast<int64_t>(models)};
      return loss_by_halves(block, change, found.data(), two);
    });
    std::copy_n(sums.begin(), models, values.data());
    std::copy_n(sums.begin() + models, models * columns, gradient.data());
  }
  return nb::make_tuple(found, values, gradient);
}

NewDoubles logistic_sums(Matrix scores, Vector targets, Vector weights, Matrix limits,
                         int threads) {
  const size_t rows = scores.shape(0), models = scores.shape(1), size = 5 * models;
  check_size(targets.shape(0), rows);
  check_size(weights.shape(0), rows);
  check_size(limits.shape(0), rows);
  check_size(limits.shape(1), 2);
  const auto *of_rows = reinterpret_cast<const RowLimits *>(limits.data());
  auto sums = new_array<double>({5, models});
  nb::gil_scoped_release release;
  std::vector<double> of_halves(2 * size);
  by_halves(int64_t(rows), worth_two_threads(rows * models, threads, 23.0),
            [&](int half, int64_t begin, int64_t end) {
              double *at = of_halves.data() + half * size;
              const LogisticBlock<double> block{{nullptr, end - begin, 0, 0},
                                                targets.data() + begin,
                                                weights.data() + begin,
                                                int64_t(models)};
              kernels->blocks.logistic_sums(block, scores.data() + begin * models,
                                            {of_rows + begin, at, at + models, at + 2 * models,
                                             at + 3 * models, at + 4 * models});
            });
  for (size_t k = 0; k < size; ++k) sums.data()[k] = of_halves[k] + of_halves[size + k];
  return sums;
}

NewDoubles logistic_curvature(Vector scores) {
  auto found = new_array<double>({scores.shape(0)});
  nb::gil_scoped_release release;
  kernels->blocks.logistic_curvature(scores.data(), int64_t(scores.shape(0)), found.data());
  return found;
}

}  // namespace

void bind_newton(nb::module_ &m) {
  m.def("coordinate_descent", minimize, nb::arg("H"), nb::arg("c"), nb::arg("ridge"),
        nb::arg("threshold"), nb::arg("lowest"), nb::arg("v"), nb::arg("enough"), nb::arg("rounds"),
        "Move v to the minimum of a quadratic with an L1 penalty and lower bounds.");
  m.def("fill_standard", fill, nb::arg("rows"), nb::arg("order").none(), nb::arg("features"),
        nb::arg("centre"), nb::arg("per_unit"), nb::arg("out"), nb::arg("threads") = 1,
        "Write standardized rows to `out`; return the number of nonzeros that have no column.");
  m.def("sparse_gram", sparse_gram, nb::arg("Z"), nb::arg("h").none(), nb::arg("most"),
        "Return the sum of h z z' over rows, or None if the share of nonzeros exceeds `most`.");
  m.def("sparse_forms", sparse_forms, nb::arg("Z"), nb::arg("A"), nb::arg("most"),
        "Return z' A z of each row, or None if the share of nonzeros exceeds `most`.");
  m.def("column_sizes", column_sizes, nb::arg("Z"), nb::arg("places"), nb::arg("limit"),
        nb::arg("threads") = 1,
        "Return the sums of squares of some columns, and their numbers of nonzeros.");
  m.def("column_moments", column_moments, nb::arg("Z"),
        "Return the sum of each column, and of its squares.");
  m.def("block_norms", row_norms, nb::arg("Z"), nb::arg("norms"), nb::arg("threads") = 1,
        "Write the squared norms of rows; return the largest.");
  m.def("block_scores", block_scores, nb::arg("Z"), nb::arg("W"), nb::arg("threads"),
        "Return scores, rows x models, by weights, models x columns.");
  m.def("block_squares", block_squares, nb::arg("Z"), nb::arg("weights"), nb::arg("threads"),
        "Return the sums of each row's squares, times the weights of their columns.");
  const char *inverse = "Return the inverse of a small matrix's lower Cholesky factor.";
  m.def("inverse_of_factor", inverse_of_factor<float>, nb::arg("matrix").noconvert(), inverse);
  m.def("inverse_of_factor", inverse_of_factor<double>, nb::arg("matrix").noconvert(), inverse);
  m.def("logistic_loss", logistic_loss, nb::arg("Z"), nb::arg("targets"), nb::arg("weights").none(),
        nb::arg("scores"), nb::arg("step").none(), nb::arg("threads"),
        "Return the scores after a step, the sums of the logistic losses, and their gradients.");
  m.def("logistic_curvature", logistic_curvature, nb::arg("scores"),
        "Return the second derivative of the logistic loss at each score.");
  m.def("logistic_sums", logistic_sums, nb::arg("scores"), nb::arg("targets"), nb::arg("weights"),
        nb::arg("limits"), nb::arg("threads") = 1,
        "Return sums of logistic losses, their squares, errors, limited losses, and capped rows.");
}
