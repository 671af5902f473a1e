/* SPDX-License-Identifier: MIT */
/**
 * @file bounds.h
 * Binary search: where each of many values belongs in an array that is sorted.
 *
 * | call | positions[i] |
 * |---|---|
 * | cls_lower_bound | how many elements come before values[i] |
 * | cls_upper_bound | how many elements do not come behind values[i] |
 *
 * So the elements that are equal to values[i] are those from its lower bound up to, and without, its upper bound. They are the
 * `left` and the `right` of NumPy's searchsorted.
 *
 * Elements are of all types and ascend in the order of sort.h: -0 and 0 are equal, and all NaNs are equal, and greater than every
 * number. No device needs f64 for it. An array that does not ascend is not found out: then a position is any from 0 to the
 * number of elements.
 *
 * `length`, one i64 on the device, says how many elements the sorted array has, at most all of them, none if it is
 * negative; a view without a buffer, `(cls_array){0}`, that all are. The device reads it when the call's work runs, so that a
 * command before it may have counted them. `positions` has no elements in common with another view.
 *
 * A call is one launch, takes no temporary memory, and looks at about log2 of the elements for each value. A call without
 * values submits nothing, and still returns the stream's error.
 *
 * The `_async` forms only submit. A NULL stream means the default stream of the views' context. Every function may be
 * called from any thread.
 *
 * Statuses common to all:
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 * @retval CLS_ERROR_WRONG_CONTEXT
 * @retval CLS_ERROR_TYPE_MISMATCH values of another type than the elements, or positions or a `length` that are not i64
 * @retval CLS_ERROR_SIZE_MISMATCH not as many positions as values, or a `length` that is not one element
 * @retval CLS_ERROR_INVALID_VALUE an unknown dtype
 * @retval CLS_ERROR_OUT_OF_RANGE  past the end of a buffer
 * @retval CLS_ERROR_OVERLAP       the positions have elements in common with another view
 * @return also the statuses of submissions (stream.h). Blocking forms also return the stream's
 *         error, and CLS_ERROR_WOULD_DEADLOCK inside a host function
 */
#ifndef CLSTREAM_BOUNDS_H
#define CLSTREAM_BOUNDS_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/**
 * Finds the first element that does not come before each value, and waits.
 * @param sorted    the elements, which ascend
 * @param values    what is looked for
 * @param positions an i64 for each value: the number of that element, or how many elements there are
 * @param length    one i64 with the number of elements of `sorted`, or a view without a buffer
 * @param stream    the stream; NULL: the default stream of the views' context
 */
CLS_API cls_status cls_lower_bound(cls_array sorted, cls_array values, cls_array positions,
                                   cls_array length, cls_stream stream);
/** Like cls_lower_bound; only submits. */
CLS_API cls_status cls_lower_bound_async(cls_array sorted, cls_array values, cls_array positions,
                                         cls_array length, cls_stream stream);

/** Like cls_lower_bound, but finds the first element that comes behind each value. Waits. */
CLS_API cls_status cls_upper_bound(cls_array sorted, cls_array values, cls_array positions,
                                   cls_array length, cls_stream stream);
/** Like cls_upper_bound; only submits. */
CLS_API cls_status cls_upper_bound_async(cls_array sorted, cls_array values, cls_array positions,
                                         cls_array length, cls_stream stream);

CLS_END_DECLS

#endif
