/* SPDX-License-Identifier: MIT */
#include "graph/capture_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "graph/graph.h"

const char capture_owner[] = "an executable graph";

static void capture_finalize(struct object *object) {
    struct capture *capture = (struct capture *)(void *)object;
    nodes_drop(capture->nodes, capture->n_nodes);
    free(capture->numbered);
    free(capture->members);
    for (unsigned i = 0; i < capture->n_launched; i++)
        free(capture->launched[i].ends.nodes);
    free(capture->launched);
    pthread_mutex_destroy(&capture->lock);
    context_put(capture->context);
}

static struct object_pool capture_pool =
    OBJECT_POOL(30, sizeof(struct capture), "capture", capture_finalize);

struct capture *capture_new(struct stream *origin, const char *name) {
    enum { UNNAMED = 256 }; /* names are kept for good */
    static _Atomic unsigned numbers;
    struct capture *capture = object_create(&capture_pool);
    if (!capture)
        return NULL;
    pthread_mutex_init(&capture->lock, NULL);
    object_retain(&origin->context->object);
    capture->context = origin->context;
    capture->origin = origin;
    capture->state = CLS_CAPTURE_ACTIVE;
    capture->since = ranges_newest();
    if (name)
        snprintf(capture->name, sizeof capture->name, "%s", name);
    else
        snprintf(capture->name, sizeof capture->name, "graph %u",
                 atomic_fetch_add(&numbers, 1) % UNNAMED + 1);
    return capture;
}

void capture_invalidate(struct capture *capture, const char *format, ...) {
    va_list args;
    if (capture->state != CLS_CAPTURE_ACTIVE)
        return;
    capture->state = CLS_CAPTURE_INVALID;
    va_start(args, format);
    vsnprintf(capture->reason, sizeof capture->reason, format, args);
    va_end(args);
}

cls_status capture_refusal(const struct capture *capture) {
    return error_set(CLS_ERROR_INVALID_STATE, "capture '%s' %s", capture->name,
                     capture->state == CLS_CAPTURE_NONE ? "has ended" : capture->reason);
}

struct capture_member *capture_find_member(struct capture *capture, const struct stream *stream) {
    for (unsigned i = 0; i < capture->n_members; i++)
        if (capture->members[i].stream == stream)
            return &capture->members[i];
    return NULL;
}

bool frontier_add(struct frontier *frontier, unsigned node) {
    for (unsigned i = 0; i < frontier->count; i++)
        if (frontier->nodes[i] == node)
            return true;
    if (!ARRAY_ROOM(frontier->nodes, frontier->count, frontier->room, 4))
        return false;
    frontier->nodes[frontier->count++] = node;
    return true;
}

bool frontier_join(struct frontier *frontier, const struct frontier *other) {
    bool good = true;
    for (unsigned i = 0; i < other->count && good; i++)
        good = frontier_add(frontier, other->nodes[i]);
    return good;
}

bool capture_has_room(struct capture *capture) {
    return ARRAY_ROOM(capture->nodes, capture->n_nodes, capture->nodes_room, 32) &&
           ARRAY_ROOM(capture->numbered, capture->n_numbered, capture->numbered_room, 32);
}

void capture_push(struct capture *capture, const struct graph_node *node) {
    if (!node_is_empty(node))
        capture->numbered[capture->n_numbered++] = capture->n_nodes;
    capture->nodes[capture->n_nodes++] = *node;
}

cls_status capture_append(struct capture *capture, struct capture_member *member,
                          struct graph_node *node) {
    struct frontier *frontier = &member->frontier;
    if (!capture_has_room(capture) ||
        !ARRAY_ROOM(frontier->nodes, frontier->count, frontier->room, 4))
        return error_no_memory("for capture '%s'", capture->name);
    cls_status status = node_set_deps(node, frontier->nodes, frontier->count);
    if (status)
        return status;
    frontier->nodes[0] = capture->n_nodes;
    frontier->count = 1;
    capture_push(capture, node);
    return CLS_SUCCESS;
}

cls_status capture_append_in_ranges(struct capture *capture, struct capture_member *member,
                                    struct graph_node *node) {
    cls_status status = node_ranges_open(capture->since, &node->ranges);
    return status ? status : capture_append(capture, member, node);
}

static bool is_default(const struct stream *stream) {
    struct context *context = stream->context;
    pthread_mutex_lock(&context->lock);
    const bool is = context->default_stream == stream;
    pthread_mutex_unlock(&context->lock);
    return is;
}

static cls_status check_may_join(const struct context *context, const struct stream *stream) {
    const struct failure *poison = stream_poison(stream);
    if (poison)
        return failure_report(stream, poison);
    if (stream->context != context)
        return error_set(CLS_ERROR_WRONG_CONTEXT, "stream '%s' is of another context",
                         stream->name);
    if (stream->owner && stream->owner != capture_owner && !is_default(stream))
        return error_set(CLS_ERROR_UNSUPPORTED, "stream '%s' belongs to %s and cannot be captured",
                         stream->name, stream->owner);
    if (stream->legacy_role == LEGACY_DEFAULT)
        return error_set(CLS_ERROR_UNSUPPORTED,
                         "the default stream has the legacy order and cannot be captured");
    return CLS_SUCCESS;
}

cls_status capture_join(struct capture *capture, struct stream *stream) {
    cls_status status = check_may_join(capture->context, stream);
    if (status)
        return status;
    if (!ARRAY_ROOM(capture->members, capture->n_members, capture->members_room, 4))
        return error_no_memory("for capture '%s'", capture->name);
    object_retain(&stream->object);
    object_retain(&capture->object);
    capture->members[capture->n_members++] = (struct capture_member){.stream = stream};
    stream->capture = capture;
    stream->capturing = true;
    return CLS_SUCCESS;
}
