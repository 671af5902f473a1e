/* SPDX-License-Identifier: MIT */
/* Signals and waits of captured streams: they order the nodes of a capture, as records of events do, and no value
 * changes. */
#include "base/array.h"
#include "base/error.h"
#include "coordinator/internals.h"
#include "coordinator/timeline.h"

static cls_status keep(struct timeline *timeline, const struct captured_signal *signal) {
    pthread_mutex_lock(&timeline->lock);
    const bool kept =
        ARRAY_ROOM(timeline->captured, timeline->n_captured, timeline->captured_room, 4);
    if (kept)
        timeline->captured[timeline->n_captured++] = *signal;
    pthread_mutex_unlock(&timeline->lock);
    if (kept)
        return CLS_SUCCESS;
    object_release(signal->at.capture);
    return error_no_memory("for a signal in a capture");
}

cls_status timeline_signal_captured(struct timeline *timeline, struct stream *stream,
                                    uint64_t value, bool *captured) {
    struct captured_signal signal = {.value = value};
    const bool refused = timeline->signaller && timeline->signaller != stream;
    cls_status status = CLS_SUCCESS;
    pthread_mutex_lock(&stream->lock);
    *captured = stream->capturing && !refused;
    if (*captured)
        status = hooks.capture.record(stream, NULL, &signal.at);
    pthread_mutex_unlock(&stream->lock);
    if (status || !*captured)
        return status;
    timeline_forget_captured(timeline, false);
    return keep(timeline, &signal);
}

/* Under the lock. */
static bool will_be_reached(struct timeline *timeline, uint64_t value) {
    bool reached = timeline->value >= value;
    for (unsigned i = 0; i < timeline->queues.count && !reached; i++)
        reached = signal_queue_reaching(&timeline->queues.items[i], value) != NULL;
    return reached;
}

/* Under the lock: the lowest signal that reaches the value, of that capture if it has one, else of any. */
static const struct captured_signal *find(const struct timeline *timeline, uint64_t value,
                                          const struct object *capture) {
    const struct captured_signal *found = NULL;
    for (unsigned i = 0; i < timeline->n_captured; i++) {
        const struct captured_signal *signal = &timeline->captured[i];
        const bool is_own = signal->at.capture == capture;
        if (signal->value < value)
            continue;
        const bool found_own = found && found->at.capture == capture;
        if (!found || (is_own && !found_own) ||
            (is_own == found_own && signal->value < found->value))
            found = signal;
    }
    return found;
}

void timeline_find_captured(struct timeline *timeline, struct stream *stream, uint64_t value,
                            struct captured_record *out) {
    const void *own = stream_captured_by(stream);
    *out = (struct captured_record){NULL, 0};
    timeline_forget_captured(timeline, false);
    pthread_mutex_lock(&timeline->lock);
    timeline_update(timeline);
    const struct captured_signal *signal =
        own || !will_be_reached(timeline, value) ? find(timeline, value, own) : NULL;
    if (signal) {
        *out = signal->at;
        object_retain(out->capture);
    }
    pthread_mutex_unlock(&timeline->lock);
}
