/* SPDX-License-Identifier: MIT */
/**
 * @file strided.h
 * Element-by-element operations, and reductions, of arrays with up to eight dimensions and any strides: parts of arrays,
 * dimensions in another order, and dimensions of one element that are repeated (broadcast), without a copy.
 *
 * A cls_strided is a view of a buffer: the element with the indices i lies at `offset` plus the sum of i[d] strides[d],
 * in elements. A stride may be negative, or 0, which repeats an element of an input. Row-major matrices of blas.h and
 * arrays of types.h are such views; the functions below make them and change their shapes. They are plain values,
 * without ownership, and the functions call nothing.
 *
 * All views of a call have the same shape, but for the output of a reduction: an input is broadcast by
 * cls_strided_broadcast. All types and operations are
 * those of cast.h, where.h, unary.h and binary.h, with the same bits: an element goes through the same code. What lies
 * between the elements of the output is left alone. A view without elements is a no-op, which still returns the stream's
 * error.
 *
 * Each call is one launch, but for reductions (cls_strided_reduce). It goes along the dimension in which the output's elements are closest, so that an output without
 * gaps is written in order. Dimensions that follow one another in every view are one: views without gaps go through
 * cls_cast, cls_where, cls_unary, cls_unary_param or cls_binary, and a copy that exchanges the dimensions of a matrix through
 * cls_transpose.
 *
 * The output's elements lie apart: with its dimensions in the order of their strides, each stride is greater than the
 * distance from the first to the last element of the dimensions before it. In place: the output may be the same view
 * as an input, with the same buffer, offset in bytes and strides, if their elements have the same size. Otherwise it must
 * have no element in common with an input; one that interleaves with an input in more than three dimensions is
 * taken to have.
 *
 * The `_async` forms only submit. The caller may destroy the views' buffers at once; their contents belong to the
 * device until the work is done. A NULL stream means the default stream of the views' context. Every function may
 * be called from any thread.
 *
 * Statuses common to all:
 * @retval CLS_ERROR_INVALID_VALUE an unknown operation or dtype, or a view of more than eight dimensions, which the
 *                                 functions that make views return for arguments that do not fit
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 * @retval CLS_ERROR_WRONG_CONTEXT
 * @retval CLS_ERROR_SIZE_MISMATCH the shapes differ
 * @retval CLS_ERROR_TYPE_MISMATCH the element types do not fit together, or the operation does not support them
 * @retval CLS_ERROR_OUT_OF_RANGE  an element beyond an end of a buffer
 * @retval CLS_ERROR_OVERLAP       elements of the output do not lie apart, or it has elements in common with an input
 *                                 without being the same view
 * @retval CLS_ERROR_UNSUPPORTED   f64 on a device without it, or a device that does not round as the operation needs it
 * @return also the statuses of submissions (stream.h). Blocking forms also return the stream's
 *         error, and CLS_ERROR_WOULD_DEADLOCK inside a host function
 */
#ifndef CLSTREAM_STRIDED_H
#define CLSTREAM_STRIDED_H

#include <clstream/binary.h>
#include <clstream/blas.h>
#include <clstream/reduce.h>
#include <clstream/unary.h>

CLS_BEGIN_DECLS

/** A number of elements as a stride, without a cast of C's in C++. */
#ifdef __cplusplus
#define CLS_STRIDE_OF(count) static_cast<ptrdiff_t>(count)
#else
#define CLS_STRIDE_OF(count) ((ptrdiff_t)(count))
#endif

/** The most dimensions of a view. */
#define CLS_MAX_DIMENSIONS 8

