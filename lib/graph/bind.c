/* SPDX-License-Identifier: MIT */
/* Changes that the program asks for: other buffers, other host memory, other arguments, nodes left out, another graph. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/exec.h"
#include "graph/memory.h"
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

/* --- buffers --- */

static cls_status check_buffer(const struct graph_exec *exec, const struct graph_slot *slot,
                               const struct buffer *other) {
    if (!slot)
        return error_set(CLS_ERROR_NOT_FOUND, "graph '%s' uses no such buffer", exec->name);
    if (other->context != exec->context)
        return error_set(CLS_ERROR_WRONG_CONTEXT,
                         "the buffer and graph '%s' are of different "
                         "contexts",
                         exec->name);
    if (other->bytes < slot->bytes)
        return error_set(CLS_ERROR_OUT_OF_RANGE,
                         "graph '%s' uses a buffer of %zu bytes, and the other one has %zu",
                         exec->name, slot->bytes, other->bytes);
    return CLS_SUCCESS;
}

static cls_status bind(struct graph_exec *exec, cls_buffer name, struct buffer *other) {
    struct graph_slot *slot = graph_body_slot(exec->body, name);
    cls_status status = check_buffer(exec, slot, other);
    if (status)
        return status;
    graph_exec_changes(exec);
    return graph_body_bind(exec->body, slot, other);
}

