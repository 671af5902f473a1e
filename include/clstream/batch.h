/* SPDX-License-Identifier: MIT */
/**
 * @file batch.h
 * Batches: record a chain of typed operations, then run it with as few kernels as possible, moving
 * the data once.
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
 * **Values.** Recording computes nothing; it returns ids of values. An id is valid as long as its
 * batch, and only there. A value is an array, or a scalar: a constant, the result of a reduction,
 * or an operation on scalars alone. If an operation takes several values, its arrays must have
 * equal counts; scalars fit any count. Types, definitions and error bounds are those of the single
 * calls (unary.h, binary.h, where.h, cast.h, reduce.h, matrices.h, rows.h).
 *
 * **Matrices.** A value has a count and no shape: operations on rows and columns take an array as a
 * dense, row-major matrix. Arrays are not scalars even if they have one element.
 *
 * **Execution.** Connected element-by-element operations run as one generated kernel, which may end
 * in a reduction. Matrix products and operations on rows run as the single calls do, between such
 * kernels. Independent parts run on the batch's own streams, ordered after the earlier and
 * before the later work of the caller's stream. A result is a value that no operation takes, or one
 * that is kept (cls_batch_keep) or stored (cls_batch_store). Other values may never be in memory. A
 * batch may be executed any number of times, with other inputs bound in between, on any stream of
 * its context. Executions of one batch and reads of its results keep their order. Host memory is
 * uploaded once after each bind. Programs are generated and built at the first execution or by
 * cls_batch_prepare, and cached in memory and on disk by their structure, which includes neither
 * element counts nor constants.
 *
 * Every function may be called from any thread. Error details name the operation.
 *
 * Statuses, besides those of each function:
 * @retval CLS_ERROR_INVALID_HANDLE the batch, a value that does not belong to it, or stream-ordered
 *                                  memory that is freed
 * @retval CLS_ERROR_INVALID_VALUE  `out` is null, or the operation or dtype is unknown
 * @retval CLS_ERROR_TYPE_MISMATCH  the element types do not fit together, or the operation does not
 *                                  support them
 * @retval CLS_ERROR_SIZE_MISMATCH  arrays of unequal counts
 * @retval CLS_ERROR_OUT_OF_RANGE   an array ends past the end of its buffer
 * @retval CLS_ERROR_WRONG_CONTEXT  an array or a stream belongs to another context
 * @retval CLS_ERROR_UNSUPPORTED    f64 on a device without it; the detail names the type
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 * @retval CLS_ERROR_OUT_OF_MEMORY
 */
#ifndef CLSTREAM_BATCH_H
#define CLSTREAM_BATCH_H

#include <clstream/binary.h>
#include <clstream/blas.h>
#include <clstream/matrices.h>
#include <clstream/random.h>
#include <clstream/reduce.h>
#include <clstream/rows.h>
#include <clstream/types.h>
#include <clstream/unary.h>

CLS_BEGIN_DECLS

/** A recorded chain of operations. */
typedef struct cls_batch_handle *cls_batch;

/** The id of a value; 0 is none. */
typedef uint64_t cls_value;

/** Options of cls_batch_create. Start with CLS_BATCH_CONFIG_INIT. */
typedef struct cls_batch_config {
    size_t size;      /**< sizeof(cls_batch_config) */
    unsigned streams; /**< streams to run on, including the caller's, at most 8; 0: 4 */
    int reserved;     /**< 0; later releases may give it a meaning */
} cls_batch_config;

#define CLS_BATCH_CONFIG_INIT \
    { sizeof(cls_batch_config), 0, 0 }

/** Creates an empty batch on a context. NULL `config`: the defaults. The caller destroys it. */
CLS_API cls_status cls_batch_create(cls_context context, const cls_batch_config *config,
                                    cls_batch *out);

/** Destroys a batch and returns at once. Submitted work still completes. */
CLS_API cls_status cls_batch_destroy(cls_batch batch);

/* ---- inputs */

/**
 * Adds an array in host memory as an input. The memory must stay valid and unchanged until an
 * execution has succeeded. An execution that failed may still read it until cls_context_synchronize
 * has returned, with any status; the next execution uploads it again. A count of 0 is allowed.
 * @retval CLS_ERROR_OUT_OF_RANGE the size overflows
 */
