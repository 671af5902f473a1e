/* SPDX-License-Identifier: MIT */
/**
 * @file batch.h
 * Batches: record a chain of typed operations, then run it as few kernels as it needs, with the data
 * moved once.
 *
 *     cls_batch batch;
 *     cls_value x, bias, y;
 *     cls_batch_create(NULL, NULL, &batch);
 *     cls_batch_upload(batch, host_x, CLS_F32, n, &x);
 *     cls_batch_array(batch, cls_array_of(device_bias, CLS_F32, n), &bias);
 *     cls_batch_relu(batch, x, &y);
 *     cls_batch_scale(batch, y, 2, &y);
 *     cls_batch_add(batch, y, bias, &y);
 *     cls_batch_execute(batch, NULL);
 *     cls_batch_read(batch, y, host_y);
 *
 * **Values.** Recording computes nothing; it gives ids of values. An id lives as long as its batch and
 * means nothing to another one. A value is an array, or a scalar: a constant, a reduction's result or
 * what is computed of scalars alone. Where an operation takes several values, arrays have equal counts
 * and scalars go with any count. Types are those of the single calls (unary.h, binary.h, where.h,
 * cast.h, reduce.h), and so are definitions and error bounds.
 *
 * **Execution.** Element-by-element operations that hang together run as one generated kernel, which
 * may end in a reduction; what does not depend on each other runs on streams of the batch's own, ordered
 * behind and before the work of the caller's stream. A result is a value that no operation takes, or one
 * that was kept (cls_batch_keep) or has a place (cls_batch_store); other values may exist in no memory at
 * all. A batch may be executed any number of times, with other inputs bound in between, on any stream
 * of its context: executions of one batch, and reads of its results, keep their order. Host memory is
 * uploaded once after each bind. Programs are generated and built at the first execution, or by
 * cls_batch_prepare, and kept in memory and on disk by their structure: neither counts nor numbers are
 * part of it.
 *
 * All calls are safe from any thread. Errors name the operation.
 *
 * Statuses, besides those of each function:
 * @retval CLS_ERROR_INVALID_HANDLE    the batch, or a value that is none of its; stream-ordered memory that
 *                                     was freed
 * @retval CLS_ERROR_INVALID_VALUE     a null out, an unknown operation or dtype
 * @retval CLS_ERROR_TYPE_MISMATCH     element types that do not go together or have no such operation
 * @retval CLS_ERROR_SIZE_MISMATCH     arrays of unequal counts
 * @retval CLS_ERROR_OUT_OF_RANGE      an array that passes the end of its buffer
 * @retval CLS_ERROR_WRONG_CONTEXT     an array or a stream of another context
 * @retval CLS_ERROR_UNSUPPORTED       f64 on a device without it; the detail names the type
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 * @retval CLS_ERROR_OUT_OF_MEMORY
 */
#ifndef CLSTREAM_BATCH_H
#define CLSTREAM_BATCH_H

#include <clstream/binary.h>
#include <clstream/blas.h>
#include <clstream/reduce.h>
#include <clstream/types.h>
#include <clstream/unary.h>

CLS_BEGIN_DECLS

/** A recorded chain of operations. */
typedef struct cls_batch_handle *cls_batch;

/** A value's id; 0 is none. */
typedef uint64_t cls_value;

/** Options of cls_batch_create. Start with CLS_BATCH_CONFIG_INIT. */
typedef struct cls_batch_config {
    size_t size;      /**< sizeof(cls_batch_config) */
    unsigned streams; /**< streams to run on, the caller's among them, at most 8; 0: 4 */
} cls_batch_config;

#define CLS_BATCH_CONFIG_INIT \
    { sizeof(cls_batch_config), 0 }

/** Creates an empty batch on a context. `config` may be NULL. */
CLS_API cls_status cls_batch_create(cls_context context, const cls_batch_config *config,
                                    cls_batch *out);

/** Destroys a batch and returns at once; submitted work still completes. */
CLS_API cls_status cls_batch_destroy(cls_batch batch);

/* ---- inputs */

/**
 * An array in host memory, which must stay valid and unchanged until an execution has succeeded. One that
 * failed may still read it until cls_context_synchronize has returned, with whatever status; the next one
 * uploads it again. A count of 0 is allowed.
 * @retval CLS_ERROR_OUT_OF_RANGE the size overflows
 */
CLS_API cls_status cls_batch_upload(cls_batch batch, const void *data, cls_dtype dtype,
                                    size_t count, cls_value *out);

/**
 * An array on the device. The batch keeps its buffer, also when that is destroyed; every execution reads what
 * is there then. Stream-ordered memory that was freed (cls_free_async) is not kept: executions give
 * CLS_ERROR_INVALID_HANDLE until another array is bound.
 */
