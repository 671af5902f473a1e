/* SPDX-License-Identifier: MIT */
#include "graph/body.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

static cls_status no_memory(void) {
    return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for an executable graph");
}

/* --- names --- */

struct slot *graph_body_slot(struct graph_body *body, cls_buffer name) {
    for (unsigned i = 0; i < body->n_slots; i++)
        if (body->slots[i].name == name)
            return &body->slots[i];
    return NULL;
}

struct host_slot *graph_body_host(struct graph_body *body, const void *name) {
    for (unsigned i = 0; i < body->n_hosts; i++)
        if (body->hosts[i].name == name)
            return &body->hosts[i];
    return NULL;
}

static struct slot *need_slot(struct graph_body *body, const struct buffer *buffer) {
    cls_buffer name = object_handle(&buffer->object);
    struct slot *slot = graph_body_slot(body, name);
    if (slot || !ARRAY_ROOM(body->slots, body->n_slots, body->slots_room, 16))
        return slot;
    body->slots[body->n_slots] =
        (struct slot){.name = name, .bytes = buffer->bytes, .is_private = buffer->is_private};
    return &body->slots[body->n_slots++];
}

static struct host_slot *need_host(struct graph_body *body, const void *name) {
    struct host_slot *host = graph_body_host(body, name);
    if (host || !ARRAY_ROOM(body->hosts, body->n_hosts, body->hosts_room, 8))
        return host;
    body->hosts[body->n_hosts] = (struct host_slot){.name = name};
    return &body->hosts[body->n_hosts++];
}

static cls_status add_use(struct uses *uses, const struct use *use) {
    if (!ARRAY_ROOM(uses->items, uses->count, uses->room, 2))
        return no_memory();
    uses->items[uses->count++] = *use;
    return CLS_SUCCESS;
}

/* --- what nodes use --- */

static cls_status note_use(struct graph_body *body, const struct use *use,
                           const struct buffer *buffer) {
    struct slot *slot = need_slot(body, buffer);
    return slot ? add_use(&slot->uses, use) : no_memory();
}

static cls_status note_buffer(struct graph_body *body, unsigned node, unsigned side,
                              const struct buffer *buffer) {
    return note_use(body, &(struct use){.node = node, .arg = side}, buffer);
}

static cls_status note_host(struct graph_body *body, unsigned node, unsigned side,
                            const void *host) {
    struct host_slot *slot = need_host(body, host);
    return slot ? add_use(&slot->uses, &(struct use){.node = node, .arg = side}) : no_memory();
}

/* The buffer of a copy, among what the command keeps; NULL: its memory is reached in another way. */
static const struct buffer *buffer_of(const struct command *command, cl_mem memory) {
    for (unsigned i = 0; i < command->refs.count; i++) {
        const struct object *object = command->refs.here[i];
        const struct buffer *buffer = (const struct buffer *)(const void *)object;
        if (object->pool == &buffer_pool && buffer->memory == memory)
            return buffer;
    }
    return NULL;
}

static cls_status note_side(struct graph_body *body, unsigned i, unsigned side,
                            const struct command *command, cl_mem memory) {
    const struct buffer *buffer = memory ? buffer_of(command, memory) : NULL;
    return buffer ? note_buffer(body, i, side, buffer) : CLS_SUCCESS;
}

static cls_status note_args(struct graph_body *body, unsigned i, const struct node *node) {
    cls_status status = CLS_SUCCESS;
    for (unsigned a = 0; a < node->n_args && !status; a++) {
        const struct node_arg *arg = &node->args[a];
        const bool is_part = arg->kind == CLS_ARG_BUFFER_PART;
        const struct use use = {i, a, is_part ? arg->offset : 0, is_part ? arg->size : 0};
        if (arg->buffer)
            status = note_use(body, &use, arg->buffer);
    }
    return status;
}

/* `rect` begins as `copy` does. */
static cls_status note_copy(struct graph_body *body, unsigned i, const struct command *command) {
    cls_status status = note_side(body, i, SIDE_TO, command, command->u.copy.to);
    if (!status)
        status = note_side(body, i, SIDE_FROM, command, command->u.copy.from);
    if (!status && command->u.copy.host)
        status = note_host(body, i, command->u.copy.to ? SIDE_FROM : SIDE_TO, command->u.copy.host);
    return status;
}

static cls_status note_host_copy(struct graph_body *body, unsigned i,
                                 const struct command *command) {
    cls_status status = note_host(body, i, SIDE_TO, command->u.host_copy.to);
    return status ? status : note_host(body, i, SIDE_FROM, command->u.host_copy.from);
}

static cls_status note_peer(struct graph_body *body, unsigned i, const struct command *command) {
    cls_status status = note_buffer(body, i, SIDE_TO, command->u.peer.to);
    return status ? status : note_buffer(body, i, SIDE_FROM, command->u.peer.from);
}

cls_status graph_body_note_uses(struct graph_body *body, unsigned i, const struct node *node) {
    const struct command *command = &node->command;
    switch (command->type->capture) {
    case CAPTURE_LAUNCH:
    case CAPTURE_LIBRARY:
        return note_args(body, i, node);
    case CAPTURE_COPY:
    case CAPTURE_RECT:
        return note_copy(body, i, command);
    case CAPTURE_FILL:
        return note_side(body, i, SIDE_TO, command, command->u.fill.to);
    case CAPTURE_HOST_COPY:
        return note_host_copy(body, i, command);
    case CAPTURE_PEER:
        return note_peer(body, i, command);
    case CAPTURE_MIGRATE:
        return note_side(body, i, SIDE_TO, command, *command->u.migrate.memory);
    default:
        return CLS_SUCCESS;
    }
}

