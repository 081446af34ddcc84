// Bindings of the bank.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "learn/random.hpp"
#include "learn/score_counts.hpp"
#include "python/bank_storage.hpp"
#include "python/rows/scored_rows.hpp"
#include "rows/random_order.hpp"
#include "rows/shift.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;
using namespace polyak;

namespace {

using Scores = nb::ndarray<double, nb::ndim<2>, nb::device::cpu, nb::c_contig>;

// A method that is called with the bank locked.
template <class B, class Result, class... Arguments>
auto alone(Result (B::*method)(Arguments...)) {
  return [method](B &self, Arguments... arguments) -> Result {
    const Locked locked(self.lock);
    return (self.*method)(std::forward<Arguments>(arguments)...);
  };
}
template <class B, class Result, class... Arguments>
auto alone(Result (B::*method)(Arguments...) const) {
  return [method](B &self, Arguments... arguments) -> Result {
    const Locked locked(self.lock);
    return (self.*method)(std::forward<Arguments>(arguments)...);
  };
}

template <class B>
void construct(B *self, const std::string &loss, int64_t models, std::optional<int64_t> limit,
               double power, double average_power, double precondition,
               std::optional<double> adagrad, bool intercept, bool implicit, bool capped,
               bool progressive, int64_t group, bool softmax, bool proximal, double l1_ratio,
               bool positive, uint64_t seed, std::vector<int64_t> output,
               std::vector<int64_t> replica, std::vector<double> parameter) {
  const Settings settings{power,
                          average_power,
                          precondition,
                          adagrad.has_value(),
                          adagrad.value_or(0.0),
                          intercept,
                          implicit,
                          capped,
                          progressive,
                          group,
                          softmax,
                          proximal,
                          l1_ratio,
                          positive,
                          seed};
  new (self) B(loss, models, limit.value_or(std::numeric_limits<int64_t>::max()), settings,
               std::move(output), std::move(replica), std::move(parameter));
}

template <class B>
void bind_learn(nb::class_<B> &bank) {
  bank.def(
          "learn",
          [](B &self, std::optional<AnyArray> indptr, std::optional<AnyArray> indices,
             AnyArray values, std::optional<Doubles> targets, std::optional<Integers> classes,
             std::optional<Doubles> weights, std::optional<Integers> order,
             std::optional<Scores> scores, std::optional<Doubles> limits, const Integers &stops) {
            const Locked locked(self.lock);
            return self.learn({indptr, indices, values}, nullptr, targets, classes, weights, order,
                              scores, limits, stops);
          },
          "indptr"_a.none(), "indices"_a.none(), "values"_a, "targets"_a.none(), "classes"_a.none(),
          "weights"_a.none(), "order"_a.none(), "scores"_a.noconvert().none(), "limits"_a.none(),
          "stops"_a)
      .def(
          "learn",
          [](B &self, const CheckedRows &rows, std::optional<Doubles> targets,
             std::optional<Integers> classes, std::optional<Doubles> weights,
             std::optional<Integers> order, std::optional<Scores> scores,
             std::optional<Doubles> limits, const Integers &stops) {
            const Locked locked(self.lock);
            return self.learn(rows.rows, &rows, targets, classes, weights, order, scores, limits,
                              stops);
          },
          "rows"_a, "targets"_a.none(), "classes"_a.none(), "weights"_a.none(), "order"_a.none(),
          "scores"_a.noconvert().none(), "limits"_a.none(), "stops"_a);
}

template <class W>
void bind_owned(nb::module_ &m, const char *name) {
  using B = BankStorage<W>;
  nb::class_<B> bank(m, name);
  bank.def("__init__", construct<B>, nb::kw_only(), "loss"_a, "models"_a, "limit"_a.none(),
           "power"_a, "average_power"_a, "precondition"_a, "adagrad"_a.none(), "intercept"_a,
           "implicit"_a, "capped"_a, "progressive"_a, "group"_a, "softmax"_a, "proximal"_a,
           "l1_ratio"_a, "positive"_a, "seed"_a, "output"_a, "replica"_a, "parameter"_a);
  bind_learn(bank);
  bank.def(
          "check",
          [](B &self, std::optional<AnyArray> indptr, std::optional<AnyArray> indices,
             AnyArray values, std::optional<Doubles> targets, std::optional<Doubles> weights) {
            const Locked locked(self.lock);
            return self.check({indptr, indices, values}, targets, weights);
          },
          "indptr"_a.none(), "indices"_a.none(), "values"_a, "targets"_a.none(), "weights"_a.none())
      .def("check", alone(&B::check_again), "rows"_a, "targets"_a.none(), "weights"_a.none())
      .def(
          "warm_up",
          [](B &self, std::optional<AnyArray> indptr, std::optional<AnyArray> indices,
             AnyArray values) {
            const Locked locked(self.lock);
            self.warm_up({indptr, indices, values});
          },
          "indptr"_a.none(), "indices"_a.none(), "values"_a)
      .def("grow", alone(&B::grow))
      .def("weights", alone(&B::weights), "last"_a, "begin"_a = 0, "end"_a = nb::none())
      .def("intercepts", alone(&B::intercepts), "last"_a)
      .def("state", alone(&B::state), "models"_a = nb::none())
      .def("set_state", alone(&B::set_state), "lines"_a, "squares"_a, "models"_a, "clock"_a,
           "looked"_a)
      .def("reset_progressive_sums", alone(&B::reset_progressive_sums))
      .def("models", alone(&B::models))
      .def("set_models", alone(&B::set_models), "models"_a)
      .def_prop_ro("clock", alone(&B::clock))
      .def_prop_ro("features", alone(&B::features));
}

template <class W>
auto scores_of(const AnyRows &rows, bool trusted, const Matrix<W> &matrix) {
  auto out = new_array<W>({static_cast<size_t>(rows.count()), matrix.shape(1)});
  nb::gil_scoped_release release;
  score_into(rows, trusted, matrix, out.data());
  return out;
}

template <class W>
auto score_rows(std::optional<AnyArray> indptr, std::optional<AnyArray> indices, AnyArray values,
                const Matrix<W> &matrix) {
  return scores_of(AnyRows{indptr, indices, values}, false, matrix);
}

template <class W>
auto score_checked_rows(const CheckedRows &rows, const Matrix<W> &matrix) {
  return scores_of(rows.rows, !rows.borrowed, matrix);
}

auto squared_norms(std::optional<AnyArray> indptr, std::optional<AnyArray> indices,
                   AnyArray values) {
  const AnyRows any{indptr, indices, values};
  auto out = new_array<double>({static_cast<size_t>(any.count())});
  any.visit([&](const auto &rows) {
    checked_features(rows, std::numeric_limits<int64_t>::max());
    for (int64_t i = 0; i < rows.count; ++i) {
      double sum = 0.0;
      const auto row = rows[i];
      for (int64_t e = 0; e < row.size; ++e) sum += double(row.value[e]) * double(row.value[e]);
      out.data()[i] = sum;
    }
  });
  return out;
}

// Returns sparse rows minus the means of some features as three arrays; NumPy shifts dense rows.
nb::tuple shift_rows(
    AnyArray indptr, AnyArray indices, AnyArray values,
    nb::ndarray<const int64_t, nb::ndim<1>, nb::device::cpu, nb::c_contig> features,
    Doubles means) {
  check_length("means", means.size(), static_cast<int64_t>(features.size()));
  const AnyRows any{indptr, indices, values};
  const Shift shift{features.data(), means.data(), static_cast<int64_t>(features.size())};
  auto ends = new_array<int64_t>({static_cast<size_t>(any.count()) + 1});
  return any.visit([&](const auto &rows) {
    using Rows = std::decay_t<decltype(rows)>;
    if constexpr (Rows::Row::dense) {
      refuse("dense rows are not shifted here");
      return nb::tuple();
    } else {
      using Value = typename Rows::Number;
      using Index = std::decay_t<decltype(*rows.indices)>;
      checked_features(rows, std::numeric_limits<int64_t>::max());
      std::vector<int64_t> order;
      int64_t stored = ends.data()[0] = 0;
      for (int64_t i = 0; i < rows.count; ++i) {
        shift.each(rows[i], order, [&](int64_t, double) { ++stored; });
        ends.data()[i + 1] = stored;
      }
      auto shifted = new_array<Index>({static_cast<size_t>(stored)});
      auto distances = new_array<Value>({static_cast<size_t>(stored)});
      Index *feature_at = shifted.data();
      Value *value_at = distances.data();
      for (int64_t i = 0; i < rows.count; ++i)
        shift.each(rows[i], order, [&](int64_t feature, double value) {
          *feature_at++ = static_cast<Index>(feature);
          *value_at++ = static_cast<Value>(value);
        });
      return nb::make_tuple(ends, shifted, distances);
    }
  });
}

template <class T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu, nb::c_contig>;

void count_rows(Table<double> scores, Table<bool> positive, std::optional<Doubles> weights,
                nb::ndarray<double, nb::ndim<3>, nb::device::cpu, nb::c_contig> counts) {
  const int64_t rows = static_cast<int64_t>(scores.shape(0));
  if (scores.shape(0) != positive.shape(0) || scores.shape(1) != positive.shape(1) ||
      scores.shape(1) != counts.shape(0) || counts.shape(1) != 2 || counts.shape(2) < 1)
    refuse("scores, signs and counts do not fit each other");
  if (weights) check_length("weights", weights->size(), rows);
  count_scores(scores.data(), positive.data(), weights ? weights->data() : nullptr, rows,
               static_cast<int64_t>(scores.shape(1)), static_cast<int64_t>(counts.shape(2)),
               counts.data());
}

void add_losses_of_softmax(Table<double> scores, Table<bool> positive,
                           std::optional<Doubles> weights, double first,
                           nb::ndarray<double, nb::ndim<3>, nb::device::cpu, nb::c_contig> losses) {
  const int64_t rows = static_cast<int64_t>(scores.shape(0)), groups = losses.shape(0);
  if (positive.shape(0) != scores.shape(0) || positive.shape(1) != scores.shape(1) || groups < 1 ||
      losses.shape(1) != 2 || scores.shape(1) % losses.shape(0) != 0)
    refuse("scores, signs and losses do not fit each other");
  if (weights) check_length("weights", weights->size(), rows);
  const int64_t classes = static_cast<int64_t>(scores.shape(1)) / groups;
  std::vector<double> small(classes);
  add_softmax_losses(scores.data(), positive.data(), weights ? weights->data() : nullptr, rows,
                     groups, classes, first, static_cast<int64_t>(losses.shape(2)), losses.data(),
                     small.data());
}

// Binds a loss's functions, for tests. The last argument is its parameter, if it has one. Plain
// functions have one type for all losses, so that nanobind's code for it is compiled once.
template <class Loss>
void bind_loss(nb::module_ sub) {
  using OfTwo = double (*)(double, double, double);
  using OfThree = double (*)(double, double, double, double);
  using portable::loss_with;
  const OfTwo curvature = [](double s, double y, double p) {
    return loss_with<Loss>(&p).curvature(s, y);
  };
  const OfTwo value = [](double s, double y, double p) { return loss_with<Loss>(&p).value(s, y); };
  const OfTwo slope = [](double s, double y, double p) { return loss_with<Loss>(&p).slope(s, y); };
  const OfThree implicit_slope = [](double s, double y, double q, double p) {
    return loss_with<Loss>(&p).implicit_slope(s, y, q);
  };
  sub.attr("classifies") = Loss::classifies;
  sub.attr("log_link") = Loss::log_link;
  sub.def("accepts", &Loss::accepts, "target"_a);
  sub.def("curvature", curvature, "score"_a, "target"_a, "parameter"_a = 0.0);
  sub.def("value", value, "score"_a, "target"_a, "parameter"_a = 0.0);
  sub.def("slope", slope, "score"_a, "target"_a, "parameter"_a = 0.0);
  sub.def("implicit_slope", implicit_slope, "score"_a, "target"_a, "q"_a, "parameter"_a = 0.0);
}

// The builds of the kernels, of which the first is used.
void bind_builds(nb::module_ &m) {
  m.attr("kernels") = kernels->name;
  nb::list names;
  for (const KernelTable *table : kernel_tables()) names.append(table->name);
  m.attr("kernel_builds") = nb::tuple(names);
  m.def(
      "use_kernels",
      [](const std::string &name) {
        for (const KernelTable *table : kernel_tables())
          if (table->name == name) return void(kernels = table);
        refuse("there are no kernels called '", name, "'");
      },
      "name"_a, "Choose the build of the kernels; for tests.");
}

void bind_scoring(nb::module_ &m) {
  const char *about =
      "Return rows times a matrix of features x columns; features beyond it are ignored.";
  m.def("score_rows", &score_rows<float>, "indptr"_a.none(), "indices"_a.none(), "values"_a,
        "matrix"_a, about);
  m.def("score_rows", &score_rows<double>, "indptr"_a.none(), "indices"_a.none(), "values"_a,
        "matrix"_a, about);
  m.def("score_rows", &score_checked_rows<float>, "rows"_a, "matrix"_a, about);
  m.def("score_rows", &score_checked_rows<double>, "rows"_a, "matrix"_a, about);
  m.def("squared_norms", &squared_norms, "indptr"_a.none(), "indices"_a.none(), "values"_a,
        "Return the squared norm of every row.");
  m.def("shift_rows", &shift_rows, "indptr"_a.none(), "indices"_a.none(), "values"_a, "features"_a,
        "means"_a, "Return sparse rows with some features, in ascending order, minus their means.");
}

}  // namespace

