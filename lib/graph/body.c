/* SPDX-License-Identifier: MIT */
#include "graph/body.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

/* --- slots --- */

struct graph_slot *graph_body_slot(const struct graph_body *body, cls_buffer name) {
    for (unsigned i = 0; i < body->n_slots && name; i++)
        if (body->slots[i].name == name)
            return &body->slots[i];
    return NULL;
}

struct host_slot *graph_body_host(const struct graph_body *body, const void *name) {
    for (unsigned i = 0; i < body->n_hosts; i++)
        if (body->hosts[i].name == name)
            return &body->hosts[i];
    return NULL;
}

/* NULL without memory. */
static struct graph_slot *unused_slot(struct graph_body *body) {
    for (unsigned i = 0; i < body->n_slots && body->n_free; i++)
        if (!body->slots[i].name) {
            body->n_free--;
            return &body->slots[i];
        }
    return ARRAY_ROOM(body->slots, body->n_slots, body->slots_room, 16)
               ? &body->slots[body->n_slots++]
               : NULL;
}

/* The slot of a buffer, perhaps one without places yet; NO_SLOT without memory. */
static unsigned need_slot(struct graph_body *body, struct buffer *buffer) {
    const struct image *image = image_of(buffer);
    const cls_buffer name = object_handle(&buffer->object);
    struct graph_slot *slot = graph_body_slot(body, name);
    if (!slot) {
        slot = unused_slot(body);
        if (!slot)
            return NO_SLOT;
        *slot = (struct graph_slot){.name = name,
                                    .bytes = buffer->bytes,
                                    .shape = image ? image->shape : (cls_image_shape){.kind = 0},
                                    .is_private = buffer->is_private,
                                    .first = NO_USE};
    }
    return (unsigned)(slot - body->slots);
}

static unsigned need_host(struct graph_body *body, const void *name) {
    const struct host_slot *host = graph_body_host(body, name);
    if (host)
        return (unsigned)(host - body->hosts);
    if (!ARRAY_ROOM(body->hosts, body->n_hosts, body->hosts_room, 8))
        return NO_SLOT;
    body->hosts[body->n_hosts] = (struct host_slot){.name = name, .first = NO_USE};
    return body->n_hosts++;
}

static void parts_free(struct buffer_part **parts, unsigned count) {
    for (unsigned i = 0; i < count && parts; i++)
        if (parts[i])
            object_release(&parts[i]->object);
    free(parts);
}

static void unbind(struct graph_slot *slot) {
    parts_free(slot->parts, slot->n_parts);
    if (slot->bound)
        buffer_put(slot->bound);
    slot->parts = NULL;
    slot->n_parts = 0;
    slot->bound = NULL;
}

/* Those of buffers that no node uses are free. */
static void free_unused_slots(struct graph_body *body) {
    for (unsigned i = 0; i < body->n_slots; i++) {
        struct graph_slot *slot = &body->slots[i];
        if (!slot->name || slot->first != NO_USE)
            continue;
        unbind(slot);
        slot->name = NULL;
        body->n_free++;
    }
}

/* --- places --- */

static unsigned *first_of(struct graph_body *body, const struct slot_use *use) {
    const bool is_host = !body->places[use - body->uses].buffer;
    return is_host ? &body->hosts[use->slot].first : &body->slots[use->slot].first;
}

/* Sets a place of node `node`, which is in no list, and puts it into that of its slot. */
static void link_place(struct graph_body *body, unsigned at, unsigned node, unsigned slot,
                       const struct place *place) {
    struct slot_use *use = &body->uses[at];
    body->places[at] = *place;
    *use = (struct slot_use){.node = node, .slot = slot, .next = NO_USE, .previous = NO_USE};
    if (slot == NO_SLOT)
        return;
    unsigned *first = first_of(body, use);
    use->next = *first;
    if (*first != NO_USE)
        body->uses[*first].previous = at;
    *first = at;
}

static void unlink_place(struct graph_body *body, unsigned at) {
    const struct slot_use *use = &body->uses[at];
    if (use->slot == NO_SLOT)
        return;
    if (use->next != NO_USE)
        body->uses[use->next].previous = use->previous;
    if (use->previous != NO_USE)
        body->uses[use->previous].next = use->next;
    else
        *first_of(body, use) = use->next;
}

static cls_status add_place(struct graph_body *body, unsigned node, unsigned at,
                            const struct place *place) {
    unsigned slot = NO_SLOT;
    if (place->buffer)
        slot = need_slot(body, place->buffer);
    else if (place->host)
        slot = need_host(body, place->host);
    if (slot == NO_SLOT && place->host)
        return error_no_memory("for an executable graph");
    link_place(body, at, node, slot, place);
    return CLS_SUCCESS;
}

