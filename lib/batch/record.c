/* SPDX-License-Identifier: MIT */
/* Recording operations as nodes. All checks of arguments are made here, so that errors name the operation. */
#include "base/error.h"
#include "batch/batch.h"
#include "ops/blas.h"

/* An operation being recorded. */
struct recording {
    const struct op_row *row;
    unsigned n_inputs;
    const char *roles[NODE_MAX_INPUTS];
    cls_value inputs[NODE_MAX_INPUTS];
    const double *param; /* NULL: none */
    cls_dtype to;        /* of a cast */
};

static cls_status find_inputs(struct batch *batch, const struct recording *recording,
                              struct batch_node *node) {
    cls_status status = CLS_SUCCESS;
    node->n_inputs = recording->n_inputs;
    for (unsigned i = 0; i < node->n_inputs && !status; i++)
        status = batch_find(batch, recording->row->name, recording->roles[i], recording->inputs[i],
                            &node->inputs[i]);
    return status;
}

static cls_status check_counts(const struct batch *batch, const char *name,
                               struct batch_node *node) {
    node->scalar = true;
    node->count = 1;
    for (unsigned i = 0; i < node->n_inputs; i++) {
        const struct batch_node *input = &batch->nodes[node->inputs[i]];
        if (input->scalar)
            continue;
        if (!node->scalar && input->count != node->count)
            return error_set(CLS_ERROR_SIZE_MISMATCH, "%s: arrays of %zu and %zu elements", name,
                             node->count, input->count);
        node->scalar = false;
        node->count = input->count;
    }
    return CLS_SUCCESS;
}

static bool is_reduction(const struct op_row *row) {
    return row->family == OP_REDUCE || row->family == OP_DOT;
}

static cls_status check_reduction(const struct recording *recording, const cls_dtype *types,
                                  size_t count) {
    const struct op_row *row = recording->row;
    if (recording->n_inputs == 2 && types[1] != types[0])
        return map_check_typed(row, "b", types[1], types[0]);
    if (count == 0 && (row->result == RESULT_SAME || row->result == RESULT_INDEX))
        return error_set(CLS_ERROR_INVALID_VALUE, "%s of no elements", row->name);
    return CLS_SUCCESS;
}

static cls_status check_operation(const struct batch *batch, const struct recording *recording,
                                  struct batch_node *node) {
    const struct op_row *row = recording->row;
    cls_dtype types[NODE_MAX_INPUTS];
    cls_status status = check_counts(batch, row->name, node);
    for (unsigned i = 0; i < node->n_inputs; i++)
        types[i] = batch->nodes[node->inputs[i]].dtype;
    if (!status)
        status = is_reduction(row) ? check_reduction(recording, types, node->count)
                                   : map_check_inputs(row, types);
    if (status)
        return status;
    node->dtype = row->family == OP_CAST    ? recording->to
                  : row->family == OP_WHERE ? types[1]
                                            : op_result_dtype(row, types[0]);
    status = batch_check_dtype(batch, row->name, node->dtype);
    return status ? status : map_check_rounding(row, types[0], node->dtype, batch->context);
}

/* Adds the parameter as one more input: a hidden constant. */
static cls_status add_parameter(struct batch *batch, double param, struct batch_node *node) {
    struct batch_node constant = {
        .kind = NODE_CONSTANT, .count = 1, .scalar = true, .hidden = true};
    constant.dtype = batch->nodes[node->inputs[0]].dtype;
    constant.element = parameter_of_double(constant.dtype, param);
    return batch_add(batch, &constant, &node->inputs[node->n_inputs++]);
}

static cls_status record_locked(struct batch *batch, const struct recording *recording,
                                cls_value *out) {
    struct batch_node node = {.kind = is_reduction(recording->row) ? NODE_REDUCE : NODE_MAP,
                              .row = recording->row};
    uint32_t index;
    cls_status status = find_inputs(batch, recording, &node);
    if (!status)
        status = check_operation(batch, recording, &node);
    if (!status && recording->param)
        status = add_parameter(batch, *recording->param, &node);
    if (status)
        return status;
    if (node.kind == NODE_REDUCE) {
        node.scalar = true;
        node.count = 1;
    }
    status = batch_add(batch, &node, &index);
    if (status)
        return status;
    batch->totals.operations++;
    *out = batch_value(batch, index);
    return CLS_SUCCESS;
}

static cls_status record(cls_batch handle, const struct recording *recording, cls_value *out) {
    struct batch *batch;
    if (!recording->row)
        return error_set(CLS_ERROR_INVALID_VALUE, "batch: no such operation");
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: out is null", recording->row->name);
    cls_status status = batch_enter(handle, &batch);
    return status ? status : batch_leave(batch, record_locked(batch, recording, out));
}

cls_status cls_batch_unary(cls_batch batch, cls_unary_op op, cls_value in, cls_value *out) {
    const struct recording recording = {op_row_of(OP_UNARY, (int)op), 1, {"in"}, {in}, NULL, 0};
    return record(batch, &recording, out);
}

