/* SPDX-License-Identifier: MIT */
/**
 * @file sort.h
 * Sorting on a stream: arrays, keys with values, the rows of a matrix; the k largest or smallest elements, and the n-th.
 *
 * Keys are of all types. Every sort is stable: keys that are equal keep their order. The order is that of NumPy's sort:
 * numbers ascend; -0 and +0 are equal; all NaNs are equal, and greater than every number. With `descending` numbers
 * descend, NaNs come first, and equal keys still keep their order, as in torch.sort. Keys move with their bits: the
 * payload of a NaN and the sign of a zero stay. No device needs f64, or 64-bit arithmetic, for the order of keys.
 *
 * The method is a radix sort from the lowest digit up. A pass counts the digits of each tile of the keys, adds the counts
 * up, and moves the keys of each tile. No work-group waits for another, so a sort ends on every driver. The result has
 * the same bits on every device. A pass is three launches; an array, or a row, that fits into one work-group is sorted in one
 * launch. Each launch reads its keys once.
 *
 * `begin_bit` and `end_bit` of the options choose the bits of a key that count: those of its rank, an unsigned number of
 * as many bits as the type has, by which keys ascend. The rank of an unsigned integer is itself, that of a signed one
 * has the sign inverted, that of a float is its bits, inverted whole if it is negative and in the sign if it is not,
 * with -0 taken for +0, and all ones for a NaN. Keys whose chosen bits are equal keep their order. Fewer bits take fewer
 * passes: of 8 bits each on CPU devices and on NVIDIA's, of 4 on others.
 *
 * `length` of the options is an array of one i64 on the device, or a view without a buffer. With it the first
 * min(length, elements) elements count, none if it is negative; of rows, the first elements of each. The rest of the
 * input is not used, and the rest of the output is left alone. The device reads it when the call's work runs, so that
 * a command before it may have computed it. A call costs as much as without.
 *
 * In place: an output may be the same view as its input, values as well as keys. No other two views, `length` included, may
 * have an element in common if one of them is an output.
 *
 * Temporary memory belongs to the stream and is reused in stream order: as much as the keys and the values, or twice that
 * for indices and for rows on CPU devices, and at most an eighth of it more for counts. An array or a row has at most
 * 2^31 - 1 elements. A call without elements submits nothing, and still returns the stream's error.
 *
 * The `_async` forms only submit. A NULL stream means the default stream of the views' context. Every function may be
 * called from any thread.
 *
 * Statuses common to all:
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 * @retval CLS_ERROR_WRONG_CONTEXT
 * @retval CLS_ERROR_INVALID_VALUE an unknown dtype, bits that are not begin_bit < end_bit <= the bits of the type, an
 *                                 `ld` below the number of columns, or options of a wrong `size`
 * @retval CLS_ERROR_TYPE_MISMATCH the output is of another type than the input, values are not of 4 or 8 bytes, indices
 *                                 are not i32, u32 or i64, or `length` is not i64
 * @retval CLS_ERROR_SIZE_MISMATCH the shapes do not fit together, or `length` is not one element
 * @retval CLS_ERROR_OUT_OF_RANGE  past the end of a buffer, or more than 2^31 - 1 elements in an array or a row
 * @retval CLS_ERROR_OVERLAP       an output has elements in common with another view, and is not in place
 * @return also the statuses of submissions (stream.h). Blocking forms also return the stream's
 *         error, and CLS_ERROR_WOULD_DEADLOCK inside a host function
 */
#ifndef CLSTREAM_SORT_H
#define CLSTREAM_SORT_H

#include <clstream/blas.h>

CLS_BEGIN_DECLS

/** How keys are compared. NULL in its place means CLS_SORT_CONFIG_INIT. */
typedef struct cls_sort_config {
    size_t size;    /**< sizeof(cls_sort_config), set by CLS_SORT_CONFIG_INIT */
    int descending; /**< not 0: the greatest key comes first */
    int begin_bit;  /**< the lowest bit of the rank that counts */
    int end_bit; /**< the one above the highest that counts; with begin_bit 0, 0 means all bits */
    cls_array length; /**< one i64, the elements to sort; without a buffer: all of them */
} cls_sort_config;

