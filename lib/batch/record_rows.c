/* SPDX-License-Identifier: MIT */
/* Recording operations on the rows and columns of dense matrices: broadcasts, which are fused, and single calls. */
#include "base/error.h"
#include "base/types.h"
#include "batch/batch.h"
#include "batch/internals.h"
#include "driver/caps.h"
#include "driver/trust.h"

/* An operation being recorded, but for its row, its parameters and the number of its inputs, which the node has. */
struct rows_recording {
    const char *roles[NODE_MAX_INPUTS];
    cls_value inputs[NODE_MAX_INPUTS];
    /* Checks the inputs; finds the result's type and count. */
    cls_status (*check)(const struct batch *batch, struct batch_node *node);
};

static cls_status find_arrays(struct batch *batch, const struct rows_recording *recording,
                              struct batch_node *node) {
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < node->n_inputs && !status; i++) {
        status = batch_find(batch, node->row->name, recording->roles[i], recording->inputs[i],
                            &node->inputs[i]);
        if (!status && batch->nodes[node->inputs[i]].scalar)
            status = error_set(CLS_ERROR_SIZE_MISMATCH, "%s: %s is a scalar", node->row->name,
                               recording->roles[i]);
    }
    return status;
}

static cls_status rows_record_locked(struct batch *batch, const struct rows_recording *recording,
                                     struct batch_node *node, cls_value *out) {
    uint32_t index;
    cls_status status = find_arrays(batch, recording, node);
    if (!status)
        status = recording->check(batch, node);
    if (!status)
        status = batch_add(batch, node, &index);
    if (status)
        return status;
    batch->totals.operations++;
    *out = batch_value(batch, index);
    return CLS_SUCCESS;
}

static cls_status rows_record(cls_batch handle, const struct rows_recording *recording,
                              struct batch_node *node, cls_value *out) {
    struct batch *batch;
    if (!node->row)
        return error_set(CLS_ERROR_INVALID_VALUE, "batch: no such operation");
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: out is null", node->row->name);
    cls_status status = batch_enter(handle, &batch);
    return status ? status : batch_leave(batch, rows_record_locked(batch, recording, node, out));
}

/* ---- broadcasts */

static cls_status check_broadcast(const struct batch *batch, struct batch_node *node) {
    const struct batch_node *in = &batch->nodes[node->inputs[0]],
                            *vector = &batch->nodes[node->inputs[BROADCAST_INPUT]];
    const cls_dtype types[] = {in->dtype, vector->dtype};
    if (vector->count ? in->count % vector->count != 0 : in->count != 0)
        return error_set(CLS_ERROR_SIZE_MISMATCH,
                         "%s: a vector of %zu elements does not divide %zu", node->row->name,
                         vector->count, in->count);
    cls_status status = map_check_inputs(node->row, types);
    if (status)
        return status;
    node->count = in->count;
    node->dtype = op_result_dtype(node->row, in->dtype);
    status = batch_check_dtype(batch, node->row->name, node->dtype);
    return status ? status : map_check_rounding(node->row, in->dtype, node->dtype, batch->context);
}

static cls_status record_broadcast(cls_batch batch, cls_binary_op op, cls_value in,
                                   cls_value vector, enum node_broadcast broadcast,
                                   cls_value *out) {
    const struct rows_recording recording = {
        {"in", broadcast == BROADCAST_ROW ? "row" : "column"}, {in, vector}, check_broadcast};
    struct batch_node node = {.kind = NODE_MAP,
                              .row = op_row_of(OP_BINARY, (int)op),
                              .n_inputs = 2,
                              .of.map.broadcast = broadcast};
    return rows_record(batch, &recording, &node, out);
}

cls_status cls_batch_binary_rows(cls_batch batch, cls_binary_op op, cls_value in, cls_value row,
                                 cls_value *out) {
    return record_broadcast(batch, op, in, row, BROADCAST_ROW, out);
}

cls_status cls_batch_binary_columns(cls_batch batch, cls_binary_op op, cls_value in,
                                    cls_value column, cls_value *out) {
    return record_broadcast(batch, op, in, column, BROADCAST_COLUMN, out);
}

/* ---- matrices */

/* Finds the rows of the first input. */
static cls_status find_rows(const struct batch *batch, struct batch_node *node) {
    struct node_matrix *matrix = &node->of.matrix;
    const size_t count = batch->nodes[node->inputs[0]].count;
    if (matrix->columns ? count % matrix->columns != 0 : count != 0)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "%s: %zu elements are no rows of %zu",
                         node->row->name, count, matrix->columns);
    matrix->rows = matrix->columns ? count / matrix->columns : 0;
    return CLS_SUCCESS;
}

static cls_status check_lines(const struct batch *batch, struct batch_node *node) {
    const struct op_row *row = node->row;
    const struct node_matrix *matrix = &node->of.matrix;
    const cls_dtype dtype = batch->nodes[node->inputs[0]].dtype;
    cls_status status = find_rows(batch, node);
    if (status)
        return status;
    const bool empty = !(matrix->by_column ? matrix->rows : matrix->columns);
    if (empty && (row->result == RESULT_SAME || row->result == RESULT_INDEX))
        return error_set(CLS_ERROR_INVALID_VALUE, "%s of no elements", row->name);
    node->count = matrix->by_column ? matrix->columns : matrix->rows;
    node->dtype = op_result_dtype(row, dtype);
    status = batch_check_dtype(batch, row->name, node->dtype);
    return status ? status : map_check_rounding(row, dtype, node->dtype, batch->context);
}

