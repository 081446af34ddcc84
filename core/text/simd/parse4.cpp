#include "text/simd/parse4.hpp"

#if defined(POLYAK_SCALAR)  // no SIMD
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
namespace {

#if defined(POLYAK_FOURS)

template <class Value>
const char *read_fours(const char *p, int base, FeaturesOut<Value> &out) {
  FourNumbers numbers(static_cast<int32_t>(out.previous));
  int32_t *indices = out.indices;
  Value *values = out.values;
  FourTokens tokens;
  Marks marks = mark(p);
  while (tokens.find(p, marks)) {
    // The next four are located before these are converted, so that neither waits for the other:
    // a fifth of the time on ARM.
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

#else  // without byte shuffles in registers the parser reads features one by one

template <class Value>
const char *read_fours(const char *p, int, FeaturesOut<Value> &) {
  return p;
}

#endif

}  // namespace

extern const TextKernelTable text_kernels;
constexpr TextKernelTable text_kernels{{&read_fours<float>}, {&read_fours<double>}};

}  // namespace POLYAK_KERNELS
}  // namespace polyak
