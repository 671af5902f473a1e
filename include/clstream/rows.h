/* SPDX-License-Identifier: MIT */
/**
 * @file rows.h
 * Operations along the rows of a matrix: reductions, also along columns, softmax, log-softmax and their
 * gradients, cross entropy with integer labels, alone or with its gradient in the same kernel, and
 * normalization of rows by their mean and variance (layer_norm) or their mean square (rms_norm), and its
 * gradients.
 *
 * Matrices are the views of blas.h: row-major, rows `ld` elements apart, `stride` ignored. Except in
 * reductions their elements are f32, f64, f16 or bf16; those of 16 bits are read to f32, calculated in f32
 * and rounded once, where they are written. Labels are a vector of i32 or u32, losses a vector of f32, or of
 * f64 for scores of f64, with an element for each row. What lies between the elements of a view is left
 * alone.
 *
 * Each call but a reduction and the gradient of a norm is one launch. A row is read from memory once where it fits into what a
 * work-group keeps in registers or, on CPUs, into a core's cache; a longer one is read two or three times.
 * GPUs with groups of 512 work-items keep 16,384 elements; half as many with two inputs, of f64, and where a row is not
 * whole vectors of 16 bytes at multiples of 16 bytes. With groups of 1,024 and 80 or 144 KiB of local memory they keep rows of
 * one matrix up to 64 or 128 KiB there. A call without rows or columns submits nothing, and
 * still returns the stream's error; sums and means of lines without elements are written, as 0 and NaN.
 *
 * In place: an output may be the same view as a matrix of the inputs, with the same buffer, offset and
 * `ld`. It must have no other element in common with an input, nor with another output.
 *
 * Values. The greatest element m of a row is taken off before exponentials, so that no finite row
 * overflows. An element of -infinity has the probability 0 and the logarithm -infinity. A row that has a
 * NaN or +infinity, or nothing but -infinity, gives NaN in each element and as its loss, and leaves other
 * rows alone.
 *
 * Accuracy, with u = 2^-24, or 2^-53 for f64, and n columns. Sums are made of parts of at most 64 terms
 * and those of each other, in an order that depends on the device, the sizes and the alignment alone: the
 * same call on the same bytes gives the same bits. Let t be n / 1024 + 100 + ln n.
 * - softmax: a relative error of at most (|x - m| + t) u, and an absolute one of 2^-126 (f64: 2^-1022),
 *   below which devices may write 0;
 * - log-softmax and loss: an absolute error of at most t u, and 4 u of |x - m|;
 * - gradient of the cross entropy: the error of softmax, and 2 u, times the factor;
 * - other gradients: (n / 1024 + 100) u of the sum of the magnitudes of the terms, times |y| for softmax and
 *   e^y for log-softmax, and 8 u of the result's terms.
 *
 * Elements of 16 bits add half a unit of their last place, and may be rounded to 0 or infinity.
 *
 * The `_async` forms only submit. A NULL stream means the default stream of the views' context. Every
 * function may be called from any thread.
 *
 * Statuses common to all:
 * @retval CLS_ERROR_UNSUPPORTED   the device has no f64, or does not round as stated
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 * @retval CLS_ERROR_WRONG_CONTEXT
 * @retval CLS_ERROR_TYPE_MISMATCH types other than those above, or matrices of two types
 * @retval CLS_ERROR_SIZE_MISMATCH the shapes do not fit together
 * @retval CLS_ERROR_INVALID_VALUE an `ld` below the number of columns, a step of 0, or an unknown dtype
 * @retval CLS_ERROR_OUT_OF_RANGE  past the end of a buffer
 * @retval CLS_ERROR_OVERLAP       an output has elements in common with an input without being the same
 *                                 view, or with the other output
 * @return also the statuses of submissions (stream.h). Blocking forms also return the stream's
 *         error, and CLS_ERROR_WOULD_DEADLOCK inside a host function
 */
#ifndef CLSTREAM_ROWS_H
#define CLSTREAM_ROWS_H

#include <clstream/blas.h>
#include <clstream/reduce.h>

CLS_BEGIN_DECLS

/**
 * Reduces each row of `in` to the element of `out` of that number, which is a vector of the result's type
 * (cls_reduce_result_dtype) with an element for each row. Matrices of all types; values, and accuracy, are
 * those of the operation (reduce.h), and so are the statuses of a reduction of no elements. An index is that of
 * the column. `out` must have no element in common with `in`. A matrix of few rows takes a second launch. Waits.
 * @retval CLS_ERROR_INVALID_VALUE also for an unknown operation, and for min, max, argmax or argmin of rows
 *                                 without columns
 */
CLS_API cls_status cls_reduce_rows(cls_reduce_op op, cls_matrix in, cls_vector out,
                                   cls_stream stream);
/** Like cls_reduce_rows; only submits. */
CLS_API cls_status cls_reduce_rows_async(cls_reduce_op op, cls_matrix in, cls_vector out,
                                         cls_stream stream);
