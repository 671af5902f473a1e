/* SPDX-License-Identifier: MIT */
#include "graph/memory.h"

#include <limits.h>
#include <stdlib.h>

#include "base/error.h"
#include "driver/memory.h"

/* --- the end of a capture --- */

enum { PLACEHOLDER_BYTES = 8 };

/* Buffers of the capture whose handles are destroyed: one entry a reference. */
struct found {
    struct buffer **items;
    size_t count;
};

static struct buffer *buffer_of_capture(struct object *object, const void *capture) {
    struct buffer *buffer = (struct buffer *)(void *)object;
    const bool is = object->pool == &buffer_pool && buffer->capture == capture &&
                    !atomic_load(&buffer->is_exposed) && !object_is(object, object_handle(object));
    return is ? buffer : NULL;
}

static size_t count_refs(const struct graph_node *nodes, unsigned n_nodes) {
    size_t count = 0;
    for (unsigned i = 0; i < n_nodes; i++)
        count += nodes[i].command.refs.count + nodes[i].command.refs.more_count;
    return count;
}

static int by_address(const void *a, const void *b) {
    const uintptr_t x = (uintptr_t) * (struct buffer *const *)a,
                    y = (uintptr_t) * (struct buffer *const *)b;
    return (x > y) - (x < y);
}

static bool find_buffers(const void *capture, const struct graph_node *nodes, unsigned n_nodes,
                         struct found *found) {
    found->items = malloc((count_refs(nodes, n_nodes) + 1) * sizeof *found->items);
    for (unsigned i = 0; i < n_nodes && found->items; i++) {
        const struct refs *refs = &nodes[i].command.refs;
        for (unsigned r = 0; r < refs->count + refs->more_count; r++) {
            struct buffer *buffer = buffer_of_capture(refs_at(refs, r), capture);
            if (buffer)
                found->items[found->count++] = buffer;
        }
    }
    if (found->count)
        qsort(found->items, found->count, sizeof(struct buffer *), by_address);
    return found->items;
}

/* Whether every node that refers to the buffer can be rebound. */
static bool all_rebind(const struct buffer *buffer, struct graph_node *nodes, unsigned n_nodes) {
    for (unsigned i = 0; i < n_nodes; i++)
        if (refs_use(&nodes[i].command.refs, &buffer->object) &&
            !node_replace_memory(&nodes[i], buffer, buffer->memory))
            return false;
    return true;
}

/* The memory itself stays as long as a node has a part of it. */
static void make_private(struct buffer *buffer, struct graph_node *nodes, unsigned n_nodes) {
    const struct device *device = buffer->context->device;
    const cl_mem before = buffer->memory;
    struct detail held;
    cl_mem placeholder;
    error_save(&held);
    cls_status status = memory_create(device, buffer->context->cl, PLACEHOLDER_BYTES, &placeholder);
    error_restore(&held, CLS_SUCCESS);
    if (status)
        return;
    for (unsigned i = 0; i < n_nodes; i++)
        if (refs_use(&nodes[i].command.refs, &buffer->object))
            node_replace_memory(&nodes[i], buffer, placeholder);
    if (race_on())
        hooks.race.forget_memory(device, before);
    memory_release(device, before);
    context_count_memory(buffer->context, -(int64_t)buffer->counted);
    buffer->counted = 0;
    buffer->memory = placeholder;
    buffer->is_private = true;
}

static void mark_forgotten(struct graph_node *nodes, unsigned n_nodes) {
    for (unsigned i = 0; i < n_nodes; i++) {
        struct chain_step *step = nodes[i].step;
        if (step)
            step->forgotten = step->views[step->n_views - 1].buffer->is_private;
    }
}

