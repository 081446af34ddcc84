#include "learn/newton/softmax_fit.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/exponentials.hpp"
#include "kernels/halves.hpp"
#include "kernels/kernel_namespace.hpp"
#include "kernels/reductions.hpp"
#include "kernels/transposed.hpp"
#include "learn/newton/block_kernels.hpp"
#include "learn/newton/class_factors.hpp"

namespace polyak {
namespace POLYAK_KERNELS {
namespace {

constexpr int kMostSteps = 25, kMostRounds = 30, kMostHalvings = 40;
// Relative residual to which the Newton equations are solved; the next step corrects the rest.
constexpr double kWithin = 0.1;
// After more iterations than this, or a shortened step, the preconditioner is factored again.
constexpr int kManyRounds = 6;
// The last step is the one whose predicted decrease is at most this share of the loss ...
constexpr double kEnough = 1e-3;
// ... or of a mean loss per row of this, if the loss is next to zero.
constexpr double kNothing = 1e-3;
// Factor of kEnough while the preconditioner is that of earlier weights.
constexpr double kByOldFactors = 0.1;
constexpr int64_t kChunk = 64;  // rows at a time

using Numbers = std::vector<double>;

double inner_product(const Numbers &a, const Numbers &b) {
  return POLYAK_KERNELS::inner_product<double>(a.data(), b.data(), static_cast<int64_t>(a.size()));
}

// Newton steps for one penalty after the other, and their scratch space.
class Steps {
 public:
  Steps(const ClassRows &given, const PaddedRows &padded)
      : given_(given),
        padded_(padded),
        factors_(given.classes, padded.of_32_bits),
        high_(rounded_up(given.classes, kTileRows)),
        size_(static_cast<size_t>(given.classes * given.rows.columns)),
        sums_(static_cast<size_t>(high_ * padded.exact.stride)),
        slopes_(static_cast<size_t>(given.rows.count * high_)),
        along_in_32_bits_(size_),
        sums_in_32_bits_(static_cast<size_t>(high_ * padded.of_32_bits.stride)),
        slopes_in_32_bits_(slopes_.size()),
        curvature_(static_cast<size_t>(given.rows.count)) {
    for (Numbers *some : {&shrink_, &right_, &step_, &left_, &along_, &away_, &image_})
      *some = Numbers(size_);  // `resize` would be a function that all builds share
    for (Numbers *some : {&scores_, &chances_, &tried_, &moves_, &move_})
      *some = Numbers(static_cast<size_t>(given.rows.count * given.classes));
    total_weight_ = 0.0;
    for (int64_t i = 0; i < given.rows.count; ++i) total_weight_ += weight(i);
  }

  // Minimises from W or, if it has the lower objective, from the solution of another penalty.
  void take(const double *shrink, double *W, double *gradient, const double *others) {
    for (size_t j = 0; j < size_; ++j)
      shrink_[j] = shrink[static_cast<int64_t>(j) % given_.rows.columns];
    double value = score(W, scores_);
    if (others) {
      const double theirs = score(others, tried_);
      if (theirs + penalty(others) < value + penalty(W)) {
        std::copy_n(others, size_, W);
        std::swap(scores_, tried_);
        value = theirs;
      } else {
        evaluate(scores_);
      }
    }
    gradient_of_losses(gradient);
    bool old = false;
    for (int step = 0; step < kMostSteps; ++step) {
      for (size_t j = 0; j < size_; ++j) right_[j] = gradient[j] + shrink_[j] * W[j];
      if (!old) find_factors();
      const int rounds = solve();
      const double promised = inner_product(right_, step_);
      const double length = search(W, promised, value);
      for (size_t j = 0; j < size_; ++j) W[j] -= length * step_[j];
      gradient_of_losses(gradient);
      const double enough = 2.0 * kEnough * (old ? kByOldFactors : 1.0);
      if (!(promised > enough * (value + kNothing * total_weight_)) || length == 0.0) break;
      old = rounds <= kManyRounds && length == 1.0;
    }
    score(W, scores_);  // moves were of 32 bits
    gradient_of_losses(gradient);
  }