static cls_status record_lines(cls_batch batch, cls_reduce_op op, cls_value in, size_t columns,
                               bool by_column, cls_value *out) {
    const struct rows_recording recording = {{"in"}, {in}, check_lines};
    struct batch_node node = {.kind = NODE_LINES,
                              .row = op_row_of(OP_REDUCE, (int)op),
                              .n_inputs = 1,
                              .of.matrix = {.columns = columns, .by_column = by_column}};
    return rows_record(batch, &recording, &node, out);
}

cls_status cls_batch_reduce_rows(cls_batch batch, cls_reduce_op op, cls_value in, size_t columns,
                                 cls_value *out) {
    return record_lines(batch, op, in, columns, false, out);
}

cls_status cls_batch_reduce_columns(cls_batch batch, cls_reduce_op op, cls_value in, size_t columns,
                                    cls_value *out) {
    return record_lines(batch, op, in, columns, true, out);
}

/* ---- softmax and norms */

static const struct op_row softmax_row = {OP_FAMILIES, 0, "softmax", true, RESULT_SAME};
static const struct op_row log_softmax_row = {OP_FAMILIES, 0, "log_softmax", true, RESULT_SAME};
static const struct op_row layer_norm_row = {OP_FAMILIES, 0, "layer_norm", true, RESULT_SAME};
static const struct op_row rms_norm_row = {OP_FAMILIES, 0, "rms_norm", true, RESULT_SAME};

static cls_status check_weights(const struct batch *batch, const struct batch_node *node) {
    const cls_dtype dtype = batch->nodes[node->inputs[0]].dtype;
    const size_t columns = node->of.matrix.columns;
    for (unsigned i = 1; i < node->n_inputs; i++) {
        const struct batch_node *weights = &batch->nodes[node->inputs[i]];
        if (weights->dtype != dtype)
            return error_set(CLS_ERROR_TYPE_MISMATCH, "%s of %s: numbers for columns of %s",
                             node->row->name, cls_dtype_name(dtype),
                             cls_dtype_name(weights->dtype));
        if (weights->count != columns)
            return error_set(CLS_ERROR_SIZE_MISMATCH,
                             "%s: a vector of %zu elements for %zu columns", node->row->name,
                             weights->count, columns);
    }
    return CLS_SUCCESS;
}

static cls_status check_rows(const struct batch *batch, struct batch_node *node) {
    const struct batch_node *in = &batch->nodes[node->inputs[0]];
    const struct context *context = batch->context;
    if (!type_row(in->dtype)->is_float)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "%s does not support %s", node->row->name,
                         cls_dtype_name(in->dtype));
    if (!(node->of.matrix.epsilon >= 0))
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: an epsilon of %g", node->row->name,
                         node->of.matrix.epsilon);
    cls_status status = find_rows(batch, node);
    if (!status)
        status = check_weights(batch, node);
    if (!status && !caps_trusts(context->caps, TRUST_ROUNDING))
        status = trust_refuse(context->device, TRUST_ROUNDING);
    node->count = in->count;
    node->dtype = in->dtype;
    return status;
}

static struct batch_node node_of_rows(const struct op_row *row, enum row_op op, unsigned n_inputs,
                                      size_t columns, double epsilon) {
    return (struct batch_node){.kind = NODE_ROWS,
                               .row = row,
                               .n_inputs = n_inputs,
                               .of.matrix = {.columns = columns, .op = op, .epsilon = epsilon}};
}

cls_status cls_batch_softmax(cls_batch batch, cls_value in, size_t columns, cls_value *out) {
    const struct rows_recording recording = {{"in"}, {in}, check_rows};
    struct batch_node node = node_of_rows(&softmax_row, ROW_SOFTMAX, 1, columns, 0);
    return rows_record(batch, &recording, &node, out);
}

cls_status cls_batch_log_softmax(cls_batch batch, cls_value in, size_t columns, cls_value *out) {
    const struct rows_recording recording = {{"in"}, {in}, check_rows};
    struct batch_node node = node_of_rows(&log_softmax_row, ROW_LOG_SOFTMAX, 1, columns, 0);
    return rows_record(batch, &recording, &node, out);
}

cls_status cls_batch_layer_norm(cls_batch batch, cls_value in, size_t columns, cls_value gain,
                                cls_value shift, double epsilon, cls_value *out) {
    const struct rows_recording recording = {
        {"in", "gain", "shift"}, {in, gain, shift}, check_rows};
    struct batch_node node = node_of_rows(&layer_norm_row, ROW_LAYER_NORM, 3, columns, epsilon);
    return rows_record(batch, &recording, &node, out);
}

cls_status cls_batch_rms_norm(cls_batch batch, cls_value in, size_t columns, cls_value gain,
                              double epsilon, cls_value *out) {
    const struct rows_recording recording = {{"in", "gain"}, {in, gain}, check_rows};
    struct batch_node node = node_of_rows(&rms_norm_row, ROW_RMS_NORM, 2, columns, epsilon);
    return rows_record(batch, &recording, &node, out);
}
