/* SPDX-License-Identifier: MIT */
/**
 * @file indices.h
 * Rows and elements of a matrix by their numbers: select, gather, scatter and scatter_add.
 *
 * Matrices and vectors are the views of blas.h: row-major, rows `ld` elements apart, `stride` ignored; the
 * elements of an array are a matrix of one column. Elements are of all types, indices u8, i32, u32 or i64,
 * counted from 0. What lies between the elements of a view is left alone.
 *
 * | | for each i, j |
 * |---|---|
 * | cls_select_rows | out[i][j] = in[indices[i]][j] |
 * | cls_scatter_rows | out[indices[i]][j] = in[i][j] |
 * | cls_scatter_add_rows | out[indices[i]][j] += in[i][j] |
 * | cls_gather | out[i][j] = in[i][indices[i][j]] |
 * | cls_scatter | out[i][indices[i][j]] = in[i][j] |
 * | cls_scatter_add | out[i][indices[i][j]] += in[i][j] |
 *
 * An index that names no row or column, a negative one included, reads and writes nothing outside of the
 * matrix: cls_select_rows and cls_gather write 0 in its place, the others pass it over. Each such index adds 1
 * to `missed`, an array of one u32, which wraps; a view without a buffer, `(cls_array){0}`, counts nothing. The
 * padding of sequences can thus be -1.
 *
 * Where one row or element is written twice, cls_scatter_rows and cls_scatter leave one of the elements
 * written to it, each element of a row for itself. cls_scatter_add_rows and cls_scatter_add add in the order of
 * the indices, so that the same call gives the same bits on every device. Integers wrap; floats are rounded
 * after each addition, those of 16 bits too.
 *
 * The output must have no element in common with the input, the indices or `missed`. Each call is one
 * launch. A call whose indices are none, or whose rows have no columns, submits nothing, and still returns the
 * stream's error.
 *
 * The `_async` forms only submit. A NULL stream means the default stream of the views' context. Every
 * function may be called from any thread.
 *
 * Statuses common to all:
 * @retval CLS_ERROR_UNSUPPORTED   the device has no f64, or does not round as the sum of floats needs it
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 * @retval CLS_ERROR_WRONG_CONTEXT
 * @retval CLS_ERROR_TYPE_MISMATCH indices of another type, matrices of two types, or a `missed` that is not u32
 * @retval CLS_ERROR_SIZE_MISMATCH the shapes do not fit together, or `missed` is not one element
 * @retval CLS_ERROR_INVALID_VALUE an `ld` below the number of columns, a step of 0, or an unknown dtype
 * @retval CLS_ERROR_OUT_OF_RANGE  past the end of a buffer, or indices into a matrix without rows, or without
 *                                 columns
 * @retval CLS_ERROR_OVERLAP       the output has elements in common with another view, or `missed` with one
 * @return also the statuses of submissions (stream.h). Blocking forms also return the stream's
 *         error, and CLS_ERROR_WOULD_DEADLOCK inside a host function
 */
#ifndef CLSTREAM_INDICES_H
#define CLSTREAM_INDICES_H

#include <clstream/blas.h>

CLS_BEGIN_DECLS

/** Row i of `out` is the row of `in` that indices[i] names, as in a table of embeddings. Waits. */
CLS_API cls_status cls_select_rows(cls_matrix in, cls_vector indices, cls_matrix out,
                                   cls_array missed, cls_stream stream);
/** Like cls_select_rows; only submits. */
CLS_API cls_status cls_select_rows_async(cls_matrix in, cls_vector indices, cls_matrix out,
                                         cls_array missed, cls_stream stream);

/** The row of `out` that indices[i] names becomes row i of `in`; others stay. Waits. */
CLS_API cls_status cls_scatter_rows(cls_matrix in, cls_vector indices, cls_matrix out,
                                    cls_array missed, cls_stream stream);
/** Like cls_scatter_rows; only submits. */
CLS_API cls_status cls_scatter_rows_async(cls_matrix in, cls_vector indices, cls_matrix out,
                                          cls_array missed, cls_stream stream);

/** Adds row i of `in` to the row of `out` that indices[i] names: the gradient of cls_select_rows. Waits. */
CLS_API cls_status cls_scatter_add_rows(cls_matrix in, cls_vector indices, cls_matrix out,
                                        cls_array missed, cls_stream stream);
/** Like cls_scatter_add_rows; only submits. */
CLS_API cls_status cls_scatter_add_rows_async(cls_matrix in, cls_vector indices, cls_matrix out,
                                              cls_array missed, cls_stream stream);

/** An element of `out` is the one of that row of `in` whose column its index names. `indices` has the shape of
 * `out`, and `in` as many rows. Waits. */
CLS_API cls_status cls_gather(cls_matrix in, cls_matrix indices, cls_matrix out, cls_array missed,
                              cls_stream stream);
/** Like cls_gather; only submits. */
CLS_API cls_status cls_gather_async(cls_matrix in, cls_matrix indices, cls_matrix out,
                                    cls_array missed, cls_stream stream);

/** An element of `in` is written to the column of that row of `out` that its index names. `indices` has the
 * shape of `in`, and `out` as many rows. Waits. */
CLS_API cls_status cls_scatter(cls_matrix in, cls_matrix indices, cls_matrix out, cls_array missed,
                               cls_stream stream);
/** Like cls_scatter; only submits. */
CLS_API cls_status cls_scatter_async(cls_matrix in, cls_matrix indices, cls_matrix out,
                                     cls_array missed, cls_stream stream);

/** Like cls_scatter, and adds: the gradient of cls_gather. Waits. */
CLS_API cls_status cls_scatter_add(cls_matrix in, cls_matrix indices, cls_matrix out,
                                   cls_array missed, cls_stream stream);
/** Like cls_scatter_add; only submits. */
CLS_API cls_status cls_scatter_add_async(cls_matrix in, cls_matrix indices, cls_matrix out,
                                         cls_array missed, cls_stream stream);

CLS_END_DECLS

#endif
