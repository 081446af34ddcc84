// A bank that owns its memory: checks what comes in, then calls the kernels.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/kernel_choice.hpp"
#include "learn/bank_args.hpp"
#include "learn/kernels.hpp"
#include "learn/losses.hpp"
#include "learn/precondition.hpp"
#include "learn/read_out.hpp"
#include "learn/slices.hpp"
#include "learn/task_checks.hpp"
#include "memory/huge_pages.hpp"
#include "memory/room.hpp"
#include "python/one_at_a_time.hpp"
#include "python/rows/any_rows.hpp"
#include "python/rows/arrays.hpp"
#include "python/rows/checked_rows.hpp"
#include "rows/check.hpp"
#include "rows/extent.hpp"

namespace polyak {

#define POLYAK_FIELD(name) #name,
inline const std::vector<std::string> field_names{POLYAK_MODEL_FIELDS(POLYAK_FIELD)};
#undef POLYAK_FIELD
inline const size_t field_count = field_names.size();

template <class W>
class BankStorage {
 public:
  BankStorage(std::string loss, int64_t models, int64_t limit, const Settings &settings,
              std::vector<int64_t> output, std::vector<int64_t> replica,
              std::vector<double> parameter)
      : loss_(std::move(loss)),
        limit_(limit),
        output_(std::move(output)),
        replica_(std::move(replica)),
        parameter_(std::move(parameter)) {
    portable::each_loss([&](const char *name, auto kind) {
      if (loss_ == name) wanted_ = {&decltype(kind)::accepts, decltype(kind)::wants};
    });
    if (!wanted_.accepts) refuse("there is no loss called '", loss_, "'");
    if (models < 1) refuse("a bank needs at least one model");
    check_length("parameters of the loss", parameter_.size(), models);
    if (settings.softmax && (settings.group < 2 || models % settings.group != 0))
      refuse("classes that are learned together come in groups of the same size");
    if (settings.proximal && (settings.softmax || settings.precondition == 0.0))
      refuse("proximal steps are of one model each, and by the size of features");
    view_.settings = settings;
    view_.models.count = models;
    sums_.resize((settings.proximal ? 9 : 4) * models);
    row_.resize(4 * models + (settings.softmax ? 4 * settings.group : 0));
    fields_.resize(field_count * models);
    double *next = fields_.data();
#define POLYAK_FIELD(name) view_.models.name = next, next += models;
    POLYAK_MODEL_FIELDS(POLYAK_FIELD)
#undef POLYAK_FIELD
    view_.models.output = output_.data();
    view_.models.replica = replica_.data();
    view_.models.parameter = parameter_.data();
    for (int64_t r : replica_) view_.replicas = view_.replicas || r >= 0;
  }

  OneAtATime door;  // for whoever calls from Python: learning lets other threads run

  // Learns the rows and returns every field of every model at each stop: after that many rows. The
  // progressive sums are then set to zero, so that those of the next stop are of the rows between.
  // Rows that were checked are not looked through again.
  NewDoubles learn(
      const AnyRows &any, const CheckedRows *checked, std::optional<Doubles> targets,
      std::optional<Integers> classes, std::optional<Doubles> weights,
      std::optional<Integers> order,
      std::optional<nb::ndarray<double, nb::ndim<2>, nb::device::cpu, nb::c_contig>> scores,
      std::optional<Doubles> limits, const Integers &stops) {
    const int64_t rows = any.count(), models = view_.models.count;
    if (rows <= 0) refuse("there are no rows to learn from");
    if (!targets && !classes) refuse("there are no targets");
    Task task = task_of(rows, targets, classes, weights);
    task.count = order ? static_cast<int64_t>(order->shape(0)) : rows;
    task.order = order ? order->data() : nullptr;
    if (scores) {
      check_length("rows of room for scores", scores->shape(0), task.count);
      if (static_cast<int64_t>(scores->shape(1)) != models) refuse("scores need a column a model");
      task.scores = scores->data();
    }
    if (limits) {
      check_length("limits of rows", limits->shape(0), task.count);
      if (limits->ndim() != 2 || limits->shape(1) != 2) refuse("limits need a cap and a share");
      task.limits = reinterpret_cast<const RowLimits *>(limits->data());
    }
    check_stops(stops.data(), stops.size(), task.count);
    NewDoubles notes = new_array<double>({stops.size(), field_count, static_cast<size_t>(models)});
    const Stops at{stops.data(), stops.data() + stops.size(), notes.data()};

    int64_t stopped;
    {
      nb::gil_scoped_release release;
      check_order(task, rows);
      check_targets(task, rows, wanted_);
      check_weights(task, rows, models);
      stopped = any.visit([&](const auto &rows) {
        if (checked) return learn_believed(rows, *checked, task, at);
        check_offsets(rows);
        return learn_at_once(rows, task, at) ? all_learned : learn_checked(rows, task, at);
      });
    }
    if (stopped != all_learned) {
      PyErr_Format(PyExc_ArithmeticError, "the weights overflowed at row %lld",
                   static_cast<long long>(stopped));
      throw nb::python_error();
    }
    return notes;
  }