CLS_API cls_status cls_batch_array(cls_batch batch, cls_array array, cls_value *out);

/** A constant: `element` points to one element of the type, which is copied. */
CLS_API cls_status cls_batch_scalar(cls_batch batch, cls_dtype dtype, const void *element,
                                    cls_value *out);

/**
 * Gives an input another array or constant, of the same type and count, from the next execution on.
 * Nothing is built again, except once where a device array starts at no multiple of 16 bytes and those
 * before it did.
 * @retval CLS_ERROR_INVALID_STATE the value is not of cls_batch_upload, cls_batch_array or
 *                                 cls_batch_scalar
 */
CLS_API cls_status cls_batch_bind_upload(cls_batch batch, cls_value value, const void *data);
/** As cls_batch_bind_upload, for a value of cls_batch_array. */
CLS_API cls_status cls_batch_bind_array(cls_batch batch, cls_value value, cls_array array);
/** As cls_batch_bind_upload, for a value of cls_batch_scalar. */
CLS_API cls_status cls_batch_bind_scalar(cls_batch batch, cls_value value, const void *element);

/* ---- operations */

/** Records cls_unary. */
CLS_API cls_status cls_batch_unary(cls_batch batch, cls_unary_op op, cls_value in, cls_value *out);
/** Records cls_unary_param: the parameter is converted to the type of `in`. */
CLS_API cls_status cls_batch_unary_param(cls_batch batch, cls_unary_param_op op, cls_value in,
                                         double param, cls_value *out);
/** Records cls_binary. Comparisons give u8. */
CLS_API cls_status cls_batch_binary(cls_batch batch, cls_binary_op op, cls_value a, cls_value b,
                                    cls_value *out);
/** Records cls_where. */
CLS_API cls_status cls_batch_where(cls_batch batch, cls_value condition, cls_value if_true,
                                   cls_value if_false, cls_value *out);
/** Records cls_cast to the type `to`. */
CLS_API cls_status cls_batch_cast(cls_batch batch, cls_value in, cls_dtype to, cls_value *out);
/**
 * Records cls_reduce, which gives a scalar of the type that cls_reduce_result_dtype tells.
 * @retval CLS_ERROR_INVALID_VALUE also min, max and argmax of no elements
 */
CLS_API cls_status cls_batch_reduce(cls_batch batch, cls_reduce_op op, cls_value in,
                                    cls_value *out);
/** Records cls_dot, which gives a scalar. */
CLS_API cls_status cls_batch_dot(cls_batch batch, cls_value a, cls_value b, cls_value *out);

/**
 * Records the matrix product alpha op(a) op(b), of `rows` by `inner` and `inner` by `columns`
 * elements; dense and row-major, so that the result is an array of rows times columns. Types and
 * accuracy as cls_gemm.
 * `config` may be NULL; of it, `beta` must be 0 and `batches` 1.
 * @retval CLS_ERROR_SIZE_MISMATCH the arrays do not have so many elements
 * @retval CLS_ERROR_INVALID_VALUE an inner length of 0, a `beta`, or `batches`
 * @retval CLS_ERROR_UNSUPPORTED   also a build without CLBlast
 */
CLS_API cls_status cls_batch_gemm(cls_batch batch, cls_value a, cls_value b, size_t rows,
                                  size_t columns, size_t inner, const cls_gemm_config *config,
                                  cls_value *out);

/** cls_batch_unary with CLS_UNARY_RELU. */
static inline cls_status cls_batch_relu(cls_batch batch, cls_value in, cls_value *out) {
    return cls_batch_unary(batch, CLS_UNARY_RELU, in, out);
}
/** cls_batch_unary_param with CLS_UNARY_SCALE. */
static inline cls_status cls_batch_scale(cls_batch batch, cls_value in, double factor,
                                         cls_value *out) {
    return cls_batch_unary_param(batch, CLS_UNARY_SCALE, in, factor, out);
}
/** cls_batch_binary with CLS_BINARY_ADD. */
static inline cls_status cls_batch_add(cls_batch batch, cls_value a, cls_value b, cls_value *out) {
    return cls_batch_binary(batch, CLS_BINARY_ADD, a, b, out);
}
/** cls_batch_binary with CLS_BINARY_MUL. */
static inline cls_status cls_batch_mul(cls_batch batch, cls_value a, cls_value b, cls_value *out) {
    return cls_batch_binary(batch, CLS_BINARY_MUL, a, b, out);
}

/* ---- results */

/**
 * Makes a value a result, although an operation takes it.
 * @retval CLS_ERROR_INVALID_STATE the value is an input
 */
