/* SPDX-License-Identifier: MIT */
/* The beginning and the end of captures, and what cls_stream_get_capture tells of them. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "graph/capture.h"
#include "graph/capture_state.h"
#include "graph/graph.h"
#include "graph/memory.h"

/* --- the beginning --- */

/* Nodes that no other comes after. */
static cls_status find_ends(const struct command_graph *graph, struct frontier *out) {
    bool *passed = calloc((size_t)graph->n_nodes + 1, sizeof *passed);
    bool good = passed;
    for (unsigned i = graph->n_nodes; i-- > 0 && good;) {
        const struct graph_node *node = &graph->nodes[i];
        for (unsigned d = 0; d < node->n_deps; d++)
            passed[node->deps[d]] = true;
        good = passed[i] || frontier_add(out, i);
    }
    free(passed);
    return good ? CLS_SUCCESS : error_no_memory("for a capture");
}

/* The capture is nobody else's yet. */
static cls_status copy_nodes(struct capture *capture, struct command_graph *graph) {
    cls_status status = CLS_SUCCESS;
    struct graph_node node;
    for (unsigned i = 0; i < graph->n_nodes && !status; i++) {
        status = capture_has_room(capture) ? node_copy_whole(&node, &graph->nodes[i])
                                           : error_no_memory("for a capture");
        if (status)
            break;
        capture_push(capture, &node);
        status = command_graph_keep(graph, &capture->nodes[i]);
    }
    return status;
}

/* Under the stream's lock. The origin's dependencies are taken over on success. */
static cls_status begin(struct stream *stream, struct capture *capture, struct frontier *ends) {
    if (stream->capturing)
        return error_set(CLS_ERROR_INVALID_STATE, "stream '%s' is captured by '%s' already",
                         stream->name, stream->capture->name);
    pthread_mutex_lock(&capture->lock);
    cls_status status = capture_join(capture, stream);
    if (!status) {
        capture->members[0].frontier = *ends;
        *ends = (struct frontier){.count = 0};
    }
    pthread_mutex_unlock(&capture->lock);
    return status;
}

/* `graph`: the one whose nodes the capture begins with; NULL: none. */
static cls_status begin_on(struct stream *stream, const char *name, struct command_graph *graph) {
    struct frontier ends = {.count = 0};
    struct capture *capture = capture_new(stream, name);
    if (!capture)
        return error_no_memory("for a capture");
    cls_status status = graph ? find_ends(graph, &ends) : CLS_SUCCESS;
    if (!status && graph)
        status = copy_nodes(capture, graph);
    if (!status) {
        pthread_mutex_lock(&stream->lock);
        status = begin(stream, capture, &ends);
        pthread_mutex_unlock(&stream->lock);
    }
    free(ends.nodes);
    object_release(&capture->object);
    return status;
}

cls_status cls_stream_begin_capture(cls_stream handle, const char *name) {
    struct stream *stream;
    cls_status status = stream_get(handle, NULL, &stream);
    if (status)
        return status;
    status = begin_on(stream, name, NULL);
    stream_put(stream);
    return status;
}

cls_status cls_stream_begin_capture_from(cls_stream handle, const char *name,
                                         cls_graph graph_handle) {
    struct command_graph *graph;
    struct stream *stream;
    cls_status status = command_graph_get(graph_handle, &graph);
    if (status)
        return status;
    status = stream_get(handle, graph->context, &stream);
    if (!status) {
        status = stream->context == graph->context
                     ? begin_on(stream, name, graph)
                     : error_set(CLS_ERROR_WRONG_CONTEXT,
                                 "graph '%s' and stream '%s' are of different contexts",
                                 graph->name, stream->name);
        stream_put(stream);
    }
    object_release(&graph->object);
    return status;
}

/* --- the end --- */

/* Nodes that the origin's frontier is, or comes after, and those that need not be joined, with what these come after. */
static void mark_joined(const struct capture *capture, bool *joined) {
    const struct frontier *frontier = &capture->members[0].frontier;
    for (unsigned i = 0; i < frontier->count; i++)
        joined[frontier->nodes[i]] = true;
    for (unsigned i = 0; i < capture->n_nodes; i++)
        joined[i] = joined[i] || capture->nodes[i].let_go;
    for (unsigned i = capture->n_nodes; i-- > 0;)
        for (unsigned d = 0; joined[i] && d < capture->nodes[i].n_deps; d++)
            joined[capture->nodes[i].deps[d]] = true;
}

/* Under the lock: whether all that the other streams hold comes before the origin's frontier. */
static cls_status check_joined(struct capture *capture) {
    bool *joined = calloc(capture->n_nodes + 1, sizeof *joined);
    if (!joined)
        return error_no_memory("for capture '%s'", capture->name);
    mark_joined(capture, joined);
    for (unsigned m = 1; m < capture->n_members; m++) {
        const struct frontier *frontier = &capture->members[m].frontier;
        for (unsigned i = 0; i < frontier->count; i++)
            if (!joined[frontier->nodes[i]])
                capture_invalidate(capture, "is invalid: stream '%s' was not joined",
                                   capture->members[m].stream->name);
    }
    free(joined);
    return capture->state == CLS_CAPTURE_ACTIVE ? CLS_SUCCESS : capture_refusal(capture);
}

