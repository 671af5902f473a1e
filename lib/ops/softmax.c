/* SPDX-License-Identifier: MIT */
/* Softmax, log-softmax and cross entropy along rows, and their gradients (clstream/rows.h). */
#include "base/error.h"
#include "ops/row_call.h"
#include "ops/rows_kept.h"

static struct row_call of_rows(enum row_op kind, const char *name, const cls_matrix *matrix) {
    return (struct row_call){
        .kind = kind, .name = name, .rows = matrix->rows, .columns = matrix->columns};
}

/* --- matrices alone: the output comes last --- */

static cls_status map_rows(enum row_op kind, const char *name, const cls_matrix *const *matrices,
                           unsigned n, cls_stream stream, bool blocking) {
    struct row_call call = of_rows(kind, name, matrices[0]);
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < n && !status; i++)
        status = row_call_add_matrix(&call, matrices[i], i + 1 == n);
    return status ? status : row_call_run(&call, stream, blocking);
}

static cls_status softmax(const cls_matrix *in, const cls_matrix *out, cls_stream stream,
                          bool blocking) {
    const cls_matrix *const matrices[] = {in, out};
    return map_rows(ROW_SOFTMAX, "softmax", matrices, 2, stream, blocking);
}

cls_status cls_softmax(cls_matrix in, cls_matrix out, cls_stream stream) {
    return softmax(&in, &out, stream, true);
}

cls_status cls_softmax_async(cls_matrix in, cls_matrix out, cls_stream stream) {
    return softmax(&in, &out, stream, false);
}

static cls_status log_softmax(const cls_matrix *in, const cls_matrix *out, cls_stream stream,
                              bool blocking) {
    const cls_matrix *const matrices[] = {in, out};
    return map_rows(ROW_LOG_SOFTMAX, "log_softmax", matrices, 2, stream, blocking);
}

cls_status cls_log_softmax(cls_matrix in, cls_matrix out, cls_stream stream) {
    return log_softmax(&in, &out, stream, true);
}

cls_status cls_log_softmax_async(cls_matrix in, cls_matrix out, cls_stream stream) {
    return log_softmax(&in, &out, stream, false);
}

cls_status softmax_kept(bool logarithm, const cls_matrix matrices[2],
                        struct buffer *const buffers[2], cls_stream stream) {
    struct row_call call = logarithm ? of_rows(ROW_LOG_SOFTMAX, "log_softmax", &matrices[0])
                                     : of_rows(ROW_SOFTMAX, "softmax", &matrices[0]);
    call.kept = buffers;
    cls_status status = row_call_add_matrix(&call, &matrices[0], false);
    if (!status)
        status = row_call_add_matrix(&call, &matrices[1], true);
    return status ? status : row_call_run(&call, stream, false);
}

static cls_status softmax_gradient(const cls_matrix *out, const cls_matrix *out_gradient,
                                   const cls_matrix *in_gradient, cls_stream stream,
                                   bool blocking) {
    const cls_matrix *const matrices[] = {out, out_gradient, in_gradient};
    return map_rows(ROW_SOFTMAX_GRADIENT, "softmax_gradient", matrices, 3, stream, blocking);
}

cls_status cls_softmax_gradient(cls_matrix out, cls_matrix out_gradient, cls_matrix in_gradient,
                                cls_stream stream) {
    return softmax_gradient(&out, &out_gradient, &in_gradient, stream, true);
}

cls_status cls_softmax_gradient_async(cls_matrix out, cls_matrix out_gradient,
                                      cls_matrix in_gradient, cls_stream stream) {
    return softmax_gradient(&out, &out_gradient, &in_gradient, stream, false);
}

static cls_status log_softmax_gradient(const cls_matrix *out, const cls_matrix *out_gradient,
                                       const cls_matrix *in_gradient, cls_stream stream,
                                       bool blocking) {
    const cls_matrix *const matrices[] = {out, out_gradient, in_gradient};
    return map_rows(ROW_LOG_SOFTMAX_GRADIENT, "log_softmax_gradient", matrices, 3, stream,
                    blocking);
}

cls_status cls_log_softmax_gradient(cls_matrix out, cls_matrix out_gradient, cls_matrix in_gradient,
                                    cls_stream stream) {
    return log_softmax_gradient(&out, &out_gradient, &in_gradient, stream, true);
}

cls_status cls_log_softmax_gradient_async(cls_matrix out, cls_matrix out_gradient,
                                          cls_matrix in_gradient, cls_stream stream) {
    return log_softmax_gradient(&out, &out_gradient, &in_gradient, stream, false);
}

/* --- cross entropy --- */

static cls_status check_columns(const struct row_call *call) {
    if (call->rows && !call->columns)
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: rows without columns", call->name);
    if (call->columns > INT32_MAX)
        return error_set(CLS_ERROR_OUT_OF_RANGE, "%s: more than 2^31 - 1 columns", call->name);
    return CLS_SUCCESS;
}

/* `gradient` NULL: losses alone. */
static cls_status cross_entropy(const cls_matrix *scores, const cls_vector *labels,
                                const cls_vector *losses, const cls_matrix *gradient, double factor,
                                cls_stream stream, bool blocking) {
    struct row_call call =
        gradient ? of_rows(ROW_CROSS_ENTROPY_GRADIENT, "cross_entropy_gradient", scores)
                 : of_rows(ROW_CROSS_ENTROPY, "cross_entropy", scores);
    cls_status status = check_columns(&call);
    call.number = gradient ? &factor : NULL;
    if (!status)
        status = row_call_add_matrix(&call, scores, false);
    if (!status)
        status = row_call_add_vector(&call, labels, ROW_LABELS);
    if (!status)
        status = row_call_add_vector(&call, losses, ROW_RESULTS);
    if (!status && gradient)
        status = row_call_add_matrix(&call, gradient, true);
    return status ? status : row_call_run(&call, stream, blocking);
}

cls_status cls_cross_entropy(cls_matrix scores, cls_vector labels, cls_vector losses,
                             cls_stream stream) {
    return cross_entropy(&scores, &labels, &losses, NULL, 0, stream, true);
}

cls_status cls_cross_entropy_async(cls_matrix scores, cls_vector labels, cls_vector losses,
                                   cls_stream stream) {
    return cross_entropy(&scores, &labels, &losses, NULL, 0, stream, false);
}

cls_status cls_cross_entropy_gradient(cls_matrix scores, cls_vector labels, cls_vector losses,
                                      cls_matrix gradient, double factor, cls_stream stream) {
    return cross_entropy(&scores, &labels, &losses, &gradient, factor, stream, true);
}

cls_status cls_cross_entropy_gradient_async(cls_matrix scores, cls_vector labels, cls_vector losses,
                                            cls_matrix gradient, double factor, cls_stream stream) {
    return cross_entropy(&scores, &labels, &losses, &gradient, factor, stream, false);
}
