/* SPDX-License-Identifier: MIT */
/* Normalization of rows by their mean and variance, or their mean square, and its gradients (clstream/rows.h). */
#include "base/error.h"
#include "ops/row_call.h"
#include "ops/rows_kept.h"

static cls_status check_epsilon(const struct row_call *call) {
    return *call->number >= 0 ? CLS_SUCCESS
                              : error_set(CLS_ERROR_INVALID_VALUE, "%s: an epsilon of %g",
                                          call->name, *call->number);
}

/* `shift` NULL: by the mean square. `kept` NULL: the handles count. */
static cls_status normalize(const cls_matrix *in, const cls_vector *gain, const cls_vector *shift,
                            double epsilon, const cls_matrix *out, struct buffer *const *kept,
                            cls_stream stream, bool blocking) {
    struct row_call call = {.kind = shift ? ROW_LAYER_NORM : ROW_RMS_NORM,
                            .name = shift ? "layer_norm" : "rms_norm",
                            .rows = in->rows,
                            .columns = in->columns,
                            .number = &epsilon,
                            .kept = kept};
    cls_status status = check_epsilon(&call);
    if (!status)
        status = row_call_add_matrix(&call, in, false);
    if (!status)
        status = row_call_add_vector(&call, gain, ROW_WEIGHTS);
    if (!status && shift)
        status = row_call_add_vector(&call, shift, ROW_WEIGHTS);
    if (!status)
        status = row_call_add_matrix(&call, out, true);
    return status ? status : row_call_run(&call, stream, blocking);
}

cls_status cls_layer_norm(cls_matrix in, cls_vector gain, cls_vector shift, double epsilon,
                          cls_matrix out, cls_stream stream) {
    return normalize(&in, &gain, &shift, epsilon, &out, NULL, stream, true);
}

cls_status cls_layer_norm_async(cls_matrix in, cls_vector gain, cls_vector shift, double epsilon,
                                cls_matrix out, cls_stream stream) {
    return normalize(&in, &gain, &shift, epsilon, &out, NULL, stream, false);
}

cls_status cls_rms_norm(cls_matrix in, cls_vector gain, double epsilon, cls_matrix out,
                        cls_stream stream) {
    return normalize(&in, &gain, NULL, epsilon, &out, NULL, stream, true);
}

cls_status cls_rms_norm_async(cls_matrix in, cls_vector gain, double epsilon, cls_matrix out,
                              cls_stream stream) {
    return normalize(&in, &gain, NULL, epsilon, &out, NULL, stream, false);
}

cls_status norm_kept(const cls_matrix matrices[2], const cls_vector *gain, const cls_vector *shift,
                     double epsilon, struct buffer *const *buffers, cls_stream stream) {
    return normalize(&matrices[0], gain, shift, epsilon, &matrices[1], buffers, stream, false);
}

/* --- gradients --- */

struct norm_gradient {
    const cls_matrix *in;
    const cls_vector *gain;
    double epsilon;
    const cls_matrix *out_gradient, *in_gradient;
    const cls_vector *gain_gradient, *shift_gradient; /* the last NULL: of rms_norm */
};

static cls_status differentiate(const struct norm_gradient *of, cls_stream stream, bool blocking) {
    const bool by_mean = of->shift_gradient != NULL;
    struct row_call call = {.kind = by_mean ? ROW_LAYER_NORM_GRADIENT : ROW_RMS_NORM_GRADIENT,
                            .name = by_mean ? "layer_norm_gradient" : "rms_norm_gradient",
                            .rows = of->in->rows,
                            .columns = of->in->columns,
                            .number = &of->epsilon};
    cls_status status = check_epsilon(&call);
    if (!status)
        status = row_call_add_matrix(&call, of->in, false);
    if (!status)
        status = row_call_add_matrix(&call, of->out_gradient, false);
    if (!status)
        status = row_call_add_vector(&call, of->gain, ROW_WEIGHTS);
    if (!status)
        status = row_call_add_matrix(&call, of->in_gradient, true);
    if (!status)
        status = row_call_add_vector(&call, of->gain_gradient, ROW_SUMS);
    if (!status && by_mean)
        status = row_call_add_vector(&call, of->shift_gradient, ROW_SUMS);
    return status ? status : row_call_run(&call, stream, blocking);
}

cls_status cls_layer_norm_gradient(cls_matrix in, cls_vector gain, double epsilon,
                                   cls_matrix out_gradient, cls_matrix in_gradient,
                                   cls_vector gain_gradient, cls_vector shift_gradient,
                                   cls_stream stream) {
    return differentiate(&(struct norm_gradient){&in, &gain, epsilon, &out_gradient, &in_gradient,
                                                 &gain_gradient, &shift_gradient},
                         stream, true);
}

cls_status cls_layer_norm_gradient_async(cls_matrix in, cls_vector gain, double epsilon,
                                         cls_matrix out_gradient, cls_matrix in_gradient,
                                         cls_vector gain_gradient, cls_vector shift_gradient,
                                         cls_stream stream) {
    return differentiate(&(struct norm_gradient){&in, &gain, epsilon, &out_gradient, &in_gradient,
                                                 &gain_gradient, &shift_gradient},
                         stream, false);
}

cls_status cls_rms_norm_gradient(cls_matrix in, cls_vector gain, double epsilon,
                                 cls_matrix out_gradient, cls_matrix in_gradient,
                                 cls_vector gain_gradient, cls_stream stream) {
    return differentiate(&(struct norm_gradient){&in, &gain, epsilon, &out_gradient, &in_gradient,
                                                 &gain_gradient, NULL},
                         stream, true);
}

cls_status cls_rms_norm_gradient_async(cls_matrix in, cls_vector gain, double epsilon,
                                       cls_matrix out_gradient, cls_matrix in_gradient,
                                       cls_vector gain_gradient, cls_stream stream) {
    return differentiate(&(struct norm_gradient){&in, &gain, epsilon, &out_gradient, &in_gradient,
                                                 &gain_gradient, NULL},
                         stream, false);
}