/** Like cls_reduce_rows for each column, whose elements are read in order and an index is that of the row. */
CLS_API cls_status cls_reduce_columns(cls_reduce_op op, cls_matrix in, cls_vector out,
                                      cls_stream stream);
/** Like cls_reduce_columns; only submits. */
CLS_API cls_status cls_reduce_columns_async(cls_reduce_op op, cls_matrix in, cls_vector out,
                                            cls_stream stream);

/** out = e^(x - m) / (the sum of these along the row). Waits. */
CLS_API cls_status cls_softmax(cls_matrix in, cls_matrix out, cls_stream stream);
/** Like cls_softmax; only submits. */
CLS_API cls_status cls_softmax_async(cls_matrix in, cls_matrix out, cls_stream stream);

/** out = x - m - ln(the sum of e^(x - m) along the row), the logarithm of softmax. Waits. */
CLS_API cls_status cls_log_softmax(cls_matrix in, cls_matrix out, cls_stream stream);
/** Like cls_log_softmax; only submits. */
CLS_API cls_status cls_log_softmax_async(cls_matrix in, cls_matrix out, cls_stream stream);

/**
 * The gradient of softmax: in_gradient = y (g - s), where y is what cls_softmax wrote, g is `out_gradient`,
 * the gradient of y, and s the sum of y g along the row. `in_gradient` may be either. Waits.
 */
CLS_API cls_status cls_softmax_gradient(cls_matrix out, cls_matrix out_gradient,
                                        cls_matrix in_gradient, cls_stream stream);
/** Like cls_softmax_gradient; only submits. */
CLS_API cls_status cls_softmax_gradient_async(cls_matrix out, cls_matrix out_gradient,
                                              cls_matrix in_gradient, cls_stream stream);

/**
 * The gradient of log-softmax: in_gradient = g - e^y s, where y is what cls_log_softmax wrote, g is
 * `out_gradient`, the gradient of y, and s the sum of g along the row. `in_gradient` may be either. Waits.
 */
CLS_API cls_status cls_log_softmax_gradient(cls_matrix out, cls_matrix out_gradient,
                                            cls_matrix in_gradient, cls_stream stream);
/** Like cls_log_softmax_gradient; only submits. */
CLS_API cls_status cls_log_softmax_gradient_async(cls_matrix out, cls_matrix out_gradient,
                                                  cls_matrix in_gradient, cls_stream stream);

/**
 * losses = minus the log-softmax of the row's element at its label. Waits.
 *
 * Labels are columns, from 0. A label with all bits set (-1, or UINT32_MAX) leaves its row out: the loss is 0
 * and, in cls_cross_entropy_gradient, so is the row's gradient, whatever its scores. Any other label that is no
 * column makes both NaN; nothing beyond the row is read.
 * @retval CLS_ERROR_INVALID_VALUE rows without columns
 * @retval CLS_ERROR_OUT_OF_RANGE  more than 2^31 - 1 columns
 */
CLS_API cls_status cls_cross_entropy(cls_matrix scores, cls_vector labels, cls_vector losses,
                                     cls_stream stream);
/** Like cls_cross_entropy; only submits. */
CLS_API cls_status cls_cross_entropy_async(cls_matrix scores, cls_vector labels, cls_vector losses,
                                           cls_stream stream);

/**
 * Like cls_cross_entropy, and gradient = factor (softmax(scores) - 1 at the label), in the same launch. A
 * factor of 1 / rows gives the gradient of the mean loss. `gradient` may be `scores`. `factor` is rounded to
 * the type of the losses. Waits.
 * @retval CLS_ERROR_INVALID_VALUE rows without columns
 * @retval CLS_ERROR_OUT_OF_RANGE  more than 2^31 - 1 columns
 */
CLS_API cls_status cls_cross_entropy_gradient(cls_matrix scores, cls_vector labels,
                                              cls_vector losses, cls_matrix gradient, double factor,
                                              cls_stream stream);
/** Like cls_cross_entropy_gradient; only submits. */
CLS_API cls_status cls_cross_entropy_gradient_async(cls_matrix scores, cls_vector labels,
                                                    cls_vector losses, cls_matrix gradient,
                                                    double factor, cls_stream stream);

/**
 * out = gain (x - mean) / sqrt(variance + epsilon) + shift, where mean and variance, the mean of the squared
 * distances from it, are the row's. `gain` and `shift` are vectors of the matrices' type with an element for
 * each column; `out` may be `in`. Waits.
 *
 * The variance is found after the mean, without a difference of large sums. With a the mean of |x|, d = x -
 * mean and r = 1 / sqrt(variance + epsilon), the error is at most |gain| r (t u a (1 + |d| r) + (t + 8) u
 * (|d| + |x|)) + 4 u |shift|, as long as t u a r is at most 1. Squares have the range of f32, or of f64. A row
 * with a NaN or an infinity gives NaN in each element. With an epsilon of 0 a row of equal elements gives NaN or
 * any numbers. `epsilon` is rounded to the type of the sums.
 * @retval CLS_ERROR_INVALID_VALUE `epsilon` is below 0 or NaN
 */
