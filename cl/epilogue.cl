/* SPDX-License-Identifier: MIT */
/*
 * The elements that products read and write, and what follows their sums: cl/blocks.cl, cl/tiles.cl and cl/scale.cl include
 * this file.
 *
 *     -DTYPE=float      element type of the output and the bias: float, double, half or bfloat16 (cl/narrow.cl)
 *     -DIN=float        that of the inputs
 *     -DSUM=float       type of sums, factors and results before they are written: float, or double with -DDOUBLES
 *     -DBIAS            there is a bias: that of (i, j) is element bias_at.x + i bias_at.y + j bias_at.z
 *     -DOP=op_relu -DUSES_relu   an operation of map.cl on what is written
 *     -DW=1             for map.cl
 */
#ifdef DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#define V(type) type
#include "narrow.cl"

typedef MEMORY(IN) input;
typedef MEMORY(TYPE) output;

#ifdef OP
#define UNARY
#define FUSED
#define A SUM
#define B SUM
#define OUT SUM
#include "map.cl"
#else
#define OP(v) (v)
#endif

#ifdef BIAS
#define BIAS_PARAMETERS , global const output *restrict bias, uint4 bias_at
#define BIAS_ARGUMENTS , bias, bias_at
#define WITH_BIAS(value, i, j)                                                                     \
    ((value) + UNPACK(TYPE, bias[bias_at.x + (size_t)(i)*bias_at.y + (size_t)(j)*bias_at.z]))
#else
#define BIAS_PARAMETERS
#define BIAS_ARGUMENTS
#define WITH_BIAS(value, i, j) (value)
#endif

/* Element (i, j) of the output, at `at`, of its sum; `factor` of 0 reads nothing. */
#define WITH_OLD(sum, factor, at) ((factor) != 0 ? (sum) + (factor)*UNPACK(TYPE, *(at)) : (sum))
#define ENDED(value, i, j) PACK(TYPE, OP(WITH_BIAS(value, i, j)))
