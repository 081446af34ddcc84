// The kernels are compiled once for every processor and once more for newer ones (see
// CMakeLists.txt). A third build, without SIMD, exists only for tests to compare the others with.
// Each build has a namespace of its own, so that the linker cannot replace the code of one build
// with that of another.
#pragma once

#ifndef POLYAK_KERNELS
#define POLYAK_KERNELS portable
#endif

// Whether SIMD vectors are used; see pack.hpp.
#if defined(__GNUC__) && !defined(POLYAK_SCALAR)
#define POLYAK_VECTORS
#endif

#if defined(__GNUC__)
#define POLYAK_NOINLINE __attribute__((noinline))
#else
#define POLYAK_NOINLINE __declspec(noinline)
#endif

// Unrolls a loop of eight iterations, so that the array it indexes stays in registers.
#if defined(__GNUC__)
#define POLYAK_UNROLL _Pragma("GCC unroll 8")
#else
#define POLYAK_UNROLL
#endif