 private:
  double weight(int64_t row) const { return given_.weights ? given_.weights[row] : 1.0; }

  double score(const double *W, Numbers &found) {
    score_rows(given_.rows, W, given_.classes, found.data());
    return evaluate(found);
  }

  double penalty(const double *W) const {
    double total = 0.0;
    for (size_t j = 0; j < size_; ++j) total += 0.5 * shrink_[j] * W[j] * W[j];
    return total;
  }

  // Computes the probabilities of all rows' classes, and returns the sum of the losses.
  double evaluate(const Numbers &scores) {
    const int64_t classes = given_.classes;
    double value = 0.0, highest[kChunk];
    for (int64_t first = 0; first < given_.rows.count; first += kChunk) {
      const int64_t count = std::min(kChunk, given_.rows.count - first);
      const double *score = scores.data() + first * classes;
      double *chance = chances_.data() + first * classes;
      for (int64_t i = 0; i < count; ++i) {
        highest[i] = *std::max_element(score + i * classes, score + (i + 1) * classes);
        for (int64_t k = i * classes; k < (i + 1) * classes; ++k) chance[k] = score[k] - highest[i];
      }
      for (int64_t k = 0; k < count * classes; ++k) chance[k] = exp_of_negative(chance[k]);
      for (int64_t i = 0; i < count; ++i) {
        double total = 0.0;
        for (int64_t k = i * classes; k < (i + 1) * classes; ++k) total += chance[k];
        for (int64_t k = i * classes; k < (i + 1) * classes; ++k) chance[k] /= total;
        const double own = score[i * classes + given_.own[first + i]];
        value += weight(first + i) * (std::log(total) + (highest[i] - own));
      }
    }
    return value;
  }

  // Sums slopes times rows, one row of sums per class.
  template <class Value>
  void add_up(const std::vector<Value> &slopes, const Padded<Value> &rows, std::vector<Value> &sums,
              double *found) const {
    std::fill(sums.begin(), sums.end(), Value{});
    for (int64_t first = 0; first < given_.rows.count; first += kChunk) {
      const int64_t count = std::min(kChunk, given_.rows.count - first);
      add_transposed<Value>({slopes.data() + first * high_, high_}, high_,
                            {rows[first], rows.stride}, rows.stride, count, sums.data(), false);
    }
    for (int64_t c = 0; c < given_.classes; ++c)
      std::copy_n(&sums[c * rows.stride], given_.rows.columns, found + c * given_.rows.columns);
  }

  void gradient_of_losses(double *gradient) {
    for (int64_t i = 0; i < given_.rows.count; ++i) {
      const double *chance = chances_.data() + i * given_.classes;
      double *slope = slopes_.data() + i * high_;
      for (int64_t c = 0; c < given_.classes; ++c) slope[c] = weight(i) * chance[c];
      slope[given_.own[i]] -= weight(i);
    }
    add_up(slopes_, padded_.exact, sums_, gradient);
  }

  // Multiplies by the Hessian, in 32 bits; `move_` is the change of the rows' scores.
  void multiply_hessian(const Numbers &along, Numbers &image) {
    std::copy(along.begin(), along.end(), along_in_32_bits_.begin());
    score_rows(padded_.of_32_bits.rows(), along_in_32_bits_.data(), given_.classes, move_.data());
    for (int64_t i = 0; i < given_.rows.count; ++i) {
      const double *chance = chances_.data() + i * given_.classes;
      const double *move = move_.data() + i * given_.classes;
      float *slope = slopes_in_32_bits_.data() + i * high_;
      double mean = 0.0;
      for (int64_t c = 0; c < given_.classes; ++c) mean += chance[c] * move[c];
      for (int64_t c = 0; c < given_.classes; ++c)
        slope[c] = static_cast<float>(weight(i) * chance[c] * (move[c] - mean));
    }
    add_up(slopes_in_32_bits_, padded_.of_32_bits, sums_in_32_bits_, image.data());
    for (size_t j = 0; j < size_; ++j) image[j] += shrink_[j] * along[j];
  }

