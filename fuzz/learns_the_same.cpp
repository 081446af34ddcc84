// Learns and scores random rows with the fastest build of the kernels and with the scalar build,
// and prints the distance of the results: `make neon` runs it on 64-bit ARM.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "kernels/kernel_choice.hpp"

using namespace polyak;

namespace {

constexpr int64_t kRows = 600, kFeatures = 75;

template <class V>
struct Problem {
  std::vector<V> dense, values;
  std::vector<int32_t> indices;
  std::vector<int64_t> offsets{0};
  std::vector<double> targets;

  Problem() {
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < kRows; ++i) {
      double score = 0.5 * normal(random);
      for (int32_t j = 0; j < kFeatures; ++j) {
        const V x = random() % 5 < 2 ? static_cast<V>(normal(random)) : V(0);
        dense.push_back(x);
        score += x * std::sin(j + 1.0);
        if (x == 0) continue;
        values.push_back(x);
        indices.push_back(j);
      }
      offsets.push_back(static_cast<int64_t>(values.size()));
      targets.push_back(score > 0 ? 1.0 : -1.0);
    }
  }
  DenseRows<V> dense_rows() const { return {dense.data(), kRows, kFeatures, kFeatures}; }
  SparseRows<V> sparse_rows() const {
    return {offsets.data(), indices.data(), values.data(), kRows, offsets.back()};
  }
};

// Returns the weights of `count` models after one pass, followed by their state and the scores.
template <class W, class Rows>
std::vector<double> learned(const Rows &rows, const std::vector<double> &targets, size_t count,
                            double precondition, const KernelTable *build) {
  std::vector<W> lines(kFeatures * 2 * count), scratch(4 * count), scaled(kFeatures);
  std::vector<double> squares(kFeatures), row(4 * count), fields;
  std::vector<int64_t> output(count, 0), replica(count, -1);
  BankArgs<W> args{};
  size_t number = 0;
#define POLYAK_FIELD(name) ++number;
  POLYAK_MODEL_FIELDS(POLYAK_FIELD)
#undef POLYAK_FIELD
  fields.resize(number * count);
  double *next = fields.data();
#define POLYAK_FIELD(name) args.models.name = next, next += count;
  POLYAK_MODEL_FIELDS(POLYAK_FIELD)
#undef POLYAK_FIELD
  for (size_t k = 0; k < count; ++k) {
    args.models.alpha[k] = 1e-4 * static_cast<double>(k + 1);
    args.models.gamma0[k] = 0.05;
    args.models.decay[k] = 0.01;
    args.models.scale[k] = args.models.unit[k] = 1.0;
  }
  args.models.count = static_cast<int64_t>(count);
  args.models.output = output.data();
  args.models.replica = replica.data();
  args.settings = {0.75, 0.0, precondition, false, 0.0, true,  false, true,
                   true, 1,   false,        false, 0.0, false, 0};
  args.lines = lines.data();
  args.features = kFeatures;
  args.squares = squares.data();
  args.shared_rate = true;
  args.sums = scratch.data(), args.step = scratch.data() + 2 * count;
  args.gamma = row.data(), args.y = row.data() + count;
  args.w = row.data() + 2 * count, args.score = row.data() + 3 * count;
  args.scaled = scaled.data();
  Task task{};
  task.targets = targets.data();
  task.outputs = 1;
  task.count = kRows;
  task.unchecked = true;
  kernels = build;
  if (kernels->rows.learn("log_loss", args, rows, task) != all_learned) std::abort();
  std::vector<W> scores(static_cast<size_t>(kRows) * 2 * count);
  kernels->rows.score(lines.data(), kFeatures, args.models.count * 2, rows, scores.data());
  std::vector<double> all(lines.begin(), lines.end());
  all.insert(all.end(), fields.begin(), fields.end());
  all.insert(all.end(), scores.begin(), scores.end());
  return all;
}

double distance(const std::vector<double> &one, const std::vector<double> &other) {
  double apart = 0.0, size = 0.0;
  for (size_t i = 0; i < one.size(); ++i) {
    if (!std::isfinite(one[i])) std::abort();
    apart += (one[i] - other[i]) * (one[i] - other[i]);
    size += other[i] * other[i];
  }
  return std::sqrt(apart / size);
}

template <class W>
void compare(const char *name, double bound) {
  const Problem<W> problem;
  double most = 0.0;
  const auto both = [&](const auto &rows, size_t models, double precondition) {
    const auto run = [&](const KernelTable *build) {
      return learned<W>(rows, problem.targets, models, precondition, build);
    };
    most = std::max(most, distance(run(kernel_tables().front()), run(kernel_tables().back())));
  };
  for (const size_t models : {1, 3, 8, 21})
    for (const double precondition : {0.0, 0.5}) {
      both(problem.dense_rows(), models, precondition);
      both(problem.sparse_rows(), models, precondition);
    }
  std::printf("%s: with SIMD and without they differ by %.1e\n", name, most);
  if (!(most < bound)) std::exit(1);
}

}  // namespace

int main() {
  compare<double>("double", 1e-12);
  compare<float>("float", 1e-5);
}
