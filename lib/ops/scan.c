/* SPDX-License-Identifier: MIT */
/* Scans (clstream/scan.h), by the kernels of cl/scan.cl. */
#include <clstream/scan.h>

#include "base/error.h"
#include "base/sized.h"
#include "base/types.h"
#include "driver/caps.h"
#include "ops/scan.h"

enum { IN, OUT };

/* A call. After input and output its views are the heads and the length, if there are any. */
struct scan_call {
    struct scan_kind kind;
    cls_scan_config config;
    unsigned heads, length; /* their views; 0: none */
    struct op_call op;
};

/* --- checks --- */

static cls_status scan_check_kind(const struct scan_call *call) {
    if (call->kind.op < CLS_SCAN_SUM || call->kind.op > CLS_SCAN_MAX)
        return error_set(CLS_ERROR_INVALID_VALUE, "scan: an unknown operation, %d",
                         (int)call->kind.op);
    if (call->config.segments < CLS_SCAN_WHOLE || call->config.segments > CLS_SCAN_LENGTH)
        return error_set(CLS_ERROR_INVALID_VALUE, "scan: an unknown kind of segments, %d",
                         (int)call->config.segments);
    if (call->config.segments == CLS_SCAN_LENGTH && !call->config.segment)
        return error_set(CLS_ERROR_INVALID_VALUE, "scan: segments of 0 elements");
    return CLS_SUCCESS;
}

static cls_status scan_check_types(const struct scan_call *call) {
    const struct op_view *views = call->op.views;
    const cls_dtype in = views[IN].dtype, out = views[OUT].dtype;
    if (out != in && (type_row(in)->is_float || type_row(out)->is_float))
        return error_set(CLS_ERROR_TYPE_MISMATCH, "scan: results of %s for elements of %s",
                         cls_dtype_name(out), cls_dtype_name(in));
    if (call->config.segments == CLS_SCAN_FLAGS && views[call->heads].dtype != CLS_U8)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "scan: flags of %s",
                         cls_dtype_name(views[call->heads].dtype));
    return CLS_SUCCESS;
}

static cls_status scan_check_sizes(const struct scan_call *call) {
    const struct op_view *views = call->op.views;
    if (views[OUT].count != views[IN].count)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "scan: %zu results for %zu elements",
                         views[OUT].count, views[IN].count);
    if (call->heads && views[call->heads].count != views[IN].count)
        return error_set(
            CLS_ERROR_SIZE_MISMATCH, "scan: %zu %s for %zu elements", views[call->heads].count,
            call->config.segments == CLS_SCAN_FLAGS ? "flags" : "keys", views[IN].count);
    return CLS_SUCCESS;
}

static cls_status scan_check(const struct scan_call *call) {
    cls_status status = scan_check_types(call);
    if (!status)
        status = scan_check_sizes(call);
    if (!status && call->length)
        status = op_check_length(&call->op, "scan", call->length);
    if (!status)
        status = op_check_overlap(&call->op, OUT, IN, true);
    for (unsigned i = OUT + 1; i < call->op.n_views && !status; i++)
        status = op_check_overlap(&call->op, OUT, i, false);
    if (!status)
        status = op_check_dtype(&call->op, call->op.views[IN].dtype);
    if (!status && type_row(call->op.views[IN].dtype)->is_float &&
        !caps_trusts(call->op.caps, TRUST_ROUNDING))
        status = trust_refuse(call->op.device, TRUST_ROUNDING);
    return status;
}

/* --- the launches --- */

static enum scan_heads heads_of(const struct scan_call *call) {
    switch (call->config.segments) {
    case CLS_SCAN_FLAGS:
        return HEADS_FLAGS;
    case CLS_SCAN_LENGTH:
        return HEADS_EVERY;
    case CLS_SCAN_KEYS:
        return scan_heads_of_keys(call->op.views[call->heads].dtype);
    case CLS_SCAN_WHOLE:
        return HEADS_NONE;
    }
    return HEADS_NONE;
}