/* --- bodies --- */

static cls_status make_arrays(struct graph_body *body) {
    const struct exec_plan *plan = body->plan;
    for (unsigned i = 0; i < plan->n_nodes; i++)
        body->n_places += node_n_places(&body->graph->nodes[plan->nodes[i].node]);
    body->nodes = calloc((size_t)plan->n_nodes + 1, sizeof *body->nodes);
    body->in_graph = calloc((size_t)plan->n_nodes + 1, sizeof *body->in_graph);
    body->places = calloc((size_t)body->n_places + 1, sizeof *body->places);
    body->uses = calloc((size_t)body->n_places + 1, sizeof *body->uses);
    return body->nodes && body->in_graph && body->places && body->uses
               ? CLS_SUCCESS
               : error_no_memory("for an executable graph");
}

static cls_status add_record(struct graph_body *body, unsigned i) {
    if (!ARRAY_ROOM(body->records, body->n_records, body->records_room, 4))
        return error_no_memory("for an executable graph");
    body->records[body->n_records++] = i;
    return CLS_SUCCESS;
}

static cls_status fill(struct graph_body *body) {
    unsigned at = 0;
    cls_status status = make_arrays(body);
    for (unsigned i = 0; i < body->plan->n_nodes && !status; i++) {
        const unsigned in_graph = body->plan->nodes[i].node;
        const struct graph_node *node = &body->graph->nodes[in_graph];
        body->in_graph[i] = in_graph;
        body->nodes[i] =
            (struct body_node){.node = node, .first = at, .n_places = node_n_places(node)};
        for (unsigned p = 0; p < node_n_places(node) && !status; p++) {
            const struct place place = node_place(node, p);
            status = add_place(body, i, at++, &place);
        }
        if (!status && command_is_record(&node->command))
            status = add_record(body, i);
    }
    return status;
}

cls_status graph_body_new(struct command_graph *graph, const struct exec_plan *plan,
                          struct graph_body **out) {
    struct graph_body *body = calloc(1, sizeof *body);
    if (!body)
        return error_no_memory("for an executable graph");
    atomic_init(&body->references, 1);
    object_retain(&graph->object);
    body->graph = graph;
    body->plan = plan;
    cls_status status = fill(body);
    if (status)
        graph_body_put(body);
    else
        *out = body;
    return status;
}

void graph_body_put(struct graph_body *body) {
    if (atomic_fetch_sub(&body->references, 1) > 1)
        return;
    for (unsigned i = 0; i < body->plan->n_nodes && body->nodes; i++)
        if (body->nodes[i].owner)
            object_release(&body->nodes[i].owner->object);
    for (unsigned i = 0; i < body->n_slots; i++)
        unbind(&body->slots[i]);
    if (body->arena)
        buffer_put(body->arena);
    object_release(&body->graph->object);
    if (body->captured)
        object_release(&body->captured->object);
    free(body->nodes);
    free(body->in_graph);
    free(body->places);
    free(body->uses);
    free(body->slots);
    free(body->hosts);
    free(body->records);
    free(body);
}

/* --- rebinding --- */

/* Where the place is an argument that is a sub-buffer of its buffer: that argument. */
static const struct node_arg *part_at(const struct graph_body *body, unsigned at) {
    const struct body_node *node = &body->nodes[body->uses[at].node];
    const struct node_arg *arg = node->node->n_args ? &node->node->args[at - node->first] : NULL;
    return arg && arg->kind == CLS_ARG_BUFFER_PART &&
                   buffer_part_is_aligned(arg->buffer, arg->offset)
               ? arg
               : NULL;
}

/* The parts of another buffer that the slot's places need, in their order. */
static cls_status make_parts(const struct graph_body *body, const struct graph_slot *slot,
                             const struct buffer *buffer, struct graph_slot *out) {
    unsigned n_parts = 0;
    for (unsigned at = slot->first; at != NO_USE; at = body->uses[at].next)
        n_parts += part_at(body, at) != NULL;
    if (!n_parts)
        return CLS_SUCCESS;
    out->parts = calloc(n_parts, sizeof(struct buffer_part *));
    if (!out->parts)
        return error_no_memory("for an executable graph");
    out->n_parts = n_parts;
    cls_status status = CLS_SUCCESS;
    unsigned made = 0;
    for (unsigned at = slot->first; at != NO_USE && !status; at = body->uses[at].next) {
        const struct node_arg *arg = part_at(body, at);
        if (arg)
            status = buffer_part_new(buffer, arg->offset, arg->size, &out->parts[made++]);
    }
    return status;
}

static bool is_address(const struct node_arg *arg) {
    return arg->kind == CLS_ARG_ADDRESS ||
           (arg->kind == CLS_ARG_BUFFER_PART && !buffer_part_is_aligned(arg->buffer, arg->offset));
}

