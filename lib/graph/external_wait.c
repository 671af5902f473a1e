/* SPDX-License-Identifier: MIT */
#include "graph/external_wait.h"

#include "base/error.h"
#include "driver/queue.h"
#include "graph/capture_state.h"

/* The order of a queue needs no marker. */
static cls_status enqueue_wait(struct target target, const struct command *command,
                               struct wait_list waits, cl_event *event) {
    (void)command;
    if (!event && !waits.count)
        return CLS_SUCCESS;
    return enqueue_marker(target.device, target.queue, waits, event);
}

const struct command_type type_external_wait = {
    .kind = CLS_COMMAND_MARKER, .label = "event wait", .enqueue = enqueue_wait};

/* --- in a capture --- */

static bool is_recorded_in(struct event *event, const struct capture *capture) {
    pthread_mutex_lock(&event->lock);
    const bool is = event->captured == &capture->object;
    pthread_mutex_unlock(&event->lock);
    return is;
}

/* Under the locks of the stream and of its capture. */
static cls_status add_wait_node(struct capture *capture, const struct stream *stream,
                                struct event *event) {
    struct capture_member *member = capture_find_member(capture, stream);
    struct graph_node node = {.n_args = 0};
    if (capture->state != CLS_CAPTURE_ACTIVE || !member)
        return capture_refusal(capture);
    command_init(&node.command, &type_external_wait, NULL);
    node.command.u.marker.event = event;
    object_retain(&event->object);
    command_keep(&node.command, &event->object); /* there is room */
    cls_status status = capture_append_in_ranges(capture, member, &node);
    if (status)
        node_drop(&node);
    return status;
}

/* `*added`: the stream is captured, and the wait is no dependency inside its capture. */
static cls_status capture_external_wait(struct stream *stream, struct event *event, bool *added) {
    cls_status status = CLS_SUCCESS;
    pthread_mutex_lock(&stream->lock);
    struct capture *capture = stream->capture;
    *added = stream->capturing && !is_recorded_in(event, capture);
    if (*added) {
        pthread_mutex_lock(&capture->lock);
        status = add_wait_node(capture, stream, event);
        pthread_mutex_unlock(&capture->lock);
    }
    pthread_mutex_unlock(&stream->lock);
    return status;
}

cls_status cls_stream_wait_external_event(cls_stream handle, cls_event event_handle) {
    struct event *event;
    struct stream *stream;
    bool added = false;
    cls_status status = event_enter(event_handle, &event);
    if (status)
        return status;
    object_retain(&event->object);
    pthread_mutex_unlock(&event->lock);
    status = stream_get(handle, event->context, &stream);
    if (!status) {
        status = capture_external_wait(stream, event, &added);
        stream_put(stream);
    }
    object_release(&event->object);
    return status || added ? status : cls_stream_wait_event(handle, event_handle);
}

/* --- in launches --- */

static cls_status wait_for_latest(struct stream *stream, struct event *event) {
    uint64_t position;
    if (event->records)
        return shared_event_wait(event, stream);
    pthread_mutex_lock(&event->lock);
    const bool is_captured = event->captured;
    struct stream *other = is_captured ? NULL : event_latest(event, &position);
    pthread_mutex_unlock(&event->lock);
    if (is_captured)
        return error_set(CLS_ERROR_INVALID_STATE,
                         "the launch waits for an event whose latest record is in a capture");
    if (!other)
        return CLS_SUCCESS;
    cls_status status = stream_wait_for(stream, other, position);
    stream_put(other);
    return status;
}

cls_status graph_wait_external(const struct graph_version *version, struct stream *stream) {
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < version->n_nodes && !status; i++) {
        const struct command *command = &version->nodes[i].node->command;
        if (command->type == &type_external_wait && !version->nodes[i].disabled)
            status = wait_for_latest(stream, command->u.marker.event);
    }
    return status;
}
