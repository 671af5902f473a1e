/* SPDX-License-Identifier: MIT */
#include "ops/row_sums.h"

#include "base/error.h"
#include "ops/reduction_cut.h"

enum { PITCH_UNIT = 16, GROUP = 64 };

/* Numbers of a part for each vector: no vector of the kernel's passes the end. */
static size_t pitch_of(const struct row_call *call) {
    return divide_up(call->columns, PITCH_UNIT) * PITCH_UNIT;
}

/* Of all parts, and of what is made of them. */
static cls_status row_sums_bytes(const struct row_call *call, size_t parts, size_t *bytes) {
    size_t all = parts ? parts : 1, width;
    bool over = __builtin_mul_overflow(pitch_of(call) * call->n_sums, sizeof(double), &width);
    while (parts > ROW_SUMS_PART) {
        parts = divide_up(parts, ROW_SUMS_PART);
        all += parts;
    }
    if (over || __builtin_mul_overflow(all, width, bytes))
        return error_no_memory("for sums over rows");
    return CLS_SUCCESS;
}

cls_status row_sums_begin(struct row_call *call, size_t parts, struct row_sums *sums) {
    const struct spec *spec;
    size_t bytes = 0;
    *sums = (struct row_sums){.parts = parts};
    if (!call->n_sums)
        return CLS_SUCCESS;
    cls_status status = spec_of_row_sums(call->operands[0].array.dtype, call->n_sums, &spec);
    if (!status)
        status = op_kernel(&call->op, &spec->kernel, &sums->kernel);
    if (!status)
        status = row_sums_bytes(call, parts, &bytes);
    return status ? status : op_scratch(&call->op, bytes, &sums->into);
}

/* One launch: of `parts` that begin at the element `from`, to where those of the next launch begin, or to the results. */
static cls_status row_sums_merge(struct row_call *call, const struct row_sums *sums, size_t parts,
                                 size_t from) {
    const size_t pitch = pitch_of(call), width = pitch * call->n_sums;
    const uint64_t shape[] = {call->columns, pitch, parts, 0};
    const size_t local = power_of_two_below(lesser(op_max_group(&call->op, sums->kernel), GROUP));
    const size_t blocks = parts ? divide_up(parts, ROW_SUMS_PART) : 1;
    struct op_arg args[OP_MAX_ARGS];
    unsigned n = 0;
    args[n++] = op_arg_out(sums->into);
    args[n++] = op_arg_pair(from, from + parts * width);
    for (unsigned i = call->n_operands - call->n_sums; i < call->n_operands; i++) {
        args[n++] = op_arg_span(call->op.views[i].buffer, true, &call->operands[i].span);
        args[n++] = row_operand_arg(&call->operands[i]);
    }
    args[n++] = op_arg_value(shape, sizeof shape);
    return op_launch(&call->op, sums->kernel, args, n, divide_up(blocks * width, local) * local,
                     local);
}

cls_status row_sums_finish(struct row_call *call, const struct row_sums *sums) {
    size_t parts = sums->parts, from = 0;
    cls_status status = CLS_SUCCESS;
    if (!call->n_sums)
        return CLS_SUCCESS;
    while (!status && parts > ROW_SUMS_PART) {
        status = row_sums_merge(call, sums, parts, from);
        from += parts * pitch_of(call) * call->n_sums;
        parts = divide_up(parts, ROW_SUMS_PART);
    }
    return status ? status : row_sums_merge(call, sums, parts, from);
}