static void forget(struct uses *uses, unsigned node) {
    unsigned kept = 0;
    for (unsigned i = 0; i < uses->count; i++)
        if (uses->items[i].node != node)
            uses->items[kept++] = uses->items[i];
    uses->count = kept;
}

void graph_body_forget_uses(struct graph_body *body, unsigned i) {
    for (unsigned s = 0; s < body->n_slots; s++)
        forget(&body->slots[s].uses, i);
    for (unsigned s = 0; s < body->n_hosts; s++)
        forget(&body->hosts[s].uses, i);
}

/* --- records of events --- */

static cls_status add_record(struct graph_body *body, unsigned i) {
    if (!ARRAY_ROOM(body->records, body->n_records, body->records_room, 4))
        return no_memory();
    body->records[body->n_records++] = (struct body_record){i, true};
    return CLS_SUCCESS;
}

void graph_body_enable_record(struct graph_body *body, unsigned i, bool enabled) {
    for (unsigned r = 0; r < body->n_records; r++)
        if (body->records[r].node == i)
            body->records[r].enabled = enabled;
}

/* --- bodies --- */

static cls_status fill(struct graph_body *body) {
    const struct exec_plan *plan = body->plan;
    cls_status status = CLS_SUCCESS;
    body->nodes = calloc((size_t)plan->n_nodes + 1, sizeof *body->nodes);
    body->places = calloc((size_t)plan->n_nodes + 1, sizeof *body->places);
    if (!body->nodes || !body->places)
        return no_memory();
    for (unsigned i = 0; i < plan->n_nodes && !status; i++) {
        struct exec_node *node = &body->nodes[i];
        body->places[i] = plan->nodes[i].node;
        status = node_copy(&node->node, &body->graph->nodes[plan->nodes[i].node]);
        if (status)
            break;
        node->has_args = node->node.command.type->capture == CAPTURE_LAUNCH ||
                         node->node.command.type->capture == CAPTURE_LIBRARY;
        status = graph_body_note_uses(body, i, &node->node);
        if (!status && node_is_record(&node->node))
            status = add_record(body, i);
    }
    return status;
}

cls_status graph_body_new(struct command_graph *graph, const struct exec_plan *plan,
                          struct graph_body **out) {
    struct graph_body *body = calloc(1, sizeof *body);
    if (!body)
        return no_memory();
    object_retain(&graph->object);
    body->graph = graph;
    body->plan = plan;
    cls_status status = fill(body);
    if (status)
        graph_body_free(body);
    else
        *out = body;
    return status;
}

void parts_free(struct buffer_part **parts, unsigned count) {
    for (unsigned i = 0; parts && i < count; i++)
        if (parts[i])
            object_release(&parts[i]->object);
    free(parts);
}

void graph_body_free(struct graph_body *body) {
    for (unsigned i = 0; i < body->plan->n_nodes && body->nodes; i++)
        node_drop(&body->nodes[i].node);
    for (unsigned i = 0; i < body->n_slots; i++) {
        free(body->slots[i].uses.items);
        parts_free(body->slots[i].parts, body->slots[i].n_parts);
        if (body->slots[i].current)
            buffer_put(body->slots[i].current);
    }
    for (unsigned i = 0; i < body->n_hosts; i++)
        free(body->hosts[i].uses.items);
    if (body->arena)
        buffer_put(body->arena);
    object_release(&body->graph->object);
    if (body->captured)
        object_release(&body->captured->object);
    free(body->nodes);
    free(body->places);
    free(body->slots);
    free(body->hosts);
    free(body->records);
    free(body);
}

/* --- rebinding --- */

static void set_side(struct command *command, unsigned side, struct buffer *buffer) {
    switch (command->type->capture) {
    case CAPTURE_COPY:
    case CAPTURE_RECT:
        *(side == SIDE_TO ? &command->u.copy.to : &command->u.copy.from) = buffer->memory;
        break;
    case CAPTURE_FILL:
        command->u.fill.to = buffer->memory;
        break;
    case CAPTURE_PEER:
        *(side == SIDE_TO ? &command->u.peer.to : &command->u.peer.from) = buffer;
        break;
    case CAPTURE_MIGRATE:
        command->u.migrate.memory = &buffer->memory;
        break;
    default:
        break;
    }
}

cls_status exec_node_bind(struct exec_node *node, unsigned arg, struct buffer *buffer,
                          cl_mem memory) {
    if (node->has_args)
        return node_set_buffer(&node->node, arg, buffer, memory);
    set_side(&node->node.command, arg, buffer);
    return CLS_SUCCESS;
}

void exec_node_bind_host(struct exec_node *node, unsigned side, void *host) {
    struct command *command = &node->node.command;
    if (command->type->capture != CAPTURE_HOST_COPY)
        command->u.copy.host = host;
    else if (side == SIDE_TO)
        command->u.host_copy.to = host;
    else
        command->u.host_copy.from = host;
}
