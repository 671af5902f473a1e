/* SPDX-License-Identifier: MIT */
/* Elementwise selection by a condition: the functions of clstream/where.h. */
#include <clstream/where.h>

#include "ops/map.h"
#include "ops/typed_call.h"

static cls_status where(cls_array condition, cls_array if_true, cls_array if_false, cls_array out,
                        cls_stream stream, bool blocking) {
    const cls_array *const views[] = {&condition, &if_true, &if_false, &out};
    return map_call(op_row_of(OP_WHERE, 0), views, 4, NULL, stream, blocking);
}

cls_status cls_where(cls_array condition, cls_array if_true, cls_array if_false, cls_array out,
                     cls_stream stream) {
    return where(condition, if_true, if_false, out, stream, true);
}

cls_status cls_where_async(cls_array condition, cls_array if_true, cls_array if_false,
                           cls_array out, cls_stream stream) {
    return where(condition, if_true, if_false, out, stream, false);
}

static cls_status where_named(const char *name, cls_array condition, cls_array if_true,
                              cls_array if_false, cls_array out, cls_stream stream, bool blocking) {
    const cls_array *const views[] = {&condition, &if_true, &if_false, &out};
    return map_call_named(OP_WHERE, name, views, 4, NULL, stream, blocking);
}

cls_status cls_where_named(const char *name, cls_array condition, cls_array if_true,
                           cls_array if_false, cls_array out, cls_stream stream) {
    return where_named(name, condition, if_true, if_false, out, stream, true);
}

cls_status cls_where_named_async(const char *name, cls_array condition, cls_array if_true,
                                 cls_array if_false, cls_array out, cls_stream stream) {
    return where_named(name, condition, if_true, if_false, out, stream, false);
}

cls_status typed_where(cls_dtype condition_type, cls_dtype type, cls_array condition,
                       cls_array if_true, cls_array if_false, cls_array out, cls_stream stream,
                       bool blocking) {
    const struct op_row *row = op_row_of(OP_WHERE, 0);
    cls_status status = map_check_typed(row, "condition", condition.dtype, condition_type);
    if (!status)
        status = map_check_typed(row, "if_true", if_true.dtype, type);
    return status ? status : where(condition, if_true, if_false, out, stream, blocking);
}
