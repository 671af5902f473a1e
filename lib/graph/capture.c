/* SPDX-License-Identifier: MIT */
#include "graph/capture.h"

#include "base/error.h"
#include "graph/capture_state.h"

/* --- becoming invalid --- */

cls_status capture_refuse(struct stream *stream, const char *call) {
    struct capture *capture = stream->capture;
    pthread_mutex_lock(&capture->lock);
    capture_invalidate(capture,
                       "is invalid: stream '%s' was captured, and the capture allows no %s",
                       stream->name, call);
    cls_status status = capture_refusal(capture);
    pthread_mutex_unlock(&capture->lock);
    return status;
}

cls_status capture_refuse_event(struct object *object, const char *call) {
    struct capture *capture = (struct capture *)(void *)object;
    pthread_mutex_lock(&capture->lock);
    capture_invalidate(capture, "is invalid: it allows no %s", call);
    cls_status status = capture_refusal(capture);
    pthread_mutex_unlock(&capture->lock);
    return status;
}

/* --- recording --- */

/* A marker without an event is a prefetch that has nothing to do. What hands memory over (managed.h) does so when it is
 * submitted, which a launch cannot repeat. */
static bool may_take(const struct command *command) {
    if (command->type == &type_marker)
        return !command->u.marker.event;
    if (command->type->capture == CAPTURE_MIGRATE)
        return !command->u.migrate.by_turns;
    return command->type->capture != CAPTURE_REFUSED;
}

static cls_status take(struct capture *capture, struct stream *stream, struct command *command,
                       const struct launch_args *args) {
    struct capture_member *member = capture_find_member(capture, stream);
    struct graph_node node;
    if (capture->state != CLS_CAPTURE_ACTIVE || !member)
        return capture_refusal(capture);
    if (!may_take(command)) {
        capture_invalidate(capture, "is invalid: a %s cannot be captured", command_label(command));
        return error_set(CLS_ERROR_UNSUPPORTED, "capture '%s': a %s cannot be captured",
                         capture->name, command_label(command));
    }
    cls_status status = node_from_command(&node, stream, command, args);
    if (status)
        return status;
    status = capture_append_in_ranges(capture, member, &node);
    if (status) {
        *command = node.command;
        node.command.type = NULL;
        node_drop(&node);
    }
    return status;
}

cls_status capture_submit(struct stream *stream, struct command *command,
                          const struct launch_args *args, uint64_t *position) {
    struct capture *capture = stream->capture;
    pthread_mutex_lock(&capture->lock);
    cls_status status = take(capture, stream, command, args);
    pthread_mutex_unlock(&capture->lock);
    pthread_mutex_unlock(&stream->lock);
    if (status)
        command_drop(command);
    else if (position)
        *position = POSITION_CAPTURED;
    return status;
}

/* --- events --- */

/* Under the capture's lock: the one node that the member's next comes behind. */
static cls_status single_node(struct capture *capture, struct capture_member *member,
                              unsigned *out) {
    struct graph_node empty = {.n_args = 0};
    cls_status status = CLS_SUCCESS;
    if (member->frontier.count != 1)
        status = capture_append(capture, member, &empty);
    if (!status)
        *out = member->frontier.nodes[0];
    return status;
}

/* Under the capture's lock: a node that records a timed event. */
static cls_status record_node(struct capture *capture, struct capture_member *member,
                              struct event *event, unsigned *out) {
    struct graph_node node = {.n_args = 0};
    command_init(&node.command, &type_marker, "event record");
    node.command.u.marker.event = event;
    object_retain(&event->object);
    command_keep(&node.command, &event->object); /* there is room */
    cls_status status = capture_append_in_ranges(capture, member, &node);
    if (status)
        node_drop(&node);
    else
        *out = member->frontier.nodes[0];
    return status;
}

cls_status capture_record(struct stream *stream, struct event *event, struct captured_record *out) {
    unsigned node;
    struct capture *capture = stream->capture;
    pthread_mutex_lock(&capture->lock);
    struct capture_member *member = capture_find_member(capture, stream);
    cls_status status = CLS_SUCCESS;
    if (capture->state != CLS_CAPTURE_ACTIVE || !member)
        status = capture_refusal(capture);
    else if (event && event->timed)
        status = record_node(capture, member, event, &node);
    else
        status = single_node(capture, member, &node);
    pthread_mutex_unlock(&capture->lock);
    if (status)
        return status;
    object_retain(&capture->object);
    *out = (struct captured_record){&capture->object, node};
    return CLS_SUCCESS;
}

bool capture_is_over(const struct object *object) {
    return ((const struct capture *)(const void *)object)->state == CLS_CAPTURE_NONE;
}

/* Under the locks of both. */
static cls_status come_after(struct capture *capture, struct stream *stream, unsigned node) {
    cls_status status = CLS_SUCCESS;
    if (capture->state != CLS_CAPTURE_ACTIVE)
        return capture_refusal(capture);
    if (!stream->capturing)
        status = capture_join(capture, stream);
    if (!status && !frontier_add(&capture_find_member(capture, stream)->frontier, node))
        status = error_no_memory("for capture '%s'", capture->name);
    return status;
}

cls_status capture_wait(cls_stream handle, struct object *object, unsigned node) {
    struct capture *capture = (struct capture *)(void *)object;
    struct stream *stream;
    cls_status status = stream_get(handle, capture->context, &stream);
    if (status)
        return status;
    pthread_mutex_lock(&stream->lock);
    if (stream->capturing && stream->capture != capture) {
        status = capture_refuse(stream, "wait for an event of another capture");
    } else {
        pthread_mutex_lock(&capture->lock);
        status = come_after(capture, stream, node);
        pthread_mutex_unlock(&capture->lock);
    }
    pthread_mutex_unlock(&stream->lock);
    stream_put(stream);
    return status;
}
