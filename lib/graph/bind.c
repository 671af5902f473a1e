/* SPDX-License-Identifier: MIT */
/* Changes that the program asks for: other buffers, other host memory, other arguments, nodes left out, another graph. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "graph/difference.h"
#include "graph/exec.h"
#include "graph/record.h"

/* Looks up a graph, and keeps launches off; leave ends that. */
static cls_status enter(cls_graph_exec handle, struct graph_exec **out) {
    cls_status status = graph_exec_get(handle, out);
    if (!status)
        pthread_mutex_lock(&(*out)->launching);
    return status;
}

static cls_status leave(struct graph_exec *exec, cls_status status) {
    pthread_mutex_unlock(&exec->launching);
    object_release(&exec->object);
    return status;
}

/* --- buffers and images --- */

static cls_status check_slot(const struct graph_exec *exec, const struct graph_slot *slot,
                             const struct buffer *other, const char *what) {
    if (!slot)
        return error_set(CLS_ERROR_NOT_FOUND, "graph '%s' uses no such %s", exec->name, what);
    if (other->context != exec->context)
        return error_set(CLS_ERROR_WRONG_CONTEXT, "the %s and graph '%s' are of different contexts",
                         what, exec->name);
    return CLS_SUCCESS;
}

static cls_status check_buffer(const struct graph_exec *exec, const struct graph_slot *slot,
                               struct buffer *other) {
    cls_status status = check_slot(exec, slot, other, "buffer");
    if (status)
        return status;
    if (slot->shape.kind)
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "an image of graph '%s': cls_graph_bind_image changes it", exec->name);
    if (other->bytes < slot->bytes)
        return error_set(CLS_ERROR_OUT_OF_RANGE,
                         "graph '%s' uses a buffer of %zu bytes, and the other one has %zu",
                         exec->name, slot->bytes, other->bytes);
    return CLS_SUCCESS;
}

static bool is_same_shape(const cls_image_shape *a, const cls_image_shape *b) {
    return a->kind == b->kind && a->format.order == b->format.order &&
           a->format.type == b->format.type && a->access == b->access && a->width == b->width &&
           a->height == b->height && a->depth == b->depth;
}

static cls_status check_image(const struct graph_exec *exec, const struct graph_slot *slot,
                              struct buffer *other) {
    cls_status status = check_slot(exec, slot, other, "image");
    if (status)
        return status;
    if (!slot->shape.kind)
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "a buffer of graph '%s': cls_graph_bind changes it", exec->name);
    if (!is_same_shape(&slot->shape, &image_of(other)->shape))
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "graph '%s' uses an image of another kind, format, access or size",
                         exec->name);
    return CLS_SUCCESS;
}

/* Addresses that are in memory cannot be changed; those that are arguments can, where `other` has one. */
static cls_status check_addresses(const struct graph_exec *exec, const struct graph_slot *slot,
                                  struct buffer *other) {
    uint64_t address;
    const enum slot_addresses has = graph_body_addresses(exec->body, slot);
    if (has == SLOT_IN_MEMORY)
        return error_set(CLS_ERROR_UNSUPPORTED,
                         "a launch of graph '%s' reaches the buffer through an address in memory, "
                         "which stays that of the first one (cls_launch.reaches)",
                         exec->name);
    return has == SLOT_IN_ARGUMENTS ? buffer_address(other, &address) : CLS_SUCCESS;
}

/* `name` is an image's where `other` is one. */
static cls_status bind(struct graph_exec *exec, cls_buffer name, struct buffer *other) {
    struct graph_slot *slot = graph_body_slot(exec->body, name);
    cls_status status = (image_of(other) ? check_image : check_buffer)(exec, slot, other);
    if (!status)
        status = check_addresses(exec, slot, other);
    if (status)
        return status;
    graph_exec_changes(exec);
    return graph_body_bind(exec->body, slot, other);
}

/* Takes over the reference to `other`. */
static cls_status bind_memory(cls_graph_exec handle, cls_buffer name, struct buffer *other) {
    struct graph_exec *exec;
    cls_status status = enter(handle, &exec);
    if (!status)
        status = leave(exec, bind(exec, name, other));
    buffer_put(other);
    return status;
}

cls_status cls_graph_bind(cls_graph_exec exec, cls_buffer buffer, cls_buffer other_handle) {
    struct buffer *other;
    cls_status status = buffer_get(other_handle, &other);
    return status ? status : bind_memory(exec, buffer, other);
}

