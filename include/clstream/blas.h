/* SPDX-License-Identifier: MIT */
/**
 * @file blas.h
 * Matrix products and vector operations on a stream.
 *
 * Products (cls_gemm) are computed in one of four ways, of which cls_gemm_explain tells. On CPU devices
 * kernels of the library's own keep up with a CPU's BLAS (cls_gemv too). On NVIDIA's devices of compute
 * capability 8.0 and later large products of f16 and bf16, and of f32 where that takes less time, use
 * the matrix units, where a probe of the device found right values: `mma`, `wgmma` (Hopper's) and
 * `split_f32` in `clstream info`. On GPUs a kernel of the library's own computes small products, those
 * of f16 and bf16, on NVIDIA's devices those of f32, and, in a build without CLBlast, all. All else is
 * CLBlast's.
 *
 * Matrices and vectors are views of buffers, f32 or f64; those of products also f16 or bf16, whose
 * output is of the same type or f32, and whose factors and sums are f32. Matrices are row-major; pass a
 * column-major matrix as the row-major view of its transpose. Each call is one or more commands of its
 * stream and is ordered like any other, although CLBlast has no wait lists. The `_async` forms only
 * submit. CLBlast's first call of a kind compiles kernels, for up to 10 s, on a thread of the library. The
 * first product that is large enough for matrix units tries them, for as long once for each driver
 * version, in the call. cls_blas_warmup does both ahead of time. A NULL stream means the default stream
 * of the views' context. Every function may be called from any thread.
 *
 * Some versions of CLBlast are wrong on some GPUs. So before it computes its first product of a type on a
 * device, products that it computes are compared with the host's; the disk cache keeps the answer. Where
 * they are wrong, a kernel of the library's own computes the products, and operations on vectors alone
 * are unsupported; cls_gemm_explain and cls_blas_get_tuning have the reason. cls_gemm and
 * cls_blas_warmup try CLBlast in time. A product that was submitted before this was known fails, and the
 * stream's error says so.
 *
 * CLBlast keeps kernels, and by them the cl_context, until it is told to forget those of all
 * contexts. The library does so at the end of each context that used these functions: the next
 * calls in other contexts compile again. A program that calls CLBlast itself too does so after one
 * of these functions has succeeded: CLBlast 1.5 must not be called by two threads at once the first
 * time.
 *
 * A factor of 0, in the type of the views, leaves its operand unread, as in BLAS: what undefined
 * memory holds, NaN too, does not reach the result. So with `alpha` 0, or an inner length of 0, a
 * product is beta times the output, and with `beta` 0 the output is only written. A call with no
 * element of output, or nothing to change, submits nothing; one whose factors leave nothing to
 * change still returns the stream's error.
 *
 * Accuracy. Sums are accumulated in the type of the views, those of f16 and bf16 in f32, in an order
 * that depends on the device and the shape. An element of a product with inner length k has an error of
 * at most about k u times the sum of |a b|, where u is 2^-24 or 2^-53, and of f16 and bf16 2^-22, since
 * matrix units cut sums off; an output of f16 or bf16 is rounded once more, by at most half a unit in
 * its last place. On one device the same call on the same bytes always gives the same bits. Matrix
 * units multiply numbers of 11 significant bits. CLS_GEMM_F32 splits each input into two of them, x =
 * big + small, and adds big big, big small and small big, in sums of 8 or 32 terms that are then added in
 * f32 (after Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores", 2022): the
 * error is below that bound. The units take parts of inputs below 2^-126 for 0, which adds at most
 * 2^-126 (|a| + |b|) a term. Infinities and NaN are those of sums in f32. CLS_GEMM_TF32 rounds the
 * inputs: at most 2^-10 times the sum of |a b|.
 *
 * Statuses common to all:
 * @retval CLS_ERROR_UNSUPPORTED   a call of vectors alone in a build without CLBlast or on a device on
 *                                 which it is wrong, the device has no f64, or a product with a factor on the
 *                                 device and a bias, an activation or types of 16 bits
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 * @retval CLS_ERROR_WRONG_CONTEXT
 * @retval CLS_ERROR_TYPE_MISMATCH the types are not one, of those above
 * @retval CLS_ERROR_SIZE_MISMATCH the shapes do not fit together
 * @retval CLS_ERROR_INVALID_VALUE a step of 0, an `ld` below the number of columns, 0 batches, or an unknown
 *                                 `math` or `activation`
 * @retval CLS_ERROR_OUT_OF_RANGE  past the end of a buffer, or an element beyond 2^31 - 1, the
 *                                 limit of CLBlast
 * @retval CLS_ERROR_OVERLAP       the output has an element in common with an input, or two matrices
 *                                 of the output have. What lies between an operand's elements, as
 *                                 columns beside a matrix in the same rows, is not its own, but in a
 *                                 batch of which one matrix begins between the rows of another and
 *                                 does not end before the next row
 * @return also the statuses of submissions (stream.h). Blocking forms also return the stream's
 *         error, and CLS_ERROR_WOULD_DEADLOCK inside a host function
 */
