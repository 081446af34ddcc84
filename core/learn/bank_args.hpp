// What the kernels see of a bank: plain pointers into memory that the binding owns.
#pragma once

#include <cstdint>
#include <limits>

namespace polyak {

// What all models of a bank share.
struct Settings {
  double power;          // c of the learning rate
  double average_power;  // row m of the average counts m^r
  double precondition;   // p: coordinate j moves by (mean of x_j^2)^-p, ...
  bool adagrad;          // ... or by (mean of (slope x_j)^2)^-p, as AdaGrad's does,
  double least;          // where every sum of squares begins here
  bool intercept;
  bool implicit;
  bool capped;  // an explicit step never goes beyond 1 / (curvature * squared norm)
  bool progressive;
  int64_t group;    // so many models in a row are the classes of one classifier
  bool softmax;     // which are learned together
  bool proximal;    // weights are to be exactly zero, see proximal.hpp: so large a share of the
                    // penalty
  double l1_ratio;  // is of absolute values
  bool positive;    // and none is below zero
  uint64_t seed;
};

// What each model has of its own; every pointer is to `count` numbers. Everything that changes is
// listed in POLYAK_MODEL_FIELDS, so that a state saved and put back is complete by construction.
#define POLYAK_MODEL_FIELDS(F)                                                              \
  F(alpha)           /* the penalty lambda */                                               \
  F(gamma0)          /* the learning rate's first value */                                  \
  F(decay)           /* a of the learning rate */                                           \
  F(start)           /* averaging begins after this row; negative: the detector will say */ \
  F(scale)           /* s: the iterate is s v */                                            \
  F(tau)             /* the sum of the iterates is tau v + u ... */                         \
  F(total)           /* ... and this the sum of their weights */                            \
  F(unit)            /* what a weight of one counts, kept so that total stays in range */   \
  F(bias)            /* the intercept of the iterate */                                     \
  F(bias_sum)        /* the weighted sum of the intercepts */                               \
  F(running_iterate) /* the detector's running loss of the iterate */                       \
  F(running_average) /* the same of the exponential average */                              \
  F(weight)          /* progressive validation: the rows' weights, */                       \
  F(loss)            /* the weighted losses of the averaged model, */                       \
  F(loss_squared)    /* their squares, */                                                   \
  F(error)           /* its errors, */                                                      \
  F(confusion)       /* a group's first model: rows where a wrong class scored highest, */  \
  F(rated)           /* the losses as candidates are compared by them: see RowLimits */     \
  F(capped)          /* and how many losses were above their row's cap */

// How a row counts where candidates are compared: no loss counts for more than `cap`, and the row's
// weight is multiplied by `share`.
struct RowLimits {
  double cap, share;
};
constexpr RowLimits no_limits{std::numeric_limits<double>::infinity(), 1.0};

struct Models {
  int64_t count;
#define POLYAK_FIELD(name) double *name;
  POLYAK_MODEL_FIELDS(POLYAK_FIELD)
#undef POLYAK_FIELD
  const int64_t *output;    // which target column, or which class, is the model's own
  const int64_t *replica;   // which stream of random row weights; negative: none
  const double *parameter;  // of the loss, if it has one
};

template <class W>
struct BankArgs {
  W *lines;
  int64_t features;
  Models models;
  Settings settings;
  double *squares;   // sum of x_j^2 over all rows, for the preconditioner; or the largest
  int64_t clock;     // rows of non-zero weight so far
  int64_t looked;    // rows that `squares` has seen but nobody has learned
  bool shared_rate;  // every model has the same learning rate
  bool replicas;     // some model has random row weights
  // Room for one row: 2K numbers each, then K each, then 4 a class, then one per nonzero.
  W *sums, *step;
  double *gamma, *y, *w, *score, *room;
  RowLimits limits;  // of the row being learned
  W *scaled;         // with proximal steps one per nonzero and model
  W *rates;          // what those go by: 5K numbers
};

// One call's targets, weights and order of rows, all optional but the targets.
struct Task {
  const double *targets;   // row i, output o at [i * outputs + o]; or null where classes are given
  const int64_t *classes;  // row i's class: model k's target is +1 where it is its own, else -1
  int64_t outputs;
  const double *weights;  // row i, model k at [i * weight_stride + k * weight_step]; or null
  int64_t weight_stride, weight_step;
  const int64_t *order;  // the rows to learn, in this order; or null for all as they stand
  int64_t count;
  double *scores;  // if not null: the averaged models' scores of each row before it is learned
  const RowLimits *limits;  // of the rows in the order they are learned; or null for none
  bool unchecked;           // nobody has looked at the rows yet: stop at one that is not in order
};

constexpr int64_t all_learned = -1;

}  // namespace polyak