/* Nodes and members of a capture that has ended. */
struct remains {
    struct graph_node *nodes;
    unsigned n_nodes;
    struct capture_member *members;
    unsigned n_members;
};

/* Under the lock. */
static struct remains take_remains(struct capture *capture) {
    const struct remains remains = {capture->nodes, capture->n_nodes, capture->members,
                                    capture->n_members};
    capture->state = CLS_CAPTURE_NONE;
    capture->nodes = NULL;
    capture->members = NULL;
    capture->n_nodes = capture->nodes_room = capture->n_numbered = capture->n_members =
        capture->members_room = 0;
    return remains;
}

/* Without locks: the streams are ordinary ones again. */
static void release_members(struct capture *capture, struct remains *remains) {
    for (unsigned i = 0; i < remains->n_members; i++) {
        struct stream *stream = remains->members[i].stream;
        pthread_mutex_lock(&stream->lock);
        const bool is_ours = stream->capture == capture;
        if (is_ours) {
            stream->capture = NULL;
            stream->capturing = false;
        }
        pthread_mutex_unlock(&stream->lock);
        if (is_ours)
            object_release(&capture->object);
        free(remains->members[i].frontier.nodes);
        stream_put(stream);
    }
    free(remains->members);
}

/* The stream's capture, retained, if it began there. */
static struct capture *capture_begun_on(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    struct capture *capture = stream->capturing ? stream->capture : NULL;
    if (capture && capture->origin != stream)
        capture = NULL;
    if (capture)
        object_retain(&capture->object);
    pthread_mutex_unlock(&stream->lock);
    return capture;
}

static cls_status end(struct capture *capture, struct command_graph **out) {
    pthread_mutex_lock(&capture->lock);
    cls_status status =
        capture->state == CLS_CAPTURE_ACTIVE ? check_joined(capture) : capture_refusal(capture);
    const bool ends = capture->state != CLS_CAPTURE_NONE;
    struct remains remains = {.n_nodes = 0};
    if (ends)
        remains = take_remains(capture);
    pthread_mutex_unlock(&capture->lock);
    if (!status) {
        graph_memory_give_back(object_handle(&capture->object), remains.nodes, remains.n_nodes);
        status =
            command_graph_new(capture->context, capture->name, remains.nodes, remains.n_nodes, out);
    }
    if (status)
        nodes_drop(remains.nodes, remains.n_nodes);
    release_members(capture, &remains);
    return status;
}

cls_status cls_stream_end_capture(cls_stream handle, cls_graph *out) {
    struct command_graph *graph;
    struct stream *stream;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_stream_end_capture: out is null");
    cls_status status = stream_get(handle, NULL, &stream);
    if (status)
        return status;
    struct capture *capture = capture_begun_on(stream);
    if (capture) {
        status = end(capture, &graph);
        object_release(&capture->object);
    } else {
        status =
            error_set(CLS_ERROR_INVALID_STATE, "no capture began on stream '%s'", stream->name);
    }
    if (!status)
        *out = object_handle(&graph->object);
    stream_put(stream);
    return status;
}

/* A stream that goes takes the capture that began there along. One that joined is a member until the capture ends, also when
 * it is destroyed; its reset makes the capture invalid. */
void capture_leave(struct stream *stream) {
    struct command_graph *graph;
    struct detail held;
    struct capture *capture = capture_begun_on(stream);
    if (capture) {
        error_save(&held);
        capture_refuse_event(&capture->object, "reset or destruction of its stream");
        end(capture, &graph);
        error_restore(&held, CLS_SUCCESS);
        object_release(&capture->object);
        return;
    }
    error_save(&held);
    pthread_mutex_lock(&stream->lock);
    if (stream->capturing && !atomic_load(&stream->destroyed))
        capture_refuse(stream, "reset");
    pthread_mutex_unlock(&stream->lock);
    error_restore(&held, CLS_SUCCESS);
}

/* --- inquiries --- */

static void describe(struct stream *stream, cls_capture_info *info) {
    struct capture *capture = stream->capture;
    if (!stream->capturing)
        return;
    pthread_mutex_lock(&capture->lock);
    info->state = capture->state == CLS_CAPTURE_ACTIVE ? CLS_CAPTURE_ACTIVE : CLS_CAPTURE_INVALID;
    info->is_origin = capture->origin == stream;
    info->nodes = capture->n_numbered;
    info->streams = capture->n_members;
    memcpy(info->name, capture->name, sizeof info->name);
    pthread_mutex_unlock(&capture->lock);
}

cls_status cls_stream_get_capture(cls_stream handle, cls_capture_info *info) {
    cls_capture_info now = CLS_CAPTURE_INFO_INIT;
    struct stream *stream;
    cls_status status = SIZED_CHECK(cls_capture_info, info);
    if (!status)
        status = stream_get(handle, NULL, &stream);
    if (status)
        return status;
    pthread_mutex_lock(&stream->lock);
    describe(stream, &now);
    pthread_mutex_unlock(&stream->lock);
    SIZED_OUT(cls_capture_info, info, &now);
    stream_put(stream);
    return CLS_SUCCESS;
}
