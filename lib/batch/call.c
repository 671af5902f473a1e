/* SPDX-License-Identifier: MIT */
/* Buffers are passed by themselves, because they may have no handles any more. */
#include "batch/call.h"

#include "batch/places.h"
#include "ops/blas.h"
#include "ops/random.h"
#include "ops/rows_kept.h"

/* A value as a dense matrix; transposed: rows and columns are exchanged in memory. */
static cls_matrix matrix_of(const struct batch *batch, uint32_t node, size_t rows, size_t columns,
                            bool transposed, struct buffer **buffer) {
    const struct array_place place = place_of(batch, node);
    *buffer = place.buffer;
    return cls_matrix_at(NULL, batch->nodes[node].dtype, place.offset, transposed ? columns : rows,
                         transposed ? rows : columns);
}

static cls_vector vector_of(const struct batch *batch, uint32_t node, struct buffer **buffer) {
    const struct array_place place = place_of(batch, node);
    *buffer = place.buffer;
    return cls_vector_from(
        cls_array_at(NULL, batch->nodes[node].dtype, place.offset, batch->nodes[node].count));
}

static cls_status submit_product(const struct batch *batch, uint32_t node, cls_stream stream) {
    const struct batch_node *at = &batch->nodes[node];
    const struct node_product *sizes = &at->of.product;
    const size_t m = sizes->rows, n = sizes->columns, k = sizes->inner;
    struct buffer *buffers[3];
    const cls_matrix matrices[3] = {
        matrix_of(batch, at->inputs[0], m, k, sizes->config.transpose_a, &buffers[0]),
        matrix_of(batch, at->inputs[1], k, n, sizes->config.transpose_b, &buffers[1]),
        matrix_of(batch, node, m, n, false, &buffers[2])};
    return blas_gemm_kept(matrices, buffers, &sizes->config, stream);
}

static cls_status submit_lines(const struct batch *batch, uint32_t node, cls_stream stream) {
    const struct batch_node *at = &batch->nodes[node];
    const struct node_matrix *matrix = &at->of.matrix;
    struct buffer *buffers[2];
    const cls_matrix in =
        matrix_of(batch, at->inputs[0], matrix->rows, matrix->columns, false, &buffers[0]);
    const cls_vector out = vector_of(batch, node, &buffers[1]);
    return reduce_lines_kept((cls_reduce_op)at->row->op, &in, &out, matrix->by_column, buffers,
                             stream);
}

static cls_status submit_rows(const struct batch *batch, uint32_t node, cls_stream stream) {
    const struct batch_node *at = &batch->nodes[node];
    const struct node_matrix *matrix = &at->of.matrix;
    const size_t rows = matrix->rows, columns = matrix->columns;
    struct buffer *buffers[NODE_MAX_INPUTS + 1];
    cls_vector weights[NODE_MAX_INPUTS - 1];
    const cls_matrix matrices[2] = {
        matrix_of(batch, at->inputs[0], rows, columns, false, &buffers[0]),
        matrix_of(batch, node, rows, columns, false, &buffers[at->n_inputs])};
    for (unsigned i = 1; i < at->n_inputs; i++)
        weights[i - 1] = vector_of(batch, at->inputs[i], &buffers[i]);
    if (at->n_inputs == 1)
        return softmax_kept(matrix->op == ROW_LOG_SOFTMAX, matrices, buffers, stream);
    return norm_kept(matrices, &weights[0], at->n_inputs == 3 ? &weights[1] : NULL, matrix->epsilon,
                     buffers, stream);
}

static cls_status submit_take(const struct batch *batch, uint32_t node, cls_stream stream) {
    const struct node_take *take = &batch->nodes[node].of.take;
    struct buffer *buffer;
    const cls_vector state = vector_of(batch, node, &buffer);
    const cls_array to = cls_array_at(NULL, CLS_I64, state.offset, state.count);
    return random_take(take->random, &to, buffer, take->counters, stream);
}

cls_status call_submit(const struct batch *batch, uint32_t node, cls_stream stream) {
    switch (batch->nodes[node].kind) {
    case NODE_PRODUCT:
        return submit_product(batch, node, stream);
    case NODE_LINES:
        return submit_lines(batch, node, stream);
    case NODE_ROWS:
        return submit_rows(batch, node, stream);
    case NODE_TAKE:
        return submit_take(batch, node, stream);
    case NODE_UPLOAD:
    case NODE_ARRAY:
    case NODE_CONSTANT:
    case NODE_MAP:
    case NODE_REDUCE:
        break;
    }
    return CLS_SUCCESS;
}
