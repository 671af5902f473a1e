/* SPDX-License-Identifier: MIT */
/**
 * @file matrices.h
 * Element-by-element operations of matrices: with a vector for each row or each column (broadcast), conversion
 * and copies between leading dimensions, and transposition. What reduces or normalizes rows is in rows.h.
 *
 * Matrices are the views of blas.h: row-major, rows `ld` elements apart, `stride` ignored. Vectors may have a
 * step. What lies between the elements of a view is left alone. All types and operations are those of cast.h and
 * binary.h, with the same bits: an element goes through the same code as in cls_cast or cls_binary. Each call is
 * one launch. A matrix without elements is a no-op, which still returns the stream's error.
 *
 * In place: the output may be the same view as the input matrix, with the same buffer, offset in bytes and `ld`,
 * if its elements have the same size; not in cls_transpose. It must have no other element in common with an input.
 *
 * The `_async` forms only submit. The caller may destroy the views' buffers at once; their contents belong to the
 * device until the work is done. A NULL stream means the default stream of the views' context. Every function may
 * be called from any thread.
 *
 * Statuses common to all:
 * @retval CLS_ERROR_INVALID_VALUE an unknown operation or dtype, an `ld` below the number of columns, or a step of
 *                                 0
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 * @retval CLS_ERROR_WRONG_CONTEXT
 * @retval CLS_ERROR_SIZE_MISMATCH the shapes do not fit together
 * @retval CLS_ERROR_TYPE_MISMATCH the element types do not fit together, or the operation does not support them
 * @retval CLS_ERROR_OUT_OF_RANGE  past the end of a buffer
 * @retval CLS_ERROR_OVERLAP       the output has elements in common with an input without being the same view
 * @retval CLS_ERROR_UNSUPPORTED   f64 on a device without it, or a device that does not round as pow needs it
 * @return also the statuses of submissions (stream.h). Blocking forms also return the stream's
 *         error, and CLS_ERROR_WOULD_DEADLOCK inside a host function
 */
#ifndef CLSTREAM_MATRICES_H
#define CLSTREAM_MATRICES_H

#include <clstream/binary.h>
#include <clstream/blas.h>

CLS_BEGIN_DECLS

/**
 * out[i][j] = op(in[i][j], row[j]). `row` is a vector of the matrix's type with an element for each column. Waits.
 * The result's type is that of cls_binary.
 */
CLS_API cls_status cls_binary_rows(cls_binary_op op, cls_matrix in, cls_vector row, cls_matrix out,
                                   cls_stream stream);
/** Like cls_binary_rows; only submits. */
CLS_API cls_status cls_binary_rows_async(cls_binary_op op, cls_matrix in, cls_vector row,
                                         cls_matrix out, cls_stream stream);
/** Like cls_binary_rows with the operands exchanged: out[i][j] = op(row[j], in[i][j]). Waits. */
CLS_API cls_status cls_binary_rows_reversed(cls_binary_op op, cls_matrix in, cls_vector row,
                                            cls_matrix out, cls_stream stream);
/** Like cls_binary_rows_reversed; only submits. */
CLS_API cls_status cls_binary_rows_reversed_async(cls_binary_op op, cls_matrix in, cls_vector row,
                                                  cls_matrix out, cls_stream stream);

/**
 * out[i][j] = op(in[i][j], column[i]). `column` is a vector of the matrix's type with an element for each row.
 * Waits. The result's type is that of cls_binary.
 */
CLS_API cls_status cls_binary_columns(cls_binary_op op, cls_matrix in, cls_vector column,
                                      cls_matrix out, cls_stream stream);
/** Like cls_binary_columns; only submits. */
CLS_API cls_status cls_binary_columns_async(cls_binary_op op, cls_matrix in, cls_vector column,
                                            cls_matrix out, cls_stream stream);
/** Like cls_binary_columns with the operands exchanged: out[i][j] = op(column[i], in[i][j]). Waits. */
CLS_API cls_status cls_binary_columns_reversed(cls_binary_op op, cls_matrix in, cls_vector column,
                                               cls_matrix out, cls_stream stream);
/** Like cls_binary_columns_reversed; only submits. */
CLS_API cls_status cls_binary_columns_reversed_async(cls_binary_op op, cls_matrix in,
                                                     cls_vector column, cls_matrix out,
                                                     cls_stream stream);

/**
 * Converts each element of `in` to the type of `out`, as cls_cast does. Between equal types it is a copy, which
 * may change the leading dimension and keeps the bits. Waits.
 */
CLS_API cls_status cls_cast_matrix(cls_matrix in, cls_matrix out, cls_stream stream);
/** Like cls_cast_matrix; only submits. */
CLS_API cls_status cls_cast_matrix_async(cls_matrix in, cls_matrix out, cls_stream stream);

/**
 * out[j][i] = in[i][j], of any type, with its bits. `out` has as many rows as `in` has columns, and as many columns
 * as `in` has rows, and no element in common with it. Waits.
 */
CLS_API cls_status cls_transpose(cls_matrix in, cls_matrix out, cls_stream stream);
/** Like cls_transpose; only submits. */
CLS_API cls_status cls_transpose_async(cls_matrix in, cls_matrix out, cls_stream stream);

CLS_END_DECLS

#endif