enum slot_addresses graph_body_addresses(const struct graph_body *body,
                                         const struct graph_slot *slot) {
    enum slot_addresses found = SLOT_WITHOUT;
    for (unsigned at = slot->first; at != NO_USE; at = body->uses[at].next) {
        const struct body_node *node = &body->nodes[body->uses[at].node];
        const unsigned arg = at - node->first;
        if (node->node->n_reached && arg >= node_n_passed(node->node))
            return SLOT_IN_MEMORY;
        if (node->node->n_args && is_address(&node->node->args[arg]))
            found = SLOT_IN_ARGUMENTS;
    }
    return found;
}

cls_status graph_body_bind(struct graph_body *body, struct graph_slot *slot,
                           struct buffer *buffer) {
    struct graph_slot made = {.bound = NULL};
    unsigned n_parts = 0;
    cls_status status = make_parts(body, slot, buffer, &made);
    if (status) {
        unbind(&made);
        return status;
    }
    for (unsigned at = slot->first; at != NO_USE; at = body->uses[at].next) {
        struct buffer_part *part = part_at(body, at) ? made.parts[n_parts++] : NULL;
        body->places[at] = (struct place){
            .buffer = buffer, .part = part, .memory = part ? part->memory : buffer->memory};
    }
    object_retain(&buffer->object);
    unbind(slot);
    slot->bound = buffer;
    slot->parts = made.parts;
    slot->n_parts = made.n_parts;
    return CLS_SUCCESS;
}

void graph_body_unbind(struct graph_body *body, struct graph_slot *slot) {
    for (unsigned at = slot->first; at != NO_USE; at = body->uses[at].next) {
        const struct body_node *node = &body->nodes[body->uses[at].node];
        body->places[at] = node_place(node->node, at - node->first);
    }
    unbind(slot);
}

void graph_body_bind_host(struct graph_body *body, const struct host_slot *slot, void *host) {
    for (unsigned at = slot->first; at != NO_USE; at = body->uses[at].next)
        body->places[at].host = host;
}

/* The slots of the arguments of a launch; NO_SLOT: of those that are no buffers. */
static cls_status find_slots(struct graph_body *body, const struct graph_node *node,
                             unsigned *slots) {
    for (unsigned p = 0; p < node->n_args; p++) {
        const struct place place = node_place(node, p);
        slots[p] = place.buffer ? need_slot(body, place.buffer) : NO_SLOT;
        if (place.buffer && slots[p] == NO_SLOT)
            return error_no_memory("for an executable graph");
    }
    return CLS_SUCCESS;
}

/* Has room for the places of a launch in the place of node `i`: where that has fewer, behind those of all nodes. */
static cls_status make_place_room(struct graph_body *body, unsigned i, unsigned n_places) {
    struct body_node *node = &body->nodes[i];
    if (n_places <= node->n_places)
        return CLS_SUCCESS;
    const size_t total = (size_t)body->n_places + n_places;
    struct place *places = realloc(body->places, total * sizeof *places);
    if (places)
        body->places = places;
    struct slot_use *uses = realloc(body->uses, total * sizeof *uses);
    if (uses)
        body->uses = uses;
    return places && uses ? CLS_SUCCESS : error_no_memory("for an executable graph");
}

/* Takes the places of node `i` out of their lists, and moves them to the room that there is if they are too few. */
static void clear_places(struct graph_body *body, unsigned i, unsigned n_places) {
    struct body_node *node = &body->nodes[i];
    for (unsigned p = 0; p < node_n_places(node->node); p++)
        unlink_place(body, node->first + p);
    if (n_places <= node->n_places)
        return;
    node->first = body->n_places;
    node->n_places = n_places;
    body->n_places += n_places;
}

cls_status graph_body_replace(struct graph_body *body, unsigned i, struct command_graph *by) {
    struct body_node *to = &body->nodes[i];
    const struct graph_node *node = &by->nodes[0];
    unsigned *slots = malloc((node->n_args + 1) * sizeof *slots);
    cls_status status =
        slots ? find_slots(body, node, slots) : error_no_memory("for an executable graph");
    if (!status)
        status = make_place_room(body, i, node->n_args);
    if (!status)
        clear_places(body, i, node->n_args);
    for (unsigned p = 0; p < node->n_args && !status; p++) {
        const struct place place = node_place(node, p);
        link_place(body, to->first + p, i, slots[p], &place);
    }
    free(slots);
    free_unused_slots(body);
    if (status)
        return status;
    if (to->owner)
        object_release(&to->owner->object);
    object_retain(&by->object);
    to->owner = by;
    to->node = node;
    return CLS_SUCCESS;
}
