/* SPDX-License-Identifier: MIT */
/* Elementwise operations on two arrays: the functions of clstream/binary.h. */
#include <clstream/binary.h>

#include "ops/map.h"
#include "ops/typed_call.h"

static cls_status binary(cls_binary_op op, cls_array a, cls_array b, cls_array out,
                         cls_stream stream, bool blocking) {
    const cls_array *const views[] = {&a, &b, &out};
    return map_call(op_row_of(OP_BINARY, (int)op), views, 3, NULL, stream, blocking);
}

cls_status cls_binary(cls_binary_op op, cls_array a, cls_array b, cls_array out,
                      cls_stream stream) {
    return binary(op, a, b, out, stream, true);
}

cls_status cls_binary_async(cls_binary_op op, cls_array a, cls_array b, cls_array out,
                            cls_stream stream) {
    return binary(op, a, b, out, stream, false);
}

const char *cls_binary_op_name(cls_binary_op op) { return op_name_of(OP_BINARY, (int)op); }

cls_status cls_binary_op_parse(const char *name, cls_binary_op *out) {
    int op = 0;
    cls_status status = op_parse(OP_BINARY, "binary", name, out ? &op : NULL);
    if (!status)
        *out = (cls_binary_op)op;
    return status;
}

cls_status typed_binary(cls_binary_op op, cls_dtype type, cls_array a, cls_array b, cls_array out,
                        cls_stream stream, bool blocking) {
    cls_status status = map_check_typed(op_row_of(OP_BINARY, (int)op), "a", a.dtype, type);
    return status ? status : binary(op, a, b, out, stream, blocking);
}
