#include "learn/newton/softmax_fit.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/exponentials.hpp"
#include "kernels/halves.hpp"
#include "kernels/kernel_namespace.hpp"
#include "kernels/transposed.hpp"
#include "learn/newton/block_kernels.hpp"
#include "learn/newton/class_factors.hpp"

namespace polyak {
namespace POLYAK_KERNELS {
namespace {

constexpr int kMostSteps = 25, kMostRounds = 30, kMostHalvings = 40;
// Equations are solved to within this share: the next step makes up for the rest.
constexpr double kWithin = 0.1;
// After more rounds than so many, or part of a step, the next has factors of its own.
constexpr int kManyRounds = 6;
// A step that promised to lower the loss by no more than this share of it was the last; of a loss
// that is next to nothing, a mean of a thousandth will do; by factors of other weights, a tenth.
constexpr double kEnough = 1e-3, kNothing = 1e-3, kByOldFactors = 0.1;
constexpr int64_t kChunk = 64;

using Numbers = std::vector<double>;

double inner_product(const Numbers &some, const Numbers &others) {
  double total = 0.0;
  for (size_t j = 0; j < some.size(); ++j) total += some[j] * others[j];
  return total;
}

// Newton's steps for one penalty after the other; what they need room for is here.
class Steps {
 public:
  Steps(const ClassRows &given, const PaddedRows &padded)
      : given_(given),
        padded_(padded),
        factors_(given.classes, padded.of_32_bits),
        high_(rounded_up(given.classes, kTileRows)),
        size_(static_cast<size_t>(given.classes * given.rows.columns)),
        along_in_32_bits_(size_),
        sums_(static_cast<size_t>(high_ * padded.exact.stride)),
        slopes_(static_cast<size_t>(given.rows.count * high_)),
        sums_in_32_bits_(static_cast<size_t>(high_ * padded.of_32_bits.stride)),
        slopes_in_32_bits_(slopes_.size()),
        bend_(static_cast<size_t>(given.rows.count)) {
    for (Numbers *some : {&shrink_, &right_, &step_, &left_, &along_, &away_, &image_})
      *some = Numbers(size_);  // resized, they would call what all builds share
    for (Numbers *some : {&scores_, &chances_, &tried_, &moves_, &move_})
      *some = Numbers(static_cast<size_t>(given.rows.count * given.classes));
    total_weight_ = 0.0;
    for (int64_t i = 0; i < given.rows.count; ++i) total_weight_ += weight(i);
  }

  // Begins at W or, if they are better, at the weights of another penalty.
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
        look(scores_);
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
    return look(found);
  }

  double penalty(const double *W) const {
    double total = 0.0;
    for (size_t j = 0; j < size_; ++j) total += 0.5 * shrink_[j] * W[j] * W[j];
    return total;
  }

  // The probabilities of all rows' classes, and the sum of their losses.
  double look(const Numbers &scores) {
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

  // Adds up over rows what their classes' scores have, a row a class.
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

  // Multiplies by the matrix, in 32 bits: `move_` is what the rows' scores change by.
  void bend(const Numbers &along, Numbers &image) {
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
        bend_[i] = static_cast<float>(weight(i) * chance * (1.0 - chance));
      }
      factors_.find(c, bend_.data(), shrink_.data());
    }
  }

  // Finds the step by conjugate gradients, and what it moves scores by; says in how many rounds.
  int solve() {
    std::fill(step_.begin(), step_.end(), 0.0);
    std::fill(moves_.begin(), moves_.end(), 0.0);
    left_ = right_;
    factors_.solve(left_.data(), away_.data());
    along_ = away_;
    double size = inner_product(left_, away_);
    const double enough = kWithin * kWithin * size;
    for (int round = 0; round < kMostRounds; ++round) {
      bend(along_, image_);
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

  // Goes the whole step, or half of it, or a quarter ..., until what is minimised has fallen.
  double search(const double *W, double promised, double &value) {
    double linear = 0.0, square = 0.0;
    for (size_t j = 0; j < size_; ++j) {
      linear += shrink_[j] * W[j] * step_[j];
      square += shrink_[j] * step_[j] * step_[j];
    }
    double length = 1.0;
    for (int halving = 0; halving < kMostHalvings; ++halving, length *= 0.5) {
      for (size_t i = 0; i < tried_.size(); ++i) tried_[i] = scores_[i] - length * moves_[i];
      const double there = look(tried_);
      const double fallen = value - there + length * (linear - 0.5 * length * square);
      if (fallen >= 1e-4 * length * promised - 1e-12 * value) {
        std::swap(scores_, tried_);
        value = there;
        return length;
      }
    }
    look(scores_);
    return 0.0;
  }

  const ClassRows &given_;
  const PaddedRows &padded_;
  ClassFactors factors_;
  int64_t high_;
  size_t size_;
  double total_weight_;
  Numbers shrink_, right_, step_, left_, along_, away_, image_;  // a number a weight
  Numbers scores_, chances_, tried_, moves_, move_;              // a number a row and class
  Numbers sums_, slopes_;                                        // padded
  std::vector<float> along_in_32_bits_, sums_in_32_bits_, slopes_in_32_bits_, bend_;
};

}  // namespace

// From the firmest penalty on, by turns in both halves: what one leads to is where the next begins.
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
