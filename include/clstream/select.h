/* SPDX-License-Identifier: MIT */
/**
 * @file select.h
 * Selection of elements: compact, partition, unique, runs, and reduction by key.
 *
 * | call | out |
 * |---|---|
 * | cls_compact | the elements whose flag, a u8, is not 0, in their order |
 * | cls_compact_if | those that compare with a value as asked, in their order |
 * | cls_partition | as cls_compact, then the other elements, the last one first |
 * | cls_unique | of each run of equal elements one |
 * | cls_run_length_encode | the same, and how long each run is |
 * | cls_reduce_by_key | of each run of equal keys the key, and what its values come to |
 *
 * How many elements were selected is written to `count`, one i64 on the device, so that nothing waits: the next call takes its
 * `length` from there. An output may have room for fewer elements than are selected: it gets the first ones, and `count` is
 * the number of all. What lies behind the selected elements stays as it is, but in cls_partition.
 *
 * `length`, one i64 on the device, says how many elements of the inputs there are, at most all of them; a view without a
 * buffer, `(cls_array){0}`, that all are.
 *
 * Elements are of all types, and an output of its input's type. Elements and keys are equal if all of their bits are: 0 and -0
 * are not, and a NaN is equal to itself. An array is to be sorted first (sort.h) if all equal elements are to be one run.
 * No output may have elements in common with another view.
 *
 * A call is one pass over the elements (scan.h has its method), after a launch that clears its temporary memory, which comes
 * from the stream's pool. cls_run_length_encode is two, and cls_reduce_by_key a scan and one; these take temporary memory
 * for as many numbers or values as there are elements. The same elements give the same bits each time.
 *
 * The `_async` forms only submit. A NULL stream means the default stream of the views' context. Every function may be
 * called from any thread.
 *
 * Statuses common to all:
 * @retval CLS_ERROR_UNSUPPORTED   the device has no f64, or does not round as sums of floats need it
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 * @retval CLS_ERROR_WRONG_CONTEXT
 * @retval CLS_ERROR_TYPE_MISMATCH an output of another type than its input, flags that are not u8, or a `count`, a `length` or
 *                                 lengths of runs that are not i64
 * @retval CLS_ERROR_SIZE_MISMATCH inputs of unlike lengths, an output of a partition that is shorter than its input, two
 *                                 outputs of unlike lengths, or a `count` or `length` that is not one element
 * @retval CLS_ERROR_INVALID_VALUE an unknown operation, comparison or dtype, or a null value
 * @retval CLS_ERROR_OUT_OF_RANGE  past the end of a buffer
 * @retval CLS_ERROR_OVERLAP       an output has elements in common with another view
 * @return also the statuses of submissions (stream.h). Blocking forms also return the stream's
 *         error, and CLS_ERROR_WOULD_DEADLOCK inside a host function
 */
#ifndef CLSTREAM_SELECT_H
#define CLSTREAM_SELECT_H

#include <clstream/scan.h>

CLS_BEGIN_DECLS

/** How an element compares with a value. */
typedef enum cls_comparison {
    CLS_LESS = 1,      /**< x < value */
    CLS_LESS_EQUAL,    /**< x <= value */
    CLS_GREATER,       /**< x > value */
    CLS_GREATER_EQUAL, /**< x >= value */
    CLS_EQUAL,         /**< x == value */
    CLS_NOT_EQUAL      /**< x != value; so is a NaN */
} cls_comparison;

/**
 * Selects elements by flags, and waits.
 * @param in     the elements
 * @param flags  a u8 for each of them
 * @param out    the selected elements
 * @param count  one i64: how many there are
 * @param length one i64 with the number of elements of `in`, or a view without a buffer
 * @param stream the stream; NULL: the default stream of the views' context
 */
CLS_API cls_status cls_compact(cls_array in, cls_array flags, cls_array out, cls_array count,
                               cls_array length, cls_stream stream);
/** Like cls_compact; only submits. */
CLS_API cls_status cls_compact_async(cls_array in, cls_array flags, cls_array out, cls_array count,
                                     cls_array length, cls_stream stream);

/**
 * Selects elements by a comparison, and waits.
 * @param in         the elements
 * @param comparison how they are to compare
 * @param value      with which value: one of the elements' type, on the host; read before the call returns
 * @param out        the selected elements
 * @param count      one i64: how many there are
 * @param length     one i64 with the number of elements of `in`, or a view without a buffer
 * @param stream     the stream; NULL: the default stream of the views' context
 */
CLS_API cls_status cls_compact_if(cls_array in, cls_comparison comparison, const void *value,
                                  cls_array out, cls_array count, cls_array length,
                                  cls_stream stream);
/** Like cls_compact_if; only submits. */
CLS_API cls_status cls_compact_if_async(cls_array in, cls_comparison comparison, const void *value,
                                        cls_array out, cls_array count, cls_array length,
                                        cls_stream stream);

/** Like cls_compact, with the other elements behind, the last one first. `out` is at least as long as `in`. Waits. */
CLS_API cls_status cls_partition(cls_array in, cls_array flags, cls_array out, cls_array count,
                                 cls_array length, cls_stream stream);
/** Like cls_partition; only submits. */
CLS_API cls_status cls_partition_async(cls_array in, cls_array flags, cls_array out,
                                       cls_array count, cls_array length, cls_stream stream);

/** Selects the first element of each run of equal elements. `count` is the number of runs. Waits. */
CLS_API cls_status cls_unique(cls_array in, cls_array out, cls_array count, cls_array length,
                              cls_stream stream);
/** Like cls_unique; only submits. */
CLS_API cls_status cls_unique_async(cls_array in, cls_array out, cls_array count, cls_array length,
                                    cls_stream stream);

/**
 * Selects an element of each run of equal elements, and says how long the run is. Waits.
 * @param in      the elements
 * @param out     an element of each run
 * @param lengths how many elements each run has: i64, as many as `out` has room for
 * @param count   one i64: how many runs there are
 * @param length  one i64 with the number of elements of `in`, or a view without a buffer
 * @param stream  the stream; NULL: the default stream of the views' context
 */
CLS_API cls_status cls_run_length_encode(cls_array in, cls_array out, cls_array lengths,
                                         cls_array count, cls_array length, cls_stream stream);
/** Like cls_run_length_encode; only submits. */
CLS_API cls_status cls_run_length_encode_async(cls_array in, cls_array out, cls_array lengths,
                                               cls_array count, cls_array length,
                                               cls_stream stream);

/**
 * Reduces the values of each run of equal keys to one, in the order and with the errors of scans. Waits.
 * @param op         what joins values
 * @param keys       a key for each value
 * @param values     the values
 * @param keys_out   the key of each run
 * @param values_out what its values come to: of the values' type, as many as `keys_out` has room for
 * @param count      one i64: how many runs there are
 * @param length     one i64 with the number of keys and values, or a view without a buffer
 * @param stream     the stream; NULL: the default stream of the views' context
 */
CLS_API cls_status cls_reduce_by_key(cls_scan_op op, cls_array keys, cls_array values,
                                     cls_array keys_out, cls_array values_out, cls_array count,
                                     cls_array length, cls_stream stream);
/** Like cls_reduce_by_key; only submits. */
CLS_API cls_status cls_reduce_by_key_async(cls_scan_op op, cls_array keys, cls_array values,
                                           cls_array keys_out, cls_array values_out,
                                           cls_array count, cls_array length, cls_stream stream);

CLS_END_DECLS

#endif