CLS_API cls_status cls_batch_keep(cls_batch batch, cls_value value);

/**
 * Makes a value a result that executions write to an array on the device; calling it again names
 * another array. The array may be exactly an input's, of the same element size, if only the kernel
 * that writes it reads that input; execution refuses any other overlap with CLS_ERROR_OVERLAP. Its buffer
 * is kept as that of cls_batch_array.
 * @retval CLS_ERROR_INVALID_STATE the value is an input
 */
CLS_API cls_status cls_batch_store(cls_batch batch, cls_value value, cls_array array);

/**
 * Plans, generates and builds what the next execution needs, without running anything. Costs nothing
 * when nothing was recorded since.
 * @retval CLS_ERROR_BUILD_FAILED the device's compiler; the detail holds its log
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY
 */
CLS_API cls_status cls_batch_prepare(cls_batch batch);

/**
 * Runs the batch behind the stream's work so far. The statuses of cls_batch_prepare and of all
 * submissions (stream.h).
 * @retval CLS_ERROR_OVERLAP       arrays of cls_batch_store that overlap others
 * @retval CLS_ERROR_INVALID_STATE an array in unified memory that is the host's (managed.h)
 */
CLS_API cls_status cls_batch_execute_async(cls_batch batch, cls_stream stream);
/** As cls_batch_execute_async, and waits for it. */
CLS_API cls_status cls_batch_execute(cls_batch batch, cls_stream stream);

/**
 * Downloads a result of the latest execution to `data`, its count of elements; waits for it. Of one that
 * failed there are none: the status is that failure's, also after cls_stream_reset.
 * @retval CLS_ERROR_INVALID_STATE the batch was not executed since the value became a result, or its
 *                                 latest execution was refused in the middle, or the value is none
 */
CLS_API cls_status cls_batch_read(cls_batch batch, cls_value value, void *data);
/** As cls_batch_read on a stream, behind the execution; only submits. */
CLS_API cls_status cls_batch_read_async(cls_batch batch, cls_value value, void *data,
                                        cls_stream stream);

/* ---- questions */

/** What a value is. Start with CLS_VALUE_INFO_INIT. */
typedef struct cls_value_info {
    size_t size;     /**< sizeof(cls_value_info) */
    cls_dtype dtype; /**< its element type */
    size_t count;    /**< its elements; 1 of a scalar */
    int is_scalar;   /**< nonzero: goes with arrays of any count */
    int is_result;   /**< nonzero: the next execution leaves it readable */
} cls_value_info;

#define CLS_VALUE_INFO_INIT \
    { sizeof(cls_value_info), CLS_F32, 0, 0, 0 }

/** What the value is. */
CLS_API cls_status cls_batch_get_value(cls_batch batch, cls_value value, cls_value_info *info);

/** Totals of a batch, and facts of its latest plan. Start with CLS_BATCH_STATISTICS_INIT. */
typedef struct cls_batch_statistics {
    size_t size;                /**< sizeof(cls_batch_statistics) */
    uint64_t executions;        /**< submitted */
    uint64_t kernels;           /**< launched */
    uint64_t uploads;           /**< copies to the device */
    uint64_t downloads;         /**< copies to the host */
    uint64_t bytes_to_device;   /**< of the uploads */
    uint64_t bytes_to_host;     /**< of the downloads */
    uint64_t operations;        /**< recorded */
    uint64_t regions;           /**< of the plan: operations that run together */
    uint64_t kernels_per_run;   /**< of the plan: launches of one execution */
    uint64_t streams;           /**< of the plan: streams it runs on, the caller's among them */
    uint64_t arena_bytes;       /**< of the plan: of each execution's arena */
    uint64_t arena_least_bytes; /**< the most that is alive at once: no arena can be smaller */
    uint64_t storage_bytes;     /**< uploads and results, which live as long as the batch */
} cls_batch_statistics;

#define CLS_BATCH_STATISTICS_INIT \
    { sizeof(cls_batch_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** What the batch has done, and what its latest plan is. */
CLS_API cls_status cls_batch_get_statistics(cls_batch batch, cls_batch_statistics *statistics);

/**
 * The OpenCL C that was generated for a region (0 up to `regions`), with `#include "map.cl"` where the
 * library's own source is pasted before it is built. Copies at most `capacity` bytes, the NUL among
 * them; `length` (may be NULL) is told what all of it takes without the NUL. `text` may be NULL when
 * capacity is 0. Prepares the batch where that is not done.
 * @retval CLS_ERROR_OUT_OF_RANGE no such region
 */
CLS_API cls_status cls_batch_get_source(cls_batch batch, unsigned region, char *text,
                                        size_t capacity, size_t *length);

CLS_END_DECLS

#endif
