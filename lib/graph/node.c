/* SPDX-License-Identifier: MIT */
#include "graph/node.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "driver/kernel.h"

/* --- arguments --- */

/* The buffer of a handle that was checked, among what the command keeps. */
static struct buffer *kept_buffer(const struct command *command, cls_buffer handle) {
    const struct refs *refs = &command->refs;
    for (unsigned i = 0; i < refs->count + refs->more_count; i++) {
        struct object *object = refs_at(refs, i);
        if (object_is_buffer(object) && object_is_at(object, handle))
            return (struct buffer *)(void *)object;
    }
    return NULL;
}

/* The kernel gets a part of its own, since the command's belongs to nobody in particular. */
static cls_status copy_part(struct command *command, struct node_arg *arg) {
    struct buffer_part *part;
    if (!buffer_part_is_aligned(arg->buffer, arg->offset))
        return CLS_SUCCESS; /* it is passed by its address */
    cls_status status = buffer_part_new(arg->buffer, arg->offset, arg->size, &part);
    if (status)
        return status;
    status = command_keep(command, &part->object);
    if (status)
        object_release(&part->object);
    else
        arg->memory = part->memory;
    return status;
}

/* Copies a value behind those before it. */
static void copy_value(struct graph_node *node, struct node_arg *to, const void *value) {
    memcpy(node->values + node->values_bytes, value, to->size);
    to->value = node->values_bytes;
    node->values_bytes += to->size;
}

/* A sampler is a value to the driver; the launch that was captured has made it. */
static cls_status copy_sampler(struct graph_node *node, struct node_arg *to,
                               const struct command *command, const cls_arg *arg) {
    cl_sampler sampler;
    cls_status status = image_sampler(command->u.launch.kernel->context, arg, &sampler);
    if (status)
        return status;
    *to = (struct node_arg){.kind = CLS_ARG_VALUE, .size = sizeof sampler};
    copy_value(node, to, &sampler);
    return CLS_SUCCESS;
}

/* What the race checker and listings are told of a buffer. */
static void copy_accesses(struct node_arg *to, const struct command *command, const cls_arg *from,
                          bool writable) {
    to->possible = from->access == CLS_ACCESS_UNKNOWN;
    to->writes = to->possible ? writable : from->access != CLS_ACCESS_READ;
    to->whole = from->kind == CLS_ARG_ADDRESS || arg_uses_all(from) ||
                (to->possible && from->kind != CLS_ARG_BUFFER_PART);
    to->offset = to->possible && from->kind == CLS_ARG_BUFFER ? 0 : from->u.part.offset;
    to->span = byte_span_1d(to->offset, to->size);
    to->buffer = from->u.buffer ? kept_buffer(command, from->u.buffer) : NULL;
    to->memory = to->buffer ? to->buffer->memory : NULL;
}

static cls_status copy_user_arg(struct node_arg *to, struct command *command, unsigned i,
                                const cls_arg *from, const struct device *device,
                                struct graph_node *node) {
    if (from->kind == CLS_ARG_SAMPLER)
        return copy_sampler(node, to, command, from);
    *to = (struct node_arg){.kind = from->kind, .size = from->size};
    if (from->kind == CLS_ARG_VALUE)
        copy_value(node, to, from->size > sizeof from->u.bytes ? from->u.pointer : from->u.bytes);
    if (arg_names_memory(from->kind))
        copy_accesses(to, command, from,
                      !kernel_parameter_is_const(device, command->u.launch.instance, i));
    return from->kind == CLS_ARG_BUFFER_PART ? copy_part(command, to) : CLS_SUCCESS;
}

static void copy_reached(struct node_arg *to, const struct command *command, const cls_arg *from) {
    *to = (struct node_arg){.kind = from->kind, .size = from->size};
    copy_accesses(to, command, from, true);
}

static void copy_op_arg(struct node_arg *to, const struct op_arg *from, struct graph_node *node) {
    static const cls_arg_kind kinds[] = {[OP_ARG_BUFFER] = CLS_ARG_BUFFER,
                                         [OP_ARG_VALUE] = CLS_ARG_VALUE,
                                         [OP_ARG_LOCAL] = CLS_ARG_LOCAL};
    *to = (struct node_arg){.kind = kinds[from->kind], .size = from->size};
    if (from->kind == OP_ARG_VALUE)
        copy_value(node, to, from->u.bytes);
    if (from->kind != OP_ARG_BUFFER)
        return;
    to->writes = from->writes;
    to->buffer = from->u.part.buffer;
    to->memory = to->buffer->memory;
    to->offset = from->u.part.offset;
    to->span =
        from->u.part.span ? *from->u.part.span : byte_span_1d(from->u.part.offset, from->size);
}