cls_status cls_graph_bind_image(cls_graph_exec exec, cls_image image, cls_image other_handle) {
    struct buffer *other;
    cls_status status = image_get_memory(other_handle, &other);
    return status ? status : bind_memory(exec, (cls_buffer)(void *)image, other);
}

static cls_status bind_host(struct graph_exec *exec, const void *name, void *other) {
    const struct host_slot *slot = graph_body_host(exec->body, name);
    if (!slot)
        return error_set(CLS_ERROR_NOT_FOUND,
                         "graph '%s' has no copy whose host memory begins there", exec->name);
    graph_exec_changes(exec);
    graph_body_bind_host(exec->body, slot, other);
    return CLS_SUCCESS;
}

cls_status cls_graph_bind_host(cls_graph_exec handle, const void *pointer, void *other) {
    struct graph_exec *exec;
    if (!pointer || !other)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_graph_bind_host: %s is null",
                         pointer ? "other" : "pointer");
    cls_status status = enter(handle, &exec);
    return status ? status : leave(exec, bind_host(exec, pointer, other));
}

/* --- nodes --- */

/* The place in the plan of the node that has this number in the graph. */
static cls_status find_node(const struct graph_exec *exec, uint64_t number, unsigned *out) {
    const struct graph_fusion *fusion = &exec->fusion;
    const unsigned count = fusion->places ? fusion->n_nodes : exec->plan.n_nodes;
    if (number >= count)
        return error_set(CLS_ERROR_OUT_OF_RANGE, "graph '%s' has %u nodes, and none of number %llu",
                         exec->name, count, (unsigned long long)number);
    *out = fusion->places ? fusion->places[number] : (unsigned)number;
    if (*out == FUSED_NODE)
        return error_set(CLS_ERROR_UNSUPPORTED, "node %llu of graph '%s' is fused with others",
                         (unsigned long long)number, exec->name);
    return CLS_SUCCESS;
}

static cls_status set_enabled(struct graph_exec *exec, uint64_t number, bool enabled) {
    unsigned place;
    cls_status status = find_node(exec, number, &place);
    if (status)
        return status;
    graph_exec_changes(exec);
    exec->body->nodes[place].disabled = !enabled;
    return CLS_SUCCESS;
}

cls_status cls_graph_set_enabled(cls_graph_exec handle, uint64_t node, int enabled) {
    struct graph_exec *exec;
    cls_status status = enter(handle, &exec);
    return status ? status : leave(exec, set_enabled(exec, node, enabled != 0));
}

/* The kernel of a node that is a launch of the program's. */
static cls_status find_kernel(const struct graph_exec *exec, uint64_t number, unsigned *place,
                              cls_kernel *out) {
    cls_status status = find_node(exec, number, place);
    if (status)
        return status;
    const struct command *command = &exec->body->nodes[*place].node->command;
    if (command->type->capture != CAPTURE_LAUNCH || !command->u.launch.kernel->program)
        return error_set(
            CLS_ERROR_INVALID_VALUE,
            "node %llu of graph '%s' is '%s', and no launch of a kernel of the program",
            (unsigned long long)number, exec->name, command_label(command));
    *out = object_handle(&command->u.launch.kernel->object);
    return CLS_SUCCESS;
}

struct kernel_call {
    cls_kernel kernel;
    const cls_launch *launch;
    const cls_arg *args;
    unsigned n_args;
};

static cls_status launch_kernel(const void *arg, cls_stream recorder) {
    const struct kernel_call *call = arg;
    return cls_kernel_launch_async(call->kernel, call->launch, call->args, call->n_args, recorder);
}

static cls_status replace(struct graph_exec *exec, unsigned place, struct command_graph *recorded) {
    if (!recorded->n_nodes)
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "a node has work-items: cls_graph_set_enabled leaves it out");
    graph_exec_changes(exec);
    return graph_body_replace(exec->body, place, recorded);
}

/* `call` with the node's own kernel, or, where it has one, with that. */
static cls_status rebind_launch(struct graph_exec *exec, uint64_t number,
                                struct kernel_call *call) {
    struct command_graph *recorded;
    cls_kernel own;
    unsigned place;
    cls_status status = find_kernel(exec, number, &place, &own);
    if (!status && !call->kernel)
        call->kernel = own;
    if (!status)
        status = graph_record(exec->context, exec->name, &exec->recorder, launch_kernel, call,
                              &recorded);
    if (status)
        return status;
    status = replace(exec, place, recorded);
    object_release(&recorded->object);
    return status;
}