cls_status cls_graph_bind(cls_graph_exec handle, cls_buffer buffer, cls_buffer other_handle) {
    struct graph_exec *exec;
    struct buffer *other;
    cls_status status = buffer_get(other_handle, &other);
    if (status)
        return status;
    status = enter(handle, &exec);
    if (!status)
        status = leave(exec, bind(exec, buffer, other));
    buffer_put(other);
    return status;
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

static const struct graph_node *original(const struct graph_body *body, unsigned i) {
    return &body->graph->nodes[body->in_graph[i]];
}

/* The kernel of a node that is a launch of the program's. */
static cls_status find_kernel(const struct graph_exec *exec, uint64_t number, unsigned *place,
                              cls_kernel *out) {
    cls_status status = find_node(exec, number, place);
    if (status)
        return status;
    const struct command *command = &original(exec->body, *place)->command;
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

static cls_status set_args(struct graph_exec *exec, uint64_t number, const cls_launch *launch,
                           const cls_arg *args, unsigned n_args) {
    struct kernel_call call = {.launch = launch, .args = args, .n_args = n_args};
    struct command_graph *recorded;
    unsigned place;
    cls_status status = find_kernel(exec, number, &place, &call.kernel);
    if (!status)
        status = graph_record(exec->context, exec->name, &exec->recorder, launch_kernel, &call,
                              &recorded);
    if (status)
        return status;
    status = replace(exec, place, recorded);
    object_release(&recorded->object);
    return status;
}

cls_status cls_graph_set_args(cls_graph_exec handle, uint64_t node, const cls_launch *launch,
                              const cls_arg *args, unsigned n_args) {
    struct graph_exec *exec;
    cls_status status = enter(handle, &exec);
    return status ? status : leave(exec, set_args(exec, node, launch, args, n_args));
}

/* --- another graph --- */

static cls_status differs(const struct graph_exec *exec, unsigned i, const char *what) {
    return error_set(CLS_ERROR_INVALID_VALUE, "node %u of graph '%s' %s", i, exec->name, what);
}

static cls_status compare_node(const struct graph_exec *exec, unsigned i,
                               const struct graph_node *now, const struct graph_node *then) {
    const struct command *a = &then->command, *b = &now->command;
    if (a->type != b->type)
        return error_set(CLS_ERROR_INVALID_VALUE, "node %u of graph '%s' is '%s', and not '%s'", i,
                         exec->name, command_label(b), command_label(a));
    if (a->type->capture == CAPTURE_LAUNCH && a->u.launch.kernel != b->u.launch.kernel)
        return differs(exec, i, "launches another kernel");
    return CLS_SUCCESS;
}

static bool same_place(const struct exec_plan *own, const struct exec_plan *plan, unsigned i) {
    const struct planned_node *a = &own->nodes[i], *b = &plan->nodes[i];
    return a->lane == b->lane && a->n_deps == b->n_deps &&
           !memcmp(&own->deps[a->first_dep], &plan->deps[b->first_dep],
                   a->n_deps * sizeof *own->deps);
}

static cls_status compare_plans(const struct graph_exec *exec, const struct command_graph *graph,
                                const struct exec_plan *own, const struct exec_plan *plan) {
    const struct command_graph *before = exec->body->captured;
    if (plan->n_nodes != own->n_nodes)
        return error_set(CLS_ERROR_INVALID_VALUE, "graph '%s' has %u nodes, and the other one %u",
                         exec->name, own->n_nodes, plan->n_nodes);
    for (unsigned i = 0; i < own->n_nodes; i++) {
        cls_status status = compare_node(exec, i, &graph->nodes[plan->nodes[i].node],
                                         &before->nodes[own->nodes[i].node]);
        if (status)
            return status;
        if (!same_place(own, plan, i))
            return differs(exec, i, "has other dependencies");
    }
    return CLS_SUCCESS;
}

/* Compares the graphs as they were captured. */
static cls_status compare(const struct graph_exec *exec, const struct command_graph *graph) {
    const struct command_graph *before = exec->body->captured;
    struct exec_plan own, plan;
    cls_status status = exec_plan_make(before->nodes, before->n_nodes, exec->most_lanes, &own);
    if (status)
        return status;
    status = exec_plan_make(graph->nodes, graph->n_nodes, exec->most_lanes, &plan);
    if (!status) {
        status = compare_plans(exec, graph, &own, &plan);
        exec_plan_free(&plan);
    }
    exec_plan_free(&own);
    return status;
}

/* Of graphs that are the same but for what their operations are fused to. */
static cls_status compare_fused(const struct graph_exec *exec, const struct exec_parts *parts) {
    const struct graph_fusion *a = &exec->fusion, *b = &parts->fusion;
    const unsigned count = a->places ? a->n_nodes : b->n_nodes;
    for (unsigned i = 0; i < count; i++) {
        const bool was = a->places && a->places[i] == FUSED_NODE,
                   is = b->places && b->places[i] == FUSED_NODE;
        if (was != is)
            return differs(exec, i, is ? "is fused with others now" : "is not fused any more");
    }
    if (a->n_kernels != b->n_kernels || exec->plan.n_nodes != parts->plan.n_nodes)
        return error_set(
            CLS_ERROR_INVALID_VALUE,
            "the operations of graph '%s' make %u kernels, and those of the other one %u",
            exec->name, a->n_kernels, b->n_kernels);
    for (unsigned i = 0; i < exec->plan.n_nodes; i++)
        if (!same_place(&exec->plan, &parts->plan, i))
            return error_set(CLS_ERROR_INVALID_VALUE,
                             "the operations of graph '%s' are fused to other kernels", exec->name);
    return CLS_SUCCESS;
}

/* The kernels of fused operations are built again: other ones may be left in memory. */
static cls_status update(struct graph_exec *exec, struct command_graph *graph) {
    struct exec_parts parts;
    cls_status status = compare(exec, graph);
    if (!status)
        status = exec_parts_make(graph, exec->fuse, exec->most_lanes, &parts);
    if (status)
        return status;
    status = compare_fused(exec, &parts);
    if (!status) {
        graph_exec_changes(exec);
        graph_body_put(exec->body);
        exec->body = parts.body;
        exec->body->plan = &exec->plan;
        parts.body = NULL;
    }
    exec_parts_free(&parts);
    return status;
}

cls_status cls_graph_update(cls_graph_exec handle, cls_graph graph_handle) {
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
        status = leave(exec, update(exec, graph));
    object_release(&graph->object);
    return status;
}
