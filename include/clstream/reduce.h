/* SPDX-License-Identifier: MIT */
/**
 * @file reduce.h
 * Reductions of a whole array to one value. Typed names (cls_sum_f32, cls_dot_f64 ...) are in
 * typed.h; those of min and max are cls_reduce_min_f32 and so on, because cls_min_f32 is the
 * element-by-element operation. Common rules are in cast.h.
 *
 * On one device, a reduction of the same bytes always gives the same bits. The blocking forms
 * return the result to the host. The `_async` forms write it to a view of one element of the
 * result's type, which must not overlap an input.
 */
#ifndef CLSTREAM_REDUCE_H
#define CLSTREAM_REDUCE_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Reductions. */
typedef enum cls_reduce_op {
    /**
     * The sum; 0 for zero elements. Integers: an i64, modulo 2^64. f32 and f64: the same type, with
     * compensated summation. The error is at most 1 ULP of the exact sum plus n^2 u^2 times the sum
     * of |x|, where u is 2^-24 or 2^-53. (Naive summation has n u in place of n^2 u^2; so has this
     * one if an element is the largest finite number or its negative.) A partial sum beyond the
     * range is infinite. f16 and bf16: the same type, summed as f32 and rounded once, at the end: the
     * error of that sum plus 1 ULP of f16 or bf16. Partial sums have the range of f32.
     */
    CLS_REDUCE_SUM = 1,
    /** The least element; NaN if there is one. */
    CLS_REDUCE_MIN = 2,
    /** The greatest element; NaN if there is one. */
    CLS_REDUCE_MAX = 3,
    /**
     * The sum divided by the count; NaN for zero elements. Integers: in f64, which the device must
     * support. Floating-point types: the same type, with the error of the sum, divided by the count, plus
     * 3 ULP. f16 and bf16: the sum of f32 is divided, so that one beyond the range of f16 does no harm.
     */
    CLS_REDUCE_MEAN = 4,
    /**
     * The index of the first NaN, or if there is none of the first maximum: an i64 from 0 within
     * the view.
     */
    CLS_REDUCE_ARGMAX = 5,
    /** The index of the first NaN, or if there is none of the first minimum; otherwise like CLS_REDUCE_ARGMAX. */
    CLS_REDUCE_ARGMIN = 6,
    /** Whether any element is not 0: a u8 of 1 or 0. -0 is 0, a NaN is not. 0 for zero elements. */
    CLS_REDUCE_ANY = 7,
    /** Whether all elements are not 0; otherwise like CLS_REDUCE_ANY. 1 for zero elements. */
    CLS_REDUCE_ALL = 8
} cls_reduce_op;

/**
 * Gets the type of a reduction's result.
 * @retval CLS_ERROR_INVALID_VALUE `out` is null, or the operation or dtype is unknown
 */
CLS_API cls_status cls_reduce_result_dtype(cls_reduce_op op, cls_dtype in, cls_dtype *out);

/**
 * Reduces `in` to `result`, one element of the result's type, and waits.
 * @retval CLS_ERROR_INVALID_VALUE also if `result` is null, and for min, max, argmax or argmin of
 *                                 zero elements
 */
CLS_API cls_status cls_reduce(cls_reduce_op op, cls_array in, void *result, cls_stream stream);
/**
 * Reduces `in` to `out`; only submits.
 * @retval CLS_ERROR_SIZE_MISMATCH `out` is not one element
 * @retval CLS_ERROR_TYPE_MISMATCH `out` is not of the result's type
 */
CLS_API cls_status cls_reduce_async(cls_reduce_op op, cls_array in, cls_array out,
                                    cls_stream stream);

/**
 * The sum of a[i] b[i]. Result types and summation as in CLS_REDUCE_SUM. f32 and f64: the error is
 * at most 2 ULP of the result plus n u (f32: u = 2^-24) times the sum of |a b|. On devices whose
 * fma() rounds once it is as small as that of the sum. f16 and bf16: products and sums are those of
 * f32, whose error has 1 ULP of f16 or bf16 added. For vectors with a step see cls_blas_dot
 * (blas.h).
 */
CLS_API cls_status cls_dot(cls_array a, cls_array b, void *result, cls_stream stream);
/** Like cls_dot, into a view of one element; only submits. */
CLS_API cls_status cls_dot_async(cls_array a, cls_array b, cls_array out, cls_stream stream);

/** Returns the name of an operation ("argmax"), a static string; "?" for an unknown value. */
CLS_API const char *cls_reduce_op_name(cls_reduce_op op);

/**
 * Gets an operation by its name.
 * @retval CLS_ERROR_INVALID_VALUE an argument is null
 * @retval CLS_ERROR_NOT_FOUND     there is no such name
 */
CLS_API cls_status cls_reduce_op_parse(const char *name, cls_reduce_op *out);

CLS_END_DECLS

#endif
