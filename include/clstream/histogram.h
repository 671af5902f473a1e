/* SPDX-License-Identifier: MIT */
/**
 * @file histogram.h
 * Histograms: how many elements of an array are in each of a number of bins.
 *
 * | call | bins |
 * |---|---|
 * | cls_histogram_even | of one width, between two bounds |
 * | cls_histogram_range | between edges that ascend |
 *
 * `counts` is an i64 for each bin, which the call writes whole. Each bin has its lower end and lacks its upper one, the last
 * bin too, as those of CUB's DeviceHistogram; NumPy's last bin has both. Elements in no bin, and NaN, are counted nowhere.
 *
 * **Even bins.** Let n be the number of bins. The bounds are two numbers on the host: of integers each an int64_t, of floats each a
 * double, so that the bounds of u8 can be 0 and 256. An element x with lower <= x < upper is counted
 *
 * - of integers in bin floor((x - lower) n / (upper - lower)), calculated exactly. The greatest i64 is in no bin;
 * - of floats in bin min(n - 1, floor((x - lower) scale)), where scale is n / (upper - lower). All of it is calculated in f32, of
 *   f64 in f64: the bounds and n are rounded to that type, and so is each difference, the quotient and the product. A device
 *   that takes subnormal numbers for 0 may do so here.
 *
 * **Edges** are elements of the input's type on the device, one more than bins. They ascend in the order of sort.h: -0 and 0
 * are equal, and NaN comes behind all numbers, so that a bin from an edge to NaN has infinity too. No device needs f64 for
 * them. Edges that do not ascend are not found out: then each element is counted in some bin or in none, and nothing outside of
 * `counts` is written.
 *
 * `length`, one i64 on the device, says how many elements of the input there are, at most all of them, none if it is negative; a
 * view without a buffer, `(cls_array){0}`, that all are. The device reads it when the call's work runs. `counts` has no elements
 * in common with another view.
 *
 * A call is one pass over the elements, in which each work-group counts in local memory, and a launch that adds up what the
 * groups have counted. Where bins do not fit into local memory, the groups count together by atomics in device memory. On a
 * CPU each work-item counts by itself. Counts are exact for any number of elements, and the same each time. Temporary
 * memory comes from the stream's pool: 4 bytes for each bin and each group, of a GPU at most 32 KiB a group.
 *
 * The `_async` forms only submit. A NULL stream means the default stream of the views' context. Every function may be
 * called from any thread.
 *
 * Statuses common to all:
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 * @retval CLS_ERROR_WRONG_CONTEXT
 * @retval CLS_ERROR_TYPE_MISMATCH `counts` or `length` is not i64
 * @retval CLS_ERROR_SIZE_MISMATCH no bins, or a `length` that is not one element
 * @retval CLS_ERROR_INVALID_VALUE an unknown dtype
 * @retval CLS_ERROR_OUT_OF_RANGE  past the end of a buffer, or 2^31 - 1 bins or more
 * @retval CLS_ERROR_OVERLAP       `counts` has elements in common with another view
 * @return also the statuses of submissions (stream.h). Blocking forms also return the stream's
 *         error, and CLS_ERROR_WOULD_DEADLOCK inside a host function
 */
#ifndef CLSTREAM_HISTOGRAM_H
#define CLSTREAM_HISTOGRAM_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/**
 * Counts elements in bins of one width, and waits.
 * @param in     the elements
 * @param lower  where the first bin begins: an int64_t for integers, a double for floats; read before the call returns
 * @param upper  where the last bin ends, of the same type, greater than `lower`
 * @param counts an i64 for each bin
 * @param length one i64 with the number of elements of `in`, or a view without a buffer
 * @param stream the stream; NULL: the default stream of the views' context
 * @retval CLS_ERROR_INVALID_VALUE also if a bound is null or no number, `lower` is not less than `upper` in the type that
 *                                 bins are calculated in, or their difference or the scale is infinite or subnormal in it
 * @retval CLS_ERROR_UNSUPPORTED   the elements are f64, and the device has none, or they are floats, and the device does not
 *                                 round as their bins need it
 */
CLS_API cls_status cls_histogram_even(cls_array in, const void *lower, const void *upper,
                                      cls_array counts, cls_array length, cls_stream stream);
/** Like cls_histogram_even; only submits. */
CLS_API cls_status cls_histogram_even_async(cls_array in, const void *lower, const void *upper,
                                            cls_array counts, cls_array length, cls_stream stream);

/**
 * Counts elements in bins between edges, and waits.
 * @param in     the elements
 * @param edges  where bins begin and end, of the elements' type: one more than bins
 * @param counts an i64 for each bin
 * @param length one i64 with the number of elements of `in`, or a view without a buffer
 * @param stream the stream; NULL: the default stream of the views' context
 * @retval CLS_ERROR_TYPE_MISMATCH also if the edges are of another type than the elements
 * @retval CLS_ERROR_SIZE_MISMATCH also if there are not one more edges than bins
 */
CLS_API cls_status cls_histogram_range(cls_array in, cls_array edges, cls_array counts,
                                       cls_array length, cls_stream stream);
/** Like cls_histogram_range; only submits. */
CLS_API cls_status cls_histogram_range_async(cls_array in, cls_array edges, cls_array counts,
                                             cls_array length, cls_stream stream);

CLS_END_DECLS

#endif
