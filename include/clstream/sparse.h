/* SPDX-License-Identifier: MIT */
/**
 * @file sparse.h
 * Products of a sparse matrix and a vector, on a stream.
 *
 * A matrix is in compressed sparse rows (CSR): its entries lie row by row, each with its value and the number
 * of its column. Row i has the entries from offsets[i] up to but without offsets[i + 1]. Numbers count from 0.
 * Rows may be empty and entries of a row in any order; those of one column add up.
 *
 * Values and vectors are f32 or f64, all of one type. Offsets and column numbers are i32 or i64, each of one of
 * them. Vectors are the views of blas.h.
 *
 * Nothing outside of the views is read or written, whatever the numbers are. An entry whose column does not
 * exist is passed over, as is a row whose offsets fall, or leave the entries; each such entry and each such row
 * adds 1 to `missed`, an array of one u32, which wraps. A view without a buffer, `(cls_array){0}`, counts nothing.
 * The padding of rows can thus have -1 for a column.
 *
 * Sums are accumulated in the type of the values, in an order that depends on the device, the row's number of
 * entries, and the mean of those numbers: on one device the same call on the same bytes always gives the same bits. A
 * row of k entries has an error of at most about k u times the sum of |a x|, where u is 2^-24 or 2^-53. A factor of
 * 0 leaves its operand unread, as in BLAS: with `alpha` 0 neither the matrix nor x is read, and nothing is
 * counted; with `beta` 0, y is only written. A column that a row does not name is not read either: NaN there
 * does not reach the row.
 *
 * By the mean number of entries a row is taken by a work-item or by a team of 2 to 256; on CPU devices a
 * work-item takes several rows. A call is one launch, or several on a driver that ends long loops. A call whose matrix
 * has no rows, or whose factors leave nothing to change, submits nothing, and still returns the stream's error.
 *
 * The `_async` form only submits. A NULL stream means the default stream of the views' context. Every
 * function may be called from any thread.
 *
 * Statuses common to all:
 * @retval CLS_ERROR_UNSUPPORTED   the device has no f64
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 * @retval CLS_ERROR_WRONG_CONTEXT
 * @retval CLS_ERROR_TYPE_MISMATCH offsets or column numbers of another type, values, vectors and factors of two
 *                                 types or of another type, or a `missed` that is not u32
 * @retval CLS_ERROR_SIZE_MISMATCH the shapes do not fit together, or `missed` or a factor is not one element
 * @retval CLS_ERROR_INVALID_VALUE a step of 0, an unknown dtype, or an option that is cls_gemm's only
 * @retval CLS_ERROR_OUT_OF_RANGE  past the end of a buffer, or an element of a vector beyond 2^31 - 1
 * @retval CLS_ERROR_OVERLAP       y or `missed` has elements in common with another view
 * @return also the statuses of submissions (stream.h). Blocking forms also return the stream's
 *         error, and CLS_ERROR_WOULD_DEADLOCK inside a host function
 */
#ifndef CLSTREAM_SPARSE_H
#define CLSTREAM_SPARSE_H

#include <clstream/blas.h>

CLS_BEGIN_DECLS

/** A sparse matrix in compressed sparse rows. It has as many rows as offsets less one. */
typedef struct cls_csr {
    cls_array offsets; /**< where each row begins among the entries, and where the last one ends */
    cls_array indices; /**< the column of each entry */
    cls_array values;  /**< the value of each entry */
    size_t columns;    /**< columns of the matrix */
} cls_csr;

/**
 * y = alpha a x + beta y. Of the options only `alpha` and `beta` apply, and their views: the others must be those of
 * CLS_GEMM_CONFIG_INIT, and NULL means those. Factors on the device are read by the kernel, as each of the matrix is. Waits.
 */
CLS_API cls_status cls_spmv(cls_csr a, cls_vector x, cls_vector y, const cls_gemm_config *config,
                            cls_array missed, cls_stream stream);
/** Like cls_spmv; only submits. */
CLS_API cls_status cls_spmv_async(cls_csr a, cls_vector x, cls_vector y,
                                  const cls_gemm_config *config, cls_array missed,
                                  cls_stream stream);

CLS_END_DECLS

#endif
