/* SPDX-License-Identifier: MIT */
#include "ops/map.h"

#include <string.h>

#include "base/error.h"
#include "base/narrow.h"
#include "base/types.h"
#include "stream/context.h"

enum { MAX_MAP_ARGS = 2 * OP_MAX_VIEWS + 2 };

/* Registered kernels are launched with a multiple of this, so that drivers find a group size that divides it. */
enum { REGISTERED_MULTIPLE = 256 };

static double clamp_to(double value, double low, double high) {
    return value < low ? low : value > high ? high : value;
}

struct op_parameter parameter_of_double(cls_dtype dtype, double value) {
    const double whole = value == value ? value : 0;
    struct op_parameter out = {{0}};
    union {
        float f32;
        double f64;
        int32_t i32;
        int64_t i64;
        int8_t i8;
        uint8_t u8;
        int16_t i16;
        uint16_t u16;
        uint32_t u32;
    } as;
    memset(&as, 0, sizeof as);
    switch (dtype) {
    case CLS_F32:
        as.f32 = (float)value;
        break;
    case CLS_F64:
        as.f64 = value;
        break;
    case CLS_I32:
        as.i32 = (int32_t)clamp_to(whole, INT32_MIN, INT32_MAX);
        break;
    case CLS_I64: /* no double is the upper limit: 2^63 is the first above it */
        as.i64 = whole >= 0x1p63 ? INT64_MAX : (int64_t)clamp_to(whole, -0x1p63, 0x1p63);
        break;
    case CLS_I8:
        as.i8 = (int8_t)clamp_to(whole, INT8_MIN, INT8_MAX);
        break;
    case CLS_I16:
        as.i16 = (int16_t)clamp_to(whole, INT16_MIN, INT16_MAX);
        break;
    case CLS_U8:
        as.u8 = (uint8_t)clamp_to(whole, 0, UINT8_MAX);
        break;
    case CLS_U16:
        as.u16 = (uint16_t)clamp_to(whole, 0, UINT16_MAX);
        break;
    case CLS_U32:
        as.u32 = (uint32_t)clamp_to(whole, 0, UINT32_MAX);
        break;
    case CLS_F16:
        as.u16 = narrow_f16(value);
        break;
    case CLS_BF16:
        as.u16 = narrow_bf16(value);
        break;
    }
    memcpy(out.bytes, &as, sizeof out.bytes);
    return out;
}

cls_status map_check_typed(const struct op_row *row, const char *role, cls_dtype dtype,
                           cls_dtype wanted) {
    if (dtype == wanted || !type_row(dtype))
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_TYPE_MISMATCH, "%s: %s is %s, not %s", row->name, role,
                     cls_dtype_name(dtype), cls_dtype_name(wanted));
}

static cls_status check_condition(const struct op_row *row, cls_dtype dtype) {
    if (dtype == CLS_U8 || dtype == CLS_I32 || dtype == CLS_I64)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_TYPE_MISMATCH, "%s: a condition is u8, i32 or i64, not %s",
                     row->name, cls_dtype_name(dtype));
}

cls_status map_check_inputs(const struct op_row *row, const cls_dtype *types) {
    if (row->family == OP_CAST)
        return CLS_SUCCESS;
    if (row->family == OP_WHERE) {
        cls_status status = check_condition(row, types[0]);
        return status ? status : map_check_typed(row, "if_false", types[2], types[1]);
    }
    if (row->floats_only && !type_row(types[0])->is_float)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "%s does not support %s", row->name,
                         cls_dtype_name(types[0]));
    return row->family == OP_BINARY ? map_check_typed(row, "b", types[1], types[0]) : CLS_SUCCESS;
}

/* Functions and sums are made of steps whose rounding errors count, and so are casts of f64 to 16 bits; other operations
 * are one step. */
static bool has_steps(const struct op_row *row, cls_dtype in, cls_dtype out) {
    if (row->family == OP_CAST)
        return in == CLS_F64 && (out == CLS_F16 || out == CLS_BF16);
    return type_row(in)->is_float &&
           (row->floats_only || row->result == RESULT_TOTAL || row->result == RESULT_MEAN);
}

cls_status map_check_rounding(const struct op_row *row, cls_dtype in, cls_dtype out,
                              const struct context *context) {
    if (!has_steps(row, in, out) || caps_trusts(context->caps, TRUST_ROUNDING))
        return CLS_SUCCESS;
    return trust_refuse(context->device, TRUST_ROUNDING);
}

cls_status map_check_types(const struct op_call *call, const struct op_row *row) {
    const unsigned out = call->n_views - 1;
    cls_dtype types[OP_MAX_VIEWS];
    for (unsigned i = 0; i < call->n_views; i++)
        types[i] = call->views[i].dtype;
    cls_status status = map_check_inputs(row, types);
    if (status || row->family == OP_CAST)
        return status;
    return map_check_typed(row, "out", types[out],
                           row->family == OP_WHERE ? types[1] : op_result_dtype(row, types[0]));
}

static cls_status check_counts(const struct op_call *call, const char *name) {
    for (unsigned i = 1; i < call->n_views; i++)
        if (call->views[i].count != call->views[0].count)
            return error_set(CLS_ERROR_SIZE_MISMATCH, "%s: arrays of %zu and %zu elements", name,
                             call->views[0].count, call->views[i].count);
    return CLS_SUCCESS;
}

static cls_status check_overlaps(const struct op_call *call) {
    const unsigned out = call->n_views - 1;
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < out && !status; i++)
        status = op_check_overlap(call, i, out, true);
    return status;
}

