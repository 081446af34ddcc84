// What the rivals remember from row to row, beside their vectors. All are numbers of float64, so
// that Python can keep them in an array, copy it, and write it to a file.
#pragma once

#include <cstdint>

namespace polyak {

// What a loop returns that came to the end of its rows; otherwise the row where it stopped.
constexpr int64_t all_learned = -1;

// SGD and SGD2, which differ only in where the learning rate gamma0 / (1 + decay gamma0 t) is from.
struct SgdSettings {
  double alpha, gamma0, decay;
  double
      intercept_rate;  // the intercept's learning rate over that of the weights; 0: there is none
};
struct SgdState {
  double clock, scale, bias;
};

struct PegasosSettings {
  double alpha, radius;
  int64_t batch;
  bool intercept;
};
struct PegasosState {
  double clock;  // of mini-batches
  double scale, square, bias;
};

struct SgdQnSettings {
  double alpha;
  double t0;  // of the pseudo-code of 2009; zero for the rule of sgd-2.x
  int64_t skip;
  bool intercept;
};
struct SgdQnState {
  double bias, bias_gain, bias_before;
  double clock;     // rows so far
  double last;      // the row of the last measurement
  double until;     // rows to the next penalty
  double measure;   // 1 if the next row is to measure the curvature
  double measured;  // how many did, and two more: the r of the pseudo-code
};

struct OlbfgsSettings {
  double alpha, eta0, tau, damping;
  int64_t batch, memory;
  bool intercept;
};
struct OlbfgsState {
  double clock;   // of mini-batches
  double stored;  // how many pairs of differences there are so far, not more than the memory
  double next;    // where the next pair goes
};

}  // namespace polyak
