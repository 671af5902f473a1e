/* SPDX-License-Identifier: MIT */
/**
 * @file reduce.h
 * Reductions of a whole array to one value. Typed names (cls_sum_f32, cls_dot_f64
 * ...) are in typed.h; those of min and max are cls_reduce_min_f32 and so on, as cls_min_f32 is the
 * element-by-element one. Common rules are in cast.h.
 *
 * On one device a reduction of the same bytes gives the same bits every time. The blocking forms
 * give the result to the host; the `_async` forms to a view of one element of the result's type,
 * which may not share bytes with an input.
 */
#ifndef CLSTREAM_REDUCE_H
#define CLSTREAM_REDUCE_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Reductions. */
typedef enum cls_reduce_op {
    /**
     * The sum; 0 of no elements. Integers: an i64, modulo 2^64. f32 and f64: in the same type, with
     * the rounding errors carried along: off the exact sum by at most 1 ULP of it and n^2 u^2 times
     * the sum of |x|, where u is 2^-24 or 2^-53; naive summation has n u, and so has this one where an
     * element is the largest finite number or its negative. A partial sum beyond the range is infinite.
     */
    CLS_REDUCE_SUM = 1,
    /** The least element, or NaN if there is one. */
    CLS_REDUCE_MIN = 2,
    /** The greatest element, or NaN if there is one. */
    CLS_REDUCE_MAX = 3,
    /**
     * The sum divided by the count; NaN of no elements. Integers: in f64, which the device must
     * have. f32 and f64: in the same type, with the sum's error and 3 ULP more.
     */
    CLS_REDUCE_MEAN = 4,
    /** The index, an i64 from 0 within the view, of the first NaN or else of the first maximum. */
    CLS_REDUCE_ARGMAX = 5
} cls_reduce_op;

/**
 * The type of a reduction's result.
 * @retval CLS_ERROR_INVALID_VALUE a null out, an unknown operation or dtype
 */
CLS_API cls_status cls_reduce_result_dtype(cls_reduce_op op, cls_dtype in, cls_dtype *out);

/**
 * Reduces `in` and waits; `result` points to one element of the result's type.
 * @retval CLS_ERROR_INVALID_VALUE also a null result, and min, max or argmax of no elements
 */
CLS_API cls_status cls_reduce(cls_reduce_op op, cls_array in, void *result, cls_stream stream);
/**
 * Reduces `in` into `out`; only submits.
 * @retval CLS_ERROR_SIZE_MISMATCH `out` is not one element
 * @retval CLS_ERROR_TYPE_MISMATCH `out` is not of the result's type
 */
CLS_API cls_status cls_reduce_async(cls_reduce_op op, cls_array in, cls_array out,
                                    cls_stream stream);

/**
 * The sum of a[i] b[i]; result types and summation as CLS_REDUCE_SUM. f32 and f64: off by at most 2
 * ULP of the result and n u (f32: 2^-24) times the sum of |a b|, and as good as the sum on devices
 * whose fma() rounds once.
 */
CLS_API cls_status cls_dot(cls_array a, cls_array b, void *result, cls_stream stream);
/** As cls_dot, into a view of one element; only submits. */
CLS_API cls_status cls_dot_async(cls_array a, cls_array b, cls_array out, cls_stream stream);

/** The name of an operation ("argmax"); "?" for a value that is none. A static string. */
CLS_API const char *cls_reduce_op_name(cls_reduce_op op);

/**
 * Finds an operation by its name.
 * @retval CLS_ERROR_INVALID_VALUE a null argument
 * @retval CLS_ERROR_NOT_FOUND     no such name
 */
CLS_API cls_status cls_reduce_op_parse(const char *name, cls_reduce_op *out);

CLS_END_DECLS

#endif
