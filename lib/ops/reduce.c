/* SPDX-License-Identifier: MIT */
/* Reductions and dot products: the functions of clstream/reduce.h, each by one or two kernels of cl/reduce.cl. */
#include <clstream/reduce.h>

#include <string.h>

#include "base/error.h"
#include "base/types.h"
#include "driver/caps.h"
#include "ops/map.h"
#include "ops/reduction_cut.h"
#include "ops/typed_call.h"

struct reduce_plan {
    const struct spec *part;
    const struct spec *finish;
    struct kernel *part_kernel;
    struct kernel *finish_kernel;
    struct reduction_cut cut;
};

/* A reduction in progress: inputs first among the call's views. */
struct op_reduction {
    const struct op_row *row;
    unsigned inputs;
    size_t count;
    cls_dtype dtype;
};

static enum shape shape_of(const struct op_call *call, const struct op_reduction *work) {
    const size_t size = cls_dtype_size(work->dtype);
    const size_t alignment = spec_alignment(spec_aligned_vector(size, size), size);
    bool aligned = true;
    for (unsigned i = 0; i < work->inputs; i++)
        aligned = aligned && call->views[i].address % alignment == 0;
    return map_shape_of(call, aligned);
}

static cls_status plan_kernels(struct op_call *call, const struct op_reduction *work,
                               struct reduce_plan *plan) {
    const enum shape shape = shape_of(call, work);
    cls_status status = spec_of_reduction(work->row, work->dtype, shape, STAGE_PART, &plan->part);
    if (!status)
        status = spec_of_reduction(work->row, work->dtype, shape, STAGE_FINISH, &plan->finish);
    if (!status)
        status = op_kernel(call, &plan->part->kernel, &plan->part_kernel);
    if (!status)
        status = op_kernel(call, &plan->finish->kernel, &plan->finish_kernel);
    return status;
}

static cls_status plan_make(struct op_call *call, const struct op_reduction *work,
                            struct reduce_plan *plan) {
    cls_status status = plan_kernels(call, work, plan);
    if (status)
        return status;
    const struct reduction_size size = {.count = work->count,
                                        .vector = plan->part->vector,
                                        .local = plan->part->local,
                                        .part_limit = op_max_group(call, plan->part_kernel),
                                        .finish_limit = op_max_group(call, plan->finish_kernel),
                                        .alone = !caps_trusts(call->caps, TRUST_LOCAL_ARGUMENTS)};
    plan->cut = reduction_cut_of(call->device, &size);
    return CLS_SUCCESS;
}

static cls_status launch_part(struct op_call *call, const struct op_reduction *work,
                              const struct reduce_plan *plan, struct buffer *partials) {
    struct op_arg args[OP_MAX_ARGS];
    unsigned n = 0;
    for (unsigned i = 0; i < work->inputs; i++) {
        args[n++] = op_arg_view(&call->views[i], false);
        args[n++] = op_arg_u64(call->views[i].offset);
    }
    args[n++] = op_arg_out(partials);
    args[n++] = op_arg_local(plan->cut.local * REDUCTION_PARTIAL_BYTES);
    args[n++] = op_arg_u64(work->count);
    args[n++] = op_arg_value(&plan->cut.steps, sizeof plan->cut.steps);
    return op_launch(call, plan->part_kernel, args, n, plan->cut.groups * plan->cut.local,
                     plan->cut.local);
}

static cls_status launch_finish(struct op_call *call, const struct op_reduction *work,
                                const struct reduce_plan *plan, struct buffer *partials,
                                struct op_arg out, size_t out_offset) {
    const uint32_t n_partials = (uint32_t)plan->cut.groups;
    struct op_arg args[OP_MAX_ARGS];
    unsigned n = 0;
    args[n++] = op_arg_in(partials);
    args[n++] = op_arg_value(&n_partials, sizeof n_partials);
    args[n++] = out;
    args[n++] = op_arg_u64(out_offset);
    args[n++] = op_arg_local(plan->cut.finish_local * REDUCTION_PARTIAL_BYTES);
    args[n++] = op_arg_u64(work->count);
    return op_launch(call, plan->finish_kernel, args, n, plan->cut.finish_local,
                     plan->cut.finish_local);
}

static cls_status check_inputs(const struct op_call *call, const struct op_reduction *work) {
    const cls_dtype result = op_result_dtype(work->row, work->dtype);
    const char *name = work->row->name;
    if (work->inputs == 2 && call->views[1].dtype != work->dtype)
        return map_check_typed(work->row, "b", call->views[1].dtype, work->dtype);
    if (work->inputs == 2 && call->views[1].count != work->count)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "%s: arrays of %zu and %zu elements", name,
                         work->count, call->views[1].count);
    if (work->count == 0 && (work->row->result == RESULT_SAME || work->row->result == RESULT_INDEX))
        return error_set(CLS_ERROR_INVALID_VALUE, "%s of no elements", name);
    cls_status status = op_check_dtype(call, work->dtype);
    if (!status)
        status = op_check_dtype(call, result);
    return status ? status : map_check_rounding(work->row, work->dtype, result, call->context);
}

