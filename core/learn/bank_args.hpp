// The state of a bank as the kernels see it: plain pointers into memory that the binding owns.
#pragma once

#include <cstdint>
#include <limits>

namespace polyak {

// Settings that all models of a bank share.
struct Settings {
  double power;          // c of the learning rate
  double average_power;  // r: row m has the weight m^r in the average
  double precondition;   // p: coordinate j moves by (mean of x_j^2)^-p; 0 for none
  bool adagrad;          // use the mean of (slope x_j)^2 instead, as AdaGrad does
  double least;          // initial value of every sum of squares
  bool intercept;        // fit an intercept
  bool implicit;         // take implicit steps
  bool capped;           // limit explicit steps to 1 / (curvature * squared norm)
  bool progressive;      // accumulate progressive validation
  int64_t group;         // number of consecutive models that are the classes of one classifier
  bool softmax;          // learn the classes of a group together
  bool proximal;         // take proximal steps, see proximal.hpp
  double l1_ratio;       // L1 share of the elastic-net penalty, in [0, 1]
  bool positive;         // constrain proximal weights to be non-negative
  uint64_t seed;         // of the replicas' row weights
};

// The mutable state of each model; every pointer is to `count` numbers. Saving and restoring state
// goes through this list, so that it is complete by construction.
#define POLYAK_MODEL_FIELDS(F)                                                                    \
  F(alpha)           /* the penalty lambda */                                                     \
  F(gamma0)          /* initial learning rate */                                                  \
  F(decay)           /* a of the learning rate */                                                 \
  F(start)           /* averaging begins after this row; negative until the detector sets it */   \
  F(scale)           /* s: the iterate is s v */                                                  \
  F(tau)             /* the sum of the iterates is tau v + u */                                   \
  F(total)           /* sum of the iterates' weights */                                           \
  F(unit)            /* what a weight of one counts; rescaled so that total stays in range */     \
  F(bias)            /* intercept of the iterate */                                               \
  F(bias_sum)        /* weighted sum of the intercepts */                                         \
  F(running_iterate) /* the detector's running loss of the iterate */                             \
  F(running_average) /* the detector's running loss of the exponential average */                 \
  F(weight)          /* progressive validation: sum of the rows' weights */                       \
  F(loss)            /* progressive validation: weighted losses of the averaged model */          \
  F(loss_squared)    /* progressive validation: their weighted squares */                         \
  F(error)           /* progressive validation: weighted errors */                                \
  F(confusion)       /* first model of a group: weight of rows where a wrong class scored best */ \
  F(rated)           /* weighted losses by which candidates are compared, see RowLimits */        \
  F(capped)          /* number of losses above their row's cap */

// How a row counts where candidates are compared.
struct RowLimits {
  double cap;    // no loss counts for more than this
  double share;  // factor of the row's weight
};
constexpr RowLimits no_limits{std::numeric_limits<double>::infinity(), 1.0};

struct Models {
  int64_t count;
#define POLYAK_FIELD(name) double *name;
  POLYAK_MODEL_FIELDS(POLYAK_FIELD)
#undef POLYAK_FIELD
  const int64_t *output;    // the model's target column, or its class
  const int64_t *replica;   // stream of random row weights; negative for none
  const double *parameter;  // of the loss, if it has one
};

template <class W>
struct BankArgs {
  W *lines;  // the weights, see weights.hpp
  int64_t features;
  Models models;
  Settings settings;
  double *squares;   // sum of x_j^2 over all rows; of proximal steps the maximum
  int64_t clock;     // rows of non-zero weight learned so far
  int64_t looked;    // rows that are counted in `squares` but were not learned
  bool shared_rate;  // all models have the same learning rate
  bool replicas;     // some model has random row weights

  // Scratch space for the current row; K is the number of models.
  W *sums;           // 2K inner products
  W *step;           // 2K steps
  W *scaled;         // preconditioned values, or K proximal weights per nonzero
  W *rates;          // 5K numbers for proximal steps
  double *gamma;     // K learning rates
  double *y;         // K targets
  double *w;         // K row weights
  double *score;     // K scores
  double *scratch;   // 4 numbers per class of a group
  RowLimits limits;  // of the current row
  double offset;     // added to all scores of the current row
};

// The targets, weights and order of the rows of one call.
struct Task {
  const double *targets;    // row i, output o at [i * outputs + o]; null if there are classes
  const int64_t *classes;   // class of row i; the target of model k is +1 if it is the model's own
  int64_t outputs;          // number of target columns
  const double *weights;    // row i, model k at [i * weight_stride + k * weight_step]; may be null
  int64_t weight_stride;    // from one row's weights to the next
  int64_t weight_step;      // from one model's weight to the next; 0 if all models share it
  const double *offsets;    // row i: what is added to its scores; may be null
  const int64_t *order;     // the rows to learn, in this order; null for all in storage order
  int64_t count;            // number of rows to learn
  double *scores;           // receives the averaged models' scores before each row; may be null
  const RowLimits *limits;  // one per row to learn, in the order of learning; may be null
  bool unchecked;           // the rows were not validated: stop at the first invalid one
  bool gathered;            // the rows are stored in the order of learning
};

constexpr int64_t all_learned = -1;

}  // namespace polyak
