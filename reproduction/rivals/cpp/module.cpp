// The rivals as Python sees them: functions that go on learning in arrays that Python owns. A
// rival's whole memory is then arrays, which can be copied and pickled with nothing to forget.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <vector>

#include "paper/rival_kernels.hpp"
#include "python/bank_storage.hpp"
#include "python/rows/any_rows.hpp"
#include "rows/check.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;
using namespace polyak;

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

Targets targets_of(const std::string &loss) {
  Targets wanted{};
  portable::each_loss_of_the_paper([&](const char *name, auto kind) {
    if (loss == name) wanted = {&decltype(kind)::accepts, decltype(kind)::wants};
  });
  if (!wanted.accepts) refuse("there is no loss called '", loss, "'");
  return wanted;
}

// Sparse rows are looked at beforehand, since a wild index would write anywhere; dense rows only
// if a score was not a number, since to read them takes as long as to learn from them.
template <class V, class I>
void check_width(const SparseRows<V, I> &rows, int64_t features) {
  checked_features(rows, features);
}
template <class V>
void check_width(const DenseRows<V> &rows, int64_t features) {
  if (rows.features > features)
    refuse("the rows have ", rows.features, " features, but there are only ", features);
}

// Checks rows and targets, then calls learn(rows, targets), which answers where it had to stop.
template <class Learn>
void learn_rows(const AnyRows &any, const Doubles &targets, const std::string &loss,
                int64_t features, Learn &&learn) {
  check_length("targets", targets.shape(0), any.count());
  Task task{};
  task.targets = targets.data();
  task.outputs = 1;
  const Targets wanted = targets_of(loss);
  int64_t stopped;
  {
    nb::gil_scoped_release release;
    check_targets(task, any.count(), wanted);
    stopped = any.visit([&](const auto &rows) {
      check_width(rows, features);
      const int64_t row = learn(rows, targets.data());
      if (row != all_learned) check_values(rows[row], row);
      return row;
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
  learn_rows(
      {indptr, indices, values}, targets, loss, features, [&](const auto &rows, const double *y) {
        return POLYAK_CALL(sgd(loss.c_str(), rows, y, set, kept.state, weights.data(), features));
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
             [&](const auto &rows, const double *y) {
               return POLYAK_CALL(pegasos(loss.c_str(), rows, y, set, kept.state, weights.data(),
                                          features, slopes.data()));
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
             [&](const auto &rows, const double *y) {
               return POLYAK_CALL(sgd_qn(loss.c_str(), rows, y, set, kept.state, weights.data(),
                                         gains.data(), before.data(), features));
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
             [&](const auto &rows, const double *y) {
               return POLYAK_CALL(olbfgs(loss.c_str(), rows, y, set, kept.state, weights.data(),
                                         moves.data(), changes.data(), room.data(), features));
             });
}

}  // namespace

void bind_rivals(nb::module_ &parent) {
  nb::module_ m = parent.def_submodule("rivals");
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