  // Where to stop, and where to note the fields.
  struct Stops {
    const int64_t *begin, *end;
    double *notes;
  };

  // Learns from one stop to the next. Answers like the kernel: all_learned, or the row it ended at.
  template <class Rows>
  int64_t learn_between_stops(const Rows &rows, const Task &task, const Stops &stops) {
    BankArgs<W> &view = prepare(rows);
    double *notes = stops.notes;
    int64_t done = 0;
    const auto learn_until = [&](int64_t end) {
      if (end == done) return all_learned;
      const int64_t first = task.order ? 0 : done;
      const Task some_of_it = slice_task(task, done, end, view.models.count);
      const auto some = rows_from(rows, first);
      const int64_t stopped = POLYAK_CALL(learn(loss_.c_str(), view, some, some_of_it));
      done = end;
      return stopped == all_learned ? all_learned : first + stopped;
    };
    for (const int64_t *stop = stops.begin; stop != stops.end; ++stop) {
      const int64_t stopped = learn_until(*stop);
      if (stopped != all_learned) return stopped;
      notes = std::copy(fields_.begin(), fields_.end(), notes);
      reset_progressive_sums();
    }
    return learn_until(task.count);
  }

  // Reads the rows only once: learns from them as they come and, should one turn out not to be in
  // order, puts everything back. False if so. Only where a copy of the state is cheap and all rows
  // are learned: an order may leave some out.
  template <class Rows>
  bool learn_at_once(const Rows &rows, Task task, const Stops &stops) {
    if (task.order || lines_.size() * sizeof(W) > bytes_of(rows) / 4) return false;
    const auto lines = lines_;
    const auto squares = squares_;
    const auto fields = fields_;
    const int64_t clock = view_.clock;
    task.unchecked = true;
    if (learn_between_stops(rows, task, stops) == all_learned) return true;
    std::copy(lines.begin(), lines.end(), lines_.begin());
    std::copy(squares.begin(), squares.end(), squares_.begin());
    std::copy(fields.begin(), fields.end(), fields_.begin());
    view_.clock = clock;
    return false;
  }

  // Looks at all rows before it learns from the first.
  template <class Rows>
  int64_t learn_checked(const Rows &rows, const Task &task, const Stops &stops) {
    grow(checked_features(rows, limit_));
    return learn_between_stops(rows, task, stops);
  }

  // Learns rows that were checked before. Those in borrowed arrays may have been changed since:
  // then it stops at the row, and says what is wrong with it.
  template <class Rows>
  int64_t learn_believed(const Rows &rows, const CheckedRows &checked, Task task,
                         const Stops &stops) {
    grow(checked.features);
    if (checked.borrowed) check_offsets(rows);
    task.unchecked = checked.borrowed;
    const int64_t stopped = learn_between_stops(rows, task, stops);
    if (stopped != all_learned && POLYAK_CALL(scan(rows, checked.features)) == looks_wrong) {
      check_rows(rows, checked.features);
      refuse("the rows were changed after they were checked");
    }
    return stopped;
  }