cls_status cls_graph_set_args(cls_graph_exec handle, uint64_t node, const cls_launch *launch,
                              const cls_arg *args, unsigned n_args) {
    struct kernel_call call = {.launch = launch, .args = args, .n_args = n_args};
    struct graph_exec *exec;
    cls_status status = enter(handle, &exec);
    return status ? status : leave(exec, rebind_launch(exec, node, &call));
}

cls_status cls_graph_set_kernel(cls_graph_exec handle, uint64_t node, cls_kernel kernel,
                                const cls_launch *launch, const cls_arg *args, unsigned n_args) {
    struct kernel_call call = {kernel, launch, args, n_args};
    struct kernel *found;
    struct graph_exec *exec;
    cls_status status = kernel_get(kernel, &found);
    if (status)
        return status;
    status = enter(handle, &exec);
    if (!status)
        status = leave(exec, rebind_launch(exec, node, &call));
    object_release(&found->object);
    return status;
}

/* --- another graph --- */

/* Of graphs without a difference `out` has the other one's parts; of all others it has none. */
static cls_status examine(const struct graph_exec *exec, struct command_graph *graph,
                          cls_graph_difference *difference, struct exec_parts *out) {
    *out = (struct exec_parts){.body = NULL};
    cls_status status = graph_compare(exec, graph, difference);
    if (status || difference->kind != CLS_GRAPH_SAME_SHAPE)
        return status;
    status = exec_parts_make(graph, exec->fuse, exec->most_lanes, out);
    if (!status)
        graph_compare_fused(exec, out, difference);
    if (!status && difference->kind != CLS_GRAPH_SAME_SHAPE) {
        exec_parts_free(out);
        out->body = NULL;
    }
    return status;
}

/* The kernels of fused operations are built again: other ones may be left in memory. */
static cls_status update(struct graph_exec *exec, struct command_graph *graph,
                         cls_graph_difference *difference) {
    struct exec_parts parts;
    cls_status status = examine(exec, graph, difference, &parts);
    if (!status)
        status = graph_difference_report(exec, graph, difference);
    if (status)
        return status;
    graph_exec_changes(exec);
    graph_body_put(exec->body);
    exec->body = parts.body;
    exec->body->plan = &exec->plan;
    parts.body = NULL;
    exec_parts_free(&parts);
    return CLS_SUCCESS;
}

static cls_status compare(struct graph_exec *exec, struct command_graph *graph,
                          cls_graph_difference *out) {
    struct exec_parts parts;
    cls_status status = examine(exec, graph, out, &parts);
    if (!status && parts.body)
        exec_parts_free(&parts);
    return status;
}

/* Calls `act` with both, launches kept off. */
static cls_status with_graph(cls_graph_exec handle, cls_graph graph_handle,
                             cls_status (*act)(struct graph_exec *exec, struct command_graph *graph,
                                               cls_graph_difference *difference),
                             cls_graph_difference *difference) {
    struct command_graph *graph;
    struct graph_exec *exec;
    cls_status status = command_graph_get(graph_handle, &graph);
    if (status)
        return status;
    status = enter(handle, &exec);
    if (!status && graph->context != exec->context)
        status = leave(exec, error_set(CLS_ERROR_WRONG_CONTEXT,
                                       "graphs '%s' and '%s' are of different contexts", exec->name,
                                       graph->name));
    else if (!status)
        status = leave(exec, act(exec, graph, difference));
    object_release(&graph->object);
    return status;
}

cls_status cls_graph_update(cls_graph_exec exec, cls_graph graph) {
    cls_graph_difference difference = CLS_GRAPH_DIFFERENCE_INIT;
    return with_graph(exec, graph, update, &difference);
}

cls_status cls_graph_compare(cls_graph_exec exec, cls_graph graph,
                             cls_graph_difference *difference) {
    cls_graph_difference now = CLS_GRAPH_DIFFERENCE_INIT;
    cls_status status = SIZED_CHECK(cls_graph_difference, difference);
    if (!status)
        status = with_graph(exec, graph, compare, &now);
    if (!status)
        SIZED_OUT(cls_graph_difference, difference, &now);
    return status;
}
