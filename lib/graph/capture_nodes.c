/* SPDX-License-Identifier: MIT */
/* The nodes that a captured stream's next one comes after, by their numbers, which empty nodes do not have. */
#include <stdlib.h>

#include "base/error.h"
#include "graph/capture.h"
#include "graph/capture_state.h"

struct nodes_call {
    uint64_t *nodes; /* of the caller; set_frontier reads them */
    unsigned count;  /* or the room that there is */
    bool adds;
    unsigned *found; /* likewise; of get_nodes: how many there are */
};

/* Calls `act` under the locks of a stream in an active capture and of the capture. */
static cls_status on_member(cls_stream handle, const struct nodes_call *call,
                            cls_status (*act)(struct capture *capture,
                                              struct capture_member *member,
                                              const struct nodes_call *call)) {
    struct stream *stream;
    cls_status status = stream_get(handle, NULL, &stream);
    if (status)
        return status;
    pthread_mutex_lock(&stream->lock);
    struct capture *capture = stream->capturing ? stream->capture : NULL;
    if (capture) {
        pthread_mutex_lock(&capture->lock);
        struct capture_member *member = capture_find_member(capture, stream);
        status = capture->state == CLS_CAPTURE_ACTIVE && member ? act(capture, member, call)
                                                                : capture_refusal(capture);
        pthread_mutex_unlock(&capture->lock);
    } else {
        status = error_set(CLS_ERROR_INVALID_STATE, "stream '%s' is not captured", stream->name);
    }
    pthread_mutex_unlock(&stream->lock);
    stream_put(stream);
    return status;
}

/* --- reading --- */

static int earlier_first(const void *a, const void *b) {
    const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

static uint64_t capture_number(const struct capture *capture, unsigned node) {
    const unsigned *at =
        bsearch(&node, capture->numbered, capture->n_numbered, sizeof node, earlier_first);
    return (uint64_t)(at - capture->numbered);
}

/* Adds what the empty nodes of a set join, behind them. False: no memory. */
static bool look_through(const struct capture *capture, struct frontier *set) {
    bool good = true;
    for (unsigned i = 0; i < set->count && good; i++) {
        const struct graph_node *node = &capture->nodes[set->nodes[i]];
        for (unsigned d = 0; node_is_empty(node) && d < node->n_deps && good; d++)
            good = frontier_add(set, node->deps[d]);
    }
    return good;
}

static void tell(const struct capture *capture, struct frontier *set,
                 const struct nodes_call *call) {
    unsigned found = 0;
    qsort(set->nodes, set->count, sizeof *set->nodes, earlier_first);
    for (unsigned i = 0; i < set->count; i++) {
        if (node_is_empty(&capture->nodes[set->nodes[i]]))
            continue;
        if (found < call->count)
            call->nodes[found] = capture_number(capture, set->nodes[i]);
        found++;
    }
    *call->found = found;
}

static cls_status get_nodes(struct capture *capture, struct capture_member *member,
                            const struct nodes_call *call) {
    struct frontier set = {.count = 0};
    const bool good = frontier_join(&set, &member->frontier) && look_through(capture, &set);
    if (good && set.count)
        tell(capture, &set, call);
    else if (good)
        *call->found = 0;
    free(set.nodes);
    return good ? CLS_SUCCESS : error_no_memory("for capture '%s'", capture->name);
}

cls_status cls_stream_get_capture_nodes(cls_stream stream, uint64_t *nodes, unsigned room,
                                        unsigned *count) {
    const struct nodes_call call = {.nodes = nodes, .count = room, .found = count};
    if (!count || (room && !nodes))
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_stream_get_capture_nodes: %s is null",
                         count ? "nodes" : "count");
    return on_member(stream, &call, get_nodes);
}

/* --- replacing --- */

static cls_status find_nodes(const struct capture *capture, const struct nodes_call *call,
                             struct frontier *out) {
    bool good = true;
    for (unsigned i = 0; i < call->count && good; i++) {
        if (call->nodes[i] >= capture->n_numbered)
            return error_set(CLS_ERROR_OUT_OF_RANGE,
                             "capture '%s' has %u nodes, and none of number %llu", capture->name,
                             capture->n_numbered, (unsigned long long)call->nodes[i]);
        good = frontier_add(out, capture->numbered[call->nodes[i]]);
    }
    return good ? CLS_SUCCESS : error_no_memory("for capture '%s'", capture->name);
}

/* The program has said that nothing needs to come behind what it leaves out. */
static void leave_nodes(struct capture *capture, const struct frontier *before,
                        const struct frontier *now) {
    for (unsigned i = 0; i < before->count; i++) {
        bool is_kept = false;
        for (unsigned k = 0; k < now->count && !is_kept; k++)
            is_kept = now->nodes[k] == before->nodes[i];
        if (!is_kept)
            capture->nodes[before->nodes[i]].let_go = true;
    }
}

static cls_status set_frontier(struct capture *capture, struct capture_member *member,
                               const struct nodes_call *call) {
    struct frontier now = {.count = 0};
    cls_status status = CLS_SUCCESS;
    if (call->adds && !frontier_join(&now, &member->frontier))
        status = error_no_memory("for capture '%s'", capture->name);
    if (!status)
        status = find_nodes(capture, call, &now);
    if (status) {
        free(now.nodes);
        return status;
    }
    leave_nodes(capture, &member->frontier, &now);
    free(member->frontier.nodes);
    member->frontier = now;
    return CLS_SUCCESS;
}

static cls_status set_nodes(cls_stream stream, const uint64_t *nodes, unsigned count, bool adds) {
    const struct nodes_call call = {
        .nodes = (uint64_t *)(uintptr_t)nodes, .count = count, .adds = adds};
    if (count && !nodes)
        return error_set(CLS_ERROR_INVALID_VALUE, "the list of %u nodes is null", count);
    return on_member(stream, &call, set_frontier);
}

cls_status cls_stream_set_capture_nodes(cls_stream stream, const uint64_t *nodes, unsigned count) {
    return set_nodes(stream, nodes, count, false);
}

cls_status cls_stream_add_capture_nodes(cls_stream stream, const uint64_t *nodes, unsigned count) {
    return set_nodes(stream, nodes, count, true);
}