  // Refuses what `learn` would refuse, without learning, and makes room for all features. Gives
  // rows that need not be looked at again.
  CheckedRows check(AnyRows any, std::optional<Doubles> targets, std::optional<Doubles> weights) {
    check_task(any.count(), targets, weights);
    int64_t features;
    {
      nb::gil_scoped_release release;
      features = any.visit([&](const auto &rows) {
        check_offsets(rows);
        return POLYAK_CALL(scan(rows, limit_));
      });
    }
    const bool rise = features != looks_wrong;
    if (!rise) {  // learning could not tell them from rows that were changed meanwhile
      if (any.indptr) any = copied(any);
      nb::gil_scoped_release release;
      features = any.visit([&](const auto &rows) { return checked_features(rows, limit_); });
    }
    grow(features);
    return {std::move(any), features, rise};
  }

  // The same of rows that were checked already, as by another bank.
  CheckedRows check_again(const CheckedRows &rows, std::optional<Doubles> targets,
                          std::optional<Doubles> weights) {
    check_task(rows.rows.count(), targets, weights);
    grow(rows.features);
    return rows;
  }

  // Counts rows that are not learned into sums of squares, unless those are of gradients.
  void warm_up(const AnyRows &any) {
    if (view_.settings.precondition == 0.0 || view_.settings.adagrad || view_.settings.proximal)
      return;
    any.visit([&](const auto &rows) {
      grow(checked_features(rows, limit_));
      portable::add_squares(rows, squares_.data());
      view_.looked += rows.count;
    });
  }

  void grow(int64_t features) {
    if (features <= features_) return;
    if (features > limit_) refuse("a bank of ", limit_, " features cannot hold ", features);
    const int64_t width = 2 * view_.models.count;
    const bool squares = view_.settings.precondition != 0.0;
    require_room(features, width * int64_t(sizeof(W)) + (squares ? int64_t(sizeof(double)) : 0));
    if (features > static_cast<int64_t>(lines_.max_size()) / width)
      refuse("no memory can hold ", features, " features");
    // Both or neither, should memory run out.
    if (squares) squares_.reserve(features);
    lines_.resize(static_cast<size_t>(features * width), W(0));
    if (squares) squares_.resize(features, 0.0);
    features_ = features;
  }

  // The weights as features x models: of the average (or of the iterate, before averaging began)
  // or of the last iterate. Of all models, or of those from `begin` to before `end`.
  auto weights(bool last, int64_t begin, std::optional<int64_t> before) {
    const int64_t K = view_.models.count, end = before.value_or(K);
    if (begin < 0 || end < begin || end > K) refuse("there are no such models");
    const int64_t wanted = end - begin;
    auto out = new_array<W>({static_cast<size_t>(features_), static_cast<size_t>(wanted)});
    point_view();
    if (view_.settings.proximal)
      read_out_proximal(view_, begin, end, out.data());
    else
      read_out(view_, last, begin, end, out.data());
    return out;
  }

  auto intercepts(bool last) {
    const Models &m = view_.models;
    auto out = new_array<double>({static_cast<size_t>(m.count)});
    for (int64_t k = 0; k < m.count; ++k)
      out.data()[k] = last || !averaged(view_, k) ? m.bias[k] : m.bias_sum[k] / m.total[k];
    return out;
  }

  // Every field of every model: a row a field, a column a model.
  auto models() const {
    return new_copy(fields_, {field_count, static_cast<size_t>(view_.models.count)});
  }

  // The whole state, by name, in arrays of its own; or that of some models.
  nb::dict state(const std::optional<Integers> &some) {
    nb::dict out;
    out["squares"] = new_copy(squares_, {squares_.size()});
    out["clock"] = view_.clock;
    out["looked"] = view_.looked;
    const int64_t K = view_.models.count;
    const size_t features = static_cast<size_t>(features_), width = static_cast<size_t>(2 * K);
    if (!some) {
      out["lines"] = new_copy(lines_, {features, width});
      out["models"] = models();
      return out;
    }
    std::vector<int64_t> columns(some->data(), some->data() + some->size());
    for (const int64_t k : columns)
      if (k < 0 || k >= K) refuse("there is no model ", k, " of ", K);
    out["models"] = columns_of(fields_.data(), field_count, static_cast<size_t>(K), columns);
    for (size_t j = 0; j < some->size(); ++j) columns.push_back(K + columns[j]);
    out["lines"] = columns_of(lines_.data(), features, width, columns);
    return out;
  }

