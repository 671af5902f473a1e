/* SPDX-License-Identifier: MIT */
/* Signals and waits of streams for timelines. */
#include "base/error.h"
#include "coordinator/deadlock.h"
#include "coordinator/internals.h"
#include "coordinator/timeline.h"

/* --- signal --- */

static cls_status refuse_value(const struct timeline *timeline, uint64_t value, uint64_t known) {
    return error_set(CLS_ERROR_INVALID_VALUE,
                     "timeline '%s': signals of one stream must rise, and %llu is not above %llu",
                     timeline->name, (unsigned long long)value, (unsigned long long)known);
}

/* Under the lock: claims the value, so that no later signal of the stream can be at or below it. */
static cls_status claim_locked(struct timeline *timeline, struct stream *stream, uint64_t value) {
    bool made;
    timeline_update(timeline);
    if (timeline->signaller && timeline->signaller != stream)
        return error_set(CLS_ERROR_INVALID_STATE, "only stream '%s' may signal timeline '%s'",
                         timeline->signaller->name, timeline->name);
    if (timeline->signaller && value <= timeline->value)
        return refuse_value(timeline, value, timeline->value);
    struct signal_queue *queue = signal_queues_open(&timeline->queues, stream, &made);
    if (queue && made)
        object_retain(&stream->object);
    if (queue && (queue->count || queue->claims) && value <= queue->claimed)
        return refuse_value(timeline, value, queue->claimed);
    if (!queue || !signal_queue_claim(queue, value))
        return error_no_memory("for a signal");
    return CLS_SUCCESS;
}

/* Commits the claim, or cancels it where the stream took no mark. */
static void end_claim(struct timeline *timeline, struct stream *stream, uint64_t value,
                      cls_status marked, uint64_t position) {
    pthread_mutex_lock(&timeline->lock);
    struct signal_queue *queue = signal_queues_find(&timeline->queues, stream);
    if (marked)
        signal_queue_cancel(queue);
    else
        signal_queue_commit(queue, position, value);
    bool awaited = timeline->awaited > timeline->value;
    if (timeline->has_unsignalled_wait)
        timeline_note_waits(timeline);
    timeline_update(timeline);
    pthread_cond_broadcast(&timeline->progress);
    pthread_mutex_unlock(&timeline->lock);
    if (awaited)
        engine_kick();
}

/* CLS_NOT_READY: a capture of the stream began meanwhile. */
static cls_status signal_from(struct timeline *timeline, struct stream *stream, uint64_t value) {
    uint64_t position = 0;
    timeline_release_idle(timeline);
    cls_status status = timeline->signaller == stream ? deadlock_check_signal(stream) : CLS_SUCCESS;
    if (status)
        return status;
    pthread_mutex_lock(&timeline->lock);
    status = claim_locked(timeline, stream, value);
    pthread_mutex_unlock(&timeline->lock);
    if (status)
        return status;
    status = stream_mark_for(stream, MARK_BESIDE, &position);
    if (!status && race_on())
        race_signals(timeline, value, stream, position);
    end_claim(timeline, stream, value, status, position);
    return status;
}

/* The stream and the timeline of a call, both retained. */
static cls_status get_both(cls_stream stream_handle, cls_timeline handle, struct stream **stream,
                           struct timeline **timeline) {
    cls_status status = timeline_get(handle, timeline);
    if (status)
        return status;
    status = stream_get(stream_handle, NULL, stream);
    if (status)
        timeline_put(*timeline);
    return status;
}

cls_status cls_stream_signal_timeline(cls_stream stream_handle, cls_timeline handle,
                                      uint64_t value) {
    struct stream *stream;
    struct timeline *timeline;
    cls_status status = get_both(stream_handle, handle, &stream, &timeline);
    if (status)
        return status;
    bool captured;
    do {
        status = timeline_signal_captured(timeline, stream, value, &captured);
        if (!status && !captured)
            status = signal_from(timeline, stream, value);
    } while (status == CLS_NOT_READY);
    timeline_put(timeline);
    stream_put(stream);
    return status;
}

/* --- wait --- */

/* Makes the dependency of a wait, retained; false when there is nothing to wait for. */
static bool wait_dep(struct timeline *timeline, uint64_t value, struct stream *stream,
                     struct dep *dep) {
    struct dep via;
    pthread_mutex_lock(&stream->lock);
    uint64_t next = stream->submitted + 1;
    pthread_mutex_unlock(&stream->lock);
    *dep = (struct dep){.gate = &timeline->gate,
                        .value = value,
                        .since = gate_failures(&timeline->gate)}; /* before the value is read */
    enum gate_answer answer = timeline_gate.look(&timeline->gate, value, stream, next, &via);
    if (answer == GATE_OPEN)
        return false;
    object_retain(&timeline->gate.object);
    if (answer == GATE_VIA)
        dep_take_work(dep, &via);
    return true;
}

static void note_awaited(struct timeline *timeline, uint64_t value) {
    pthread_mutex_lock(&timeline->lock);
    if (value > timeline->awaited)
        timeline->awaited = value;
    pthread_mutex_unlock(&timeline->lock);
}

static cls_status wait_for_value(struct stream *stream, struct timeline *timeline, uint64_t value) {
    struct dep dep;
    cls_status status = CLS_SUCCESS;
    if (wait_dep(timeline, value, stream, &dep)) {
        if (!timeline->signaller) /* else the deadlock check notes it */
            note_awaited(timeline, value);
        status = stream_add_wait(stream, &dep);
        if (status)
            dep_release(&dep);
    }
    if (!status && race_on())
        race_waits_signal(stream, timeline, value);
    /* Read last: a later failure reaches the stream through its wait. */
    const struct failure *failure = gate_failure(&timeline->gate, value);
    if (failure)
        stream_inherit(stream, failure);
    return status;
}

cls_status cls_stream_wait_timeline(cls_stream stream_handle, cls_timeline handle, uint64_t value) {
    struct stream *stream;
    struct timeline *timeline;
    struct captured_record captured;
    cls_status status = get_both(stream_handle, handle, &stream, &timeline);
    if (status)
        return status;
    timeline_find_captured(timeline, stream, value, &captured);
    if (captured.capture) {
        status = hooks.capture.wait(stream_handle, captured.capture, captured.node);
        object_release(captured.capture);
    } else {
        status = wait_for_value(stream, timeline, value);
    }
    timeline_put(timeline);
    stream_put(stream);
    return status;
}