CLS_API cls_status cls_batch_upload(cls_batch batch, const void *data, cls_dtype dtype,
                                    size_t count, cls_value *out);

/**
 * Adds an array on the device as an input. Every execution reads its contents at that time. The
 * batch keeps the buffer, even if the caller destroys it. It does not keep stream-ordered memory
 * that is freed (cls_free_async): executions return CLS_ERROR_INVALID_HANDLE until another array is
 * bound.
 */
CLS_API cls_status cls_batch_array(cls_batch batch, cls_array array, cls_value *out);

/** Adds a constant as an input. `element` points to one element of the type, and is copied. */
CLS_API cls_status cls_batch_scalar(cls_batch batch, cls_dtype dtype, const void *element,
                                    cls_value *out);

/**
 * Binds another host array, of the same type and count, to an input of cls_batch_upload, from the
 * next execution on. Binding does not rebuild programs, with one exception: the first device array
 * that does not start at a multiple of 16 bytes, after arrays that did, causes one rebuild.
 * @retval CLS_ERROR_INVALID_STATE the value is not an input of this kind
 */
CLS_API cls_status cls_batch_bind_upload(cls_batch batch, cls_value value, const void *data);
/** Like cls_batch_bind_upload, for an input of cls_batch_array. */
CLS_API cls_status cls_batch_bind_array(cls_batch batch, cls_value value, cls_array array);
/** Like cls_batch_bind_upload, for an input of cls_batch_scalar. */
CLS_API cls_status cls_batch_bind_scalar(cls_batch batch, cls_value value, const void *element);

/* ---- operations */

/** Records cls_unary. */
CLS_API cls_status cls_batch_unary(cls_batch batch, cls_unary_op op, cls_value in, cls_value *out);
/** Records cls_unary_param. The parameter is converted to the type of `in`. */
CLS_API cls_status cls_batch_unary_param(cls_batch batch, cls_unary_param_op op, cls_value in,
                                         double param, cls_value *out);
/** Records cls_binary. The result of a comparison is u8. */
CLS_API cls_status cls_batch_binary(cls_batch batch, cls_binary_op op, cls_value a, cls_value b,
                                    cls_value *out);
/** Records cls_where. */
CLS_API cls_status cls_batch_where(cls_batch batch, cls_value condition, cls_value if_true,
                                   cls_value if_false, cls_value *out);
/** Records cls_cast to the type `to`. */
CLS_API cls_status cls_batch_cast(cls_batch batch, cls_value in, cls_dtype to, cls_value *out);
/**
 * Records cls_reduce. The result is a scalar of the type that cls_reduce_result_dtype gives.
 * @retval CLS_ERROR_INVALID_VALUE also min, max, argmax and argmin of zero elements
 */
CLS_API cls_status cls_batch_reduce(cls_batch batch, cls_reduce_op op, cls_value in,
                                    cls_value *out);
/** Records cls_dot. The result is a scalar. */
CLS_API cls_status cls_batch_dot(cls_batch batch, cls_value a, cls_value b, cls_value *out);

/**
 * Records cls_binary_rows: element i of the result is op(in[i], row[i % count(row)]). The result has
 * the count of `in`. It is fused with the operations before and after it, except those that `row`
 * results from.
 * @retval CLS_ERROR_SIZE_MISMATCH the count of `row` does not divide that of `in`, or either is a
 *                                 scalar
 */
CLS_API cls_status cls_batch_binary_rows(cls_batch batch, cls_binary_op op, cls_value in,
                                         cls_value row, cls_value *out);
/**
 * Records cls_binary_columns: element i of the result is op(in[i], column[i / n]), where n, the
 * number of columns, is count(in) / count(column). Otherwise like cls_batch_binary_rows.
 * @retval CLS_ERROR_SIZE_MISMATCH the count of `column` does not divide that of `in`, or either is a
 *                                 scalar
 */
CLS_API cls_status cls_batch_binary_columns(cls_batch batch, cls_binary_op op, cls_value in,
                                            cls_value column, cls_value *out);

/**
 * Records cls_reduce_rows of an array with rows of `columns` elements. The result is an array with
 * an element for each row, of the type that cls_reduce_result_dtype gives, and the bits of the single
 * call. With 0 columns the array has no elements, and the result none.
 * @retval CLS_ERROR_SIZE_MISMATCH `columns` does not divide the count of `in`, or `in` is a scalar
 * @retval CLS_ERROR_INVALID_VALUE also min, max, argmax and argmin of zero elements
 */
