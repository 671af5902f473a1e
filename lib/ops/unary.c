/* SPDX-License-Identifier: MIT */
/* Elementwise operations on one array, with or without a parameter: the functions of clstream/unary.h. */
#include <clstream/unary.h>

#include <string.h>

#include "base/types.h"
#include "ops/map.h"
#include "ops/typed_call.h"

static cls_status unary(cls_unary_op op, cls_array in, cls_array out, cls_stream stream,
                        bool blocking) {
    const cls_array *const views[] = {&in, &out};
    return map_call(op_row_of(OP_UNARY, (int)op), views, 2, NULL, stream, blocking);
}

cls_status cls_unary(cls_unary_op op, cls_array in, cls_array out, cls_stream stream) {
    return unary(op, in, out, stream, true);
}

cls_status cls_unary_async(cls_unary_op op, cls_array in, cls_array out, cls_stream stream) {
    return unary(op, in, out, stream, false);
}

static cls_status unary_param(cls_unary_param_op op, cls_array in, cls_array out,
                              const struct op_parameter *parameter, cls_stream stream,
                              bool blocking) {
    const cls_array *const views[] = {&in, &out};
    return map_call(op_row_of(OP_UNARY_PARAM, (int)op), views, 2, parameter, stream, blocking);
}

cls_status cls_unary_param(cls_unary_param_op op, cls_array in, cls_array out, double param,
                           cls_stream stream) {
    const struct op_parameter parameter = parameter_of_double(in.dtype, param);
    return unary_param(op, in, out, &parameter, stream, true);
}

cls_status cls_unary_param_async(cls_unary_param_op op, cls_array in, cls_array out, double param,
                                 cls_stream stream) {
    const struct op_parameter parameter = parameter_of_double(in.dtype, param);
    return unary_param(op, in, out, &parameter, stream, false);
}

static cls_status unary_named(enum op_family family, const char *name, cls_array in, cls_array out,
                              const double *param, cls_stream stream, bool blocking) {
    const cls_array *const views[] = {&in, &out};
    return map_call_named(family, name, views, 2, param, stream, blocking);
}

cls_status cls_unary_named(const char *name, cls_array in, cls_array out, cls_stream stream) {
    return unary_named(OP_UNARY, name, in, out, NULL, stream, true);
}

cls_status cls_unary_named_async(const char *name, cls_array in, cls_array out, cls_stream stream) {
    return unary_named(OP_UNARY, name, in, out, NULL, stream, false);
}

cls_status cls_unary_param_named(const char *name, cls_array in, cls_array out, double param,
                                 cls_stream stream) {
    return unary_named(OP_UNARY_PARAM, name, in, out, &param, stream, true);
}

cls_status cls_unary_param_named_async(const char *name, cls_array in, cls_array out, double param,
                                       cls_stream stream) {
    return unary_named(OP_UNARY_PARAM, name, in, out, &param, stream, false);
}

const char *cls_unary_op_name(cls_unary_op op) { return op_name_of(OP_UNARY, (int)op); }

const char *cls_unary_param_op_name(cls_unary_param_op op) {
    return op_name_of(OP_UNARY_PARAM, (int)op);
}

cls_status cls_unary_op_parse(const char *name, cls_unary_op *out) {
    int op = 0;
    cls_status status = op_parse(OP_UNARY, "unary", name, out ? &op : NULL);
    if (!status)
        *out = (cls_unary_op)op;
    return status;
}

cls_status cls_unary_param_op_parse(const char *name, cls_unary_param_op *out) {
    int op = 0;
    cls_status status = op_parse(OP_UNARY_PARAM, "unary", name, out ? &op : NULL);
    if (!status)
        *out = (cls_unary_param_op)op;
    return status;
}

cls_status typed_unary(cls_unary_op op, cls_dtype type, cls_array in, cls_array out,
                       cls_stream stream, bool blocking) {
    cls_status status = map_check_typed(op_row_of(OP_UNARY, (int)op), "in", in.dtype, type);
    return status ? status : unary(op, in, out, stream, blocking);
}

cls_status typed_unary_param(cls_unary_param_op op, cls_dtype type, cls_array in, cls_array out,
                             const void *param, cls_stream stream, bool blocking) {
    struct op_parameter parameter = {{0}};
    memcpy(parameter.bytes, param, cls_dtype_size(type));
    cls_status status = map_check_typed(op_row_of(OP_UNARY_PARAM, (int)op), "in", in.dtype, type);
    return status ? status : unary_param(op, in, out, &parameter, stream, blocking);
}