static size_t bytes_of_values(const struct launch_args *args) {
    size_t bytes = 0;
    for (unsigned i = 0; i < args->count; i++) {
        const bool is_value = args->args ? args->args[i].kind == CLS_ARG_VALUE
                                         : args->op_args[i].kind == OP_ARG_VALUE;
        if (args->args && args->args[i].kind == CLS_ARG_SAMPLER)
            bytes += sizeof(cl_sampler);
        if (is_value)
            bytes += args->args ? args->args[i].size : args->op_args[i].size;
    }
    return bytes;
}

static cls_status copy_user_args(struct graph_node *node, struct command *command,
                                 const struct launch_args *args, const struct device *device) {
    if (!args || !(args->count + args->n_reaches))
        return CLS_SUCCESS;
    node->args = calloc((size_t)args->count + args->n_reaches, sizeof *node->args);
    node->values = malloc(bytes_of_values(args) + 1);
    if (!node->args || !node->values)
        return error_no_memory("for a node of a graph");
    cls_status status = CLS_SUCCESS;
    node->n_args = args->count + args->n_reaches;
    node->n_reached = args->n_reaches;
    for (unsigned i = 0; i < args->n_reaches; i++)
        copy_reached(&node->args[args->count + i], command, &args->reaches[i]);
    for (unsigned i = 0; i < args->count && !status; i++)
        if (args->args)
            status = copy_user_arg(&node->args[i], command, i, &args->args[i], device, node);
        else
            copy_op_arg(&node->args[i], &args->op_args[i], node);
    return status;
}

/* --- nodes --- */

static void free_arrays(struct graph_node *node) {
    free(node->args);
    free(node->values);
    free(node->deps);
    free(node->ranges);
    free(node->step);
    *node = (struct graph_node){.n_args = 0};
}

/* What the call computes. */
static cls_status copy_step(struct graph_node *node, const struct op_call *call) {
    struct chain_step *step = calloc(1, sizeof *step);
    if (!step)
        return error_no_memory("for a node of a graph");
    step->row = call->row;
    step->n_views = call->n_views;
    memcpy(step->views, call->views, call->n_views * sizeof *call->views);
    step->has_parameter = call->parameter;
    if (call->parameter)
        memcpy(step->parameter.bytes, call->parameter, sizeof step->parameter.bytes);
    node->step = step;
    return CLS_SUCCESS;
}

cls_status node_from_command(struct graph_node *node, struct stream *stream,
                             struct command *command, const struct launch_args *args) {
    *node = (struct graph_node){.n_args = 0};
    cls_status status = command->type->own ? command->type->own(stream, command) : CLS_SUCCESS;
    if (!status)
        status = copy_user_args(node, command, args, stream->context->device);
    if (!status && args && args->call)
        status = copy_step(node, args->call);
    if (status) {
        free_arrays(node);
        return status;
    }
    node->command = *command;
    if (command->type->capture == CAPTURE_LAUNCH) {
        kernel_give_instance(command->u.launch.kernel, command->u.launch.instance);
        node->command.u.launch.instance = NULL;
    }
    if (command->type->capture == CAPTURE_LIBRARY)
        node->command.type = &type_library_inline; /* graphs have in-order queues */
    return CLS_SUCCESS;
}

cls_status node_set_deps(struct graph_node *node, const unsigned *deps, unsigned count) {
    node->n_deps = count;
    if (!count)
        return CLS_SUCCESS;
    node->deps = malloc(count * sizeof *deps);
    if (!node->deps)
        return error_no_memory("for a node of a graph");
    memcpy(node->deps, deps, count * sizeof *deps);
    return CLS_SUCCESS;
}

void node_drop(struct graph_node *node) {
    if (!node_is_empty(node))
        command_drop(&node->command);
    free_arrays(node);
}

/* --- copies --- */

static cls_status copy_refs(struct refs *to, const struct refs *from) {
    cls_status status = CLS_SUCCESS;
    to->count = to->more_count = 0;
    for (unsigned i = 0; i < from->count + from->more_count && !status; i++) {
        struct object *object = refs_at(from, i);
        object_retain(object);
        status = refs_keep(to, object);
        if (status)
            object_release(object);
    }
    return status;
}

static void *copy_bytes(const void *from, size_t bytes) {
    void *to = malloc(bytes + 1);
    if (to && bytes)
        memcpy(to, from, bytes);
    return to;
}

