// What block Newton steps need of the core, as Python sees it.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "learn/coordinate_descent.hpp"
#include "python/rows/arrays.hpp"

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

}  // namespace

void bind_newton(nb::module_ &m) {
  m.def("coordinate_descent", descend, nb::arg("H"), nb::arg("c"), nb::arg("ridge"),
        nb::arg("threshold"), nb::arg("lowest"), nb::arg("v"), nb::arg("enough"), nb::arg("rounds"),
        "Move v to the minimum of a quadratic with an L1 penalty and lower bounds.");
}
