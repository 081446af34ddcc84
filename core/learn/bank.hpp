// A bank of averaged models that owns its memory: validates its input, then calls the kernels.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "learn/bank_args.hpp"
#include "memory/huge_pages.hpp"
#include "rows/any_rows.hpp"

namespace polyak {

// The names of a model's fields, in the order in which they are stored.
extern const std::vector<std::string> field_names;

// What distinguishes the models of a bank: one number per model.
struct ModelOptions {
  std::vector<int64_t> output, replica;  // see Models
  std::vector<double> parameter;
};

// Weights of 32 or 64 bits, as features x columns.
using WeightMatrix = std::variant<std::vector<float>, std::vector<double>>;

class Bank {
 public:
  // `limit` is the largest number of features that the bank may grow to.
  Bank(bool float64, std::string loss, int64_t limit, const Settings &settings,
       ModelOptions options);
  Bank(const Bank &) = delete;

  // The numbers of rows after which the fields of all models are written to `notes` and the
  // progressive sums are set to zero, so that the next ones are those of the rows in between.
  struct Stops {
    const int64_t *begin, *end;
    double *notes;
  };

  // Learns from rows; those that are trusted are not validated again. Throws std::overflow_error if
  // the weights overflow, and before any state changes if the input is invalid.
  void learn(const AnyRows &rows, const Validation &known, const Task &task, const Stops &stops);

  // Throws what `learn` would throw for targets and weights of all rows.
  void check_task(const Task &task, int64_t rows) const;

  // Adds rows that are not learned to the sums of squares, unless those are of gradients.
  void warm_up(const AnyRows &rows);

  void grow(int64_t features);

  // Returns the weights of the average (of the iterate, before averaging began) or of the last
  // iterate, for the models from `begin` to before `end`.
  WeightMatrix weights(bool last, int64_t begin, int64_t end);
  std::vector<double> intercepts(bool last);

  void reset_progressive_sums();

  // The state: what saving and restoring a bank takes. The weights are stored as in weights.hpp.
  template <class W>
  struct Store {
    std::vector<W, HugePages<W>> lines;
    std::vector<W> sums, scaled;  // scratch space
  };
  struct State {
    std::variant<Store<float>, Store<double>> store;
    std::vector<double, HugePages<double>> squares;
    std::vector<double> fields;  // fields x models
    int64_t clock = 0, looked = 0;
    int64_t features = 0;
  };
  const State &state() const { return state_; }
  void set_state(State state);
  void set_fields(std::vector<double> fields);

  int64_t models() const { return static_cast<int64_t>(options_.output.size()); }
  int64_t limit() const { return limit_; }
  const std::vector<int64_t> &outputs() const { return options_.output; }

 private:
  int64_t learn_between_stops(const AnyRows &rows, const Task &task, const Stops &stops);
  bool learn_in_one_pass(const AnyRows &rows, Task task, const Stops &stops);
  int64_t learn_until(const AnyRows &rows, const Task &task, int64_t begin, int64_t end);
  template <class W>
  BankArgs<W> args_of(Store<W> &store);
  Models model_fields();

  // The targets that the loss accepts.
  struct Targets {
    bool (*accepts)(double) = nullptr;
    const char *wants = nullptr;  // quoted in the error for other targets
  };

  const std::string loss_;
  const int64_t limit_;
  const Settings settings_;
  const ModelOptions options_;
  Targets accepted_;
  State state_;
  std::vector<double> row_;  // scratch space of the current row
};

}  // namespace polyak