/** All keys, ascending, by all of their bits. */
#define CLS_SORT_CONFIG_INIT                                      \
    {                                                             \
        sizeof(cls_sort_config), 0, 0, 0, { NULL, CLS_I64, 0, 0 } \
    }

/** Writes the keys of `in` to `out` in order. Both are of one type and as many elements. Waits. */
CLS_API cls_status cls_sort(cls_array in, cls_array out, const cls_sort_config *config,
                            cls_stream stream);
/** Like cls_sort; only submits. */
CLS_API cls_status cls_sort_async(cls_array in, cls_array out, const cls_sort_config *config,
                                  cls_stream stream);

/**
 * Writes the keys in order, and the values in the order of their keys. Values are of any type of 4 or 8 bytes, and as many
 * as keys. Waits.
 */
CLS_API cls_status cls_sort_pairs(cls_array keys_in, cls_array keys_out, cls_array values_in,
                                  cls_array values_out, const cls_sort_config *config,
                                  cls_stream stream);
/** Like cls_sort_pairs; only submits. */
CLS_API cls_status cls_sort_pairs_async(cls_array keys_in, cls_array keys_out, cls_array values_in,
                                        cls_array values_out, const cls_sort_config *config,
                                        cls_stream stream);

/**
 * Writes where the keys would come from: keys[indices[0]], keys[indices[1]], ... are in order. Indices are i32, u32 or
 * i64, as many as keys. The keys are only read. Waits.
 */
CLS_API cls_status cls_argsort(cls_array keys, cls_array indices, const cls_sort_config *config,
                               cls_stream stream);
/** Like cls_argsort; only submits. */
CLS_API cls_status cls_argsort_async(cls_array keys, cls_array indices,
                                     const cls_sort_config *config, cls_stream stream);

/** Like cls_sort of each row of a matrix by itself. `stride` is ignored. Waits. */
CLS_API cls_status cls_sort_rows(cls_matrix in, cls_matrix out, const cls_sort_config *config,
                                 cls_stream stream);
/** Like cls_sort_rows; only submits. */
CLS_API cls_status cls_sort_rows_async(cls_matrix in, cls_matrix out, const cls_sort_config *config,
                                       cls_stream stream);

/** Like cls_argsort of each row of a matrix by itself; indices count from 0 in each row. Waits. */
CLS_API cls_status cls_argsort_rows(cls_matrix keys, cls_matrix indices,
                                    const cls_sort_config *config, cls_stream stream);
/** Like cls_argsort_rows; only submits. */
CLS_API cls_status cls_argsort_rows_async(cls_matrix keys, cls_matrix indices,
                                          const cls_sort_config *config, cls_stream stream);

/**
 * Writes the first k elements of the sorted input, and their indices in it: the k smallest, or with `descending` the k
 * greatest, in order; of equal ones those with the lowest indices. k is the number of elements of `values`, of the
 * input's type, or of `indices`, of i32, u32 or i64. Either may be a view without a buffer, `(cls_array){0}`, which is left
 * out. k is at most the input's number of elements. Nothing may be in place. With a `length` below k so many
 * elements are written. Waits.
 * @retval CLS_ERROR_INVALID_VALUE also if both are left out
 */
CLS_API cls_status cls_top_k(cls_array in, cls_array values, cls_array indices,
                             const cls_sort_config *config, cls_stream stream);
/** Like cls_top_k; only submits. */
CLS_API cls_status cls_top_k_async(cls_array in, cls_array values, cls_array indices,
                                   const cls_sort_config *config, cls_stream stream);

/**
 * Writes element n, counted from 0, of the sorted input to `out`, one element of the input's type. Nothing may be in place.
 * With a `length` of n or less nothing is written. Waits.
 * @retval CLS_ERROR_OUT_OF_RANGE also if the input has no element n
 */
CLS_API cls_status cls_nth_element(cls_array in, size_t n, cls_array out,
                                   const cls_sort_config *config, cls_stream stream);
/** Like cls_nth_element; only submits. */
CLS_API cls_status cls_nth_element_async(cls_array in, size_t n, cls_array out,
                                         const cls_sort_config *config, cls_stream stream);

CLS_END_DECLS

#endif
