/* SPDX-License-Identifier: MIT */
/**
 * @file where.h
 * Selection by a condition. The 18 typed names are in typed.h; common rules are in cast.h.
 */
#ifndef CLSTREAM_WHERE_H
#define CLSTREAM_WHERE_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/**
 * out[i] = condition[i] != 0 ? if_true[i] : if_false[i]. Conditions are u8, i32 or i64; the other
 * three arrays have one type, any. Elements are copied bit by bit.
 */
CLS_API cls_status cls_where(cls_array condition, cls_array if_true, cls_array if_false,
                             cls_array out, cls_stream stream);
/** As cls_where; only submits. */
CLS_API cls_status cls_where_async(cls_array condition, cls_array if_true, cls_array if_false,
                                   cls_array out, cls_stream stream);

/**
 * As cls_where by a registered kernel, or by the library's own, which is "where". A registered
 * kernel's parameters are
 *
 *     (global const COND *condition, ulong condition_offset, global const T *if_true, ulong
 *     true_offset,
 *      global const T *if_false, ulong false_offset, global OUT *out, ulong out_offset, ulong
 *      count)
 *
 * and its launch is as with cls_cast_named.
 * @retval CLS_ERROR_NOT_FOUND neither a registered kernel nor one of the library's own
 */
CLS_API cls_status cls_where_named(const char *name, cls_array condition, cls_array if_true,
                                   cls_array if_false, cls_array out, cls_stream stream);
/** As cls_where_named; only submits. */
CLS_API cls_status cls_where_named_async(const char *name, cls_array condition, cls_array if_true,
                                         cls_array if_false, cls_array out, cls_stream stream);

CLS_END_DECLS

#endif
