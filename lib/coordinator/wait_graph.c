/* SPDX-License-Identifier: MIT */
/* Nodes and edges of the dependency graph; wait_graph_order.c keeps their order. */
#include "coordinator/wait_graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "coordinator/wait_graph_state.h"

enum { FIRST_CAPACITY = 16, N_ARRAYS = 7 };

/* ---- Room for nodes */

static cls_status too_large(const struct wait_graph *graph) {
    return error_no_memory("for a larger dependency graph than one of %u nodes and %llu edges",
                           (unsigned)graph->node_count, (unsigned long long)graph->edge_count);
}

/* The arrays are one block, at whose head the last cycle stays. */
static void set_arrays(struct wait_graph *graph, uint32_t *block, size_t capacity) {
    uint32_t **arrays[N_ARRAYS] = {&graph->cycle,  &graph->sequence, &graph->stack, &graph->heap,
                                   &graph->before, &graph->after,    &graph->link};
    for (size_t i = 0; i < N_ARRAYS; i++)
        *arrays[i] = block + i * capacity;
    graph->capacity = (uint32_t)capacity;
}

static cls_status grow_nodes(struct wait_graph *graph) {
    const uint64_t capacity = graph->capacity ? UINT64_C(2) * graph->capacity : FIRST_CAPACITY;
    if (capacity >= GRAPH_NONE || capacity > SIZE_MAX / sizeof *graph->nodes)
        return too_large(graph);
    struct wait_graph_node *nodes = realloc(graph->nodes, (size_t)capacity * sizeof *graph->nodes);
    if (nodes)
        graph->nodes = nodes;
    uint32_t *block =
        nodes ? realloc(graph->cycle, (size_t)capacity * N_ARRAYS * sizeof *block) : NULL;
    if (!block)
        return too_large(graph);
    set_arrays(graph, block, (size_t)capacity);
    return CLS_SUCCESS;
}

/* ---- The graph */

cls_status wait_graph_create(bool permissive, struct wait_graph **graph) {
    struct wait_graph *made = calloc(1, sizeof *made);
    if (!made)
        return error_no_memory("for a dependency graph");
    made->free_id = made->first = made->last = GRAPH_NONE;
    made->permissive = permissive;
    *graph = made;
    return CLS_SUCCESS;
}

static void free_node(struct wait_graph_node *node) {
    free(node->dependents.nodes);
    free(node->prerequisites.nodes);
    free(node->label);
    *node = (struct wait_graph_node){.exists = false};
}

void wait_graph_destroy(struct wait_graph *graph) {
    if (!graph)
        return;
    for (uint32_t i = 0; i < graph->limit; i++)
        free_node(&graph->nodes[i]);
    free(graph->nodes);
    free(graph->cycle);
    free(graph);
}

/* ---- Nodes */

bool wait_graph_has_node(const struct wait_graph *graph, uint32_t node) {
    return node < graph->limit && graph->nodes[node].exists;
}

static cls_status check_node(const struct wait_graph *graph, uint32_t node) {
    if (wait_graph_has_node(graph, node))
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_INVALID_VALUE, "the dependency graph has no node %u",
                     (unsigned)node);
}

static uint32_t take_id(struct wait_graph *graph) {
    uint32_t id = graph->free_id;
    if (id == GRAPH_NONE)
        id = graph->limit++;
    else
        graph->free_id = graph->nodes[id].cursor;
    return id;
}

cls_status wait_graph_add_node(struct wait_graph *graph, void *user, const char *label,
                               uint32_t *node) {
    if (graph->free_id == GRAPH_NONE && graph->limit == graph->capacity) {
        cls_status status = grow_nodes(graph);
        if (status)
            return status;
    }
    char *copy = label ? strdup(label) : NULL;
    if (label && !copy)
        return too_large(graph);
    uint32_t id = take_id(graph);
    graph->nodes[id] = (struct wait_graph_node){.exists = true, .user = user, .label = copy};
    wait_graph_order_append(graph, id);
    graph->node_count++;
    *node = id;
    return CLS_SUCCESS;
}

