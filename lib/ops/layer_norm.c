/* SPDX-License-Identifier: MIT */
/* Normalization of rows by their mean and variance, or their mean square (clstream/rows.h). */
#include "base/error.h"
#include "ops/row_call.h"

/* `shift` NULL: by the mean square. */
static cls_status normalize(const cls_matrix *in, const cls_vector *gain, const cls_vector *shift,
                            double epsilon, const cls_matrix *out, cls_stream stream,
                            bool blocking) {
    struct row_call call = {.kind = shift ? ROW_LAYER_NORM : ROW_RMS_NORM,
                            .name = shift ? "layer_norm" : "rms_norm",
                            .rows = in->rows,
                            .columns = in->columns,
                            .number = &epsilon};
    cls_status status = CLS_SUCCESS;
    if (!(epsilon >= 0))
        status = error_set(CLS_ERROR_INVALID_VALUE, "%s: an epsilon of %g", call.name, epsilon);
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
    return normalize(&in, &gain, &shift, epsilon, &out, stream, true);
}

cls_status cls_layer_norm_async(cls_matrix in, cls_vector gain, cls_vector shift, double epsilon,
                                cls_matrix out, cls_stream stream) {
    return normalize(&in, &gain, &shift, epsilon, &out, stream, false);
}

cls_status cls_rms_norm(cls_matrix in, cls_vector gain, double epsilon, cls_matrix out,
                        cls_stream stream) {
    return normalize(&in, &gain, NULL, epsilon, &out, stream, true);
}

cls_status cls_rms_norm_async(cls_matrix in, cls_vector gain, double epsilon, cls_matrix out,
                              cls_stream stream) {
    return normalize(&in, &gain, NULL, epsilon, &out, stream, false);
}
