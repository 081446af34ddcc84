#include "learn/bank.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "kernels/kernel_choice.hpp"
#include "learn/losses.hpp"
#include "learn/precondition.hpp"
#include "learn/proximal.hpp"
#include "memory/free_memory.hpp"
#include "rows/convert.hpp"

namespace polyak {

#define POLYAK_FIELD(name) #name,
const std::vector<std::string> field_names{POLYAK_MODEL_FIELDS(POLYAK_FIELD)};
#undef POLYAK_FIELD

namespace {

template <class V>
int64_t longest_row(const SparseRows<V> &rows) {
  int64_t longest = 0;
  for (int64_t i = 0; i < rows.count; ++i) longest = std::max(longest, rows[i].size);
  return longest;
}
template <class V>
int64_t longest_row(const DenseRows<V> &rows) {
  return rows.features;
}

template <class V>
size_t bytes_of(const SparseRows<V> &rows) {
  return static_cast<size_t>(rows.offsets[rows.count] - rows.offsets[0]) *
         (sizeof(V) + sizeof(int32_t));
}
template <class V>
size_t bytes_of(const DenseRows<V> &rows) {
  return static_cast<size_t>(rows.count * rows.features) * sizeof(V);
}

// Returns the part of a task from `begin` to `end`, in the order of learning.
Task slice_task(Task task, int64_t begin, int64_t end, int64_t models) {
  task.count = end - begin;
  if (task.scores) task.scores += begin * models;
  if (task.limits) task.limits += begin;
  if (task.order) {
    task.order += begin;
    return task;
  }
  if (task.targets) task.targets += begin * task.outputs;
  if (task.classes) task.classes += begin;
  if (task.offsets) task.offsets += begin;
  if (task.weights) task.weights += begin * task.weight_stride;
  return task;
}

void check_weights(const Task &task, int64_t rows, int64_t models) {
  if (!task.weights) return;
  const int64_t columns = task.weight_step ? models : 1;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < columns; ++k) {
      const double w = task.weights[i * task.weight_stride + k];
      if (!std::isfinite(w) || w < 0.0) refuse("row ", i, " has the weight ", w);
    }
}

void check_order(const Task &task, int64_t rows) {
  for (int64_t n = 0; n < task.count && task.order; ++n)
    if (task.order[n] < 0 || task.order[n] >= rows)
      refuse("the order asks for row ", task.order[n], " of ", rows);
}

void check_stops(const Bank::Stops &stops, int64_t count) {
  int64_t before = 0;
  for (const int64_t *stop = stops.begin; stop != stops.end; before = *stop++)
    if (*stop < before || *stop > count) refuse("cannot stop at row ", *stop, " of ", count);
}

// Whether the model has an average; before that, its weights are those of the iterate.
bool averaged(const Settings &settings, const Models &m, int64_t k) {
  return !settings.proximal && m.start[k] >= 0.0 && m.total[k] > 0.0;
}

template <class W>
void read_weights(const BankArgs<W> &args, bool last, int64_t begin, int64_t end, W *to) {
  const Models &m = args.models;
  const int64_t K = m.count, wanted = end - begin;
  for (int64_t k = begin; k < end; ++k) {
    const bool mean = !last && averaged(args.settings, m, k);
    const double of_v = mean ? m.tau[k] / m.total[k] : m.scale[k];
    const double of_u = mean ? 1.0 / m.total[k] : 0.0;
    for (int64_t j = 0; j < args.features; ++j) {
      const W *line = args.lines + j * 2 * K;
      to[j * wanted + k - begin] = static_cast<W>(of_v * line[k] + of_u * line[K + k]);
    }
  }
}

// The same for proximal steps, whose weights are always those of the last iterate.
template <class W>
void read_proximal_weights(const BankArgs<W> &args, int64_t begin, int64_t end, W *to) {
  const portable::ProximalRates<W> rates(args);
  for (int64_t j = 0; j < args.features; ++j) {
    const W *line = args.lines + j * 2 * rates.K;
    const W q = portable::root_of_size<W>(args.squares[j]);
    for (int64_t k = begin; k < end; ++k)
      *to++ = rates.weight(k, line[k], line[rates.K + k], q, args.settings.positive);
  }
}

}  // namespace

