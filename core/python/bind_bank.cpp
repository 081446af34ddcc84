// Bindings of the bank.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <utility>

#include "kernels/kernel_choice.hpp"
#include "learn/bank.hpp"
#include "learn/losses.hpp"
#include "learn/random.hpp"
#include "learn/score_counts.hpp"
#include "memory/free_memory.hpp"
#include "python/buffers.hpp"
#include "python/one_at_a_time.hpp"
#include "python/rows.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;
using namespace polyak;

namespace {

// A bank that one thread uses at a time, since learning releases the interpreter.
struct LockedBank : Bank {
  using Bank::Bank;
  OneAtATime lock;
};

// Returns a function that is called with the bank locked.
template <class Result, class... Arguments>
auto alone(Result (*function)(Bank &, Arguments...)) {
  return [function](LockedBank &self, Arguments... arguments) -> Result {
    const Locked locked(self.lock);
    return function(self, std::forward<Arguments>(arguments)...);
  };
}
template <class Result, class... Arguments>
auto alone(Result (Bank::*method)(Arguments...)) {
  return [method](LockedBank &self, Arguments... arguments) -> Result {
    const Locked locked(self.lock);
    return (self.*method)(std::forward<Arguments>(arguments)...);
  };
}

void construct(LockedBank *self, bool float64, const std::string &loss,
               std::optional<int64_t> limit, double power, double average_power,
               double precondition, std::optional<double> adagrad, bool intercept, bool implicit,
               bool capped, bool progressive, int64_t group, bool softmax, bool proximal,
               double l1_ratio, bool positive, uint64_t seed, std::vector<int64_t> output,
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
  new (self) LockedBank(float64, loss, limit.value_or(std::numeric_limits<int64_t>::max()),
                        settings, {std::move(output), std::move(replica), std::move(parameter)});
}

void check_length(const char *what, size_t length, int64_t rows) {
  if (static_cast<int64_t>(length) != rows)
    refuse("there are ", rows, " rows but ", length, " ", what);
}

using OptionalDoubles = std::optional<Doubles>;
using OptionalIntegers = std::optional<Integers>;

// Returns the task of learning all rows in storage order.
Task task_of(const Bank &bank, int64_t rows, const OptionalDoubles &targets,
             const OptionalIntegers &classes, const OptionalDoubles &weights) {
  Task task{};
  task.count = rows;
  task.outputs = 1;
  if (targets) {
    check_length("targets", targets->shape(0), rows);
    task.targets = targets->data();
    if (targets->ndim() > 2) refuse("targets have one or two dimensions, not ", targets->ndim());
    if (targets->ndim() > 1) task.outputs = static_cast<int64_t>(targets->shape(1));
  } else if (classes) {
    check_length("targets", classes->shape(0), rows);
    task.classes = classes->data();
  }
  for (int64_t o : bank.outputs())
    if (o < 0 || (task.targets && o >= task.outputs))
      refuse("a model wants output ", o, " of ", task.outputs);
  if (weights) {
    check_length("weights", weights->shape(0), rows);
    task.weights = weights->data();
    if (weights->ndim() > 2) refuse("weights have one or two dimensions, not ", weights->ndim());
    task.weight_step = weights->ndim() > 1;
    task.weight_stride = task.weight_step ? bank.models() : 1;
    if (task.weight_step && static_cast<int64_t>(weights->shape(1)) != bank.models())
      refuse("there are ", bank.models(), " models but ", weights->shape(1), " columns of weights");
  }
  return task;
}

using Scores = nb::ndarray<double, nb::ndim<2>, nb::device::cpu, nb::c_contig>;

// Returns every field of every model at each stop, i.e. after that many rows.
NewDoubles learn(Bank &bank, const Rows &rows, const OptionalDoubles &targets,
                 const OptionalIntegers &classes, const OptionalDoubles &weights,
                 const OptionalIntegers &order, const std::optional<Scores> &scores,
                 const OptionalDoubles &limits, const Integers &stops,
                 const OptionalDoubles &offsets) {
  const int64_t count = rows.count(), models = bank.models();
  if (count <= 0) refuse("there are no rows to learn from");
  if (!targets && !classes) refuse("there are no targets");
  Task task = task_of(bank, count, targets, classes, weights);
  if (order) {
    task.count = static_cast<int64_t>(order->shape(0));
    task.order = order->data();
  }
  if (scores) {
    check_length("rows of scores", scores->shape(0), task.count);
    if (static_cast<int64_t>(scores->shape(1)) != models) refuse("scores need a column a model");
    task.scores = scores->data();
  }
  if (limits) {
    check_length("limits of rows", limits->shape(0), task.count);
    if (limits->ndim() != 2 || limits->shape(1) != 2) refuse("limits need a cap and a share");
    task.limits = reinterpret_cast<const RowLimits *>(limits->data());
  }
  if (offsets) {
    check_length("offsets", offsets->size(), count);
    task.offsets = offsets->data();
  }
  auto notes = new_array<double>({stops.size(), field_names.size(), static_cast<size_t>(models)});
  nb::gil_scoped_release release;
  bank.learn(rows.view, rows.known, task,
             {stops.data(), stops.data() + stops.size(), notes.data()});
  return notes;
}

// Returns a copy of sparse rows that the caller cannot write to.
Rows copied(const Rows &rows) {
  const auto copy = [](const AnyArray &array) {
    auto data = std::make_unique<char[]>(array.nbytes());
    std::copy_n(static_cast<const char *>(array.data()), array.nbytes(), data.get());
    nb::capsule owner(data.get(), [](void *p) noexcept { delete[] static_cast<char *>(p); });
    const size_t length = array.shape(0);
    return AnyArray(data.release(), 1, &length, owner, nullptr, array.dtype());
  };
  return {copy(*rows.indptr), copy(*rows.indices), copy(rows.values)};
}

// Raises the errors that `learn` would raise, without learning, and grows the bank to all features.
// Returns the rows as validated rows.
CheckedRows check(Bank &bank, Rows rows, const OptionalDoubles &targets,
                  const OptionalDoubles &weights) {
  const Task task = task_of(bank, rows.count(), targets, std::nullopt, weights);
  bool ascending = true;
  {
    nb::gil_scoped_release release;
    bank.check_task(task, rows.count());
    if (rows.known.features < 0) {
      check_offsets(rows.view);
      rows.known = {scan(rows.view, bank.limit()), true};
      ascending = rows.known.features != scan_failed;
    }
  }
  if (!ascending) {  // learning could not tell them from rows that were changed meanwhile
    if (rows.indptr) rows = copied(rows);
    nb::gil_scoped_release release;
    rows.known = {checked_features(rows.view, bank.limit()), false};
  }
  bank.grow(rows.known.features);
  return {rows, rows.known};
}

void warm_up(Bank &bank, const Rows &rows) { bank.warm_up(rows.view); }

nb::object weights(Bank &bank, bool last, int64_t begin, std::optional<int64_t> before) {
  const int64_t end = before.value_or(bank.models());
  WeightMatrix found = bank.weights(last, begin, end);
  const auto features = static_cast<size_t>(bank.state().features);
  const auto numpy = [&](auto &numbers) {
    return to_numpy(std::move(numbers), {features, static_cast<size_t>(end - begin)});
  };
  return std::visit(numpy, found);
}

nb::object intercepts(Bank &bank, bool last) { return to_numpy(bank.intercepts(last)); }

NewDoubles fields(Bank &bank) {
  return new_copy(bank.state().fields, {field_names.size(), static_cast<size_t>(bank.models())});
}

void set_fields(Bank &bank, const Doubles &models) {
  bank.set_fields({models.data(), models.data() + models.size()});
}

// Returns a copy of the state by name, of all models or of some.
nb::dict state(Bank &bank, const OptionalIntegers &some) {
  const Bank::State &now = bank.state();
  nb::dict out;
  out["squares"] = new_copy(now.squares, {now.squares.size()});
  out["clock"] = now.clock;
  out["looked"] = now.looked;
  const int64_t K = bank.models();
  const size_t features = static_cast<size_t>(now.features), width = static_cast<size_t>(2 * K);
  std::vector<int64_t> columns;
  if (some) columns.assign(some->data(), some->data() + some->size());
  for (const int64_t k : columns)
    if (k < 0 || k >= K) refuse("there is no model ", k, " of ", K);
  out["models"] =
      some ? columns_of(now.fields.data(), field_names.size(), size_t(K), columns) : fields(bank);
  for (size_t j = 0; some && j < some->size(); ++j) columns.push_back(K + columns[j]);
  std::visit(
      [&](const auto &store) {
        out["lines"] = some ? columns_of(store.lines.data(), features, width, columns)
                            : new_copy(store.lines, {features, width});
      },
      now.store);
  return out;
}

void set_state(Bank &bank, const AnyMatrix &lines, const Doubles &squares, const Doubles &models,
               int64_t clock, int64_t looked) {
  Bank::State next;
  const auto copy_lines = [&](auto number) {
    using W = decltype(number);
    const W *data = static_cast<const W *>(lines.data());
    next.store = Bank::Store<W>{{data, data + lines.size()}, {}, {}};
  };
  if (lines.dtype() == nb::dtype<float>())
    copy_lines(float{});
  else if (lines.dtype() == nb::dtype<double>())
    copy_lines(double{});
  else
    throw nb::type_error("the weights must be float32 or float64");
  next.squares.assign(squares.data(), squares.data() + squares.size());
  next.fields.assign(models.data(), models.data() + models.size());
  next.clock = clock;
  next.looked = looked;
  next.features = static_cast<int64_t>(lines.shape(0));
  bank.set_state(std::move(next));
}

int64_t clock_of(Bank &bank) { return bank.state().clock; }
int64_t features_of(Bank &bank) { return bank.state().features; }

void bind_class(nb::module_ &m) {
  nb::class_<LockedBank>(m, "Bank", "Averaged models that learn from the same rows.")
      .def("__init__", construct, nb::kw_only(), "float64"_a, "loss"_a, "limit"_a.none(), "power"_a,
           "average_power"_a, "precondition"_a, "adagrad"_a.none(), "intercept"_a, "implicit"_a,
           "capped"_a, "progressive"_a, "group"_a, "softmax"_a, "proximal"_a, "l1_ratio"_a,
           "positive"_a, "seed"_a, "output"_a, "replica"_a, "parameter"_a)
      .def("learn", alone(learn), "rows"_a, "targets"_a.none(), "classes"_a.none(),
           "weights"_a.none(), "order"_a.none(), "scores"_a.noconvert().none(), "limits"_a.none(),
           "stops"_a, "offsets"_a = nb::none())
      .def("check", alone(check), "rows"_a, "targets"_a.none(), "weights"_a.none())
      .def("warm_up", alone(warm_up), "rows"_a)
      .def("grow", alone(&Bank::grow))
      .def("weights", alone(weights), "last"_a, "begin"_a = 0, "end"_a = nb::none())
      .def("intercepts", alone(intercepts), "last"_a)
      .def("state", alone(state), "models"_a = nb::none())
      .def("set_state", alone(set_state), "lines"_a, "squares"_a, "models"_a, "clock"_a, "looked"_a)
      .def("reset_progressive_sums", alone(&Bank::reset_progressive_sums))
      .def("models", alone(fields))
      .def("set_models", alone(set_fields), "models"_a)
      .def_prop_ro("clock", alone(clock_of))
      .def_prop_ro("features", alone(features_of));
}

using Signs = nb::ndarray<const bool, nb::ndim<2>, nb::device::cpu, nb::c_contig>;

void count_rows(Matrix scores, Signs positive, std::optional<Doubles> weights,
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

void add_losses_of_softmax(Matrix scores, Signs positive, std::optional<Doubles> weights,
                           double first,
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

}  // namespace

void bind_bank(nb::module_ &m) {
  bind_builds(m);
  nb::exception<NoRoom>(m, "NoRoom", PyExc_ValueError);
  m.def("free_memory", &free_memory, "Return the number of bytes of free memory.");
  m.attr("model_fields") = nb::cast(field_names);
  bind_class(m);
  m.def("count_scores", &count_rows, "scores"_a, "positive"_a, "weights"_a.none(),
        "counts"_a.noconvert(), "Add the rows' weights to the counts of their scores' bins.");
  m.def(
      "add_in_order",
      [](Matrix numbers, nb::ndarray<double, nb::ndim<1>, nb::device::cpu> totals) {
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