void *wait_graph_user(const struct wait_graph *graph, uint32_t node) {
    return graph->nodes[node].user;
}

const char *wait_graph_label(const struct wait_graph *graph, uint32_t node) {
    return graph->nodes[node].label;
}

size_t wait_graph_node_count(const struct wait_graph *graph) { return graph->node_count; }

size_t wait_graph_edge_count(const struct wait_graph *graph) { return (size_t)graph->edge_count; }

uint32_t wait_graph_id_limit(const struct wait_graph *graph) { return graph->limit; }

static struct wait_graph_span span_of(const struct wait_graph_list *list) {
    return (struct wait_graph_span){list->nodes, list->count};
}

struct wait_graph_span wait_graph_prerequisites(const struct wait_graph *graph, uint32_t node) {
    return span_of(&graph->nodes[node].prerequisites);
}

struct wait_graph_span wait_graph_dependents(const struct wait_graph *graph, uint32_t node) {
    return span_of(&graph->nodes[node].dependents);
}

struct wait_graph_span wait_graph_last_cycle(const struct wait_graph *graph) {
    return (struct wait_graph_span){graph->cycle_count ? graph->cycle : NULL, graph->cycle_count};
}

/* ---- Edges */

static uint32_t find(const struct wait_graph_list *list, uint32_t node) {
    uint32_t i = 0;
    while (i < list->count && list->nodes[i] != node)
        i++;
    return i;
}

/* Removes the node where it is there; the last one takes its place. */
static void drop(struct wait_graph_list *list, uint32_t node) {
    const uint32_t i = find(list, node);
    if (i < list->count)
        list->nodes[i] = list->nodes[--list->count];
}

bool wait_graph_has_edge(const struct wait_graph *graph, uint32_t dependent,
                         uint32_t prerequisite) {
    if (!wait_graph_has_node(graph, dependent) || !wait_graph_has_node(graph, prerequisite))
        return false;
    const struct wait_graph_list *prerequisites = &graph->nodes[dependent].prerequisites;
    const struct wait_graph_list *dependents = &graph->nodes[prerequisite].dependents;
    return dependents->count < prerequisites->count
               ? find(dependents, dependent) < dependents->count
               : find(prerequisites, prerequisite) < prerequisites->count;
}

static void name_node(struct text *text, const struct wait_graph *graph, uint32_t node) {
    const char *label = wait_graph_label(graph, node);
    if (label)
        text_append(text, label, strlen(label));
    else
        text_printf(text, "node %u", (unsigned)node);
}

static cls_status refuse_cycle(const struct wait_graph *graph) {
    const uint32_t *cycle = graph->cycle;
    struct text text = {0};
    name_node(&text, graph, cycle[0]);
    text_printf(&text, " cannot wait for ");
    name_node(&text, graph, cycle[graph->cycle_count > 1]);
    text_printf(&text, ", it would close a cycle: ");
    for (size_t i = 0; i < graph->cycle_count; i++) {
        name_node(&text, graph, cycle[i]);
        text_append(&text, " -> ", 4);
    }
    name_node(&text, graph, cycle[0]);
    error_set(CLS_ERROR_DEADLOCK, "%s",
              text.failed ? "the dependency would close a cycle" : text.bytes);
    free(text.bytes);
    return CLS_ERROR_DEADLOCK;
}

static bool order_edge(struct wait_graph *graph, uint32_t dependent, uint32_t prerequisite) {
    if (dependent != prerequisite)
        return wait_graph_order_insert(graph, dependent, prerequisite);
    graph->cycle[0] = dependent;
    graph->cycle_count = 1;
    return false;
}

static bool reserve_edge(struct wait_graph *graph, uint32_t dependent, uint32_t prerequisite) {
    struct wait_graph_list *prerequisites = &graph->nodes[dependent].prerequisites;
    struct wait_graph_list *dependents = &graph->nodes[prerequisite].dependents;
    return ARRAY_ROOM(prerequisites->nodes, prerequisites->count, prerequisites->room, 4) &&
           ARRAY_ROOM(dependents->nodes, dependents->count, dependents->room, 4);
}

