/* SPDX-License-Identifier: MIT */
#include "graph/graph.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/intern.h"

void nodes_drop(struct graph_node *nodes, unsigned n_nodes) {
    while (n_nodes)
        node_drop(&nodes[--n_nodes]);
    free(nodes);
}

static void command_graph_finalize(struct object *object) {
    struct command_graph *graph = (struct command_graph *)(void *)object;
    nodes_drop(graph->nodes, graph->n_nodes);
    graph_destructors_run(&graph->destructors);
    context_put(graph->context);
}

struct object_pool command_graph_pool =
    OBJECT_POOL(29, sizeof(struct command_graph), "graph", command_graph_finalize);

cls_status command_graph_new(struct context *context, const char *name, struct graph_node *nodes,
                             unsigned n_nodes, struct command_graph **out) {
    const char *interned = intern(name);
    struct command_graph *graph = interned ? object_create(&command_graph_pool) : NULL;
    if (!graph)
        return object_none(&command_graph_pool, "a graph");
    object_retain(&context->object);
    graph->context = context;
    graph->name = interned;
    graph->nodes = nodes;
    graph->n_nodes = n_nodes;
    *out = graph;
    return CLS_SUCCESS;
}

cls_status command_graph_keep(struct command_graph *graph, struct graph_node *copy) {
    return atomic_load(&graph->destructors) ? node_keep(copy, &graph->object) : CLS_SUCCESS;
}

cls_status command_graph_get(cls_graph handle, struct command_graph **out) {
    struct command_graph *graph = object_acquire(&command_graph_pool, handle);
    if (!graph)
        return object_invalid(&command_graph_pool, handle);
    cls_status status = context_check(graph->context);
    if (status)
        object_release(&graph->object);
    else
        *out = graph;
    return status;
}

cls_status cls_graph_add_destructor(cls_graph handle, cls_graph_destructor fn, void *arg) {
    struct command_graph *graph;
    if (!fn)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_graph_add_destructor: fn is null");
    cls_status status = command_graph_get(handle, &graph);
    if (status)
        return status;
    status = graph_destructors_add(&graph->destructors, fn, arg);
    object_release(&graph->object);
    return status;
}

cls_status cls_graph_destroy(cls_graph handle) {
    return object_destroy(&command_graph_pool, handle)
               ? CLS_SUCCESS
               : object_invalid(&command_graph_pool, handle);
}