cls_status scan_plan(struct op_call *call, const struct scan_kind *kind, bool aligned, size_t count,
                     struct scan_plan *plan) {
    const struct spec *spec;
    cls_status status =
        spec_of_scan(kind, look_back_shape(call, aligned), look_back_is_lean(call), &spec);
    if (!status)
        status = op_kernel(call, &spec->kernel, &plan->kernel);
    if (status)
        return status;
    plan->cut = look_back_cut(call, spec, plan->kernel, count);
    plan->words = look_back_words(&plan->cut, spec_scan_part(kind));
    plan->count = count;
    return CLS_SUCCESS;
}

cls_status scan_launch(struct op_call *call, const struct scan_plan *plan,
                       const struct scan_arrays *arrays, struct buffer *scratch, size_t segment,
                       bool exclusive) {
    const uint64_t shape[] = {plan->count, plan->cut.tile, segment, 0};
    const uint32_t how[] = {exclusive, plan->cut.is_reversed};
    struct op_arg args[OP_MAX_ARGS];
    unsigned n = 0;
    cls_status status = look_back_clear(call, scratch, plan->words);
    if (status)
        return status;
    for (unsigned i = 0; i < SCAN_ARRAYS; i++)
        args[n++] = arrays->args[i];
    args[n++] = op_arg_part(scratch, true, 0, plan->words * sizeof(uint32_t));
    args[n++] = op_arg_value(arrays->places, sizeof arrays->places);
    args[n++] = op_arg_value(shape, sizeof shape);
    args[n++] = op_arg_value(how, sizeof how);
    return look_back_launch(call, &plan->cut, plan->kernel, args, n);
}

static struct scan_arrays scan_arrays_of(const struct scan_call *call) {
    const struct op_view *views = call->op.views;
    const unsigned which[SCAN_ARRAYS] = {IN, OUT, call->heads, call->length};
    struct scan_arrays arrays;
    for (unsigned i = 0; i < SCAN_ARRAYS; i++) {
        arrays.args[i] = op_arg_view(&views[which[i]], i == OUT);
        arrays.places[i] = views[which[i]].offset;
    }
    if (!call->length)
        arrays.places[SCAN_ARRAYS - 1] = UINT64_MAX;
    return arrays;
}

static cls_status scan_submit(struct scan_call *call) {
    const struct op_view *in = &call->op.views[IN], *out = &call->op.views[OUT];
    struct scan_plan plan;
    struct buffer *scratch;
    size_t beyond;
    if (!in->count)
        return op_check_stream(&call->op);
    call->kind.in = in->dtype;
    call->kind.out = out->dtype;
    call->kind.heads = heads_of(call);
    cls_status status = scan_plan(
        &call->op, &call->kind, in->address % 16 == 0 && out->address % 16 == 0, in->count, &plan);
    if (!status)
        status = look_back_room(&call->op, plan.words, 0, &scratch, &beyond);
    if (status)
        return status;
    const struct scan_arrays arrays = scan_arrays_of(call);
    return scan_launch(&call->op, &plan, &arrays, scratch, call->config.segment,
                       call->config.exclusive != 0);
}

/* --- calls --- */

static cls_status scan(cls_scan_op op, const cls_array *in, const cls_array *out,
                       const cls_scan_config *config, cls_stream stream, bool blocking) {
    struct scan_call call = {.kind = {.op = op}, .config = CLS_SCAN_CONFIG_INIT};
    const cls_array *views[OP_MAX_VIEWS] = {in, out};
    unsigned n = OUT + 1;
    cls_status status = SIZED_IN(cls_scan_config, &call.config, config);
    if (!status)
        status = scan_check_kind(&call);
    if (status)
        return status;
    if (call.config.segments == CLS_SCAN_FLAGS || call.config.segments == CLS_SCAN_KEYS)
        views[call.heads = n++] = &call.config.heads;
    if (call.config.length.buffer)
        views[call.length = n++] = &call.config.length;
    status = op_begin(&call.op, stream, views, n, blocking);
    if (status)
        return status;
    status = scan_check(&call);
    if (!status)
        status = scan_submit(&call);
    return op_end(&call.op, status, blocking);
}

cls_status cls_scan(cls_scan_op op, cls_array in, cls_array out, const cls_scan_config *config,
                    cls_stream stream) {
    return scan(op, &in, &out, config, stream, true);
}

cls_status cls_scan_async(cls_scan_op op, cls_array in, cls_array out,
                          const cls_scan_config *config, cls_stream stream) {
    return scan(op, &in, &out, config, stream, false);
}
