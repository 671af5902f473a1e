/* SPDX-License-Identifier: MIT */
/*
 * Recording dropouts: a call that takes the state of the generator, and one or two operations, fused with others, that
 * draw from what it took.
 */
#include <string.h>

#include "base/error.h"
#include "base/types.h"
#include "batch/batch.h"
#include "batch/internals.h"
#include "driver/caps.h"
#include "driver/trust.h"
#include "ops/random.h"

static const struct op_row dropout_row = {OP_BINARY, 0, "dropout", true, RESULT_SAME};
static const struct op_row mask_row = {OP_BINARY, 0, "dropout_mask", true, RESULT_MASK};

/* A dropout being recorded. */
struct dropout {
    uint32_t in, taken;
    struct node_map map;
};

/* The bits of the factor, as numbers of the type are calculated with. */
static uint64_t factor_bits(cls_dtype dtype, double probability) {
    const double factor = random_dropout_factor(probability);
    const float narrow = (float)factor;
    uint64_t bits;
    uint32_t narrow_bits;
    memcpy(&bits, &factor, sizeof factor);
    memcpy(&narrow_bits, &narrow, sizeof narrow);
    return dtype == CLS_F64 ? bits : narrow_bits;
}

static cls_status check_dropout_of(struct batch *batch, cls_value in, double probability,
                                   struct dropout *dropout) {
    cls_status status = batch_find(batch, "dropout", "in", in, &dropout->in);
    if (status)
        return status;
    const struct batch_node *node = &batch->nodes[dropout->in];
    if (node->scalar)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "dropout: in is a scalar");
    if (!type_row(node->dtype)->is_float)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "dropout does not support %s",
                         cls_dtype_name(node->dtype));
    if (!caps_trusts(batch->context->caps, TRUST_ROUNDING))
        return trust_refuse(batch->context->device, TRUST_ROUNDING);
    dropout->map.broadcast = BROADCAST_DRAW;
    dropout->map.factor = factor_bits(node->dtype, probability);
    return random_threshold(probability, &dropout->map.threshold);
}

/* Takes over the reference to the generator on success. The state is taken after the draws before. */
static cls_status add_take(struct batch *batch, struct random *random, struct dropout *dropout) {
    const size_t count = batch->nodes[dropout->in].count;
    struct batch_node node = {.kind = NODE_TAKE,
                              .row = &dropout_row,
                              .dtype = CLS_I64,
                              .hidden = true,
                              .count = sizeof(cls_random_state) / sizeof(uint64_t),
                              .of.take = {random, count / 4 + (count % 4 != 0)}};
    for (uint32_t i = batch->n_nodes; i-- > 0 && !node.n_inputs;)
        if (batch->nodes[i].kind == NODE_TAKE && batch->nodes[i].of.take.random == random)
            node.inputs[node.n_inputs++] = i;
    return batch_add(batch, &node, &dropout->taken);
}

static cls_status add_drawing(struct batch *batch, const struct op_row *row,
                              const struct dropout *dropout, cls_value *out) {
    const struct batch_node *in = &batch->nodes[dropout->in];
    const struct batch_node node = {.kind = NODE_MAP,
                                    .row = row,
                                    .dtype = op_result_dtype(row, in->dtype),
                                    .n_inputs = 2,
                                    .inputs = {dropout->in, dropout->taken},
                                    .count = in->count,
                                    .of.map = dropout->map};
    uint32_t index;
    cls_status status = batch_add(batch, &node, &index);
    if (!status)
        *out = batch_value(batch, index);
    return status;
}

/* Makes room for all nodes first, so that none is added alone. */
static cls_status record_dropout(struct batch *batch, struct random *random,
                                 struct dropout *dropout, cls_value *mask, cls_value *out) {
    cls_status status = batch_reserve_nodes(batch, 3);
    if (!status)
        status = add_take(batch, random, dropout);
    if (!status)
        status = add_drawing(batch, &dropout_row, dropout, out);
    if (!status && mask)
        status = add_drawing(batch, &mask_row, dropout, mask);
    if (!status)
        batch->totals.operations++;
    return status;
}

cls_status cls_batch_dropout(cls_batch handle, cls_random random_handle, cls_value in,
                             double probability, cls_value *mask, cls_value *out) {
    struct batch *batch;
    struct random *random;
    struct dropout dropout;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "dropout: out is null");
    cls_status status = batch_enter(handle, &batch);
    if (status)
        return status;
    status = check_dropout_of(batch, in, probability, &dropout);
    if (!status)
        status = random_get(random_handle, batch->context, &random);
    if (status)
        return batch_leave(batch, status);
    status = record_dropout(batch, random, &dropout, mask, out);
    if (status)
        object_release(&random->object);
    return batch_leave(batch, status);
}
