/* SPDX-License-Identifier: MIT */
/* Recording matrix products. */
#include "base/error.h"
#include "batch/batch.h"

static const struct op_row product_row = {OP_FAMILIES, 0, "gemm", true, RESULT_SAME};

static cls_status check_product(const struct batch *batch, const struct node *node) {
    const struct node *a = &batch->nodes[node->inputs[0]], *b = &batch->nodes[node->inputs[1]];
    const struct product *shape = &node->product;
    size_t a_count, b_count, count;
    if (!cls_blas_available())
        return error_set(CLS_ERROR_UNSUPPORTED, "gemm: this build has no CLBlast");
    if (a->dtype != CLS_F32 && a->dtype != CLS_F64)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "gemm has no form for %s",
                         cls_dtype_name(a->dtype));
    if (b->dtype != a->dtype)
        return map_check_typed(&product_row, "b", b->dtype, a->dtype);
    if (shape->config.beta != 0 || shape->config.batches != 1 || !shape->inner)
        return error_set(CLS_ERROR_INVALID_VALUE, "gemm: %s",
                         shape->inner ? "a beta or several batches" : "an inner length of 0");
    if (__builtin_mul_overflow(shape->rows, shape->inner, &a_count) ||
        __builtin_mul_overflow(shape->inner, shape->columns, &b_count) ||
        __builtin_mul_overflow(shape->rows, shape->columns, &count) || a->scalar || b->scalar ||
        a->count != a_count || b->count != b_count)
        return error_set(CLS_ERROR_SIZE_MISMATCH,
                         "gemm: arrays of %zu and %zu elements are no %zu x %zu and %zu x %zu",
                         a->count, b->count, shape->rows, shape->inner, shape->inner,
                         shape->columns);
    return CLS_SUCCESS;
}

static cls_status record_product(struct batch *batch, cls_value a, cls_value b, struct node *node,
                                 cls_value *out) {
    uint32_t index;
    cls_status status = batch_find(batch, "gemm", "a", a, &node->inputs[0]);
    if (!status)
        status = batch_find(batch, "gemm", "b", b, &node->inputs[1]);
    if (!status)
        status = check_product(batch, node);
    if (status)
        return status;
    node->dtype = batch->nodes[node->inputs[0]].dtype;
    node->count = node->product.rows * node->product.columns;
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
    if (config && config->size != sizeof *config)
        return error_set(CLS_ERROR_INVALID_VALUE, "gemm: a config of a wrong size");
    struct node node = {.kind = NODE_PRODUCT,
                        .row = &product_row,
                        .n_inputs = 2,
                        .product = {rows, columns, inner, CLS_GEMM_CONFIG_INIT}};
    if (config)
        node.product.config = *config;
    cls_status status = batch_enter(handle, &batch);
    return status ? status : batch_leave(batch, record_product(batch, a, b, &node, out));
}