/** A view of a buffer with strides. Entries of `shape` and `strides` beyond `dimensions` are ignored. */
typedef struct cls_strided {
    cls_buffer buffer;                     /**< holds the elements */
    cls_dtype dtype;                       /**< type of the elements */
    unsigned dimensions;                   /**< up to CLS_MAX_DIMENSIONS; 0: a single element */
    size_t offset;                         /**< the element whose indices are all 0, in elements */
    size_t shape[CLS_MAX_DIMENSIONS];      /**< number of elements along each dimension */
    ptrdiff_t strides[CLS_MAX_DIMENSIONS]; /**< distance of neighbours along it, in elements */
} cls_strided;

/**
 * The elements of `array` in a shape of `dimensions` numbers, in row-major order: the last index changes first. The shape
 * must have as many elements as the array.
 */
static inline cls_strided cls_strided_of(cls_array array, unsigned dimensions,
                                         const size_t *shape) {
    cls_strided view = {array.buffer, array.dtype, dimensions, array.offset, {0}, {0}};
    size_t count = 1;
    for (unsigned d = dimensions; dimensions <= CLS_MAX_DIMENSIONS && d-- > 0;) {
        view.shape[d] = shape[d];
        view.strides[d] = CLS_STRIDE_OF(count);
        count *= shape[d];
    }
    if (count != array.count)
        view.dimensions = CLS_MAX_DIMENSIONS + 1;
    return view;
}

/** A matrix as a view of two dimensions, its rows and columns; `stride` is ignored. */
static inline cls_strided cls_strided_of_matrix(cls_matrix matrix) {
    cls_strided view = {matrix.buffer, matrix.dtype, 2, matrix.offset, {0}, {0}};
    view.shape[0] = matrix.rows;
    view.shape[1] = matrix.columns;
    view.strides[0] = CLS_STRIDE_OF(matrix.ld);
    view.strides[1] = 1;
    return view;
}

/** Dimension d of the result is dimension order[d] of the view; `order` names each once. */
static inline cls_strided cls_strided_permute(cls_strided view, const unsigned *order) {
    cls_strided out = view;
    unsigned named = 0;
    for (unsigned d = 0; view.dimensions <= CLS_MAX_DIMENSIONS && d < view.dimensions; d++) {
        if (order[d] >= view.dimensions || (named >> order[d] & 1)) {
            out.dimensions = CLS_MAX_DIMENSIONS + 1;
            return out;
        }
        named |= 1u << order[d];
        out.shape[d] = view.shape[order[d]];
        out.strides[d] = view.strides[order[d]];
    }
    return out;
}

/** The view with dimensions a and b exchanged; of a matrix, its transpose. */
static inline cls_strided cls_strided_transpose(cls_strided view, unsigned a, unsigned b) {
    cls_strided out = view;
    if (a >= view.dimensions || b >= view.dimensions || view.dimensions > CLS_MAX_DIMENSIONS) {
        out.dimensions = CLS_MAX_DIMENSIONS + 1;
        return out;
    }
    out.shape[a] = view.shape[b];
    out.strides[a] = view.strides[b];
    out.shape[b] = view.shape[a];
    out.strides[b] = view.strides[a];
    return out;
}

/**
 * The view in a shape of `dimensions` numbers, by the rules of NumPy and PyTorch: the last dimensions correspond,
 * one of a single element is repeated, and so is the whole view along those in front that it lacks.
 */
static inline cls_strided cls_strided_broadcast(cls_strided view, unsigned dimensions,
                                                const size_t *shape) {
    cls_strided out = {view.buffer, view.dtype, dimensions, view.offset, {0}, {0}};
    if (dimensions > CLS_MAX_DIMENSIONS || view.dimensions > dimensions) {
        out.dimensions = CLS_MAX_DIMENSIONS + 1;
        return out;
    }
    const unsigned more = dimensions - view.dimensions;
    for (unsigned d = 0; d < dimensions; d++) {
        const size_t own = d < more ? 1 : view.shape[d - more];
        out.shape[d] = shape[d];
        out.strides[d] = own == 1 ? 0 : view.strides[d - more];
        if (own != 1 && own != shape[d])
            out.dimensions = CLS_MAX_DIMENSIONS + 1;
    }
    return out;
}