  void find_factors() {
    for (int64_t c = 0; c < given_.classes; ++c) {
      for (int64_t i = 0; i < given_.rows.count; ++i) {
        const double chance = chances_[i * given_.classes + c];
        curvature_[i] = static_cast<float>(weight(i) * chance * (1.0 - chance));
      }
      factors_.find(c, curvature_.data(), shrink_.data());
    }
  }

  // Computes the step and its change of the scores by conjugate gradients. Returns the number of
  // iterations.
  int solve() {
    std::fill(step_.begin(), step_.end(), 0.0);
    std::fill(moves_.begin(), moves_.end(), 0.0);
    left_ = right_;
    factors_.solve(left_.data(), away_.data());
    along_ = away_;
    double size = inner_product(left_, away_);
    const double enough = kWithin * kWithin * size;
    for (int round = 0; round < kMostRounds; ++round) {
      multiply_hessian(along_, image_);
      const double bent = inner_product(along_, image_);
      if (!(bent > 0.0)) return round;
      const double length = size / bent;
      for (size_t j = 0; j < size_; ++j) {
        step_[j] += length * along_[j];
        left_[j] -= length * image_[j];
      }
      for (size_t i = 0; i < moves_.size(); ++i) moves_[i] += length * move_[i];
      factors_.solve(left_.data(), away_.data());
      const double next = inner_product(left_, away_);
      if (!(next > enough)) return round + 1;
      for (size_t j = 0; j < size_; ++j) along_[j] = away_[j] + next / size * along_[j];
      size = next;
    }
    return kMostRounds;
  }

  // Backtracking line search: halves the step until the objective has decreased enough.
  double search(const double *W, double promised, double &value) {
    double linear = 0.0, square = 0.0;
    for (size_t j = 0; j < size_; ++j) {
      linear += shrink_[j] * W[j] * step_[j];
      square += shrink_[j] * step_[j] * step_[j];
    }
    double length = 1.0;
    for (int halving = 0; halving < kMostHalvings; ++halving, length *= 0.5) {
      for (size_t i = 0; i < tried_.size(); ++i) tried_[i] = scores_[i] - length * moves_[i];
      const double there = evaluate(tried_);
      const double fallen = value - there + length * (linear - 0.5 * length * square);
      if (fallen >= 1e-4 * length * promised - 1e-12 * value) {
        std::swap(scores_, tried_);
        value = there;
        return length;
      }
    }
    evaluate(scores_);
    return 0.0;
  }

  const ClassRows &given_;
  const PaddedRows &padded_;
  ClassFactors factors_;
  int64_t high_;
  size_t size_;
  double total_weight_;
  Numbers shrink_, right_, step_, left_, along_, away_, image_;  // one number per weight
  Numbers scores_, chances_, tried_, moves_, move_;              // one number per row and class
  Numbers sums_, slopes_;                                        // padded
  std::vector<float> along_in_32_bits_, sums_in_32_bits_, slopes_in_32_bits_, curvature_;
};

}  // namespace

// From the largest penalty on; each solution is the warm start of the next. Two interleaved
// sequences, so that the result does not depend on the number of threads.
void fit_softmax(const ClassRows &given, const SoftmaxGoals &goals, bool two_threads) {
  const int64_t columns = given.rows.columns, weights = given.classes * columns;
  const PaddedRows padded(given.rows);
  std::vector<Steps> steps(2, Steps(given, padded));
  std::vector<int64_t> order(static_cast<size_t>(goals.penalties));
  std::iota(order.begin(), order.end(), 0);
  const auto firmness = [&](int64_t t) { return goals.shrink[(t + 1) * columns - 1]; };
  std::sort(order.begin(), order.end(),
            [&](int64_t t, int64_t u) { return firmness(t) > firmness(u); });
  by_halves(2, two_threads, [&](int half, int64_t, int64_t) {
    const double *others = nullptr;
    for (size_t k = half; k < order.size(); k += 2) {
      double *W = goals.W + order[k] * weights;
      steps[half].take(goals.shrink + order[k] * columns, W, goals.gradient + order[k] * weights,
                       others);
      others = W;
    }
  });
}

}  // namespace POLYAK_KERNELS
}  // namespace polyak