void graph_memory_give_back(const void *capture, struct graph_node *nodes, unsigned n_nodes) {
    struct found found = {.count = 0};
    if (!find_buffers(capture, nodes, n_nodes, &found))
        return;
    for (size_t i = 0, end; i < found.count; i = end) {
        struct buffer *buffer = found.items[i];
        for (end = i + 1; end < found.count && found.items[end] == buffer;)
            end++;
        if (object_references(&buffer->object) == end - i && all_rebind(buffer, nodes, n_nodes))
            make_private(buffer, nodes, n_nodes);
    }
    free(found.items);
    mark_forgotten(nodes, n_nodes);
}

/* --- places in an arena --- */

/* A private buffer. `ends`: of each lane, the last node that uses it, counted from 1; `floors`: of each lane, how
 * many nodes come before all that use it. */
struct value {
    struct graph_slot *slot;
    unsigned ends[PLAN_LANES], floors[PLAN_LANES];
};

struct graph_layout {
    struct graph_body *body;
    struct value *values;
    struct arena_value *places;
    unsigned n_values;
    size_t unit; /* places are multiples of it */
    bool in_parts;
};

/* Whether it is of a private buffer that nodes use still. */
static bool has_places(const struct graph_slot *slot) {
    return slot->is_private && slot->first != NO_USE;
}

static unsigned count_private(const struct graph_body *body) {
    unsigned count = 0;
    for (unsigned s = 0; s < body->n_slots; s++)
        count += has_places(&body->slots[s]);
    return count;
}

static void note_use(struct value *value, const struct exec_plan *plan, unsigned node) {
    const unsigned lane = plan->nodes[node].lane;
    const struct plan_clock *clock = &plan->clocks[node];
    if (value->ends[lane] < clock->before[lane])
        value->ends[lane] = clock->before[lane];
    for (unsigned l = 0; l < PLAN_LANES; l++) {
        const unsigned before = clock->before[l] - (l == lane);
        if (value->floors[l] > before)
            value->floors[l] = before;
    }
}

static void add_value(struct graph_layout *layout, struct graph_slot *slot) {
    struct value *value = &layout->values[layout->n_values];
    struct arena_value *place = &layout->places[layout->n_values++];
    const struct slot_use *uses = layout->body->uses;
    value->slot = slot;
    for (unsigned l = 0; l < PLAN_LANES; l++)
        value->floors[l] = UINT_MAX;
    *place = (struct arena_value){.bytes = (slot->bytes + layout->unit - 1) / layout->unit *
                                           layout->unit,
                                  .first = uses[slot->first].node,
                                  .last = uses[slot->first].node};
    for (unsigned at = slot->first; at != NO_USE; at = uses[at].next) {
        if (uses[at].node < place->first)
            place->first = uses[at].node;
        if (uses[at].node > place->last)
            place->last = uses[at].node;
        note_use(value, layout->body->plan, uses[at].node);
    }
}

/* Whether all nodes that use `a` come before all that use `b`. */
static bool is_before(const struct value *a, const struct value *b) {
    for (unsigned l = 0; l < PLAN_LANES; l++)
        if (a->ends[l] > b->floors[l])
            return false;
    return true;
}

static bool apart(const void *context, unsigned a, unsigned b) {
    const struct graph_layout *layout = context;
    return !is_before(&layout->values[a], &layout->values[b]) &&
           !is_before(&layout->values[b], &layout->values[a]);
}

/* Whether the nodes take parts of a buffer, as pools give them, for their arguments and sides. */
static bool may_be_parts(const struct graph_body *body) {
    const struct caps *caps = body->graph->context->caps;
    bool rects = false;
    for (unsigned i = 0; i < body->plan->n_nodes; i++)
        rects = rects || body->nodes[i].node->command.type->capture == CAPTURE_RECT;
    return caps_trusts_parts(caps) && (!rects || caps_trusts(caps, TRUST_SUB_BUFFER_RECTANGLES));
}

