/* SPDX-License-Identifier: MIT */
/**
 * @file cuda_nvcc.h
 * What nvcc includes and declares ahead of each program, for host code that relies on it: the runtime's calls, C's headers of
 * mathematics, strings and time, and in C++ min and max of numbers.
 *
 *     c++ -x c++ -include clstream/cuda_nvcc.h -c program.cu
 *
 * Kernels and `<<<>>>` are not C++: they are replaced first (doc/porting.md).
 */
#ifndef CLSTREAM_CUDA_NVCC_H
#define CLSTREAM_CUDA_NVCC_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <clstream/cuda_runtime.h>

CLS_BEGIN_DECLS
/* All declarations of C are in the headers above. */
CLS_END_DECLS

#ifdef __cplusplus

/** @cond */
/* Functions and no templates, so that mixed types convert, and those of std are no better match. */
#define CLS_CUDA_MIN_MAX(type)                                \
    inline type min(type a, type b) { return b < a ? b : a; } \
    inline type max(type a, type b) { return a < b ? b : a; }
CLS_CUDA_MIN_MAX(int)
CLS_CUDA_MIN_MAX(unsigned)
CLS_CUDA_MIN_MAX(long)
CLS_CUDA_MIN_MAX(unsigned long)
CLS_CUDA_MIN_MAX(long long)
CLS_CUDA_MIN_MAX(unsigned long long)
CLS_CUDA_MIN_MAX(float)
CLS_CUDA_MIN_MAX(double)
#undef CLS_CUDA_MIN_MAX
#define CLS_CUDA_MIN_MAX(a, b, type)                                                      \
    inline type min(a x, b y) { return min(static_cast<type>(x), static_cast<type>(y)); } \
    inline type max(a x, b y) { return max(static_cast<type>(x), static_cast<type>(y)); }
CLS_CUDA_MIN_MAX(int, unsigned, unsigned)
CLS_CUDA_MIN_MAX(unsigned, int, unsigned)
CLS_CUDA_MIN_MAX(float, double, double)
CLS_CUDA_MIN_MAX(double, float, double)
#undef CLS_CUDA_MIN_MAX
/** @endcond */

#endif

#endif
