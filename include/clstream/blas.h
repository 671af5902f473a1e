/* SPDX-License-Identifier: MIT */
/**
 * @file blas.h
 * Matrix products and the vector operations around them, on a stream, through CLBlast.
 *
 * Matrices and vectors are views of buffers, f32 or f64. Matrices are row-major; a column-major one is
 * the row-major view of its transpose. Each call is one command of its stream, ordered as every other
 * one, though CLBlast itself has no wait lists. `_async` forms only submit: the first call of a kind
 * compiles kernels for up to 10 s, on a thread of the library; cls_blas_warmup does that beforehand.
 * A NULL stream is the default stream of the views' context.
 *
 * Sums are accumulated in the views' type, in an order that depends on the device and the shape: an
 * element of a product of inner length k is off by at most about k u times the sum of |a b|, where u is
 * 2^-24 or 2^-53. On one device the same call on the same bytes gives the same bits.
 *
 * Statuses common to all: CLS_ERROR_UNSUPPORTED (this build has no CLBlast, or the device no f64),
 * CLS_ERROR_INVALID_HANDLE, CLS_ERROR_CONTEXT_DESTROYED, CLS_ERROR_WRONG_CONTEXT,
 * CLS_ERROR_TYPE_MISMATCH (neither f32 nor f64, or not the same), CLS_ERROR_SIZE_MISMATCH (shapes do not
 * go together), CLS_ERROR_INVALID_VALUE (a step of 0, an `ld` below the columns, an inner length of 0,
 * no batch), CLS_ERROR_OUT_OF_RANGE (past the buffer's end, or an element beyond 2^31 - 1, which is as far
 * as CLBlast counts), CLS_ERROR_OVERLAP (the bytes from the first to the last element of the output meet
 * those of an input, or two matrices of the output have an element in common), and those of all submissions
 * (stream.h). Blocking forms return the stream's error too, and CLS_ERROR_WOULD_DEADLOCK inside a host
 * function. An empty output is a no-op.
 */
#ifndef CLSTREAM_BLAS_H
#define CLSTREAM_BLAS_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Element (i, j) of matrix b of a batch is element offset + b * stride + i * ld + j of the buffer. */
typedef struct cls_matrix {
    cls_buffer buffer; /**< where the elements are */
    cls_dtype dtype;   /**< CLS_F32 or CLS_F64 */
    size_t offset;     /**< in elements, as all that follows */
    size_t rows;       /**< of one matrix */
    size_t columns;    /**< of one matrix */
    size_t ld;         /**< leading dimension: from row to row, at least `columns` */
    size_t
        stride; /**< from matrix to matrix of a batch; of an input it may be 0: the same for all */
} cls_matrix;

/** A dense matrix from the start of a buffer; as a batch, one matrix behind the other. */
static inline cls_matrix cls_matrix_of(cls_buffer buffer, cls_dtype dtype, size_t rows,
                                       size_t columns) {
    cls_matrix view = {buffer, dtype, 0, rows, columns, columns, rows * columns};
    return view;
}

/** A dense matrix from element `offset` on. */
static inline cls_matrix cls_matrix_at(cls_buffer buffer, cls_dtype dtype, size_t offset,
                                       size_t rows, size_t columns) {
    cls_matrix view = {buffer, dtype, offset, rows, columns, columns, rows * columns};
    return view;
}

/** Element i of a vector is element offset + i * step of the buffer. */
typedef struct cls_vector {
    cls_buffer buffer; /**< where the elements are */
    cls_dtype dtype;   /**< CLS_F32 or CLS_F64 */
    size_t offset;     /**< in elements */
    size_t count;      /**< of elements */
    size_t step;       /**< from element to element, at least 1 */
} cls_vector;

/** A dense vector of the first `count` elements of a buffer. */
static inline cls_vector cls_vector_of(cls_buffer buffer, cls_dtype dtype, size_t count) {
    cls_vector view = {buffer, dtype, 0, count, 1};
    return view;
}

