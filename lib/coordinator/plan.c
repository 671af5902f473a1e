/* SPDX-License-Identifier: MIT */
/* Plans: copies of a coordinator's streams and dependencies, in order, for use without its lock. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "coordinator/coordinator.h"
#include "coordinator/internals.h"

void plan_drop(struct plan *plan) {
    for (size_t i = 0; i < plan->count; i++)
        stream_put(plan->streams[i].stream);
    free(plan->streams);
    free(plan->places);
}

/* Allocates one element more than needed: calloc(0) may return NULL, which would look like a failure. */
static bool plan_reserve(struct plan *plan, size_t streams, size_t edges) {
    plan->count = 0;
    plan->streams = calloc(streams + 1, sizeof *plan->streams);
    plan->places = calloc(edges + 1, sizeof *plan->places);
    return plan->streams && plan->places;
}

static void plan_add(struct plan *plan, const struct member *member) {
    object_retain(&member->stream->object);
    plan->streams[plan->count++] =
        (struct planned){.stream = member->stream, .handle = member->handle, .index = member->node};
}

/* Fills in the prerequisites; in an ordered plan they stand before their dependents. `place_of` has the
 * place of each index. */
static void plan_link(struct plan *plan, const struct wait_graph *graph, const uint32_t *place_of) {
    uint32_t *next = plan->places;
    for (size_t i = 0; i < plan->count; i++) {
        struct planned *planned = &plan->streams[i];
        struct wait_graph_span span = wait_graph_prerequisites(graph, planned->index);
        planned->prerequisites = next;
        planned->n_prerequisites = span.count;
        for (size_t j = 0; j < span.count; j++) {
            uint32_t place = place_of[span.nodes[j]];
            plan->streams[place].awaited = true;
            *next++ = place;
        }
    }
}

/* Under the lock, with room reserved. */
static cls_status plan_fill(struct plan *plan, struct wait_graph *graph) {
    uint32_t limit = wait_graph_id_limit(graph);
    uint32_t *place_of = calloc((size_t)limit + 1, sizeof *place_of);
    if (!place_of)
        return CLS_ERROR_OUT_OF_MEMORY;
    struct wait_graph_span order = wait_graph_order(graph);
    for (size_t i = 0; i < order.count; i++)
        plan_add(plan, wait_graph_user(graph, order.nodes[i]));
    for (uint32_t i = 0; i < limit && !order.count; i++)
        if (wait_graph_has_node(graph, i))
            plan_add(plan, wait_graph_user(graph, i));
    for (size_t i = 0; i < plan->count; i++)
        place_of[plan->streams[i].index] = (uint32_t)i;
    plan_link(plan, graph, place_of);
    free(place_of);
    return CLS_SUCCESS;
}

/* --- checks --- */

struct naming {
    const struct wait_graph *graph;
    struct text text;
};

static void name_first(struct wait_graph_span cycle, void *arg) {
    struct naming *naming = arg;
    if (naming->text.length)
        return;
    for (size_t i = 0; i <= cycle.count; i++)
        text_printf(&naming->text, "%s%s", i ? " -> " : "",
                    wait_graph_label(naming->graph, cycle.nodes[i % cycle.count]));
}

static cls_status refuse_cycles(const struct coordinator *coordinator) {
    struct naming naming = {coordinator->graph, {0}};
    size_t cycles = wait_graph_cycles(coordinator->graph, name_first, &naming);
    error_set(CLS_ERROR_DEADLOCK, "'%s' has %zu cycle%s of waits: %s", coordinator->name, cycles,
              cycles == 1 ? "" : "s",
              naming.text.failed ? "no memory to name them" : naming.text.bytes);
    free(naming.text.bytes);
    return CLS_ERROR_DEADLOCK;
}

static cls_status check_streams(const struct plan *plan, const struct coordinator *coordinator) {
    for (size_t i = 0; i < plan->count; i++) {
        const struct stream *stream = plan->streams[i].stream;
        cls_status status = context_check(stream->context);
        if (status)
            return error_set(status, "stream '%s' of '%s': %s", stream->name, coordinator->name,
                             cls_last_error_detail());
        if (atomic_load(&stream->destroyed))
            return error_set(CLS_ERROR_INVALID_HANDLE, "'%s' has stream '%s', which was destroyed",
                             coordinator->name, stream->name);
    }
    return CLS_SUCCESS;
}

cls_status plan_take(struct coordinator *coordinator, enum plan_for what, struct plan *out) {
    struct plan plan = {NULL, 0, NULL};
    struct wait_graph *graph = coordinator->graph;
    cls_status status = CLS_SUCCESS;
    pthread_mutex_lock(&coordinator->lock);
    if (what == PLAN_ORDERED && wait_graph_has_cycles(graph))
        status = refuse_cycles(coordinator);
    else if (!plan_reserve(&plan, wait_graph_node_count(graph), wait_graph_edge_count(graph)) ||
             plan_fill(&plan, graph))
        status = error_no_memory("to plan a phase");
    pthread_mutex_unlock(&coordinator->lock);
    if (!status)
        status = check_streams(&plan, coordinator);
    if (status)
        plan_drop(&plan);
    else
        *out = plan;
    return status;
}

/* --- waits and marks --- */

cls_status plan_wait(const struct plan *plan, const struct planned *planned) {
    cls_status status = CLS_SUCCESS;
    for (size_t i = 0; i < planned->n_prerequisites && !status; i++) {
        const struct planned *first = &plan->streams[planned->prerequisites[i]];
        status = stream_wait_for(planned->stream, first->stream, first->position);
    }
    return status;
}

cls_status plan_mark(struct planned *planned) {
    return stream_mark(planned->stream, &planned->position);
}
