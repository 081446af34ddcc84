// The doors into the compiled rivals, once per build of the kernels (see kernel_namespace.hpp) and
// once per type of row. All answer all_learned, or the row where a score was not a number.
#pragma once

#include <cstdint>

#include "paper/rival_state.hpp"
#include "rows/rows.hpp"

namespace polyak {

#define POLYAK_RIVAL_DOORS                                                                         \
  template <class Rows>                                                                            \
  int64_t sgd(const char *loss, const Rows &rows, const double *y, const SgdSettings &set,         \
              SgdState &state, double *weights, int64_t features);                                 \
  template <class Rows>                                                                            \
  int64_t pegasos(const char *loss, const Rows &rows, const double *y, const PegasosSettings &set, \
                  PegasosState &state, double *weights, int64_t features, double *slopes);         \
  template <class Rows>                                                                            \
  int64_t sgd_qn(const char *loss, const Rows &rows, const double *y, const SgdQnSettings &set,    \
                 SgdQnState &state, double *weights, double *gains, double *before,                \
                 int64_t features);                                                                \
  template <class Rows>                                                                            \
  int64_t olbfgs(const char *loss, const Rows &rows, const double *y, const OlbfgsSettings &set,   \
                 OlbfgsState &state, double *weights, double *moves, double *changes,              \
                 double *room, int64_t features);

namespace portable {
POLYAK_RIVAL_DOORS
}
#ifdef POLYAK_HAS_AVX2
namespace avx2 {
POLYAK_RIVAL_DOORS
}
#endif
#ifdef POLYAK_HAS_SCALAR
namespace scalar {
POLYAK_RIVAL_DOORS
}
#endif

}  // namespace polyak
