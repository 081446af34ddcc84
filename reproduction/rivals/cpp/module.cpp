// The Python module of the compiled rivals. Each function continues to learn in arrays that Python
// owns, so that a rival can be copied and pickled like any other object that holds arrays.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "learn/losses.hpp"
#include "olbfgs.hpp"
#include "python/buffers.hpp"
#include "python/rows.hpp"
#include "rivals.hpp"
#include "rows/check.hpp"
#include "sgd_qn.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;
using namespace polyak;
using namespace polyak::POLYAK_KERNELS;

namespace {

using Optional = std::optional<AnyArray>;
using Vector = nb::ndarray<double, nb::ndim<1>, nb::device::cpu, nb::c_contig>;
using Matrix = nb::ndarray<double, nb::ndim<2>, nb::device::cpu, nb::c_contig>;

// The small state, read from its array and written back however the learning ends.
template <class State>
class Kept {
 public:
  explicit Kept(Vector &array) : array_(array) {
    static_assert(sizeof(State) % sizeof(double) == 0);
    if (array.size() * sizeof(double) != sizeof(State))
      refuse("the state has ", array.size(), " numbers, not ", sizeof(State) / sizeof(double));
    std::memcpy(&state, array.data(), sizeof(State));
  }
  ~Kept() { std::memcpy(array_.data(), &state, sizeof(State)); }
  State state;

 private:
  Vector &array_;
};

// Calls visit(loss) with the loss of this name, one of the paper's four.
template <class Visit>
auto with_loss(const std::string &name, Visit &&visit) {
  if (name == "squared_error") return visit(SquaredError{});
  if (name == "squared_hinge") return visit(SquaredHinge{});
  if (name == "hinge") return visit(Hinge{});
  if (name == "log_loss") return visit(LogLoss{});
  refuse("there is no loss called '", name, "'");
}

// Refuses sparse rows that cannot be learned from: an index out of range would write anywhere.
template <class V, class I>
void check(const SparseRows<V, I> &rows, int64_t features) {
  check_offsets(rows);
  for (int64_t i = 0; i < rows.count; ++i) {
    const auto row = rows[i];
    bool fine = row.size == 0 || (row.feature(0) >= 0 && row.feature(row.size - 1) < features);
    for (int64_t e = 0; e < row.size; ++e) {
      fine &= e == 0 || row.index[e - 1] < row.index[e];
      fine &= std::isfinite(row.value[e]);
    }
    // The slow check names what is wrong; unsorted indices without repetition pass it.
    if (!fine) return void(check_rows(rows, features));
  }
}
// The values of dense rows are checked only after a score was not finite: reading them takes as
// long as learning from them.
template <class V>
void check(const DenseRows<V> &rows, int64_t features) {
  if (rows.features > features)
    refuse("the rows have ", rows.features, " features, but there are only ", features);
}

template <class Loss>
void check_targets(const double *y, int64_t rows) {
  for (int64_t i = 0; i < rows; ++i) {
    if (!std::isfinite(y[i])) refuse("row ", i, " has the target ", y[i]);
    if (!Loss::accepts(y[i])) refuse("row ", i, " has the target ", y[i], "; ", Loss::wants);
  }
}

// Checks rows and targets, then calls learn(loss, rows, targets), which returns where it had to
// stop.
template <class Learn>
void learn_rows(const Rows &any, const Doubles &targets, const std::string &name, int64_t features,
                Learn &&learn) {
  if (static_cast<int64_t>(targets.shape(0)) != any.count())
    refuse("there are ", any.count(), " rows but ", targets.shape(0), " targets");
  int64_t stopped;
  {
    nb::gil_scoped_release release;
    stopped = with_loss(name, [&](auto loss) {
      check_targets<decltype(loss)>(targets.data(), any.count());
      const auto learn_checked = [&](const auto &rows) {
        check(rows, features);
        const int64_t row = learn(loss, rows, targets.data());
        if (row != all_learned) check_values(rows[row], row);
        return row;
      };
      return std::visit(learn_checked, any.view);
    });
  }
  if (stopped == all_learned) return;
  PyErr_Format(PyExc_ArithmeticError, "the weights overflowed at row %lld",
               static_cast<long long>(stopped));
  throw nb::python_error();
}

void check_size(const char *what, size_t size, int64_t expected) {
  if (static_cast<int64_t>(size) != expected)
    refuse("there are ", size, " ", what, ", not ", expected);
}

void check_positive(const char *what, int64_t value) {
  if (value < 1) refuse(what, " must be at least one, not ", value);
}

void sgd(Optional indptr, Optional indices, AnyArray values, Doubles targets,
         const std::string &loss, Vector weights, Vector state, double alpha, double gamma0,
         double decay, double intercept_rate) {
  Kept<SgdState> kept(state);
  const int64_t features = static_cast<int64_t>(weights.size());
  const SgdSettings set{alpha, gamma0, decay, intercept_rate};
  learn_rows({indptr, indices, values}, targets, loss, features,
             [&](auto kind, const auto &rows, const double *y) {
               return learn_sgd<decltype(kind)>(rows, y, set, kept.state, weights.data(), features);
             });
}

void pegasos(Optional indptr, Optional indices, AnyArray values, Doubles targets,
             const std::string &loss, Vector weights, Vector state, double alpha, double radius,
             int64_t batch, bool intercept) {
  Kept<PegasosState> kept(state);
  check_positive("a mini-batch", batch);
  const int64_t features = static_cast<int64_t>(weights.size());
  const PegasosSettings set{alpha, radius, batch, intercept};
  std::vector<double> slopes(static_cast<size_t>(batch));
  learn_rows({indptr, indices, values}, targets, loss, features,
             [&](auto kind, const auto &rows, const double *y) {
               return learn_pegasos<decltype(kind)>(rows, y, set, kept.state, weights.data(),
                                                    features, slopes.data());
             });
}

void sgd_qn(Optional indptr, Optional indices, AnyArray values, Doubles targets,
            const std::string &loss, Vector weights, Vector gains, Vector before, Vector state,
            double alpha, double t0, int64_t skip, bool intercept) {
  Kept<SgdQnState> kept(state);
  check_positive("skip", skip);
  const int64_t features = static_cast<int64_t>(weights.size());
  check_size("gains", gains.size(), features);
  check_size("weights before", before.size(), features);
  const SgdQnSettings set{alpha, t0, skip, intercept};
  learn_rows({indptr, indices, values}, targets, loss, features,
             [&](auto kind, const auto &rows, const double *y) {
               return learn_sgd_qn<decltype(kind)>(rows, y, set, kept.state, weights.data(),
                                                   gains.data(), before.data(), features);
             });
}

void olbfgs(Optional indptr, Optional indices, AnyArray values, Doubles targets,
            const std::string &loss, Vector weights, Matrix moves, Matrix changes, Vector state,
            double alpha, double eta0, double tau, double damping, int64_t batch, bool intercept) {
  Kept<OlbfgsState> kept(state);
  check_positive("a mini-batch", batch);
  if (weights.size() == 0) refuse("the intercept has no place among the weights");
  const int64_t features = static_cast<int64_t>(weights.size()) - 1;
  const int64_t memory = static_cast<int64_t>(moves.shape(0));
  check_positive("the memory", memory);
  check_size("numbers in the moves", moves.size(), memory * (features + 1));
  check_size("numbers in the changes", changes.size(), memory * (features + 1));
  const OlbfgsSettings set{alpha, eta0, tau, damping, batch, memory, intercept};
  std::vector<double> room(2 * weights.size() + static_cast<size_t>(memory));
  learn_rows({indptr, indices, values}, targets, loss, features,
             [&](auto kind, const auto &rows, const double *y) {
               return learn_olbfgs<decltype(kind)>(rows, y, set, kept.state, weights.data(),
                                                   moves.data(), changes.data(), room.data(),
                                                   features);
             });
}

}  // namespace