/** The elements of an array as a vector. */
static inline cls_vector cls_vector_from(cls_array array) {
    cls_vector view = {array.buffer, array.dtype, array.offset, array.count, 1};
    return view;
}

/** Options of cls_gemm and cls_gemv. Start with CLS_GEMM_CONFIG_INIT; NULL stands for that. */
typedef struct cls_gemm_config {
    size_t size;     /**< sizeof(cls_gemm_config) */
    int transpose_a; /**< nonzero: op(a) is the transpose of a */
    int transpose_b; /**< of cls_gemm only */
    double alpha;    /**< of the product */
    double beta;     /**< 0: the output is only written, whatever it held */
    size_t batches;  /**< of cls_gemm only; the matrices' `stride` counts when it is above 1 */
} cls_gemm_config;

#define CLS_GEMM_CONFIG_INIT \
    { sizeof(cls_gemm_config), 0, 0, 1.0, 0.0, 1 }

/** c = alpha op(a) op(b) + beta c, for every matrix of a batch. Waits. */
CLS_API cls_status cls_gemm(cls_matrix a, cls_matrix b, cls_matrix c, const cls_gemm_config *config,
                            cls_stream stream);
/**
 * As cls_gemm; only submits. Its temporary memory is the stream's, reused in stream order; that of a batch CLBlast
 * takes from the driver.
 */
CLS_API cls_status cls_gemm_async(cls_matrix a, cls_matrix b, cls_matrix c,
                                  const cls_gemm_config *config, cls_stream stream);

/** y = alpha op(a) x + beta y. Waits. */
CLS_API cls_status cls_gemv(cls_matrix a, cls_vector x, cls_vector y, const cls_gemm_config *config,
                            cls_stream stream);
/** As cls_gemv; only submits. */
CLS_API cls_status cls_gemv_async(cls_matrix a, cls_vector x, cls_vector y,
                                  const cls_gemm_config *config, cls_stream stream);

/** y = alpha x + y. Waits. */
CLS_API cls_status cls_axpy(double alpha, cls_vector x, cls_vector y, cls_stream stream);
/** As cls_axpy; only submits. */
CLS_API cls_status cls_axpy_async(double alpha, cls_vector x, cls_vector y, cls_stream stream);

/** x = alpha x. Waits. */
CLS_API cls_status cls_scal(double alpha, cls_vector x, cls_stream stream);
/** As cls_scal; only submits. */
CLS_API cls_status cls_scal_async(double alpha, cls_vector x, cls_stream stream);

/**
 * The sum of x[i] y[i] of vectors with steps, to one host element of their type; waits. cls_dot
 * (reduce.h) is for dense ones, more exact, and needs no CLBlast. No elements: CLS_ERROR_INVALID_VALUE.
 */
CLS_API cls_status cls_blas_dot(cls_vector x, cls_vector y, void *result, cls_stream stream);
/** As cls_blas_dot, into a view of one element; only submits. */
CLS_API cls_status cls_blas_dot_async(cls_vector x, cls_vector y, cls_array out, cls_stream stream);

/**
 * The index, from 0, of an element of the greatest magnitude: any one of several, and any index at all
 * with a NaN among them. Waits. No elements: CLS_ERROR_INVALID_VALUE.
 */
CLS_API cls_status cls_amax(cls_vector x, uint32_t *index, cls_stream stream);
/** As cls_amax, into a view of one u32; only submits. */
CLS_API cls_status cls_amax_async(cls_vector x, cls_array out, cls_stream stream);

/**
 * Compiles what the functions of this header need for a type and runs each once, so that later calls of
 * the stream's context do not compile. With m, n and k not 0 it also makes a product of m x k by k x n,
 * so that the stream has temporary memory for such. Waits: seconds, the first time in a process.
 * @retval CLS_ERROR_INVALID_VALUE one or two of m, n and k are 0
 */
CLS_API cls_status cls_blas_warmup(cls_dtype dtype, size_t m, size_t n, size_t k,
                                   cls_stream stream);

/** Nonzero when this build has CLBlast. */
CLS_API int cls_blas_available(void);

CLS_END_DECLS

#endif