Bank::Bank(bool float64, std::string loss, int64_t limit, const Settings &settings,
           ModelOptions options)
    : loss_(std::move(loss)), limit_(limit), settings_(settings), options_(std::move(options)) {
  portable::each_loss([&](const char *name, auto kind) {
    if (loss_ == name) accepted_ = {&decltype(kind)::accepts, decltype(kind)::wants};
  });
  if (!accepted_.accepts) refuse("there is no loss called '", loss_, "'");
  if (models() < 1) refuse("a bank needs at least one model");
  const size_t count = options_.output.size();
  if (options_.replica.size() != count || options_.parameter.size() != count)
    refuse("there are ", count, " models but ", options_.replica.size(), " replicas and ",
           options_.parameter.size(), " parameters of the loss");
  if (settings.softmax && (settings.group < 2 || models() % settings.group != 0))
    refuse("classes that are learned together come in groups of the same size");
  if (settings.proximal && (settings.softmax || settings.precondition == 0.0))
    refuse("proximal steps are of one model each, and by the size of features");
  if (float64) state_.store.emplace<Store<double>>();
  state_.fields.resize(field_names.size() * count);
  row_.resize(4 * count + static_cast<size_t>(settings.softmax ? 4 * settings.group : 0));
}

void Bank::learn(const AnyRows &rows, const Validation &known, const Task &task,
                 const Stops &stops) {
  check_stops(stops, task.count);
  check_order(task, count_of(rows));
  check_task(task, count_of(rows));
  Task own = task;
  if (known.features < 0) {
    check_offsets(rows);
    if (learn_in_one_pass(rows, task, stops)) return;
    grow(checked_features(rows, limit_));
  } else {
    grow(known.features);
    if (known.borrowed) check_offsets(rows);
    own.unchecked = known.borrowed;
  }
  const int64_t stopped = learn_between_stops(rows, own, stops);
  if (stopped == all_learned) return;
  // Borrowed arrays may have been changed since they were validated. Learning then stops at the
  // first invalid row, and the error says what is wrong with it.
  if (known.features >= 0 && scan(rows, known.features) == scan_failed) {
    std::visit([&](const auto &some) { check_rows(some, known.features); }, rows);
    refuse("the rows were changed after they were checked");
  }
  throw std::overflow_error("the weights overflowed at row " + std::to_string(stopped));
}

void Bank::check_task(const Task &task, int64_t rows) const {
  for (int64_t i = 0; i < rows && task.targets; ++i)
    for (int64_t o = 0; o < task.outputs; ++o) {
      const double y = task.targets[i * task.outputs + o];
      if (!std::isfinite(y)) refuse("row ", i, " has the target ", y);
      if (!accepted_.accepts(y)) refuse("row ", i, " has the target ", y, "; ", accepted_.wants);
    }
  check_weights(task, rows, models());
}

// Reads the rows only once: validates them while it learns and, if one is invalid, restores the
// state and returns false. Only if a copy of the state is cheap and as many rows are learned as
// there are, since an order may leave invalid rows out.
bool Bank::learn_in_one_pass(const AnyRows &rows, Task task, const Stops &stops) {
  const size_t bytes = std::visit([](const auto &some) { return bytes_of(some); }, rows);
  const int64_t features = std::max(state_.features, features_of_ascending(rows));
  const int64_t number = state_.store.index() ? sizeof(double) : sizeof(float);
  const bool cheap = features * 2 * models() * number <= int64_t(bytes / 4);
  if (task.count != count_of(rows) || features > limit_ || !cheap) return false;
  State before = state_;
  grow(features);
  task.unchecked = true;
  if (learn_between_stops(rows, task, stops) == all_learned) return true;
  state_ = std::move(before);
  return false;
}

// Learns from one stop to the next. Returns all_learned, or the row where a kernel stopped.
int64_t Bank::learn_between_stops(const AnyRows &rows, const Task &task, const Stops &stops) {
  if (settings_.precondition != 0.0) {
    const int64_t longest = std::visit([](const auto &some) { return longest_row(some); }, rows);
    const auto size = static_cast<size_t>(longest * (settings_.proximal ? models() : 1));
    std::visit([&](auto &store) { store.scaled.resize(size); }, state_.store);
  }
  double *notes = stops.notes;
  int64_t done = 0;
  for (const int64_t *stop = stops.begin; stop != stops.end; done = *stop++) {
    const int64_t stopped = learn_until(rows, task, done, *stop);
    if (stopped != all_learned) return stopped;
    notes = std::copy(state_.fields.begin(), state_.fields.end(), notes);
    reset_progressive_sums();
  }
  return learn_until(rows, task, done, task.count);
}

int64_t Bank::learn_until(const AnyRows &any, const Task &task, int64_t begin, int64_t end) {
  const auto learn = [&](auto &store, const auto &rows) {
    auto args = args_of(store);
    int64_t stopped = all_learned;
    const auto learn_part = [&](const auto &some, int64_t from, int64_t to, bool gathered) {
      Task part = slice_task(task, from, to, models());
      part.gathered = gathered;
      stopped = kernels->rows.learn(loss_.c_str(), args, some, part);
      if (stopped != all_learned && !task.order) stopped += from;
      return stopped == all_learned;
    };
    using W = typename decltype(store.sums)::value_type;
    each_part<W>(rows, task.order, begin, end, learn_part);
    state_.clock = args.clock;
    return stopped;
  };
  return std::visit(learn, state_.store, any);
}