NB_MODULE(_kernels, m) {
  m.doc() = "The loops of the paper's rivals.";
  m.def("sgd", &sgd, "indptr"_a.none(), "indices"_a.none(), "values"_a, "targets"_a, "loss"_a,
        "weights"_a.noconvert(), "state"_a.noconvert(), nb::kw_only(), "alpha"_a, "gamma0"_a,
        "decay"_a, "intercept_rate"_a, "Steps of SGD, one a row.");
  m.def("pegasos", &pegasos, "indptr"_a.none(), "indices"_a.none(), "values"_a, "targets"_a,
        "loss"_a, "weights"_a.noconvert(), "state"_a.noconvert(), nb::kw_only(), "alpha"_a,
        "radius"_a, "batch"_a, "intercept"_a, "Steps of Pegasos, one a mini-batch.");
  m.def("sgd_qn", &sgd_qn, "indptr"_a.none(), "indices"_a.none(), "values"_a, "targets"_a, "loss"_a,
        "weights"_a.noconvert(), "gains"_a.noconvert(), "before"_a.noconvert(),
        "state"_a.noconvert(), nb::kw_only(), "alpha"_a, "t0"_a, "skip"_a, "intercept"_a,
        "Steps of SGD-QN, one a row.");
  m.def("olbfgs", &olbfgs, "indptr"_a.none(), "indices"_a.none(), "values"_a, "targets"_a, "loss"_a,
        "weights"_a.noconvert(), "moves"_a.noconvert(), "changes"_a.noconvert(),
        "state"_a.noconvert(), nb::kw_only(), "alpha"_a, "eta0"_a, "tau"_a, "damping"_a, "batch"_a,
        "intercept"_a, "Steps of online limited-memory BFGS, one a mini-batch.");
}
