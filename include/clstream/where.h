/* SPDX-License-Identifier: MIT */
/**
 * @file where.h
 * Selection by a condition. The 24 typed names (cls_where_u8_f32 ...) are in typed.h; common rules
 * are in cast.h.
 */
#ifndef CLSTREAM_WHERE_H
#define CLSTREAM_WHERE_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/**
 * out[i] = condition[i] != 0 ? if_true[i] : if_false[i]. The condition is u8, i32 or i64. The other
 * three arrays have the same type, which may be any. Elements are copied bit by bit.
 */
CLS_API cls_status cls_where(cls_array condition, cls_array if_true, cls_array if_false,
                             cls_array out, cls_stream stream);
/** Like cls_where; only submits. */
CLS_API cls_status cls_where_async(cls_array condition, cls_array if_true, cls_array if_false,
                                   cls_array out, cls_stream stream);

/**
 * Like cls_where, with a registered kernel, or the library's own, "where". The parameters of a
 * registered kernel are
 *
 *     (global const COND *condition, ulong condition_offset,
 *      global const T *if_true, ulong true_offset,
 *      global const T *if_false, ulong false_offset,
 *      global OUT *out, ulong out_offset, ulong count)
 *
 * It is launched as in cls_cast_named.
 * @retval CLS_ERROR_NOT_FOUND neither the context nor the library has a kernel of this name
 */
CLS_API cls_status cls_where_named(const char *name, cls_array condition, cls_array if_true,
                                   cls_array if_false, cls_array out, cls_stream stream);
/** Like cls_where_named; only submits. */
CLS_API cls_status cls_where_named_async(const char *name, cls_array condition, cls_array if_true,
                                         cls_array if_false, cls_array out, cls_stream stream);

CLS_END_DECLS

#endif