#ifndef CLSTREAM_BLAS_H
#define CLSTREAM_BLAS_H

#include <clstream/types.h>
#include <clstream/unary.h>

CLS_BEGIN_DECLS

/**
 * A matrix, or a batch of matrices. Element (i, j) of matrix b is element offset + b * stride + i *
 * ld + j of the buffer.
 */
typedef struct cls_matrix {
    cls_buffer buffer; /**< holds the elements */
    cls_dtype dtype;   /**< CLS_F32, CLS_F64, CLS_F16 or CLS_BF16 */
    size_t offset;     /**< first element; in elements, like all fields below */
    size_t rows;       /**< rows of one matrix */
    size_t columns;    /**< columns of one matrix */
    size_t ld;         /**< leading dimension: distance between rows, at least `columns` */
    size_t stride;     /**< distance between matrices of a batch; 0 for an input uses the same
                            matrix for all */
} cls_matrix;

/** A dense matrix from the start of a buffer. In a batch the matrices follow each other. */
static inline cls_matrix cls_matrix_of(cls_buffer buffer, cls_dtype dtype, size_t rows,
                                       size_t columns) {
    cls_matrix view = {buffer, dtype, 0, rows, columns, columns, rows * columns};
    return view;
}

/** A dense matrix, starting at element `offset`. */
static inline cls_matrix cls_matrix_at(cls_buffer buffer, cls_dtype dtype, size_t offset,
                                       size_t rows, size_t columns) {
    cls_matrix view = {buffer, dtype, offset, rows, columns, columns, rows * columns};
    return view;
}

