/* SPDX-License-Identifier: MIT */
#include "graph/place.h"

unsigned node_n_places(const struct graph_node *node) {
    switch (node->command.type->capture) {
    case CAPTURE_LAUNCH:
    case CAPTURE_LIBRARY:
        return node->n_args;
    case CAPTURE_COPY:
    case CAPTURE_RECT:
    case CAPTURE_IMAGE:
    case CAPTURE_FILL:
    case CAPTURE_HOST_COPY:
    case CAPTURE_PEER:
    case CAPTURE_MIGRATE:
        return N_SIDES;
    case CAPTURE_REFUSED:
    case CAPTURE_CODE:
        break;
    }
    return 0;
}

/* --- as captured --- */

static struct place place_of(struct buffer *buffer) {
    return (struct place){.buffer = buffer, .memory = buffer->memory};
}

/* The place of memory whose buffer is among what the command keeps. Other memory is reached in another way. */
static struct place place_of_memory(const struct command *command, cl_mem memory) {
    for (unsigned i = 0; i < command->refs.count && memory; i++) {
        struct object *object = command->refs.here[i];
        struct buffer *buffer = (struct buffer *)(void *)object;
        if (object_is_buffer(object) && buffer->memory == memory)
            return place_of(buffer);
    }
    return (struct place){0};
}

/* A side of a copy between cl_contexts whose buffer is shareable and of the other one, where its memory is another one. A
 * copy keeps its buffers in the order of its sides. */
static struct place place_of_shared(const struct command *command, unsigned side, cl_mem memory) {
    struct object *object = side < command->refs.count ? command->refs.here[side] : NULL;
    struct buffer *buffer = (struct buffer *)(void *)object;
    if (!object || object->pool != &buffer_pool || !buffer->share)
        return (struct place){0};
    return (struct place){.buffer = buffer, .memory = memory, .origin = buffer->origin};
}

static bool is_between_buffers(const struct command *command) {
    return command->u.copy.to && command->u.copy.from;
}

/* `rect` and `image` begin as `copy` does. */
static struct place copy_place(const struct command *command, unsigned side) {
    const cl_mem memory = side == SIDE_TO ? command->u.copy.to : command->u.copy.from;
    if (!memory)
        return (struct place){.host = command->u.copy.host};
    const struct place place = place_of_memory(command, memory);
    return place.buffer || !is_between_buffers(command) ? place
                                                        : place_of_shared(command, side, memory);
}

/* The memory that is read is not const: it may be bound in the place of memory that is written. */
static struct place host_copy_place(const struct command *command, unsigned side) {
    const struct host_copy_arguments *copy = &command->u.host_copy;
    return (struct place){.host = side == SIDE_TO ? copy->to : (void *)(uintptr_t)copy->from};
}

static struct place arg_place(const struct node_arg *arg) {
    return arg->buffer ? (struct place){.buffer = arg->buffer, .memory = arg->memory}
                       : (struct place){0};
}

struct place node_place(const struct graph_node *node, unsigned i) {
    const struct command *command = &node->command;
    switch (command->type->capture) {
    case CAPTURE_LAUNCH:
    case CAPTURE_LIBRARY:
        return arg_place(&node->args[i]);
    case CAPTURE_COPY:
    case CAPTURE_RECT:
    case CAPTURE_IMAGE:
        return copy_place(command, i);
    case CAPTURE_HOST_COPY:
        return host_copy_place(command, i);
    case CAPTURE_PEER:
        return place_of(i == SIDE_TO ? command->u.peer.to : command->u.peer.from);
    case CAPTURE_FILL:
        return place_of_memory(command, i == SIDE_TO ? command->u.fill.to : NULL);
    case CAPTURE_MIGRATE:
        return place_of_memory(command, i == SIDE_TO ? *command->u.migrate.memory : NULL);
    case CAPTURE_REFUSED:
    case CAPTURE_CODE:
        break;
    }
    return (struct place){0};
}

/* --- other memory --- */

static void set_host(struct command *command, unsigned side, void *host) {
    if (command->type->capture != CAPTURE_HOST_COPY)
        command->u.copy.host = host;
    else if (side == SIDE_TO)
        command->u.host_copy.to = host;
    else
        command->u.host_copy.from = host;
}

/* Where a side of a copy between buffers begins. */
static size_t *offset_of(struct command *command, unsigned side) {
    struct rect_3d *rect = &command->u.rect.rect;
    if (command->type->capture == CAPTURE_RECT)
        return side == SIDE_TO ? &rect->dst.offset : &rect->src.offset;
    return side == SIDE_TO ? &command->u.copy.to_offset : &command->u.copy.range.offset;
}

static void set_copy(struct command *command, const struct graph_node *node, unsigned side,
                     const struct place *place) {
    struct command *captured = (struct command *)(uintptr_t)&node->command; /* it is read */
    *(side == SIDE_TO ? &command->u.copy.to : &command->u.copy.from) = place->memory;
    if (captured->type->capture != CAPTURE_IMAGE && is_between_buffers(captured))
        *offset_of(command, side) =
            *offset_of(captured, side) - copy_place(captured, side).origin + place->origin;
}

static void set_side(struct command *command, const struct graph_node *node, unsigned side,
                     const struct place *place) {
    struct buffer *buffer = place->buffer;
    switch (command->type->capture) {
    case CAPTURE_COPY:
    case CAPTURE_RECT:
    case CAPTURE_IMAGE:
        set_copy(command, node, side, place);
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
    case CAPTURE_REFUSED:
    case CAPTURE_LAUNCH:
    case CAPTURE_HOST_COPY:
    case CAPTURE_CODE:
    case CAPTURE_LIBRARY:
        break;
    }
}

void command_set_place(struct command *command, const struct graph_node *node, unsigned i,
                       const struct place *place) {
    if (command->type->capture == CAPTURE_LIBRARY && place->buffer)
        *command->u.library.of->memory(command->u.library.arguments, i) = place->memory;
    else if (place->buffer)
        set_side(command, node, i, place);
    else if (place->host)
        set_host(command, i, place->host);
}

void node_set_place(struct graph_node *node, const struct graph_node *from, unsigned i,
                    const struct place *place) {
    if (node->n_args) {
        node->args[i].buffer = place->buffer;
        node->args[i].memory = place->memory;
    }
    if (node->command.type->capture != CAPTURE_LAUNCH)
        command_set_place(&node->command, from, i, place);
}
