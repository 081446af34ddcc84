// What a row passes through is compiled once for every processor and once more for newer ones (see
// CMakeLists.txt), and for tests a third time, as plain loops over plain numbers, for the others to
// be compared with. Each build lives in a namespace of its own, so that the linker can never hand
// the code of one to the other.
#pragma once

#ifndef POLYAK_KERNELS
#define POLYAK_KERNELS portable
#endif

// Whether numbers may move through the processor together; see pack.hpp.
#if defined(__GNUC__) && !defined(POLYAK_SCALAR)
#define POLYAK_VECTORS
#endif

// The loops over a row's nonzeros are compiled once and shared by all losses.
#if defined(__GNUC__)
#define POLYAK_NOINLINE __attribute__((noinline))
#else
#define POLYAK_NOINLINE __declspec(noinline)
#endif

// Eight rounds of a short loop one after the other, so that what they index stays in registers.
#if defined(__GNUC__)
#define POLYAK_UNROLL _Pragma("GCC unroll 8")
#else
#define POLYAK_UNROLL
#endif
