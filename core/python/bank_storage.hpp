// A bank that owns its memory: validates its input, then calls the kernels.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "kernels/kernel_choice.hpp"
#include "learn/bank_args.hpp"
#include "learn/losses.hpp"
#include "learn/precondition.hpp"
#include "learn/read_out.hpp"
#include "learn/tasks.hpp"
#include "memory/huge_pages.hpp"
#include "memory/room.hpp"
#include "python/one_at_a_time.hpp"
#include "python/rows/any_rows.hpp"
#include "python/rows/arrays.hpp"
#include "python/rows/checked_rows.hpp"
#include "rows/check.hpp"
#include "rows/convert.hpp"

namespace polyak {

#define POLYAK_FIELD(name) #name,
inline const std::vector<std::string> field_names{POLYAK_MODEL_FIELDS(POLYAK_FIELD)};
#undef POLYAK_FIELD
inline const size_t field_count = field_names.size();

template <class V, class I>
int64_t longest_row(const SparseRows<V, I> &rows) {
  int64_t longest = 0;
  for (int64_t i = 0; i < rows.count; ++i) longest = std::max(longest, rows[i].size);
  return longest;
}
template <class V>
int64_t longest_row(const DenseRows<V> &rows) {
  return rows.features;
}

template <class V, class I>
size_t bytes_of(const SparseRows<V, I> &rows) {
  return static_cast<size_t>(rows.offsets[rows.count] - rows.offsets[0]) * (sizeof(V) + sizeof(I));
}
template <class V>
size_t bytes_of(const DenseRows<V> &rows) {
  return static_cast<size_t>(rows.count * rows.features) * sizeof(V);
}

inline void check_offsets(const AnyRows &any) {
  any.visit([](const auto &rows) { check_offsets(rows); });
}
inline int64_t scan(const AnyRows &any, int64_t limit) {
  return any.visit([&](const auto &rows) { return kernels->rows.scan(rows, limit); });
}
inline int64_t checked_features(const AnyRows &any, int64_t limit) {
  return any.visit([&](const auto &rows) { return checked_features(rows, limit); });
}

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
      if (loss_ == name) accepted_ = {&decltype(kind)::accepts, decltype(kind)::wants};
    });
    if (!accepted_.accepts) refuse("there is no loss called '", loss_, "'");
    if (models < 1) refuse("a bank needs at least one model");
    check_length("parameters of the loss", parameter_.size(), models);
    if (settings.softmax && (settings.group < 2 || models % settings.group != 0))
      refuse("classes that are learned together come in groups of the same size");
    if (settings.proximal && (settings.softmax || settings.precondition == 0.0))
      refuse("proximal steps are of one model each, and by the size of features");
    args_.settings = settings;
    args_.models.count = models;
    sums_.resize((settings.proximal ? 9 : 4) * models);
    row_.resize(4 * models + (settings.softmax ? 4 * settings.group : 0));
    fields_.resize(field_count * models);
    double *next = fields_.data();
#define POLYAK_FIELD(name) args_.models.name = next, next += models;
    POLYAK_MODEL_FIELDS(POLYAK_FIELD)