static void link_edge(struct wait_graph *graph, uint32_t dependent, uint32_t prerequisite) {
    struct wait_graph_list *prerequisites = &graph->nodes[dependent].prerequisites;
    struct wait_graph_list *dependents = &graph->nodes[prerequisite].dependents;
    prerequisites->nodes[prerequisites->count++] = prerequisite;
    dependents->nodes[dependents->count++] = dependent;
    graph->edge_count++;
}

cls_status wait_graph_add_edge(struct wait_graph *graph, uint32_t dependent,
                               uint32_t prerequisite) {
    cls_status status = check_node(graph, dependent);
    if (!status)
        status = check_node(graph, prerequisite);
    if (status || wait_graph_has_edge(graph, dependent, prerequisite))
        return status;
    if (!reserve_edge(graph, dependent, prerequisite))
        return too_large(graph);
    if (graph->knowledge == GRAPH_ORDERED && !order_edge(graph, dependent, prerequisite)) {
        if (!graph->permissive)
            return refuse_cycle(graph);
        graph->knowledge = GRAPH_CYCLIC;
    }
    link_edge(graph, dependent, prerequisite);
    return CLS_SUCCESS;
}

/* Losing an edge or a node may have broken the last cycle. */
static void doubt_cycles(struct wait_graph *graph) {
    if (graph->knowledge == GRAPH_CYCLIC)
        graph->knowledge = GRAPH_UNKNOWN;
}

static cls_status no_such_edge(const struct wait_graph *graph, uint32_t dependent,
                               uint32_t prerequisite) {
    struct text text = {0};
    name_node(&text, graph, dependent);
    text_printf(&text, " does not depend on ");
    name_node(&text, graph, prerequisite);
    error_set(CLS_ERROR_NOT_FOUND, "%s", text.failed ? "there is no such dependency" : text.bytes);
    free(text.bytes);
    return CLS_ERROR_NOT_FOUND;
}

cls_status wait_graph_remove_edge(struct wait_graph *graph, uint32_t dependent,
                                  uint32_t prerequisite) {
    cls_status status = check_node(graph, dependent);
    if (!status)
        status = check_node(graph, prerequisite);
    if (status)
        return status;
    if (!wait_graph_has_edge(graph, dependent, prerequisite))
        return no_such_edge(graph, dependent, prerequisite);
    drop(&graph->nodes[dependent].prerequisites, prerequisite);
    drop(&graph->nodes[prerequisite].dependents, dependent);
    graph->edge_count--;
    doubt_cycles(graph);
    return CLS_SUCCESS;
}

/* Takes the node out of its neighbours' lists. */
static void unlink_node(struct wait_graph *graph, uint32_t node) {
    struct wait_graph_span prerequisites = wait_graph_prerequisites(graph, node);
    struct wait_graph_span dependents = wait_graph_dependents(graph, node);
    size_t self = wait_graph_has_edge(graph, node, node);
    for (size_t i = 0; i < prerequisites.count; i++)
        if (prerequisites.nodes[i] != node)
            drop(&graph->nodes[prerequisites.nodes[i]].dependents, node);
    for (size_t i = 0; i < dependents.count; i++)
        if (dependents.nodes[i] != node)
            drop(&graph->nodes[dependents.nodes[i]].prerequisites, node);
    graph->edge_count -= prerequisites.count + dependents.count - self;
}

cls_status wait_graph_remove_node(struct wait_graph *graph, uint32_t node) {
    cls_status status = check_node(graph, node);
    if (status)
        return status;
    unlink_node(graph, node);
    for (size_t i = 0; i < graph->cycle_count; i++)
        if (graph->cycle[i] == node)
            graph->cycle_count = 0;
    wait_graph_order_remove(graph, node);
    free_node(&graph->nodes[node]);
    graph->nodes[node].cursor = graph->free_id;
    graph->free_id = node;
    graph->node_count--;
    doubt_cycles(graph);
    return CLS_SUCCESS;
}