/** Converts each element of `in` to the type of `out`, as cls_cast does. Between equal types it is a copy, which keeps
 *  the bits. Waits. */
CLS_API cls_status cls_strided_cast(cls_strided in, cls_strided out, cls_stream stream);
/** Like cls_strided_cast; only submits. */
CLS_API cls_status cls_strided_cast_async(cls_strided in, cls_strided out, cls_stream stream);

/** out[i] = condition[i] != 0 ? if_true[i] : if_false[i], with the types of cls_where. Waits. */
CLS_API cls_status cls_strided_where(cls_strided condition, cls_strided if_true,
                                     cls_strided if_false, cls_strided out, cls_stream stream);
/** Like cls_strided_where; only submits. */
CLS_API cls_status cls_strided_where_async(cls_strided condition, cls_strided if_true,
                                           cls_strided if_false, cls_strided out,
                                           cls_stream stream);

/** out[i] = op(in[i]), as cls_unary. Waits. */
CLS_API cls_status cls_strided_unary(cls_unary_op op, cls_strided in, cls_strided out,
                                     cls_stream stream);
/** Like cls_strided_unary; only submits. */
CLS_API cls_status cls_strided_unary_async(cls_unary_op op, cls_strided in, cls_strided out,
                                           cls_stream stream);

/** out[i] = op(in[i], param), as cls_unary_param. Waits. */
CLS_API cls_status cls_strided_unary_param(cls_unary_param_op op, cls_strided in, cls_strided out,
                                           double param, cls_stream stream);
/** Like cls_strided_unary_param; only submits. */
CLS_API cls_status cls_strided_unary_param_async(cls_unary_param_op op, cls_strided in,
                                                 cls_strided out, double param, cls_stream stream);

/** out[i] = op(a[i], b[i]), as cls_binary. Waits. */
CLS_API cls_status cls_strided_binary(cls_binary_op op, cls_strided a, cls_strided b,
                                      cls_strided out, cls_stream stream);
/** Like cls_strided_binary; only submits. */
CLS_API cls_status cls_strided_binary_async(cls_binary_op op, cls_strided a, cls_strided b,
                                            cls_strided out, cls_stream stream);

/**
 * Reduces dimensions of `in`: those in which `out`, which has as many dimensions, has one element; the lengths of the others
 * are the same. Types, values and accuracy are those of the operation (reduce.h), with any number of elements for
 * each result. The results must not overlap the input, which may repeat elements. An index (CLS_REDUCE_ARGMAX,
 * CLS_REDUCE_ARGMIN) is that among the elements of a result in row-major order of the dimensions that are reduced; of one
 * dimension, that along it. On one device the same views of the same bytes always give the same bits.
 *
 * Dimensions that follow one another are one. A view that is then a matrix with its rows or columns reduced has the bits of
 * cls_reduce_rows or cls_reduce_columns. Other inputs are read in place by one kernel. Results that are too few
 * for the device are cut into parts, which a second launch merges; those are the only memory that is taken.
 *
 * Waits.
 *
 * @retval CLS_ERROR_INVALID_VALUE also for min, max, argmax or argmin of no elements
 * @retval CLS_ERROR_SIZE_MISMATCH `out` has other dimensions, or in one of them neither one element nor those of `in`
 * @retval CLS_ERROR_TYPE_MISMATCH `out` is not of the result's type (cls_reduce_result_dtype)
 * @retval CLS_ERROR_OUT_OF_RANGE  also for a result of more than 2^40 elements
 */
CLS_API cls_status cls_strided_reduce(cls_reduce_op op, cls_strided in, cls_strided out,
                                      cls_stream stream);
/** Like cls_strided_reduce; only submits. */
CLS_API cls_status cls_strided_reduce_async(cls_reduce_op op, cls_strided in, cls_strided out,
                                            cls_stream stream);

CLS_END_DECLS

#endif
