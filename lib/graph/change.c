/* SPDX-License-Identifier: MIT */
#include "graph/change.h"

#include <stdlib.h>

struct change *change_new(int kind) {
    struct change *change = calloc(1, sizeof *change);
    if (change)
        change->kind = kind;
    return change;
}

void change_free(struct change *change) {
    parts_free(change->parts, change->n_parts);
    if (change->buffer)
        buffer_put(change->buffer);
    if (change->has_node)
        node_drop(&change->node);
    if (change->body)
        graph_body_free(change->body);
    free(change->uses.items);
    free(change);
}

static cls_status bind_buffer(struct change *change, struct graph_body *body) {
    struct slot *slot = &body->slots[change->number];
    struct buffer *before = slot->current;
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < change->uses.count && !status; i++) {
        const struct use *use = &change->uses.items[i];
        const bool is_part = change->parts && change->parts[i];
        status = exec_node_bind(&body->nodes[use->node], use->arg, change->buffer,
                                is_part ? change->parts[i]->memory : change->buffer->memory);
    }
    if (status)
        return status;
    slot->current = change->buffer;
    change->buffer = before;
    struct buffer_part **parts = slot->parts;
    const unsigned n_parts = slot->n_parts;
    slot->parts = change->parts;
    slot->n_parts = change->n_parts;
    change->parts = parts;
    change->n_parts = n_parts;
    return CLS_SUCCESS;
}

static void bind_host(const struct change *change, struct graph_body *body) {
    for (unsigned i = 0; i < change->uses.count; i++)
        exec_node_bind_host(&body->nodes[change->uses.items[i].node], change->uses.items[i].arg,
                            change->host);
}

cls_status change_make(struct change *change, struct graph_body **body) {
    if (change->kind == CHANGE_BUFFER)
        return bind_buffer(change, *body);
    if (change->kind == CHANGE_HOST) {
        bind_host(change, *body);
    } else if (change->kind == CHANGE_NODE) {
        const struct node before = (*body)->nodes[change->number].node;
        (*body)->nodes[change->number].node = change->node;
        change->node = before;
    } else if (change->kind == CHANGE_ENABLED) {
        (*body)->nodes[change->number].disabled = change->disabled;
    } else {
        struct graph_body *before = *body;
        *body = change->body;
        change->body = before;
    }
    return CLS_SUCCESS;
}