static cls_status copy_args(struct graph_node *to, const struct graph_node *from) {
    to->args = copy_bytes(from->args, from->n_args * sizeof *to->args);
    to->values = copy_bytes(from->values, from->values_bytes);
    if (!to->args || !to->values)
        return error_no_memory("for a node of a graph");
    to->n_args = from->n_args;
    to->n_reached = from->n_reached;
    to->values_bytes = from->values_bytes;
    return CLS_SUCCESS;
}

/* A library's call has its arguments in memory of its own. */
static cls_status copy_arguments(struct graph_node *to, const struct graph_node *from) {
    if (!node_is_library_call(from))
        return CLS_SUCCESS;
    to->command.u.library.arguments =
        copy_bytes(from->command.u.library.arguments, from->command.u.library.bytes);
    return to->command.u.library.arguments ? CLS_SUCCESS : error_no_memory("for a node of a graph");
}

cls_status node_copy(struct graph_node *to, const struct graph_node *from) {
    *to = (struct graph_node){.command = from->command};
    if (node_is_library_call(from))
        to->command.u.library.arguments = NULL;
    cls_status status = copy_refs(&to->command.refs, &from->command.refs);
    if (!status)
        status = copy_args(to, from);
    if (!status)
        status = copy_arguments(to, from);
    if (!status)
        status = node_set_deps(to, from->deps, from->n_deps);
    if (!status)
        status = node_ranges_join(NULL, from->ranges, &to->ranges);
    if (status)
        node_drop(to);
    return status;
}

cls_status node_keep(struct graph_node *node, struct object *object) {
    object_retain(object);
    cls_status status = refs_keep(&node->command.refs, object);
    if (status)
        object_release(object);
    return status;
}

cls_status node_copy_whole(struct graph_node *to, const struct graph_node *from) {
    cls_status status = node_copy(to, from);
    if (status || !from->step)
        return status;
    to->step = copy_bytes(from->step, sizeof *from->step);
    if (to->step)
        return CLS_SUCCESS;
    node_drop(to);
    return error_no_memory("for a node of a graph");
}

static bool replace_args(struct graph_node *node, const struct buffer *buffer, cl_mem memory) {
    bool found = false;
    for (unsigned i = 0; i < node->n_args; i++) {
        struct node_arg *arg = &node->args[i];
        found = found || arg->buffer == buffer;
        if (arg->buffer == buffer && arg->memory == buffer->memory)
            arg->memory = memory;
    }
    return found;
}

static bool replace_side(cl_mem *side, const struct buffer *buffer, cl_mem memory) {
    const bool found = *side == buffer->memory;
    if (found)
        *side = memory;
    return found;
}

bool node_replace_memory(struct graph_node *node, const struct buffer *buffer, cl_mem memory) {
    struct command *command = &node->command;
    struct copy_arguments *copy = &command->u.copy; /* `rect` begins as it does */
    bool to;
    switch (command->type->capture) {
    case CAPTURE_LAUNCH:
    case CAPTURE_LIBRARY:
        return replace_args(node, buffer, memory);
    case CAPTURE_COPY:
    case CAPTURE_RECT:
    case CAPTURE_IMAGE:
        to = replace_side(&copy->to, buffer, memory);
        return replace_side(&copy->from, buffer, memory) || to;
    case CAPTURE_FILL:
        return replace_side(&command->u.fill.to, buffer, memory);
    case CAPTURE_PEER:
        return command->u.peer.to == buffer || command->u.peer.from == buffer;
    case CAPTURE_REFUSED:
    case CAPTURE_HOST_COPY:
    case CAPTURE_MIGRATE:
    case CAPTURE_CODE:
        break;
    }
    return false;
}

/* --- what a node touches --- */

static void touch_arg(struct touches *touches, const struct device *device,
                      const struct node_arg *arg) {
    if (!arg->buffer)
        return;
    if (arg->whole)
        touches_add_whole(touches, device, arg->buffer->memory, arg->writes, arg->possible);
    else
        touches_add_buffer(touches, device, arg->buffer->memory, &arg->span, arg->writes,
                           arg->possible);
}

void node_touch(struct touches *touches, const struct device *device,
                const struct graph_node *node) {
    for (unsigned i = 0; i < node->n_args; i++)
        touch_arg(touches, device, &node->args[i]);
    if (!node->n_args && node->command.type->touch)
        node->command.type->touch(touches, device, &node->command, NULL);
}
