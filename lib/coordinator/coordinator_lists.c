/* SPDX-License-Identifier: MIT */
/* Queries of a coordinator's graph: streams, prerequisites, cycles, and drawings as Graphviz DOT. */
#include "coordinator/coordinator.h"

#include "base/error.h"
#include "coordinator/dot.h"

/* The out-parameters of a call that returns a list. */
struct list_call {
    cls_stream *streams;
    size_t room, *count;
};

static cls_status check_list(const char *call, const struct list_call *list) {
    if (!list->count || (list->room && !list->streams))
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: a null argument", call);
    return CLS_SUCCESS;
}

static void write_list(const struct wait_graph *graph, struct wait_graph_span span,
                       const struct list_call *list) {
    for (size_t i = 0; i < span.count && i < list->room; i++)
        list->streams[i] = ((struct member *)wait_graph_user(graph, span.nodes[i]))->handle;
    *list->count = span.count;
}

/* By index, for a graph with cycles, which has no order. */
static void write_all(const struct wait_graph *graph, const struct list_call *list) {
    size_t count = 0;
    for (uint32_t i = 0; i < wait_graph_id_limit(graph); i++)
        if (wait_graph_has_node(graph, i) && count++ < list->room)
            list->streams[count - 1] = ((struct member *)wait_graph_user(graph, i))->handle;
    *list->count = count;
}

cls_status cls_coordinator_get_streams(cls_coordinator handle, cls_stream *streams, size_t room,
                                       size_t *count) {
    struct coordinator *coordinator;
    const struct list_call list = {streams, room, count};
    cls_status status = check_list("cls_coordinator_get_streams", &list);
    if (!status)
        status = coordinator_enter(handle, &coordinator);
    if (status)
        return status;
    if (wait_graph_has_cycles(coordinator->graph))
        write_all(coordinator->graph, &list);
    else
        write_list(coordinator->graph, wait_graph_order(coordinator->graph), &list);
    return coordinator_leave(coordinator, CLS_SUCCESS);
}

cls_status cls_coordinator_get_prerequisites(cls_coordinator handle, cls_stream stream,
                                             cls_stream *streams, size_t room, size_t *count) {
    struct coordinator *coordinator;
    struct member *member;
    const struct list_call list = {streams, room, count};
    cls_status status = check_list("cls_coordinator_get_prerequisites", &list);
    if (!status)
        status = coordinator_open(handle, &stream, &coordinator);
    if (status)
        return status;
    pthread_mutex_lock(&coordinator->lock);
    status = coordinator_find(coordinator, stream, &member);
    if (!status)
        write_list(coordinator->graph, wait_graph_prerequisites(coordinator->graph, member->node),
                   &list);
    return coordinator_leave(coordinator, status);
}

/* --- cycles --- */

cls_status cls_coordinator_has_cycles(cls_coordinator handle, int *has) {
    struct coordinator *coordinator;
    if (!has)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_coordinator_has_cycles: has is null");
    cls_status status = coordinator_enter(handle, &coordinator);
    if (status)
        return status;
    *has = wait_graph_has_cycles(coordinator->graph);
    return coordinator_leave(coordinator, CLS_SUCCESS);
}

cls_status cls_coordinator_count_cycles(cls_coordinator handle, size_t *count) {
    struct coordinator *coordinator;
    if (!count)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_coordinator_count_cycles: count is null");
    cls_status status = coordinator_enter(handle, &coordinator);
    if (status)
        return status;
    *count = wait_graph_cycles(coordinator->graph, NULL, NULL);
    return coordinator_leave(coordinator, CLS_SUCCESS);
}

struct one_cycle {
    const struct wait_graph *graph;
    const struct list_call *list;
    size_t wanted, seen;
};

static void write_wanted(struct wait_graph_span cycle, void *arg) {
    struct one_cycle *one = arg;
    if (one->seen++ == one->wanted)
        write_list(one->graph, cycle, one->list);
}

cls_status cls_coordinator_get_cycle(cls_coordinator handle, size_t i, cls_stream *streams,
                                     size_t room, size_t *count) {
    struct coordinator *coordinator;
    const struct list_call list = {streams, room, count};
    cls_status status = check_list("cls_coordinator_get_cycle", &list);
    if (!status)
        status = coordinator_enter(handle, &coordinator);
    if (status)
        return status;
    struct one_cycle one = {coordinator->graph, &list, i, 0};
    size_t cycles = wait_graph_cycles(coordinator->graph, write_wanted, &one);
    if (i >= cycles)
        status = error_set(CLS_ERROR_OUT_OF_RANGE, "no cycle %zu; '%s' has %zu", i,
                           coordinator->name, cycles);
    return coordinator_leave(coordinator, status);
}

cls_status cls_coordinator_get_last_cycle(cls_coordinator handle, cls_stream *streams, size_t room,
                                          size_t *count) {
    struct coordinator *coordinator;
    const struct list_call list = {streams, room, count};
    cls_status status = check_list("cls_coordinator_get_last_cycle", &list);
    if (!status)
        status = coordinator_enter(handle, &coordinator);
    if (status)
        return status;
    struct wait_graph_span cycle = wait_graph_last_cycle(coordinator->graph);
    if (cycle.count)
        write_list(coordinator->graph, cycle, &list);
    else
        status = error_set(CLS_ERROR_NOT_FOUND, "'%s' has closed no cycle", coordinator->name);
    return coordinator_leave(coordinator, status);
}

/* --- drawings --- */

static cls_status write_dot(cls_coordinator handle, FILE *file, dot_writer *writer) {
    struct coordinator *coordinator;
    struct text text;
    if (!file)
        return error_set(CLS_ERROR_INVALID_VALUE, "the file is null");
    cls_status status = coordinator_get(handle, &coordinator);
    if (status)
        return status;
    pthread_mutex_lock(&coordinator->lock);
    status = dot_draw(coordinator->graph, coordinator->name, writer, &text);
    pthread_mutex_unlock(&coordinator->lock);
    if (!status)
        status = dot_write(&text, file);
    coordinator_put(coordinator);
    return status;
}

cls_status cls_coordinator_write_dot(cls_coordinator coordinator, FILE *file) {
    return write_dot(coordinator, file, wait_graph_write_dot);
}

cls_status cls_coordinator_write_cycle_dot(cls_coordinator coordinator, FILE *file) {
    return write_dot(coordinator, file, wait_graph_write_cycle_dot);
}
