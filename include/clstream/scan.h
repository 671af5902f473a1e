/* SPDX-License-Identifier: MIT */
/**
 * @file scan.h
 * Scans, or prefix sums: for each element of an array what the elements up to it come to.
 *
 * | option | out[i] |
 * |---|---|
 * | none | in[0] + in[1] + ... + in[i] |
 * | `exclusive` | in[0] + ... + in[i - 1]; for the first element 0 |
 *
 * Likewise for products, and for the least and the greatest elements. What no elements come to is 0 for a sum, 1 for a
 * product, and for a minimum the greatest value of the results' type, infinity if it has one; the reverse for a maximum.
 *
 * **Segments.** A scan may begin again at some elements, each the first of a segment: see cls_scan_segments. With
 * CLS_SCAN_LENGTH the rows of a matrix without gaps are scanned, each by itself.
 *
 * **Types.** Elements are of all types, and results of the same type. The results of integers may be of any integer type:
 * elements are converted to it and results wrap around, so that flags of u8 can be counted in i64. f16 and bf16 are
 * scanned as f32, and each result is rounded once. NaN is the minimum and the maximum of all elements that it is among.
 *
 * **Order.** Sums and products of floats are rounded in an order that depends on the device alone: one device gives the
 * same bits for the same elements each time, at whatever offset they lie. A result of k elements has an error of at
 * most k u times the sum of their magnitudes, where u is 2^-24 or 2^-53, and 1 ULP of a type of 16 bits.
 *
 * The input may be the output, if both are the same view of types of one size, or overlaps nothing else.
 *
 * A scan is one pass over the elements by decoupled look-back (Merrill and Garland, "Single-pass Parallel Prefix Scan with
 * Decoupled Look-back", NVIDIA NVR-2016-002), after a launch that clears its temporary memory, which comes from
 * the stream's pool: about 1 byte for 500 of the elements. A work-group that waits for another longer than about a
 * millisecond computes what it waits for, so that a scan ends on devices whose groups do not run beside each other. A scan of
 * no elements submits nothing, and still returns the stream's error.
 *
 * The `_async` form only submits. A NULL stream means the default stream of the views' context. Every function may be
 * called from any thread.
 *
 * Statuses common to all:
 * @retval CLS_ERROR_UNSUPPORTED   the device has no f64, or does not round as sums of floats need it
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 * @retval CLS_ERROR_WRONG_CONTEXT
 * @retval CLS_ERROR_TYPE_MISMATCH results of another type than described above, flags that are not u8, or a `length`
 *                                 that is not i64
 * @retval CLS_ERROR_SIZE_MISMATCH input, output, flags or keys of unlike lengths, or a `length` that is not one element
 * @retval CLS_ERROR_INVALID_VALUE an unknown operation, dtype or kind of segments, or a segment of 0 elements
 * @retval CLS_ERROR_OUT_OF_RANGE  past the end of a buffer
 * @retval CLS_ERROR_OVERLAP       the output has elements in common with another view that is not the same
 * @return also the statuses of submissions (stream.h). Blocking forms also return the stream's
 *         error, and CLS_ERROR_WOULD_DEADLOCK inside a host function
 */
#ifndef CLSTREAM_SCAN_H
#define CLSTREAM_SCAN_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** What a scan joins elements by. */
typedef enum cls_scan_op {
    CLS_SCAN_SUM = 1,     /**< the sum; integers wrap around */
    CLS_SCAN_PRODUCT = 2, /**< the product; integers wrap around */
    CLS_SCAN_MIN = 3,     /**< the least element; NaN if there is one */
    CLS_SCAN_MAX = 4      /**< the greatest element; NaN if there is one */
} cls_scan_op;

/** Where segments begin. The first element begins one in any case. */
typedef enum cls_scan_segments {
    CLS_SCAN_WHOLE = 0, /**< nowhere else: the array is one segment */
    CLS_SCAN_FLAGS = 1, /**< at each element whose flag in `heads`, a u8, is not 0 */
    CLS_SCAN_KEYS =
        2, /**< at each element whose key in `heads`, of any type, differs in a bit from the key before */
    CLS_SCAN_LENGTH = 3 /**< at each element whose number `segment` divides */
} cls_scan_segments;

/** Options of a scan. Initialize it with CLS_SCAN_CONFIG_INIT. */
typedef struct cls_scan_config {
    size_t size;   /**< sizeof(cls_scan_config) */
    int exclusive; /**< not 0: a result is that of the elements before, without its own */
    cls_scan_segments segments; /**< where segments begin */
    cls_array heads;            /**< flags or keys, one for each element; not read otherwise */
    size_t segment;             /**< elements of a segment, at least 1; not read otherwise */
    cls_array
        length; /**< one i64 on the device: only so many elements are scanned, at most all of them, and the
                                     rest of the output stays as it is. Without a buffer: all */
} cls_scan_config;

/** The default options: inclusive, of the whole array. */
#define CLS_SCAN_CONFIG_INIT                                                   \
    {                                                                          \
        sizeof(cls_scan_config), 0, CLS_SCAN_WHOLE, {NULL, CLS_U8, 0, 0}, 0, { \
            NULL, CLS_I64, 0, 0                                                \
        }                                                                      \
    }

/**
 * Scans `in` into `out`, and waits.
 * @param op     what joins the elements
 * @param in     the elements
 * @param out    the results, as many
 * @param config options; NULL: the defaults
 * @param stream the stream; NULL: the default stream of the views' context
 */
CLS_API cls_status cls_scan(cls_scan_op op, cls_array in, cls_array out,
                            const cls_scan_config *config, cls_stream stream);
/** Like cls_scan; only submits. */
CLS_API cls_status cls_scan_async(cls_scan_op op, cls_array in, cls_array out,
                                  const cls_scan_config *config, cls_stream stream);

CLS_END_DECLS

#endif