/** A vector. Element i is element offset + i * step of the buffer. */
typedef struct cls_vector {
    cls_buffer buffer; /**< holds the elements */
    cls_dtype dtype;   /**< CLS_F32 or CLS_F64; with a matrix also CLS_F16 or CLS_BF16 */
    size_t offset;     /**< first element, in elements */
    size_t count;      /**< number of elements */
    size_t step;       /**< distance between elements, at least 1 */
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

/** A factor: a number of the host's, or an element on the device, which is read when the call's work runs. */
typedef struct cls_factor {
    double value; /**< the factor, rounded to the type of the operation */
    cls_array
        view; /**< unless its buffer is NULL, one element of that type, which is the factor instead */
} cls_factor;

/** A factor of the host's. */
static inline cls_factor cls_factor_of(double value) {
    cls_factor factor = {value, {NULL, CLS_F32, 0, 0}};
    return factor;
}

/** A factor on the device: the only element of a view. */
static inline cls_factor cls_factor_at(cls_array view) {
    cls_factor factor = {0, view};
    return factor;
}

/**
 * What the sums of an f32 product may be made of. Those of f64 are made of f64, those of f16 and bf16 of exact products
 * of their elements, in f32, whatever this says.
 */
typedef enum cls_gemm_math {
    /**
     * Products and sums with the accuracy of f32. Where the device has matrix units that take less time,
     * a product of two numbers is made of three, of parts of 11 bits ("Accuracy", above).
     */
    CLS_GEMM_F32 = 0,
    /**
     * Inputs rounded to TF32, of 11 significant bits and the range of f32, and sums in f32, where the
     * device has matrix units for them; elsewhere as CLS_GEMM_F32.
     */
    CLS_GEMM_TF32 = 1,
    /** As CLS_GEMM_F32, and never by matrix units. CLSTREAM_GEMM=pedantic makes it so for all f32 products. */
    CLS_GEMM_PEDANTIC = 2
} cls_gemm_math;

/** Options of cls_gemm and cls_gemv. Start with CLS_GEMM_CONFIG_INIT; NULL means the same. */
typedef struct cls_gemm_config {
    size_t size;        /**< sizeof(cls_gemm_config) */
    int transpose_a;    /**< nonzero: op(a) is the transpose of a */
    int transpose_b;    /**< nonzero: op(b) is the transpose of b; cls_gemm only */
    double alpha;       /**< factor of the product; 0: the inputs are not read */
    double beta;        /**< factor of the old output; 0: the output is only written, whatever it
                          held */
    size_t batches;     /**< number of matrices; above 1, their `stride` applies; cls_gemm only */
    cls_gemm_math math; /**< what f32 sums may be made of */
    int bias_by_row; /**< nonzero: the bias has an element for each row of c, else for each column */
    cls_vector
        bias; /**< added to the product, of every matrix of a batch; as a vector y of cls_gemv has
                             it, an element each. Its buffer NULL: none. It must not overlap c */
    cls_unary_op activation; /**< applied to each element of the result before it is written, as
                                  CLS_UNARY_RELU, _GELU or _SILU; 0: none */
    int reserved;            /**< 0 */
    cls_array
        alpha_view; /**< unless its buffer is NULL, a view of one element of the output's type, f32 or
                                  f64, which is the factor instead of `alpha` */
    cls_array beta_view; /**< the same for `beta` */
} cls_gemm_config;

#define CLS_GEMM_CONFIG_INIT                                                                   \
    {                                                                                          \
        sizeof(cls_gemm_config), 0, 0, 1.0, 0.0, 1, CLS_GEMM_F32, 0, {NULL, CLS_F32, 0, 0, 1}, \
            (cls_unary_op)0, 0, {NULL, CLS_F32, 0, 0}, {                                       \
            NULL, CLS_F32, 0, 0                                                                \
        }                                                                                      \
    }

/**
 * c = activation(alpha op(a) op(b) + beta c + bias), for every matrix of a batch. Waits. Bias and activation
 * take place where the sums are, before they are written; with CLBlast they are a launch of their own. With a factor on
 * the device (`alpha_view`, `beta_view`) the product goes to temporary memory first, as large as c without gaps, from where
 * c takes it. The factors must not overlap c.
 */
CLS_API cls_status cls_gemm(cls_matrix a, cls_matrix b, cls_matrix c, const cls_gemm_config *config,
                            cls_stream stream);
/**
 * Like cls_gemm; only submits. Its temporary memory belongs to the stream and is reused in stream
 * order: on CPU devices as much as both inputs where rows, columns and inner length are 192 or more
 * (of a batch up to 64 MiB at a time), on matrix units once or, for CLS_GEMM_F32, twice as much, up to 1 GiB.
 * For a batch CLBlast takes temporary memory from the driver.
 */
CLS_API cls_status cls_gemm_async(cls_matrix a, cls_matrix b, cls_matrix c,
                                  const cls_gemm_config *config, cls_stream stream);

/** How a product is computed. */
typedef enum cls_gemm_way {
    CLS_GEMM_WAY_NONE = 0,   /**< not at all: what is left is beta c, bias and activation */
    CLS_GEMM_WAY_PANELS = 1, /**< kernels for CPUs, which read packed panels */
    CLS_GEMM_WAY_TILES = 2,  /**< matrix units of NVIDIA's */
    CLS_GEMM_WAY_BLOCKS = 3, /**< a kernel for any GPU */
    CLS_GEMM_WAY_CLBLAST = 4 /**< CLBlast */
} cls_gemm_way;

/** What cls_gemm_explain tells. Start with CLS_GEMM_EXPLANATION_INIT. */
typedef struct cls_gemm_explanation {
    size_t size;        /**< sizeof(cls_gemm_explanation) */
    cls_gemm_way way;   /**< how the product is computed */
    int fused;          /**< nonzero: bias and activation take no launch of their own */
    const char *reason; /**< why so, in words; static */
} cls_gemm_explanation;

#define CLS_GEMM_EXPLANATION_INIT \
    { sizeof(cls_gemm_explanation), CLS_GEMM_WAY_NONE, 0, NULL }

/**
 * Tells how cls_gemm would compute the same call on this device, and submits nothing. Statuses are those of
 * cls_gemm_async for the arguments.
 */
CLS_API cls_status cls_gemm_explain(cls_matrix a, cls_matrix b, cls_matrix c,
                                    const cls_gemm_config *config, cls_stream stream,
                                    cls_gemm_explanation *out);

/**
 * y = activation(alpha op(a) x + beta y + bias). Waits. Factors on the device are as those of cls_gemm.
 */
CLS_API cls_status cls_gemv(cls_matrix a, cls_vector x, cls_vector y, const cls_gemm_config *config,
                            cls_stream stream);
/** Like cls_gemv; only submits. */
CLS_API cls_status cls_gemv_async(cls_matrix a, cls_vector x, cls_vector y,
                                  const cls_gemm_config *config, cls_stream stream);

/** Of the triangular matrix of cls_trsm; 0 is a lower one from the left with a diagonal of its own. */
typedef enum cls_triangle {
    CLS_TRIANGLE_RIGHT = 1, /**< X op(a) = alpha b in the place of op(a) X = alpha b */
    CLS_TRIANGLE_UPPER = 2, /**< a is upper triangular */
    CLS_TRIANGLE_UNIT = 4   /**< its diagonal is 1, and not read */
} cls_triangle;

/**
 * Solves op(a) X = alpha b, or X op(a) = alpha b, for every matrix of a batch, and puts X into b. Waits. `a` is square,
 * and of it only the triangle is read; `triangle` is the sum of constants of cls_triangle. Of `config`, which may be NULL, counts
 * `transpose_a`, `alpha`, `batches` and `math`. f32 and f64, on every device. By blocks of 32 unknowns, which a work-item
 * finds by substitution for each column (or row) of b; their contributions to the others are a product as cls_gemm
 * computes it. So X is the exact solution for a triangle that differs from a by about n u of each element (Higham, "Accuracy and
 * Stability of Numerical Algorithms", 2002, 8.1), with u as above. A diagonal of 0 gives infinities and NaN.
 * @retval CLS_ERROR_INVALID_VALUE also unknown constants, and other members of `config` that are not their defaults
 * @retval CLS_ERROR_OVERLAP       also a and b
 * @retval CLS_ERROR_OUT_OF_MEMORY b is undefined then
 */
CLS_API cls_status cls_trsm(cls_matrix a, cls_matrix b, unsigned triangle,
                            const cls_gemm_config *config, cls_stream stream);
/** Like cls_trsm; only submits. */
CLS_API cls_status cls_trsm_async(cls_matrix a, cls_matrix b, unsigned triangle,
                                  const cls_gemm_config *config, cls_stream stream);

/** y = alpha x + y. With `alpha` 0, nothing. Waits. */
CLS_API cls_status cls_axpy(double alpha, cls_vector x, cls_vector y, cls_stream stream);
/** Like cls_axpy; only submits. */
CLS_API cls_status cls_axpy_async(double alpha, cls_vector x, cls_vector y, cls_stream stream);

/**
 * y = alpha x + beta y, by factors of the host's or on the device, so that an iterative solver needs no step
 * of the host. x may be y itself. A factor that is 0 leaves its operand unread, on the device too; one on the
 * device must not overlap y. Needs no CLBlast. Waits.
 */
CLS_API cls_status cls_axpby(cls_factor alpha, cls_vector x, cls_factor beta, cls_vector y,
                             cls_stream stream);
/** Like cls_axpby; only submits. */
CLS_API cls_status cls_axpby_async(cls_factor alpha, cls_vector x, cls_factor beta, cls_vector y,
                                   cls_stream stream);

/** x = alpha x. With `alpha` 0, x is only written, whatever it held. Waits. */
CLS_API cls_status cls_scal(double alpha, cls_vector x, cls_stream stream);
/** Like cls_scal; only submits. */
CLS_API cls_status cls_scal_async(double alpha, cls_vector x, cls_stream stream);

/**
 * The sum of x[i] y[i] of vectors with steps, written to one element of their type on the host.
 * Waits. For dense vectors, cls_dot (reduce.h) is more exact and needs no CLBlast. The sum of no
 * elements is 0.
 */
CLS_API cls_status cls_blas_dot(cls_vector x, cls_vector y, void *result, cls_stream stream);
/** Like cls_blas_dot, into a view of one element; only submits. */
CLS_API cls_status cls_blas_dot_async(cls_vector x, cls_vector y, cls_array out, cls_stream stream);

/**
 * The square root of the sum of x[i] x[i], written to one element of their type on the host. The squares and their
 * sum have to be in the range of the type. Waits. That of no elements is 0.
 */
CLS_API cls_status cls_nrm2(cls_vector x, void *result, cls_stream stream);
/** Like cls_nrm2, into a view of one element; only submits. */
CLS_API cls_status cls_nrm2_async(cls_vector x, cls_array out, cls_stream stream);

/** The sum of the magnitudes of x, written to one element of their type on the host. Waits. That of no elements is 0. */
CLS_API cls_status cls_asum(cls_vector x, void *result, cls_stream stream);
/** Like cls_asum, into a view of one element; only submits. */
CLS_API cls_status cls_asum_async(cls_vector x, cls_array out, cls_stream stream);

/**
 * The index, from 0, of an element of the greatest magnitude. If there are several, it is any of
 * them; if there is a NaN, it is any index. Waits. No elements: CLS_ERROR_INVALID_VALUE.
 */
CLS_API cls_status cls_amax(cls_vector x, uint32_t *index, cls_stream stream);
/** Like cls_amax, into a view of one u32; only submits. */
CLS_API cls_status cls_amax_async(cls_vector x, cls_array out, cls_stream stream);

/**
 * Compiles what the functions of this header need for a type, and runs each once, so that later
 * calls in the stream's context do not compile. If m, n and k are not 0, it also computes products
 * of m x k by k x n, each input as it is and transposed, so that the stream has the temporary memory for
 * such products. Waits; the first call in a process takes seconds where CLBlast compiles.
 * @retval CLS_ERROR_INVALID_VALUE one or two of m, n and k are 0
 */
CLS_API cls_status cls_blas_warmup(cls_dtype dtype, size_t m, size_t n, size_t k,
                                   cls_stream stream);

/**
 * Returns nonzero if this build has CLBlast. Without it there are no operations on vectors alone (cls_axpy, cls_scal,
 * cls_blas_dot, cls_nrm2, cls_asum, cls_amax) but cls_axpby, and on GPUs large products of f32 and f64 take longer.
 */
CLS_API int cls_blas_available(void);

/**
 * The parameters of CLBlast's kernels for products, on one device and for one type. `clstream tune` searches for those
 * that take the least time, and keeps them. Start with CLS_BLAS_TUNING_INIT.
 */
typedef struct cls_blas_tuning {
    size_t size; /**< sizeof(cls_blas_tuning) */
    char parameters
        [512]; /**< "KWG=16 KWI=2 ...": of each of the kernels Xgemm, XgemmDirect and GemmRoutine all or
                               none, by CLBlast's names; "": CLBlast's own */
    double gain;   /**< how many times as fast as CLBlast's own they were measured; 0: not */
    uint64_t made; /**< when they were kept, in seconds since 1970; 0: they were not. Ignored by
                               cls_blas_set_tuning */
    const char *
        refused; /**< why the library does not use CLBlast for the type, in words; static. NULL: it may.
                               Ignored by cls_blas_set_tuning */
} cls_blas_tuning;

#define CLS_BLAS_TUNING_INIT \
    { sizeof(cls_blas_tuning), "", 0.0, 0, NULL }

/**
 * Gets the parameters in force for device `index`, which CLBlast has from its first use there in this process on: those
 * that cls_blas_set_tuning set here, or else the disk cache's for this device, driver and version of CLBlast.
 * @retval CLS_ERROR_UNSUPPORTED   a build without CLBlast, or the device has no f64
 * @retval CLS_ERROR_TYPE_MISMATCH not CLS_F32 or CLS_F64
 * @retval CLS_ERROR_NO_DEVICE     there is no device of this index
 */
CLS_API cls_status cls_blas_get_tuning(size_t index, cls_dtype dtype, cls_blas_tuning *out);

/**
 * Sets the parameters for this process and, with `keep` nonzero, for those that start later, by the disk cache. What
 * CLBlast has compiled is thrown away; calls for the device must not be pending. Parameters of a kernel that were in use
 * cannot be taken back in the same process, but by others. Whether products are right with them is tried as it is with
 * CLBlast's own.
 * @retval CLS_ERROR_INVALID_VALUE the parameters are malformed, do not fit each other, or ask for more than the
 *                                 device has
 * @retval CLS_ERROR_UNSUPPORTED   a build without CLBlast, or the device has no f64
 * @retval CLS_ERROR_TYPE_MISMATCH not CLS_F32 or CLS_F64
 * @retval CLS_ERROR_NO_DEVICE     there is no device of this index
 */
CLS_API cls_status cls_blas_set_tuning(size_t index, cls_dtype dtype, const cls_blas_tuning *tuning,
                                       int keep);

CLS_END_DECLS

#endif
