/* SPDX-License-Identifier: MIT */
#include "graph/place.h"

unsigned node_n_places(const struct node *node) {
    switch (node->command.type->capture) {
    case CAPTURE_LAUNCH:
    case CAPTURE_LIBRARY:
        return node->n_args;
    case CAPTURE_COPY:
    case CAPTURE_RECT:
    case CAPTURE_FILL:
    case CAPTURE_HOST_COPY:
    case CAPTURE_PEER:
    case CAPTURE_MIGRATE:
        return N_SIDES;
    default:
        return 0;
    }
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
        if (object->pool == &buffer_pool && buffer->memory == memory)
            return place_of(buffer);
    }
    return (struct place){NULL};
}

/* `rect` begins as `copy` does. */
static struct place copy_place(const struct command *command, unsigned side) {
    const cl_mem memory = side == SIDE_TO ? command->u.copy.to : command->u.copy.from;
    return memory ? place_of_memory(command, memory) : (struct place){.host = command->u.copy.host};
}

/* The memory that is read is not const: it may be bound in the place of memory that is written. */
static struct place host_copy_place(const struct command *command, unsigned side) {
    const struct host_copy_arguments *copy = &command->u.host_copy;
    return (struct place){.host = side == SIDE_TO ? copy->to : (void *)(uintptr_t)copy->from};
}

static struct place arg_place(const struct node_arg *arg) {
    return arg->buffer ? (struct place){.buffer = arg->buffer, .memory = arg->memory}
                       : (struct place){NULL};
}

struct place node_place(const struct node *node, unsigned i) {
    const struct command *command = &node->command;
    switch (command->type->capture) {
    case CAPTURE_LAUNCH:
    case CAPTURE_LIBRARY:
        return arg_place(&node->args[i]);
    case CAPTURE_COPY:
    case CAPTURE_RECT:
        return copy_place(command, i);
    case CAPTURE_HOST_COPY:
        return host_copy_place(command, i);
    case CAPTURE_PEER:
        return place_of(i == SIDE_TO ? command->u.peer.to : command->u.peer.from);
    case CAPTURE_FILL:
        return place_of_memory(command, i == SIDE_TO ? command->u.fill.to : NULL);
    case CAPTURE_MIGRATE:
        return place_of_memory(command, i == SIDE_TO ? *command->u.migrate.memory : NULL);
    default:
        return (struct place){NULL};
    }
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

void command_set_place(struct command *command, unsigned i, const struct place *place) {
    if (command->type->capture == CAPTURE_LIBRARY && place->buffer)
        *command->u.library.of->memory(command->u.library.arguments, i) = place->memory;
    else if (place->buffer)
        set_side(command, i, place->buffer);
    else if (place->host)
        set_host(command, i, place->host);
}

void node_set_place(struct node *node, unsigned i, const struct place *place) {
    if (node->n_args) {
        node->args[i].buffer = place->buffer;
        node->args[i].memory = place->memory;
    }
    if (node->command.type->capture != CAPTURE_LAUNCH)
        command_set_place(&node->command, i, place);
}
