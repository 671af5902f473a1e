/* SPDX-License-Identifier: MIT */
/*
 * A view's value is the newest one that a step has written there, or else what is in memory before. Steps whose values
 * nobody needs, because later ones write the same view, are left out.
 */
#include "batch/chain.h"

#include <stdlib.h>

#include "base/error.h"
#include "batch/batch.h"
#include "batch/internals.h"

/* A view and its newest value. */
struct known {
    const struct op_view *view;
    uint32_t node;
    bool stored; /* it is written, and not forgotten */
};

struct chain {
    struct batch *batch;
    const struct chain_step *const *steps;
    unsigned n_steps;
    struct known *known; /* room for all views of all steps */
    unsigned n_known;
    bool *needed; /* of each step */
};

static const struct op_view *output_of(const struct chain_step *step) {
    return &step->views[step->n_views - 1];
}

static struct known *find(struct chain *chain, const struct op_view *view) {
    for (unsigned i = 0; i < chain->n_known; i++)
        if (chain_same_view(chain->known[i].view, view))
            return &chain->known[i];
    return NULL;
}

/* ---- which steps are needed */

static bool reads(const struct chain_step *step, const struct op_view *view) {
    for (unsigned i = 0; i + 1 < step->n_views; i++)
        if (chain_same_view(&step->views[i], view))
            return true;
    return false;
}

/* Whether what step `i` writes is read by a needed one before it is written again, or is left in memory. */
static bool is_needed(const struct chain *chain, unsigned i) {
    const struct op_view *out = output_of(chain->steps[i]);
    for (unsigned k = i + 1; k < chain->n_steps; k++) {
        if (chain->needed[k] && reads(chain->steps[k], out))
            return true;
        if (chain_same_view(output_of(chain->steps[k]), out))
            return false;
    }
    return !chain->steps[i]->forgotten;
}

/* ---- nodes */

static cls_status add_input(struct chain *chain, const struct op_view *view, uint32_t *out) {
    struct buffer *buffer = view->buffer;
    const struct batch_node node = {
        .kind = NODE_ARRAY,
        .dtype = view->dtype,
        .count = view->count,
        .place = {buffer, view->offset, object_generation(&buffer->object)}};
    cls_status status = batch_add(chain->batch, &node, out);
    if (status)
        return status;
    object_retain(&buffer->object);
    chain->known[chain->n_known++] = (struct known){view, *out, false};
    return CLS_SUCCESS;
}

static cls_status add_parameter(struct chain *chain, const struct chain_step *step, uint32_t *out) {
    const struct batch_node node = {.kind = NODE_CONSTANT,
                                    .dtype = step->views[0].dtype,
                                    .count = 1,
                                    .scalar = true,
                                    .hidden = true,
                                    .element = step->parameter};
    return batch_add(chain->batch, &node, out);
}

static cls_status add_inputs(struct chain *chain, const struct chain_step *step,
                             struct batch_node *node) {
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i + 1 < step->n_views && !status; i++) {
        const struct known *known = find(chain, &step->views[i]);
        if (known)
            node->inputs[i] = known->node;
        else
            status = add_input(chain, &step->views[i], &node->inputs[i]);
    }
    node->n_inputs = step->n_views - 1;
    if (!status && step->has_parameter)
        status = add_parameter(chain, step, &node->inputs[node->n_inputs++]);
    return status;
}

static cls_status add_step(struct chain *chain, const struct chain_step *step) {
    const struct op_view *out = output_of(step);
    struct batch_node node = {
        .kind = NODE_MAP, .row = step->row, .dtype = out->dtype, .count = out->count};
    uint32_t index;
    cls_status status = add_inputs(chain, step, &node);
    if (!status)
        status = batch_add(chain->batch, &node, &index);
    if (status)
        return status;
    struct known *known = find(chain, out);
    known = known ? known : &chain->known[chain->n_known++];
    *known = (struct known){out, index, !step->forgotten};
    return CLS_SUCCESS;
}

/* What is left in memory at the end. */
static void store(struct chain *chain, const struct known *known) {
    struct buffer *buffer = known->view->buffer;
    struct batch_node *node = &chain->batch->nodes[known->node];
    object_retain(&buffer->object);
    node->place =
        (struct array_place){buffer, known->view->offset, object_generation(&buffer->object)};
    node->stored = true;
}

static cls_status add_all(struct chain *chain) {
    cls_status status = CLS_SUCCESS;
    for (unsigned i = chain->n_steps; i-- > 0;)
        chain->needed[i] = is_needed(chain, i);
    for (unsigned i = 0; i < chain->n_steps && !status; i++)
        if (chain->needed[i])
            status = add_step(chain, chain->steps[i]);
    for (unsigned i = 0; i < chain->n_known && !status; i++)
        if (chain->known[i].stored)
            store(chain, &chain->known[i]);
    return status;
}

static cls_status fill(struct chain *chain) {
    chain->known = calloc((size_t)chain->n_steps * OP_MAX_VIEWS, sizeof *chain->known);
    chain->needed = calloc(chain->n_steps, sizeof *chain->needed);
    cls_status status =
        chain->known && chain->needed ? add_all(chain) : error_no_memory("to fuse operations");
    free(chain->known);
    free(chain->needed);
    return status;
}

cls_status batch_of_chain(struct context *context, const struct chain_step *const *steps,
                          unsigned n_steps, cls_batch *out) {
    struct chain chain = {.steps = steps, .n_steps = n_steps};
    cls_batch handle;
    cls_status status = cls_batch_create(object_handle(&context->object), NULL, &handle);
    if (status)
        return status;
    status = batch_enter(handle, &chain.batch);
    if (!status)
        status = batch_leave(chain.batch, fill(&chain));
    if (status)
        cls_batch_destroy(handle);
    else
        *out = handle;
    return status;
}