  void set_models(Doubles models) {
    if (models.size() != fields_.size())
      refuse("the state has ", models.size(), " numbers for its models, the bank ", fields_.size());
    std::copy(models.data(), models.data() + models.size(), fields_.begin());
  }

  void set_state(nb::ndarray<const W, nb::ndim<2>, nb::device::cpu, nb::c_contig> lines,
                 Doubles squares, Doubles models, int64_t clock, int64_t looked) {
    const int64_t features = static_cast<int64_t>(lines.shape(0));
    if (static_cast<int64_t>(lines.shape(1)) != 2 * view_.models.count || features > limit_)
      refuse("the state's weights do not fit this bank");
    if (squares.size() != (view_.settings.precondition != 0.0 ? lines.shape(0) : 0))
      refuse("the state's sums of squares do not fit this bank");
    set_models(models);
    lines_.assign(lines.data(), lines.data() + lines.size());
    squares_.assign(squares.data(), squares.data() + squares.size());
    features_ = features;
    view_.clock = clock;
    view_.looked = looked;
  }

  void reset_progressive_sums() {  // all fields from the first of them on
    std::fill(view_.models.weight, fields_.data() + fields_.size(), 0.0);
  }

  int64_t clock() const { return view_.clock; }
  int64_t features() const { return features_; }

 private:
  Task task_of(int64_t rows, const std::optional<Doubles> &targets,
               const std::optional<Integers> &classes, const std::optional<Doubles> &weights) {
    const int64_t models = view_.models.count;
    Task task{};
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
    for (int64_t o : output_)
      if (o < 0 || (task.targets && o >= task.outputs))
        refuse("a model wants output ", o, " of ", task.outputs);
    if (weights) {
      check_length("weights", weights->shape(0), rows);
      task.weights = weights->data();
      if (weights->ndim() > 2) refuse("weights have one or two dimensions, not ", weights->ndim());
      task.weight_step = weights->ndim() > 1;
      task.weight_stride = task.weight_step ? models : 1;
      if (task.weight_step && static_cast<int64_t>(weights->shape(1)) != models)
        refuse("there are ", models, " models but ", weights->shape(1), " columns of weights");
    }
    return task;
  }

  void check_task(int64_t rows, const std::optional<Doubles> &targets,
                  const std::optional<Doubles> &weights) {
    const Task task = task_of(rows, targets, std::nullopt, weights);
    nb::gil_scoped_release release;
    check_targets(task, rows, wanted_);
    check_weights(task, rows, view_.models.count);
  }

  // To where the weights are, which move as they grow.
  void point_view() {
    view_.lines = lines_.data();
    view_.features = features_;
    view_.squares = squares_.data();
    view_.rates = sums_.data() + 4 * view_.models.count;
  }

  template <class Rows>
  BankArgs<W> &prepare(const Rows &rows) {
    const int64_t K = view_.models.count;
    const Settings &set = view_.settings;
    if (set.precondition != 0.0) scaled_.resize(longest_row(rows) * (set.proximal ? K : 1));
    point_view();
    view_.scaled = scaled_.data();
    view_.sums = sums_.data();
    view_.step = sums_.data() + 2 * K;
    view_.gamma = row_.data();
    view_.y = row_.data() + K;
    view_.w = row_.data() + 2 * K;
    view_.score = row_.data() + 3 * K;
    view_.room = row_.data() + 4 * K;
    const Models &m = view_.models;
    view_.shared_rate = true;
    for (int64_t k = 1; k < K; ++k)
      view_.shared_rate &= m.gamma0[k] == m.gamma0[0] && m.decay[k] == m.decay[0];
    return view_;
  }

  std::string loss_;
  Targets wanted_{};
  int64_t limit_, features_ = 0;
  std::vector<int64_t> output_, replica_;
  std::vector<double> parameter_;
  BankArgs<W> view_{};
  std::vector<W, HugePages<W>> lines_;
  std::vector<double, HugePages<double>> squares_;
  std::vector<W> sums_, scaled_;
  std::vector<double> row_, fields_;
};

}  // namespace polyak