cls_status cls_batch_unary_param(cls_batch batch, cls_unary_param_op op, cls_value in, double param,
                                 cls_value *out) {
    const struct recording recording = {
        op_row_of(OP_UNARY_PARAM, (int)op), 1, {"in"}, {in}, &param, 0};
    return record(batch, &recording, out);
}

cls_status cls_batch_binary(cls_batch batch, cls_binary_op op, cls_value a, cls_value b,
                            cls_value *out) {
    const struct recording recording = {
        op_row_of(OP_BINARY, (int)op), 2, {"a", "b"}, {a, b}, NULL, 0};
    return record(batch, &recording, out);
}

cls_status cls_batch_where(cls_batch batch, cls_value condition, cls_value if_true,
                           cls_value if_false, cls_value *out) {
    const struct recording recording = {
        op_row_of(OP_WHERE, 0),         3,    {"condition", "if_true", "if_false"},
        {condition, if_true, if_false}, NULL, 0};
    return record(batch, &recording, out);
}

cls_status cls_batch_cast(cls_batch batch, cls_value in, cls_dtype to, cls_value *out) {
    const struct recording recording = {op_row_of(OP_CAST, 0), 1, {"in"}, {in}, NULL, to};
    return record(batch, &recording, out);
}

cls_status cls_batch_reduce(cls_batch batch, cls_reduce_op op, cls_value in, cls_value *out) {
    const struct recording recording = {op_row_of(OP_REDUCE, (int)op), 1, {"in"}, {in}, NULL, 0};
    return record(batch, &recording, out);
}

cls_status cls_batch_dot(cls_batch batch, cls_value a, cls_value b, cls_value *out) {
    const struct recording recording = {op_row_of(OP_DOT, 0), 2, {"a", "b"}, {a, b}, NULL, 0};
    return record(batch, &recording, out);
}

/* ---- matrix products */

static const struct op_row product_row = {OP_FAMILIES, 0, "gemm", true, RESULT_SAME};

static cls_status check_product(const struct batch *batch, const struct batch_node *node) {
    const struct batch_node *a = &batch->nodes[node->inputs[0]],
                            *b = &batch->nodes[node->inputs[1]];
    const struct node_product *sizes = &node->of.product;
    size_t a_count, b_count, count;
    if (a->dtype != CLS_F32 && a->dtype != CLS_F64 && !blas_is_narrow(a->dtype))
        return error_set(CLS_ERROR_TYPE_MISMATCH, "gemm does not support %s",
                         cls_dtype_name(a->dtype));
    if (b->dtype != a->dtype)
        return map_check_typed(&product_row, "b", b->dtype, a->dtype);
    if (sizes->config.beta != 0 || sizes->config.batches != 1)
        return error_set(CLS_ERROR_INVALID_VALUE, "gemm: beta must be 0 and batches 1");
    if (sizes->config.bias.buffer)
        return error_set(CLS_ERROR_INVALID_VALUE, "gemm: a batch takes no bias");
    if (sizes->config.alpha_view.buffer || sizes->config.beta_view.buffer)
        return error_set(CLS_ERROR_INVALID_VALUE, "gemm: a batch takes no factors on the device");
    if (__builtin_mul_overflow(sizes->rows, sizes->inner, &a_count) ||
        __builtin_mul_overflow(sizes->inner, sizes->columns, &b_count) ||
        __builtin_mul_overflow(sizes->rows, sizes->columns, &count) || a->scalar || b->scalar ||
        a->count != a_count || b->count != b_count)
        return error_set(CLS_ERROR_SIZE_MISMATCH,
                         "gemm: arrays of %zu and %zu elements are no %zu x %zu and %zu x %zu",
                         a->count, b->count, sizes->rows, sizes->inner, sizes->inner,
                         sizes->columns);
    return CLS_SUCCESS;
}

static cls_status record_product(struct batch *batch, cls_value a, cls_value b,
                                 struct batch_node *node, cls_value *out) {
    uint32_t index;
    cls_status status = batch_find(batch, "gemm", "a", a, &node->inputs[0]);
    if (!status)
        status = batch_find(batch, "gemm", "b", b, &node->inputs[1]);
    if (!status)
        status = check_product(batch, node);
    if (status)
        return status;
    node->dtype = batch->nodes[node->inputs[0]].dtype;
    node->count = node->of.product.rows * node->of.product.columns;
    status = batch_add(batch, node, &index);
    if (status)
        return status;
    batch->totals.operations++;
    *out = batch_value(batch, index);
    return CLS_SUCCESS;
}

cls_status cls_batch_gemm(cls_batch handle, cls_value a, cls_value b, size_t rows, size_t columns,
                          size_t inner, const cls_gemm_config *config, cls_value *out) {
    struct batch *batch;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "gemm: out is null");
    struct batch_node node = {.kind = NODE_PRODUCT,
                              .row = &product_row,
                              .n_inputs = 2,
                              .of.product = {.rows = rows, .columns = columns, .inner = inner}};
    cls_status status = blas_read_config(config, &node.of.product.config);
    if (!status)
        status = batch_enter(handle, &batch);
    return status ? status : batch_leave(batch, record_product(batch, a, b, &node, out));
}
