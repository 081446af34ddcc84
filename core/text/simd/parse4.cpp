#include "text/simd/parse4.hpp"

#include <limits>

#if defined(POLYAK_SCALAR)  // reads no four at a time
#elif defined(__AVX2__)
#include "text/simd/parse4_avx2.hpp"
#define POLYAK_FOURS
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include "text/simd/parse4_neon.hpp"
#define POLYAK_FOURS
#endif
#include "kernels/kernel_namespace.hpp"

namespace polyak {
namespace POLYAK_KERNELS {

#if defined(POLYAK_FOURS)

template <class Index, class Value>
const char *read_fours(const char *p, int base, FeaturesOut<Index, Value> &out) {
  // An id before that is too wide for 32 bits can only be followed by one that does not rise.
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  FourNumbers numbers(static_cast<int32_t>(out.previous < most ? out.previous : most));
  Index *indices = out.indices;
  Value *values = out.values;
  FourTokens tokens;
  Marks marks = mark(p);
  while (tokens.find(p, marks)) {
    // The next four are marked before these are made numbers: neither then waits for the other,
    // which on ARM is a fifth of the time.
    const char *const end = p + tokens.end;
    marks = mark(end);
    if (!numbers.write(p, tokens, base, indices, values)) break;
    indices += 4;
    values += 4;
    p = end;
  }
  if (indices != out.indices)
    out = {indices, values, numbers.previous(), out.ascending && numbers.rose()};
  return p;
}

#else  // a processor that cannot pick characters from a register: the parser takes them one by one

template <class Index, class Value>
const char *read_fours(const char *p, int, FeaturesOut<Index, Value> &) {
  return p;
}

#endif

#define POLYAK_MAKE(Index, Value) \
  template const char *read_fours(const char *, int, FeaturesOut<Index, Value> &);
POLYAK_MAKE(int32_t, float)
POLYAK_MAKE(int32_t, double)
POLYAK_MAKE(int64_t, float)
POLYAK_MAKE(int64_t, double)
#undef POLYAK_MAKE

}  // namespace POLYAK_KERNELS
}  // namespace polyak
