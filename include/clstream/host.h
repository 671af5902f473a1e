/* SPDX-License-Identifier: MIT */
/**
 * @file host.h
 * The typed operations on arrays in host memory. Each call uploads its inputs, computes, and
 * downloads the result.
 *
 * Use these if the data is not on the device yet. Every call moves all of its data, which takes
 * longer than most operations themselves. For several operations in a row use a batch (batch.h),
 * which moves the data once. Definitions, types and error bounds are those of the calls on device
 * arrays.
 *
 * A call runs behind the stream's work so far, and has completed on return. A NULL stream means the
 * default stream of the default context. Arrays may overlap in any way, because all inputs are read
 * before the output is written. Zero elements is a no-op. Every function may be called from any
 * thread.
 *
 * Statuses common to all:
 * @retval CLS_ERROR_INVALID_VALUE  an array is null with a count above 0, or the operation or dtype
 *                                  is unknown
 * @retval CLS_ERROR_TYPE_MISMATCH  the element types do not fit together, or the operation does not
 *                                  support them
 * @retval CLS_ERROR_OUT_OF_RANGE   the size overflows
 * @retval CLS_ERROR_UNSUPPORTED    f64 on a device without it
 * @retval CLS_ERROR_WOULD_DEADLOCK called inside a host function or callback
 * @retval CLS_ERROR_OUT_OF_MEMORY
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY
 * @return also the stream's error
 */
#ifndef CLSTREAM_HOST_H
#define CLSTREAM_HOST_H

#include <clstream/binary.h>
#include <clstream/blas.h>
#include <clstream/reduce.h>
#include <clstream/types.h>
#include <clstream/unary.h>

CLS_BEGIN_DECLS

/** cls_cast on host memory. */
CLS_API cls_status cls_host_cast(cls_dtype from, cls_dtype to, const void *in, void *out,
                                 size_t count, cls_stream stream);
/** cls_where on host memory. */
CLS_API cls_status cls_host_where(cls_dtype condition_type, cls_dtype type, const void *condition,
                                  const void *if_true, const void *if_false, void *out,
                                  size_t count, cls_stream stream);
/** cls_unary on host memory. */
CLS_API cls_status cls_host_unary(cls_unary_op op, cls_dtype type, const void *in, void *out,
                                  size_t count, cls_stream stream);
/** cls_unary_param on host memory. */
CLS_API cls_status cls_host_unary_param(cls_unary_param_op op, cls_dtype type, const void *in,
                                        double param, void *out, size_t count, cls_stream stream);
/** cls_binary on host memory; `out` is u8 for comparisons. */
CLS_API cls_status cls_host_binary(cls_binary_op op, cls_dtype type, const void *a, const void *b,
                                   void *out, size_t count, cls_stream stream);
/**
 * cls_reduce on host memory. `result` points to one element of the type that
 * cls_reduce_result_dtype gives.
 * @retval CLS_ERROR_INVALID_VALUE also min, max, argmax and argmin of zero elements
 */
CLS_API cls_status cls_host_reduce(cls_reduce_op op, cls_dtype type, const void *in, void *result,
                                   size_t count, cls_stream stream);
/** cls_dot on host memory. `result` points to one element of cls_dot's result type. */
CLS_API cls_status cls_host_dot(cls_dtype type, const void *a, const void *b, void *result,
                                size_t count, cls_stream stream);
/**
 * Matrix product as in cls_batch_gemm: out = alpha op(a) op(b), dense and row-major. `config` may
 * be NULL.
 */
CLS_API cls_status cls_host_gemm(cls_dtype type, const void *a, const void *b, void *out,
                                 size_t rows, size_t columns, size_t inner,
                                 const cls_gemm_config *config, cls_stream stream);

CLS_END_DECLS

#endif