#undef POLYAK_FIELD
    args_.models.output = output_.data();
    args_.models.replica = replica_.data();
    args_.models.parameter = parameter_.data();
    for (int64_t r : replica_) args_.replicas = args_.replicas || r >= 0;
  }

  OneAtATime lock;  // taken by calls from Python, since learning releases the interpreter

  // Learns the rows and returns every field of every model at each stop, i.e. after that many rows.
  // At each stop the progressive sums are set to zero, so that the next ones are those of the rows
  // in between. Rows that were validated before are not validated again.
  NewDoubles learn(
      const AnyRows &any, const CheckedRows *checked, std::optional<Doubles> targets,
      std::optional<Integers> classes, std::optional<Doubles> weights,
      std::optional<Integers> order,
      std::optional<nb::ndarray<double, nb::ndim<2>, nb::device::cpu, nb::c_contig>> scores,
      std::optional<Doubles> limits, const Integers &stops) {
    const int64_t rows = any.count(), models = args_.models.count;
    if (rows <= 0) refuse("there are no rows to learn from");
    if (!targets && !classes) refuse("there are no targets");
    Task task = task_of(rows, targets, classes, weights);
    task.count = order ? static_cast<int64_t>(order->shape(0)) : rows;
    task.order = order ? order->data() : nullptr;
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
    check_stops(stops.data(), stops.size(), task.count);
    NewDoubles notes = new_array<double>({stops.size(), field_count, static_cast<size_t>(models)});
    const Stops at{stops.data(), stops.data() + stops.size(), notes.data()};

    int64_t stopped;
    {
      nb::gil_scoped_release release;
      check_order(task, rows);
      check_targets(task, rows, accepted_);
      check_weights(task, rows, models);
      stopped = checked ? learn_checked(*checked, task, at) : learn_unchecked(any, task, at);
    }
    if (stopped != all_learned) {
      PyErr_Format(PyExc_ArithmeticError, "the weights overflowed at row %lld",
                   static_cast<long long>(stopped));
      throw nb::python_error();
    }
    return notes;
  }

  // The stops, and where the fields of all models are written.
  struct Stops {
    const int64_t *begin, *end;
    double *notes;
  };

  // Learns from one stop to the next. Returns all_learned, or the row where a kernel stopped.
  int64_t learn_between_stops(const AnyRows &any, const Task &task, const Stops &stops) {
    prepare(any);
    double *notes = stops.notes;
    int64_t done = 0;
    const auto learn_until = [&](int64_t stop) {
      int64_t stopped = all_learned;
      const auto learn = [&](const auto &some, int64_t begin, int64_t end, bool gathered) {
        Task part = slice_task(task, begin, end, args_.models.count);
        part.gathered = gathered;
        stopped = kernels->rows.learn(loss_.c_str(), args_, some, part);
        if (stopped != all_learned && !task.order) stopped += begin;
        return stopped == all_learned;
      };
      any.visit([&](const auto &rows) { each_part<W>(rows, task.order, done, stop, learn); });
      done = stop;
      return stopped;
    };
    for (const int64_t *stop = stops.begin; stop != stops.end; ++stop) {
      const int64_t stopped = learn_until(*stop);
      if (stopped != all_learned) return stopped;
      notes = std::copy(fields_.begin(), fields_.end(), notes);
      reset_progressive_sums();
    }
    return learn_until(task.count);
  }

  int64_t learn_unchecked(const AnyRows &any, const Task &task, const Stops &stops) {
    check_offsets(any);
    if (learn_in_one_pass(any, task, stops)) return all_learned;
    grow(checked_features(any, limit_));
    return learn_between_stops(any, task, stops);
  }

  // Reads the rows only once: validates them while it learns and, if one is invalid, restores the
  // state and returns false. Only if a copy of the state is cheap and all rows are learned, since
  // an order may leave invalid rows out.
  bool learn_in_one_pass(const AnyRows &any, Task task, const Stops &stops) {
    const size_t bytes = any.visit([](const auto &rows) { return bytes_of(rows); });
    if (task.order || lines_.size() * sizeof(W) > bytes / 4) return false;
    const auto lines = lines_;
    const auto squares = squares_;
    const auto fields = fields_;
    const int64_t clock = args_.clock;
    task.unchecked = true;
    if (learn_between_stops(any, task, stops) == all_learned) return true;
    std::copy(lines.begin(), lines.end(), lines_.begin());
    std::copy(squares.begin(), squares.end(), squares_.begin());
    std::copy(fields.begin(), fields.end(), fields_.begin());
    args_.clock = clock;
    return false;
  }

  // Learns rows that were validated before. Borrowed arrays may have been changed since; learning
  // then stops at the first invalid row, and the error says what is wrong with it.
  int64_t learn_checked(const CheckedRows &checked, Task task, const Stops &stops) {
    grow(checked.features);
    if (checked.borrowed) check_offsets(checked.rows);
    task.unchecked = checked.borrowed;
    const int64_t stopped = learn_between_stops(checked.rows, task, stops);
    if (stopped != all_learned && scan(checked.rows, checked.features) == scan_failed) {
      checked.rows.visit([&](const auto &rows) { check_rows(rows, checked.features); });
      refuse("the rows were changed after they were checked");
    }
    return stopped;
  }

  // Raises the errors that `learn` would raise, without learning, and grows the bank to all
  // features. Returns the rows as validated rows.
  CheckedRows check(AnyRows any, std::optional<Doubles> targets, std::optional<Doubles> weights) {
    check_task(any.count(), targets, weights);
    int64_t features;
    {
      nb::gil_scoped_release release;
      check_offsets(any);
      features = scan(any, limit_);
    }
    const bool ascending = features != scan_failed;
    if (!ascending) {  // learning could not tell them from rows that were changed meanwhile
      if (any.indptr) any = copied(any);
      nb::gil_scoped_release release;
      features = checked_features(any, limit_);
    }
    grow(features);
    return {std::move(any), features, ascending};
  }

  // The same for rows that were validated already, e.g. by another bank.
  CheckedRows check_again(const CheckedRows &rows, std::optional<Doubles> targets,
                          std::optional<Doubles> weights) {
    check_task(rows.rows.count(), targets, weights);
    grow(rows.features);
    return rows;
  }

  // Adds rows that are not learned to the sums of squares, unless those are of gradients.
  void warm_up(const AnyRows &any) {
    if (args_.settings.precondition == 0.0 || args_.settings.adagrad || args_.settings.proximal)
      return;
    grow(checked_features(any, limit_));
    any.visit([&](const auto &rows) { portable::add_squares(rows, squares_.data()); });
    args_.looked += any.count();
  }

  void grow(int64_t features) {
    if (features <= features_) return;
    if (features > limit_) refuse("a bank of ", limit_, " features cannot hold ", features);
    const int64_t width = 2 * args_.models.count;
    const bool squares = args_.settings.precondition != 0.0;
    require_room(features, width * int64_t(sizeof(W)) + (squares ? int64_t(sizeof(double)) : 0));
    if (features > most_features)
      refuse("a bank holds at most ", most_features, " features, not ", features);
    // Reserved first, so that both vectors grow or neither if memory runs out.
    if (squares) squares_.reserve(features);
    lines_.resize(static_cast<size_t>(features * width), W(0));
    if (squares) squares_.resize(features, 0.0);
    features_ = features;
  }

  // Returns the weights as features x models: of the average (or of the iterate, before averaging
  // began) or of the last iterate; of all models, or of those from `begin` to before `end`.
  auto weights(bool last, int64_t begin, std::optional<int64_t> before) {
    const int64_t K = args_.models.count, end = before.value_or(K);
    if (begin < 0 || end < begin || end > K) refuse("there are no such models");
    const int64_t wanted = end - begin;
    auto out = new_array<W>({static_cast<size_t>(features_), static_cast<size_t>(wanted)});
    point_args();
    if (args_.settings.proximal)
      read_out_proximal(args_, begin, end, out.data());
    else
      read_out(args_, last, begin, end, out.data());
    return out;
  }

  auto intercepts(bool last) {
    const Models &m = args_.models;
    auto out = new_array<double>({static_cast<size_t>(m.count)});
    for (int64_t k = 0; k < m.count; ++k)
      out.data()[k] = last || !averaged(args_, k) ? m.bias[k] : m.bias_sum[k] / m.total[k];
    return out;
  }

  // Returns the fields of the models as fields x models.
  auto models() const {
    return new_copy(fields_, {field_count, static_cast<size_t>(args_.models.count)});
  }

  // Returns a copy of the state by name, of all models or of some.
  nb::dict state(const std::optional<Integers> &some) {
    nb::dict out;
    out["squares"] = new_copy(squares_, {squares_.size()});
    out["clock"] = args_.clock;
    out["looked"] = args_.looked;
    const int64_t K = args_.models.count;
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
    if (static_cast<int64_t>(lines.shape(1)) != 2 * args_.models.count || features > limit_)
      refuse("the state's weights do not fit this bank");
    if (squares.size() != (args_.settings.precondition != 0.0 ? lines.shape(0) : 0))
      refuse("the state's sums of squares do not fit this bank");
    set_models(models);
    lines_.assign(lines.data(), lines.data() + lines.size());
    squares_.assign(squares.data(), squares.data() + squares.size());
    features_ = features;
    args_.clock = clock;
    args_.looked = looked;
  }

  void reset_progressive_sums() {  // all fields from the first of them on
    std::fill(args_.models.weight, fields_.data() + fields_.size(), 0.0);
  }

  int64_t clock() const { return args_.clock; }
  int64_t features() const { return features_; }

 private:
  Task task_of(int64_t rows, const std::optional<Doubles> &targets,
               const std::optional<Integers> &classes, const std::optional<Doubles> &weights) {
    const int64_t models = args_.models.count;
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
    check_targets(task, rows, accepted_);
    check_weights(task, rows, args_.models.count);
  }

  // Updates the pointers to the weights, which move when the bank grows.
  void point_args() {
    args_.lines = lines_.data();
    args_.features = features_;
    args_.squares = squares_.data();
    args_.rates = sums_.data() + 4 * args_.models.count;
  }

  // Sets up the scratch space for the rows.
  void prepare(const AnyRows &any) {
    const int64_t K = args_.models.count;
    const Settings &set = args_.settings;
    if (set.precondition != 0.0) {
      const int64_t longest = any.visit([](const auto &rows) { return longest_row(rows); });
      scaled_.resize(longest * (set.proximal ? K : 1));
    }
    point_args();
    args_.scaled = scaled_.data();
    args_.sums = sums_.data();
    args_.step = sums_.data() + 2 * K;
    args_.gamma = row_.data();
    args_.y = row_.data() + K;
    args_.w = row_.data() + 2 * K;
    args_.score = row_.data() + 3 * K;
    args_.scratch = row_.data() + 4 * K;
    const Models &m = args_.models;
    args_.shared_rate = true;
    for (int64_t k = 1; k < K; ++k)
      args_.shared_rate &= m.gamma0[k] == m.gamma0[0] && m.decay[k] == m.decay[0];
  }

  std::string loss_;
  Targets accepted_{};
  int64_t limit_, features_ = 0;
  std::vector<int64_t> output_, replica_;
  std::vector<double> parameter_;
  BankArgs<W> args_{};
  std::vector<W, HugePages<W>> lines_;
  std::vector<double, HugePages<double>> squares_;
  std::vector<W> sums_, scaled_;
  std::vector<double> row_, fields_;
};

}  // namespace polyak