CLS_API cls_status cls_layer_norm(cls_matrix in, cls_vector gain, cls_vector shift, double epsilon,
                                  cls_matrix out, cls_stream stream);
/** Like cls_layer_norm; only submits. */
CLS_API cls_status cls_layer_norm_async(cls_matrix in, cls_vector gain, cls_vector shift,
                                        double epsilon, cls_matrix out, cls_stream stream);

/**
 * out = gain x / sqrt(mean of x^2 + epsilon), the mean being that of the row. `gain` is a vector of the matrices'
 * type with an element for each column; `out` may be `in`. Waits.
 *
 * The relative error is at most (t + 8) u. Squares have the range of f32, or of f64: beyond it elements come to 0.
 * A row with a NaN gives NaN in each element, and one with an infinity NaN there and 0 times the gain elsewhere.
 * @retval CLS_ERROR_INVALID_VALUE `epsilon` is below 0 or NaN
 */
CLS_API cls_status cls_rms_norm(cls_matrix in, cls_vector gain, double epsilon, cls_matrix out,
                                cls_stream stream);
/** Like cls_rms_norm; only submits. */
CLS_API cls_status cls_rms_norm_async(cls_matrix in, cls_vector gain, double epsilon,
                                      cls_matrix out, cls_stream stream);

/**
 * The gradients of cls_layer_norm. With x^ = (x - mean) r, r = 1 / sqrt(variance + epsilon), g = `out_gradient`,
 * the gradient of its output, and h = g gain,
 *
 *     in_gradient    = r (h - mean of h - x^ (mean of h x^))   means along the row
 *     gain_gradient  = sum of g x^ over the rows               for each column
 *     shift_gradient = sum of g over the rows
 *
 * (Ba, Kiros and Hinton, Layer Normalization, 2016, differentiated.) Mean and r are found again from `in`, as
 * cls_layer_norm finds them. `in_gradient` may be `in` or `out_gradient`. The vectors have an element for each
 * column and the matrices' type. No rows: the gradients of gain and shift are 0. Waits.
 *
 * A row, kept in registers by GPUs up to 8,192 elements (of f64 4,096), is read once, and leaves its part of the sums over
 * rows in stream-ordered memory: as much as a 32nd of the matrix in f32 takes, and more, up to twice the matrix in
 * f32, where there are too few rows for all cores. Further launches merge the parts. The sums are those of parts of
 * at most 64 terms, and those of each other: the same call on the same bytes gives the same bits.
 *
 * Accuracy. Let a be the mean of |x|, e = (t (1 + a r) + 8) u, and H and K the means of |h| and |h x^| along
 * the row. The error of in_gradient is at most 4 e r (|h| + (1 + |x^|) (H + K)); that of gain_gradient is the sum over
 * the m rows of (e (1 + |x^|) + s u |x^|) |g|, and of shift_gradient s u times the sum of |g|, with s = m / 1024 +
 * 260; as long as e is at most 1/8. Squares have the range of f32, or of f64. A row with a NaN or an infinity
 * in x gives NaN, in its elements and as the gradient of gain, one in g NaN in its elements and NaN or an
 * infinity as its column's gradients.
 * @retval CLS_ERROR_INVALID_VALUE `epsilon` is below 0 or NaN
 */
CLS_API cls_status cls_layer_norm_gradient(cls_matrix in, cls_vector gain, double epsilon,
                                           cls_matrix out_gradient, cls_matrix in_gradient,
                                           cls_vector gain_gradient, cls_vector shift_gradient,
                                           cls_stream stream);
/** Like cls_layer_norm_gradient; only submits. */
CLS_API cls_status cls_layer_norm_gradient_async(cls_matrix in, cls_vector gain, double epsilon,
                                                 cls_matrix out_gradient, cls_matrix in_gradient,
                                                 cls_vector gain_gradient,
                                                 cls_vector shift_gradient, cls_stream stream);

/**
 * The gradients of cls_rms_norm, those of cls_layer_norm_gradient with 0 as the means of x and of h: r = 1 / sqrt(mean
 * of x^2 + epsilon), x^ = x r, in_gradient = r (h - x^ (mean of h x^)), and gain_gradient as there. (Zhang and
 * Sennrich, Root Mean Square Layer Normalization, 2019, differentiated.) `in_gradient` may be `in` or
 * `out_gradient`. Waits.
 *
 * The error is that of cls_layer_norm_gradient, with 0 as a.
 * @retval CLS_ERROR_INVALID_VALUE `epsilon` is below 0 or NaN
 */
CLS_API cls_status cls_rms_norm_gradient(cls_matrix in, cls_vector gain, double epsilon,
                                         cls_matrix out_gradient, cls_matrix in_gradient,
                                         cls_vector gain_gradient, cls_stream stream);
/** Like cls_rms_norm_gradient; only submits. */
CLS_API cls_status cls_rms_norm_gradient_async(cls_matrix in, cls_vector gain, double epsilon,
                                               cls_matrix out_gradient, cls_matrix in_gradient,
                                               cls_vector gain_gradient, cls_stream stream);

CLS_END_DECLS

#endif