CLS_API cls_status cls_batch_reduce_rows(cls_batch batch, cls_reduce_op op, cls_value in,
                                         size_t columns, cls_value *out);
/** Like cls_batch_reduce_rows for cls_reduce_columns: the result has `columns` elements. */
CLS_API cls_status cls_batch_reduce_columns(cls_batch batch, cls_reduce_op op, cls_value in,
                                            size_t columns, cls_value *out);
/**
 * Records cls_softmax of an array with rows of `columns` elements. The result is an array of the
 * type and count of `in`, with the bits of the single call.
 * @retval CLS_ERROR_SIZE_MISMATCH `columns` does not divide the count of `in`, or `in` is a scalar
 * @retval CLS_ERROR_UNSUPPORTED   also a device that does not round as rows.h needs it
 */
CLS_API cls_status cls_batch_softmax(cls_batch batch, cls_value in, size_t columns, cls_value *out);
/** Like cls_batch_softmax, for cls_log_softmax. */
CLS_API cls_status cls_batch_log_softmax(cls_batch batch, cls_value in, size_t columns,
                                         cls_value *out);
/**
 * Records cls_layer_norm, with the statuses of cls_batch_softmax. `gain` and `shift` are arrays of
 * `columns` elements of the type of `in`.
 * @retval CLS_ERROR_INVALID_VALUE `epsilon` is below 0 or NaN
 */
CLS_API cls_status cls_batch_layer_norm(cls_batch batch, cls_value in, size_t columns,
                                        cls_value gain, cls_value shift, double epsilon,
                                        cls_value *out);
/** Like cls_batch_layer_norm, for cls_rms_norm, which has no shift. */
CLS_API cls_status cls_batch_rms_norm(cls_batch batch, cls_value in, size_t columns, cls_value gain,
                                      double epsilon, cls_value *out);

/**
 * Records cls_dropout: the bits of the single call, from the state that the generator has when the
 * execution gets there. It is fused with the operations before and after it. Each execution draws
 * anew and advances the generator, after the draws that were recorded before, by a command of its
 * own for each dropout. `*mask`, unless it is NULL, is the u8 value of the elements that stay.
 * `random` may be destroyed at once; the rules of random.h for several streams apply to executions.
 * @retval CLS_ERROR_TYPE_MISMATCH  `in` is no float
 * @retval CLS_ERROR_SIZE_MISMATCH  `in` is a scalar
 * @retval CLS_ERROR_INVALID_VALUE  the probability is not from 0 to 1
 * @retval CLS_ERROR_INVALID_HANDLE also of the generator
 * @retval CLS_ERROR_WRONG_CONTEXT  the generator is of another context
 * @retval CLS_ERROR_UNSUPPORTED    also a device whose floats round wrongly
 */
CLS_API cls_status cls_batch_dropout(cls_batch batch, cls_random random, cls_value in,
                                     double probability, cls_value *mask, cls_value *out);

/**
 * Records the matrix product alpha op(a) op(b): op(a) has `rows` by `inner` elements, op(b) `inner`
 * by `columns`. All are dense and row-major, so the result is an array of rows * columns elements.
 * Types, accuracy and factors of 0 as for cls_gemm; the result has the type of the inputs. `config` may
 * be NULL; its `beta` must be 0, its `batches` 1, and it has no bias and no factors on the device.
 * @retval CLS_ERROR_SIZE_MISMATCH an array has another number of elements
 * @retval CLS_ERROR_INVALID_VALUE a `beta` that is not 0, `batches` that is not 1, a bias, a factor on the device, or an
 *                                 unknown activation
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
 * Makes a value a result even if an operation takes it.
 * @retval CLS_ERROR_INVALID_STATE the value is an input
 */
CLS_API cls_status cls_batch_keep(cls_batch batch, cls_value value);

/**
 * Makes a value a result that executions write to an array on the device. Calling it again names
 * another array. The array may be exactly that of an input of the same element size, if only the
 * kernel that writes it reads that input. Executions refuse any other overlap with
 * CLS_ERROR_OVERLAP. The batch keeps the buffer as in cls_batch_array.
 * @retval CLS_ERROR_INVALID_STATE the value is an input
 */
CLS_API cls_status cls_batch_store(cls_batch batch, cls_value value, cls_array array);