static cls_status lay_out(struct graph_layout *layout) {
    struct graph_body *body = layout->body;
    for (unsigned s = 0; s < body->n_slots; s++)
        if (has_places(&body->slots[s]))
            add_value(layout, &body->slots[s]);
    body->arena_least = arena_least(layout->places, layout->n_values, body->plan->n_nodes);
    cls_status status = arena_place(layout->places, layout->n_values, body->arena_least, apart,
                                    layout, &body->arena_bytes);
    layout->in_parts = may_be_parts(body) &&
                       body->arena_bytes <= body->graph->context->device->info.max_allocation;
    if (status || layout->in_parts)
        return status;
    body->arena_bytes = 0;
    for (unsigned i = 0; i < layout->n_values; i++)
        body->arena_bytes += layout->places[i].bytes;
    return CLS_SUCCESS;
}

static cls_status new_part(const struct graph_body *body, size_t offset, size_t bytes,
                           struct buffer **out) {
    struct context *context = body->graph->context;
    cl_mem memory;
    cls_status status =
        memory_create_part(context->device, body->arena->memory, offset, bytes, &memory);
    if (status)
        return status;
    status = buffer_new_uncounted(context, memory, bytes, out);
    if (status)
        memory_release(context->device, memory);
    return status;
}

static cls_status new_counted(const struct graph_body *body, size_t bytes, struct buffer **out) {
    struct context *context = body->graph->context;
    cls_status status = buffer_allocate(context, bytes, out);
    if (status)
        return status;
    (*out)->is_graphs = true;
    context_count_graph_memory(context, bytes);
    return CLS_SUCCESS;
}

static cls_status bind_value(const struct graph_layout *layout, unsigned i) {
    struct graph_body *body = layout->body;
    struct graph_slot *slot = layout->values[i].slot;
    struct buffer *buffer;
    cls_status status = layout->in_parts
                            ? new_part(body, layout->places[i].offset, slot->bytes, &buffer)
                            : new_counted(body, slot->bytes, &buffer);
    if (status)
        return status;
    status = graph_body_bind(body, slot, buffer);
    buffer_put(buffer);
    return status;
}

static cls_status place_all(struct graph_layout *layout) {
    struct graph_body *body = layout->body;
    cls_status status = lay_out(layout);
    if (!status && layout->in_parts)
        status = new_counted(body, body->arena_bytes, &body->arena);
    for (unsigned i = 0; i < layout->n_values && !status; i++)
        status = bind_value(layout, i);
    return status;
}

static cls_status place(struct graph_body *body) {
    const size_t align = body->graph->context->device->info.base_align;
    const unsigned count = count_private(body);
    struct graph_layout layout = {.body = body,
                                  .unit = align > ARENA_ALIGNMENT ? align : ARENA_ALIGNMENT};
    if (!count)
        return CLS_SUCCESS;
    layout.values = calloc(count, sizeof *layout.values);
    layout.places = calloc(count, sizeof *layout.places);
    cls_status status = layout.values && layout.places
                            ? place_all(&layout)
                            : error_no_memory("for the memory of a graph");
    free(layout.values);
    free(layout.places);
    return status;
}

void graph_memory_give_up(struct graph_body *body) {
    for (unsigned s = 0; s < body->n_slots; s++)
        if (has_places(&body->slots[s]))
            graph_body_unbind(body, &body->slots[s]);
    if (body->arena)
        buffer_put(body->arena);
    body->arena = NULL;
    body->given_up = true;
}

cls_status graph_memory_restore(struct graph_body *body) {
    cls_status status = body->given_up ? place(body) : CLS_SUCCESS;
    if (status)
        graph_memory_give_up(body);
    else
        body->given_up = false;
    return status;
}

cls_status graph_memory_body(struct command_graph *graph, const struct exec_plan *plan,
                             struct graph_body **out) {
    struct graph_body *body;
    cls_status status = graph_body_new(graph, plan, &body);
    if (status)
        return status;
    status = place(body);
    if (status)
        graph_body_put(body);
    else
        *out = body;
    return status;
}