void Bank::warm_up(const AnyRows &any) {
  if (settings_.precondition == 0.0 || settings_.adagrad || settings_.proximal) return;
  grow(checked_features(any, limit_));
  std::visit([&](const auto &rows) { portable::add_squares(rows, state_.squares.data()); }, any);
  state_.looked += count_of(any);
}

void Bank::grow(int64_t features) {
  if (features <= state_.features) return;
  if (features > limit_) refuse("a bank of ", limit_, " features cannot hold ", features);
  const bool squares = settings_.precondition != 0.0;
  std::visit(
      [&](auto &store) {
        const int64_t width = 2 * models(), each = width * int64_t(sizeof(store.lines[0]));
        require_room(features, each + (squares ? int64_t(sizeof(double)) : 0));
        if (features > most_features)
          refuse("a bank holds at most ", most_features, " features, not ", features);
        // Reserved first, so that both vectors grow or neither if memory runs out.
        if (squares) state_.squares.reserve(static_cast<size_t>(features));
        store.lines.resize(static_cast<size_t>(features * width));
        if (squares) state_.squares.resize(static_cast<size_t>(features));
      },
      state_.store);
  state_.features = features;
}

WeightMatrix Bank::weights(bool last, int64_t begin, int64_t end) {
  if (begin < 0 || end < begin || end > models()) refuse("there are no such models");
  return std::visit(
      [&](auto &store) -> WeightMatrix {
        const auto args = args_of(store);
        decltype(store.sums) found(static_cast<size_t>(state_.features * (end - begin)));
        if (settings_.proximal)
          read_proximal_weights(args, begin, end, found.data());
        else
          read_weights(args, last, begin, end, found.data());
        return found;
      },
      state_.store);
}

std::vector<double> Bank::intercepts(bool last) {
  const Models m = model_fields();
  std::vector<double> found;
  for (int64_t k = 0; k < m.count; ++k)
    found.push_back(last || !averaged(settings_, m, k) ? m.bias[k] : m.bias_sum[k] / m.total[k]);
  return found;
}

void Bank::reset_progressive_sums() {  // all fields from the first of them on
  std::fill(model_fields().weight, state_.fields.data() + state_.fields.size(), 0.0);
}

void Bank::set_fields(std::vector<double> fields) {
  if (fields.size() != state_.fields.size())
    refuse("the state has ", fields.size(), " numbers for its models, the bank ",
           state_.fields.size());
  state_.fields = std::move(fields);
}

void Bank::set_state(State state) {
  const size_t lines =
      std::visit([](const auto &store) { return store.lines.size(); }, state.store);
  const auto features = static_cast<size_t>(state.features);
  if (state.store.index() != state_.store.index() ||
      lines != features * 2 * options_.output.size() || state.features > limit_)
    refuse("the state's weights do not fit this bank");
  if (state.squares.size() != (settings_.precondition != 0.0 ? features : 0))
    refuse("the state's sums of squares do not fit this bank");
  set_fields(state.fields);
  state_ = std::move(state);
}

Models Bank::model_fields() {
  Models m{};
  m.count = models();
  double *next = state_.fields.data();
#define POLYAK_FIELD(name) m.name = next, next += m.count;
  POLYAK_MODEL_FIELDS(POLYAK_FIELD)
#undef POLYAK_FIELD
  m.output = options_.output.data();
  m.replica = options_.replica.data();
  m.parameter = options_.parameter.data();
  return m;
}

template <class W>
BankArgs<W> Bank::args_of(Store<W> &store) {
  const int64_t K = models();
  store.sums.resize(static_cast<size_t>((settings_.proximal ? 9 : 4) * K));
  BankArgs<W> args{};
  args.lines = store.lines.data();
  args.features = state_.features;
  args.models = model_fields();
  args.settings = settings_;
  args.squares = state_.squares.data();
  args.clock = state_.clock;
  args.looked = state_.looked;
  const Models &m = args.models;
  args.shared_rate = true;
  for (int64_t k = 0; k < K; ++k) {
    args.shared_rate &= m.gamma0[k] == m.gamma0[0] && m.decay[k] == m.decay[0];
    args.replicas |= m.replica[k] >= 0;
  }
  args.sums = store.sums.data();
  args.step = args.sums + 2 * K;
  args.rates = args.sums + 4 * K;
  args.scaled = store.scaled.data();
  args.gamma = row_.data();
  args.y = args.gamma + K;
  args.w = args.gamma + 2 * K;
  args.score = args.gamma + 3 * K;
  args.scratch = args.gamma + 4 * K;
  return args;
}

}  // namespace polyak