void bind_bank(nb::module_ &m) {
  bind_builds(m);
  nb::exception<NoRoom>(m, "NoRoom", PyExc_ValueError);
  m.def("free_memory", &free_memory, "Return the number of bytes of free memory.");
  m.attr("model_fields") = nb::cast(field_names);
  bind_checked_rows(m);
  bind_owned<float>(m, "BankF32");
  bind_owned<double>(m, "BankF64");
  bind_scoring(m);
  m.def(
      "random_order",
      [](size_t count, uint64_t seed) {
        auto order = new_array<int64_t>({count});
        nb::gil_scoped_release release;
        random_order(static_cast<int64_t>(count), seed, order.data());
        return order;
      },
      "count"_a, "seed"_a, "Return the numbers from 0 to count - 1 in random order.");
  m.def("count_scores", &count_rows, "scores"_a, "positive"_a, "weights"_a.none(),
        "counts"_a.noconvert(), "Add the rows' weights to the counts of their scores' bins.");
  m.def(
      "add_in_order",
      [](Table<double> numbers, nb::ndarray<double, nb::ndim<1>, nb::device::cpu> totals) {
        check_length("totals", totals.size(), static_cast<int64_t>(numbers.shape(0)));
        add_in_order(numbers.data(), static_cast<int64_t>(numbers.shape(0)),
                     static_cast<int64_t>(numbers.shape(1)), totals.data());
      },
      "numbers"_a, "totals"_a.noconvert(), "Add each row's numbers to its total, one by one.");
  m.def("add_softmax_losses", &add_losses_of_softmax, "scores"_a, "positive"_a, "weights"_a.none(),
        "first"_a, "losses"_a.noconvert(),
        "Add the softmax losses of scores at several scales, each twice the previous one.");
  m.def("replica_weight", &portable::replica_weight, "seed"_a, "row"_a, "replica"_a);
  portable::each_loss(
      [&](const char *name, auto kind) { bind_loss<decltype(kind)>(m.def_submodule(name)); });
}