/**
 * Plans, generates and builds what the next execution needs, without running anything. Costs
 * nothing if nothing was recorded since the last time.
 * @retval CLS_ERROR_BUILD_FAILED the device's compiler failed; the detail holds its log
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY
 */
CLS_API cls_status cls_batch_prepare(cls_batch batch);

/**
 * Submits an execution of the batch, after the stream's work so far. Returns also the statuses of
 * cls_batch_prepare and of submissions (stream.h).
 * @retval CLS_ERROR_OVERLAP       an array of cls_batch_store overlaps another one
 * @retval CLS_ERROR_INVALID_STATE an array in unified memory belongs to the host (managed.h)
 */
CLS_API cls_status cls_batch_execute_async(cls_batch batch, cls_stream stream);
/** Like cls_batch_execute_async, and waits for the execution. */
CLS_API cls_status cls_batch_execute(cls_batch batch, cls_stream stream);

/**
 * Downloads a result of the latest execution to `data`, all its elements, and waits for it. If that
 * execution failed it returns its error, even after cls_stream_reset.
 * @retval CLS_ERROR_INVALID_STATE the value is not a result, or the batch was not executed since it
 *                                 became one, or the latest execution was refused midway
 */
CLS_API cls_status cls_batch_read(cls_batch batch, cls_value value, void *data);
/** Like cls_batch_read on a stream, after the execution; only submits. */
CLS_API cls_status cls_batch_read_async(cls_batch batch, cls_value value, void *data,
                                        cls_stream stream);

/* ---- questions */

/** Properties of a value. Start with CLS_VALUE_INFO_INIT. */
typedef struct cls_value_info {
    size_t size;     /**< sizeof(cls_value_info) */
    cls_dtype dtype; /**< element type */
    size_t count;    /**< number of elements; 1 for a scalar */
    int is_scalar;   /**< nonzero: fits arrays of any count */
    int is_result;   /**< nonzero: it can be read after the next execution */
} cls_value_info;

#define CLS_VALUE_INFO_INIT \
    { sizeof(cls_value_info), CLS_F32, 0, 0, 0 }

/** Gets the properties of a value. */
CLS_API cls_status cls_batch_get_value(cls_batch batch, cls_value value, cls_value_info *info);

/** Totals of a batch, and figures of its latest plan. Start with CLS_BATCH_STATISTICS_INIT. */
typedef struct cls_batch_statistics {
    size_t size;                /**< sizeof(cls_batch_statistics) */
    uint64_t executions;        /**< executions submitted */
    uint64_t kernels;           /**< kernels launched */
    uint64_t uploads;           /**< copies to the device */
    uint64_t downloads;         /**< copies to the host */
    uint64_t bytes_to_device;   /**< bytes of the uploads */
    uint64_t bytes_to_host;     /**< bytes of the downloads */
    uint64_t operations;        /**< operations recorded */
    uint64_t regions;           /**< plan: groups of operations that run together */
    uint64_t kernels_per_run;   /**< plan: launches per execution */
    uint64_t streams;           /**< plan: streams used, including the caller's */
    uint64_t arena_bytes;       /**< plan: temporary memory per execution */
    uint64_t arena_least_bytes; /**< plan: most temporary bytes in use at once, the lower limit
                                     of `arena_bytes` */
    uint64_t storage_bytes;     /**< memory of uploads and results, kept as long as the batch */
} cls_batch_statistics;

#define CLS_BATCH_STATISTICS_INIT \
    { sizeof(cls_batch_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** Gets the totals of the batch and the figures of its latest plan. */
CLS_API cls_status cls_batch_get_statistics(cls_batch batch, cls_batch_statistics *statistics);

/**
 * Gets the OpenCL C that was generated for a region (0 to `regions` - 1). It contains `#include
 * "map.cl"` where the library inserts its own source before the build. Copies at most `capacity`
 * bytes, including the terminating NUL; `text` may be NULL if `capacity` is 0. `length` (may be
 * NULL) receives the length of the whole text without the NUL. Prepares the batch if needed.
 * @retval CLS_ERROR_OUT_OF_RANGE there is no such region
 */
CLS_API cls_status cls_batch_get_source(cls_batch batch, unsigned region, char *text,
                                        size_t capacity, size_t *length);

CLS_END_DECLS

#endif