cls_status map_check_device(const struct op_call *call) {
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < call->n_views && !status; i++)
        status = op_check_dtype(call, call->views[i].dtype);
    return status;
}

enum shape map_shape_of(const struct op_call *call, bool aligned) {
    if (op_takes_runs(call->device))
        return SHAPE_RUNS;
    return aligned ? SHAPE_ALIGNED : SHAPE_ANYWHERE;
}

static bool all_aligned(const struct op_call *call) {
    size_t largest = 1;
    const size_t out = cls_dtype_size(call->views[call->n_views - 1].dtype);
    for (unsigned i = 0; i < call->n_views; i++) {
        const size_t size = cls_dtype_size(call->views[i].dtype);
        largest = size > largest ? size : largest;
    }
    const unsigned vector = spec_aligned_vector(largest, out);
    for (unsigned i = 0; i < call->n_views; i++) {
        const struct op_view *view = &call->views[i];
        if (view->address % spec_alignment(vector, cls_dtype_size(view->dtype)) != 0)
            return false;
    }
    return true;
}

/* The arguments that the library's kernels and registered ones take alike. */
static unsigned map_args(const struct op_call *call, const struct op_parameter *parameter,
                         struct op_arg args[MAX_MAP_ARGS]) {
    unsigned n = 0;
    for (unsigned i = 0; i < call->n_views; i++) {
        args[n++] = op_arg_view(&call->views[i], i + 1 == call->n_views);
        args[n++] = op_arg_u64(call->views[i].offset);
    }
    args[n++] = op_arg_u64(call->views[0].count);
    if (parameter)
        args[n++] = op_arg_value(parameter->bytes, cls_dtype_size(call->views[0].dtype));
    return n;
}

static cls_status launch(struct op_call *call, const struct op_row *row,
                         const struct op_parameter *parameter) {
    const struct spec *spec = NULL;
    struct kernel *kernel = NULL;
    const struct op_view *views = call->views;
    cls_status status = spec_of_map(row, views[0].dtype, views[call->n_views - 1].dtype,
                                    map_shape_of(call, all_aligned(call)), &spec);
    if (!status)
        status = op_kernel(call, &spec->kernel, &kernel);
    if (status)
        return status;
    struct op_arg args[MAX_MAP_ARGS];
    const unsigned n_args = map_args(call, parameter, args);
    call->row = row;
    call->parameter = parameter ? parameter->bytes : NULL;
    size_t local = op_max_group(call, kernel);
    local = local < spec->local ? local : spec->local;
    const size_t per_group = local * spec->vector * spec->batch * spec->steps;
    const size_t count = views[0].count;
    const size_t groups = count / per_group + (count % per_group != 0);
    return op_launch(call, kernel, args, n_args, groups * local, local);
}

const struct op_row *map_row_in_effect(const struct op_call *call, const struct op_row *row) {
    const bool same = call->views[0].dtype == call->views[call->n_views - 1].dtype;
    return row->family == OP_CAST && same ? op_row_named(OP_UNARY, "copy") : row;
}

static cls_status run(struct op_call *call, const struct op_row *row,
                      const struct op_parameter *parameter) {
    cls_status status = map_check_types(call, row);
    if (!status)
        status = check_counts(call, row->name);
    if (!status)
        status = check_overlaps(call);
    if (!status)
        status = map_check_device(call);
    if (!status)
        status = map_check_rounding(row, call->views[0].dtype, call->views[call->n_views - 1].dtype,
                                    call->context);
    if (status || call->views[0].count == 0)
        return status;
    return launch(call, map_row_in_effect(call, row), parameter);
}

static cls_status run_registered(struct op_call *call, const char *name, struct kernel *kernel,
                                 const struct op_parameter *parameter) {
    cls_status status = check_counts(call, name);
    if (!status)
        status = check_overlaps(call);
    const size_t count = call->views[0].count;
    size_t local = 0;
    if (!status && count)
        status = op_fixed_group(kernel, &local);
    if (status || count == 0)
        return status;
    struct op_arg args[MAX_MAP_ARGS];
    const unsigned n_args = map_args(call, parameter, args);
    const size_t multiple = local ? local : REGISTERED_MULTIPLE;
    const size_t groups = count / multiple + (count % multiple != 0);
    return op_launch(call, kernel, args, n_args, groups * multiple, local);
}

cls_status map_call(const struct op_row *row, const cls_array *const *views, unsigned n_views,
                    const struct op_parameter *parameter, cls_stream stream, bool blocking) {
    if (!row)
        return error_set(CLS_ERROR_INVALID_VALUE, "no such operation");
    struct op_call call;
    cls_status status = op_begin(&call, stream, views, n_views, blocking);
    if (status)
        return status;
    return op_end(&call, run(&call, row, parameter), blocking);
}

cls_status map_call_named(enum op_family family, const char *name, const cls_array *const *views,
                          unsigned n_views, const double *value, cls_stream stream, bool blocking) {
    if (!name)
        return error_set(CLS_ERROR_INVALID_VALUE, "operation by name: the name is null");
    struct op_call call;
    cls_status status = op_begin(&call, stream, views, n_views, blocking);
    if (status)
        return status;
    struct op_parameter parameter = {{0}};
    if (value)
        parameter = parameter_of_double(call.views[0].dtype, *value);
    struct kernel *registered = op_registered(&call, name);
    const struct op_row *row = op_row_named(family, name);
    if (registered)
        status = run_registered(&call, name, registered, value ? &parameter : NULL);
    else if (row)
        status = run(&call, row, value ? &parameter : NULL);
    else
        status = error_set(CLS_ERROR_NOT_FOUND, "no operation or registered kernel \"%s\"", name);
    return op_end(&call, status, blocking);
}
