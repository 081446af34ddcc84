// What the rivals remember from row to row, beside their vectors. All are numbers of float64, so
// that Python can keep them in an array, copy it, and write it to a file.
#pragma once

#include <cstdint>

namespace polyak {

// SGD and SGD2, which differ only in where the learning rate gamma0 / (1 + decay gamma0 t) is from.
struct SgdSettings {
  double alpha, gamma0, decay;
  bool intercept;
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
  int64_t skip;
  bool intercept;
};
struct SgdQnState {
  double bias, bias_gain;
  double until;    // rows to the next penalty
  double measure;  // 1 if the next row is to measure the curvature
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