static cls_status check_output(const struct op_call *call, const struct op_reduction *work) {
    const struct op_view *out = &call->views[work->inputs];
    cls_status status =
        map_check_typed(work->row, "out", out->dtype, op_result_dtype(work->row, work->dtype));
    if (!status && out->count != 1)
        status = error_set(CLS_ERROR_SIZE_MISMATCH, "%s: out is %zu elements, not 1",
                           work->row->name, out->count);
    for (unsigned i = 0; i < work->inputs && !status; i++)
        status = op_check_overlap(call, i, work->inputs, false);
    return status;
}

/* Writes the result to the view after the inputs, or with `result` to the host: by way of the scratch buffer,
 * where the result lies after the partials. */
static cls_status reduce(struct op_call *call, const struct op_reduction *work, void *result) {
    const size_t size = cls_dtype_size(op_result_dtype(work->row, work->dtype));
    struct reduce_plan plan;
    struct buffer *scratch = NULL;
    cls_status status = check_inputs(call, work);
    if (!status && !result)
        status = check_output(call, work);
    if (!status)
        status = plan_make(call, work, &plan);
    if (!status)
        status = op_scratch(call, (plan.cut.groups + 1) * REDUCTION_PARTIAL_BYTES, &scratch);
    if (!status)
        status = launch_part(call, work, &plan, scratch);
    if (status)
        return status;
    const size_t place = plan.cut.groups * REDUCTION_PARTIAL_BYTES;
    if (!result)
        return launch_finish(call, work, &plan, scratch,
                             op_arg_view(&call->views[work->inputs], true),
                             call->views[work->inputs].offset);
    status = launch_finish(call, work, &plan, scratch, op_arg_out(scratch), place / size);
    return status ? status : op_read_back(call, scratch, place, result, size);
}

/* `out` or `result`, not both. */
static cls_status run(const struct op_row *row, const cls_array *a, const cls_array *b,
                      const cls_array *out, void *result, cls_stream stream) {
    if (!row || (!out && !result))
        return error_set(CLS_ERROR_INVALID_VALUE, "%s",
                         row ? "reduction: the result is null" : "no such reduction");
    const cls_array *views[3] = {a};
    struct op_reduction work = {.row = row, .inputs = 1};
    if (b)
        views[work.inputs++] = b;
    unsigned n_views = work.inputs;
    if (out)
        views[n_views++] = out;
    struct op_call call;
    cls_status status = op_begin(&call, stream, views, n_views, result != NULL);
    if (status)
        return status;
    work.dtype = call.views[0].dtype;
    work.count = call.views[0].count;
    return op_end(&call, reduce(&call, &work, result), false);
}

cls_status cls_reduce(cls_reduce_op op, cls_array in, void *result, cls_stream stream) {
    return run(op_row_of(OP_REDUCE, (int)op), &in, NULL, NULL, result, stream);
}

cls_status cls_reduce_async(cls_reduce_op op, cls_array in, cls_array out, cls_stream stream) {
    return run(op_row_of(OP_REDUCE, (int)op), &in, NULL, &out, NULL, stream);
}

cls_status cls_dot(cls_array a, cls_array b, void *result, cls_stream stream) {
    return run(op_row_of(OP_DOT, 0), &a, &b, NULL, result, stream);
}

cls_status cls_dot_async(cls_array a, cls_array b, cls_array out, cls_stream stream) {
    return run(op_row_of(OP_DOT, 0), &a, &b, &out, NULL, stream);
}

cls_status cls_reduce_result_dtype(cls_reduce_op op, cls_dtype in, cls_dtype *out) {
    const struct op_row *row = op_row_of(OP_REDUCE, (int)op);
    if (!row || !out || !type_row(in))
        return error_set(CLS_ERROR_INVALID_VALUE, "reduction's result: bad argument");
    *out = op_result_dtype(row, in);
    return CLS_SUCCESS;
}

const char *cls_reduce_op_name(cls_reduce_op op) { return op_name_of(OP_REDUCE, (int)op); }

cls_status cls_reduce_op_parse(const char *name, cls_reduce_op *out) {
    int op = 0;
    cls_status status = op_parse(OP_REDUCE, "reduction", name, out ? &op : NULL);
    if (!status)
        *out = (cls_reduce_op)op;
    return status;
}

cls_status typed_reduce(cls_reduce_op op, cls_dtype type, cls_array in, void *result,
                        cls_stream stream) {
    cls_status status = map_check_typed(op_row_of(OP_REDUCE, (int)op), "in", in.dtype, type);
    return status ? status : cls_reduce(op, in, result, stream);
}

cls_status typed_reduce_async(cls_reduce_op op, cls_dtype type, cls_array in, cls_array out,
                              cls_stream stream) {
    cls_status status = map_check_typed(op_row_of(OP_REDUCE, (int)op), "in", in.dtype, type);
    return status ? status : cls_reduce_async(op, in, out, stream);
}

cls_status typed_dot(cls_dtype type, cls_array a, cls_array b, void *result, cls_stream stream) {
    cls_status status = map_check_typed(op_row_of(OP_DOT, 0), "a", a.dtype, type);
    return status ? status : cls_dot(a, b, result, stream);
}

cls_status typed_dot_async(cls_dtype type, cls_array a, cls_array b, cls_array out,
                           cls_stream stream) {
    cls_status status = map_check_typed(op_row_of(OP_DOT, 0), "a", a.dtype, type);
    return status ? status : cls_dot_async(a, b, out, stream);
}
