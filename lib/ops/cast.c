/* SPDX-License-Identifier: MIT */
/* Conversion between element types: the functions of clstream/cast.h. */
#include <clstream/cast.h>

#include "ops/map.h"
#include "ops/typed_call.h"

static cls_status cast(cls_array in, cls_array out, cls_stream stream, bool blocking) {
    const cls_array *const views[] = {&in, &out};
    return map_call(op_row_of(OP_CAST, 0), views, 2, NULL, stream, blocking);
}

cls_status cls_cast(cls_array in, cls_array out, cls_stream stream) {
    return cast(in, out, stream, true);
}

cls_status cls_cast_async(cls_array in, cls_array out, cls_stream stream) {
    return cast(in, out, stream, false);
}

static cls_status cast_named(const char *name, cls_array in, cls_array out, cls_stream stream,
                             bool blocking) {
    const cls_array *const views[] = {&in, &out};
    return map_call_named(OP_CAST, name, views, 2, NULL, stream, blocking);
}

cls_status cls_cast_named(const char *name, cls_array in, cls_array out, cls_stream stream) {
    return cast_named(name, in, out, stream, true);
}

cls_status cls_cast_named_async(const char *name, cls_array in, cls_array out, cls_stream stream) {
    return cast_named(name, in, out, stream, false);
}

cls_status typed_cast(cls_dtype from, cls_dtype to, cls_array in, cls_array out, cls_stream stream,
                      bool blocking) {
    const struct op_row *row = op_row_of(OP_CAST, 0);
    cls_status status = map_check_typed(row, "in", in.dtype, from);
    if (!status)
        status = map_check_typed(row, "out", out.dtype, to);
    return status ? status : cast(in, out, stream, blocking);
}
