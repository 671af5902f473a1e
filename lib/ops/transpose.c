/* SPDX-License-Identifier: MIT */
/* Transposition of matrices (clstream/matrices.h), by cl/transpose.cl. */
#include <clstream/matrices.h>

#include "base/error.h"
#include "base/types.h"
#include "driver/caps.h"
#include "ops/map.h"
#include "ops/matrix_operand.h"
#include "ops/reduction_cut.h"

static bool transposes_by_item(const struct op_call *call, const struct spec *by_group) {
    return op_takes_runs(call->device) || device_max_line(call->device) < by_group->local ||
           !caps_trusts(call->caps, TRUST_LOCAL_ARGUMENTS);
}

static cls_status transpose_spec(const struct op_call *call, const struct spec **spec) {
    const cls_dtype dtype = call->views[0].dtype;
    cls_status status = spec_of_transpose(dtype, SHAPE_ANYWHERE, spec);
    if (!status && transposes_by_item(call, *spec))
        status = spec_of_transpose(dtype, SHAPE_RUNS, spec);
    return status;
}

static cls_status transpose_launch(struct op_call *call, const struct row_operand *operands,
                                   const cls_matrix *in) {
    const struct spec *spec;
    struct kernel *kernel;
    struct op_arg args[OP_MAX_ARGS];
    unsigned n = 0;
    cls_status status = transpose_spec(call, &spec);
    if (!status)
        status = op_kernel(call, &spec->kernel, &kernel);
    if (status)
        return status;
    const size_t across = divide_up(in->columns, spec->vector);
    const size_t groups = divide_up(in->rows, spec->vector) * across;
    const uint32_t number = (uint32_t)across;
    n += matrix_args(call, operands, 0, false, &args[n]);
    n += matrix_args(call, operands, 1, true, &args[n]);
    args[n++] = op_arg_pair(in->rows, in->columns);
    args[n++] = op_arg_value(&number, sizeof number);
    return op_launch(call, kernel, args, n, groups * spec->local, spec->local);
}

static cls_status transpose_run(struct op_call *call, const struct row_operand *operands,
                                const cls_matrix *in) {
    const cls_dtype from = call->views[0].dtype, to = call->views[1].dtype;
    if (from != to)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "transpose: matrices of %s and of %s",
                         cls_dtype_name(from), cls_dtype_name(to));
    cls_status status = op_check_dtype(call, from);
    if (!status)
        status = matrix_check_overlap("transpose", call, operands, 0, false);
    if (status)
        return status;
    return in->rows && in->columns ? transpose_launch(call, operands, in) : op_check_stream(call);
}

static cls_status transpose_matrix(const cls_matrix *in, const cls_matrix *out, cls_stream stream,
                                   bool blocking) {
    struct row_operand operands[2];
    struct op_call call;
    if (out->rows != in->columns || out->columns != in->rows)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "transpose: matrices of %zu x %zu and %zu x %zu",
                         in->rows, in->columns, out->rows, out->columns);
    cls_status status = matrix_operand("transpose", in, &operands[0]);
    if (!status)
        status = matrix_operand("transpose", out, &operands[1]);
    if (!status)
        status = matrix_begin(&call, stream, operands, 2, blocking);
    if (status)
        return status;
    return op_end(&call, transpose_run(&call, operands, in), blocking);
}

cls_status cls_transpose(cls_matrix in, cls_matrix out, cls_stream stream) {
    return transpose_matrix(&in, &out, stream, true);
}

cls_status cls_transpose_async(cls_matrix in, cls_matrix out, cls_stream stream) {
    return transpose_matrix(&in, &out, stream, false);
}
