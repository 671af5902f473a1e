/* SPDX-License-Identifier: MIT */
#include "graph/change.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

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

/* --- bindings --- */

static cls_status no_memory(void) {
    return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for a change of a graph");
}

static cls_status copy_uses(struct change *change, const struct uses *uses) {
    change->uses.items = malloc((uses->count + 1) * sizeof *uses->items);
    if (!change->uses.items)
        return no_memory();
    memcpy(change->uses.items, uses->items, uses->count * sizeof *uses->items);
    change->uses.count = uses->count;
    return CLS_SUCCESS;
}

static cls_status make_parts(struct change *change) {
    const struct uses *uses = &change->uses;
    cls_status status = CLS_SUCCESS;
    bool any = false;
    for (unsigned i = 0; i < uses->count; i++)
        any = any || uses->items[i].bytes;
    if (!any)
        return CLS_SUCCESS;
    change->parts = calloc(uses->count, sizeof(struct buffer_part *));
    change->n_parts = change->parts ? uses->count : 0;
    for (unsigned i = 0; i < change->n_parts && !status; i++)
        if (uses->items[i].bytes)
            status = buffer_part_new(change->buffer, uses->items[i].offset, uses->items[i].bytes,
                                     &change->parts[i]);
    return change->parts ? status : no_memory();
}

cls_status change_of_buffer(const struct graph_body *body, const struct slot *slot,
                            struct buffer *buffer, struct change **out) {
    struct change *change = change_new(CHANGE_BUFFER);
    if (!change)
        return no_memory();
    object_retain(&buffer->object);
    change->buffer = buffer;
    change->number = (unsigned)(slot - body->slots);
    cls_status status = copy_uses(change, &slot->uses);
    if (!status)
        status = make_parts(change);
    if (status)
        change_free(change);
    else
        *out = change;
    return status;
}

cls_status change_of_host(const struct host_slot *slot, void *host, struct change **out) {
    struct change *change = change_new(CHANGE_HOST);
    if (!change)
        return no_memory();
    change->host = host;
    cls_status status = copy_uses(change, &slot->uses);
    if (status)
        change_free(change);
    else
        *out = change;
    return status;
}

/* --- making changes --- */

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
