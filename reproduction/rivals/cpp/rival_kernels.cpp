#include "paper/rival_kernels.hpp"

#include <cstring>

#include "learn/losses.hpp"
#include "paper/olbfgs.hpp"
#include "paper/rivals.hpp"
#include "paper/sgd_qn.hpp"

namespace polyak {
namespace POLYAK_KERNELS {
namespace {

// Calls learn(loss) with the loss of this name.
template <class Learn>
int64_t with_loss(const char *loss, Learn &&learn) {
  int64_t stopped = all_learned;
  each_loss_of_the_paper([&](const char *name, auto kind) {
    if (std::strcmp(name, loss) == 0) stopped = learn(kind);
  });
  return stopped;
}

}  // namespace

template <class Rows>
int64_t sgd(const char *loss, const Rows &rows, const double *y, const SgdSettings &set,
            SgdState &state, double *weights, int64_t features) {
  return with_loss(loss, [&](auto kind) {
    return learn_sgd<decltype(kind)>(rows, y, set, state, weights, features);
  });
}

template <class Rows>
int64_t pegasos(const char *loss, const Rows &rows, const double *y, const PegasosSettings &set,
                PegasosState &state, double *weights, int64_t features, double *slopes) {
  return with_loss(loss, [&](auto kind) {
    return learn_pegasos<decltype(kind)>(rows, y, set, state, weights, features, slopes);
  });
}

template <class Rows>
int64_t sgd_qn(const char *loss, const Rows &rows, const double *y, const SgdQnSettings &set,
               SgdQnState &state, double *weights, double *gains, double *before,
               int64_t features) {
  return with_loss(loss, [&](auto kind) {
    return learn_sgd_qn<decltype(kind)>(rows, y, set, state, weights, gains, before, features);
  });
}

template <class Rows>
int64_t olbfgs(const char *loss, const Rows &rows, const double *y, const OlbfgsSettings &set,
               OlbfgsState &state, double *weights, double *moves, double *changes, double *room,
               int64_t features) {
  return with_loss(loss, [&](auto kind) {
    return learn_olbfgs<decltype(kind)>(rows, y, set, state, weights, moves, changes, room,
                                        features);
  });
}

#define INSTANTIATE(ROWS)                                                                       \
  template int64_t sgd(const char *, const ROWS &, const double *, const SgdSettings &,         \
                       SgdState &, double *, int64_t);                                          \
  template int64_t pegasos(const char *, const ROWS &, const double *, const PegasosSettings &, \
                           PegasosState &, double *, int64_t, double *);                        \
  template int64_t sgd_qn(const char *, const ROWS &, const double *, const SgdQnSettings &,    \
                          SgdQnState &, double *, double *, double *, int64_t);                 \
  template int64_t olbfgs(const char *, const ROWS &, const double *, const OlbfgsSettings &,   \
                          OlbfgsState &, double *, double *, double *, double *, int64_t);
#define POLYAK_COMMA ,
#define INSTANTIATE_ROWS(V)                       \
  INSTANTIATE(DenseRows<V>)                       \
  INSTANTIATE(SparseRows<V POLYAK_COMMA int32_t>) \
  INSTANTIATE(SparseRows<V POLYAK_COMMA int64_t>)
INSTANTIATE_ROWS(float)
INSTANTIATE_ROWS(double)

}  // namespace POLYAK_KERNELS
}  // namespace polyak
