/* SPDX-License-Identifier: MIT */
/* A timeline as a gate (stream/gate.h): what a stream that waits for a value is told. */
#include "coordinator/timeline.h"

#include <limits.h>

#include "coordinator/deadlock.h"
#include "coordinator/internals.h"

static bool is_over(struct gate *gate, uint64_t value) {
    struct timeline *timeline = (struct timeline *)(void *)gate;
    timeline_lock_updated(timeline, value);
    bool over = timeline->value >= value || gate_failure(gate, value);
    pthread_mutex_unlock(&timeline->lock);
    return over;
}

/* What one queued signal means for a waiter. */
static enum gate_answer signal_answer(struct stream *stream, uint64_t position,
                                      const struct stream *waiter, uint64_t at, struct dep *via) {
    if (stream == waiter)
        return position < at ? GATE_OPEN : GATE_SHUT;
    if (stream_dep(stream, position, waiter, via))
        return GATE_OPEN;
    object_retain(&stream->object);
    if (via->event_ref)
        return GATE_VIA;
    dep_release(via);
    return GATE_SHUT;
}

static enum gate_answer look(struct gate *gate, uint64_t value, const struct stream *waiter,
                             uint64_t position, struct dep *via) {
    struct timeline *timeline = (struct timeline *)(void *)gate;
    struct stream *stream;
    unsigned cursor = 0;
    uint64_t signal;
    bool over = timeline_is_over(timeline), hopeless = false; /* before the signals, not after */
    if (is_over(gate, value))
        return GATE_OPEN;
    while ((stream = timeline_next_signal(timeline, value, &cursor, &signal)) != NULL) {
        enum gate_answer answer = signal_answer(stream, signal, waiter, position, via);
        if (answer == GATE_OPEN && stream != waiter)
            answer = is_over(gate, value) ? GATE_OPEN : GATE_SHUT;
        if (over && answer == GATE_SHUT && timeline->signaller == stream)
            hopeless = deadlock_is_hopeless(stream, signal);
        stream_put(stream);
        if (answer != GATE_SHUT)
            return answer;
    }
    if (!over)
        return GATE_SHUT;
    pthread_mutex_lock(&timeline->lock);
    timeline_fail_waits(timeline, value, waiter, hopeless);
    pthread_mutex_unlock(&timeline->lock);
    return is_over(gate, value) ? GATE_OPEN : GATE_SHUT;
}

/* Under the lock: appends what is queued for the value; false: nothing. */
static bool describe_queued(const struct timeline *timeline, uint64_t value, struct text *text) {
    bool queued = false;
    for (unsigned i = 0; i < timeline->queues.count; i++) {
        const struct signal_queue *queue = &timeline->queues.items[i];
        const struct queued_signal *signal = signal_queue_reaching(queue, value);
        if (signal)
            text_printf(text, "%s stream '%s' signals it after its command %llu",
                        queued ? ", and" : ":", ((const struct stream *)queue->key)->name,
                        (unsigned long long)signal->position);
        queued = queued || signal;
    }
    return queued;
}

static void describe(struct gate *gate, uint64_t value, struct text *text) {
    struct timeline *timeline = (struct timeline *)(void *)gate;
    const struct failure *failure = gate_failure(gate, value);
    pthread_mutex_lock(&timeline->lock);
    timeline_update(timeline);
    text_printf(text, "timeline '%s' to reach %llu; it is at %llu", timeline->name,
                (unsigned long long)value, (unsigned long long)timeline->value);
    if (failure)
        text_printf(text, ", and poisoned: %s", failure_text(failure).text);
    else if (timeline->value < value && !describe_queued(timeline, value, text)) {
        if (timeline->signaller)
            text_printf(text,
                        ": only stream '%s' may signal it, and no such signal is "
                        "submitted",
                        timeline->signaller->name);
        else
            text_printf(text, ": any thread or stream may signal it, and no such signal is "
                              "submitted");
    }
    if (timeline->note[0])
        text_printf(text, "; %s", timeline->note);
    pthread_mutex_unlock(&timeline->lock);
}

/* Iterates over the streams with signals queued, then the signaller. */
static struct stream *source(struct gate *gate, uint64_t value, unsigned *cursor,
                             uint64_t *position) {
    struct timeline *timeline = (struct timeline *)(void *)gate;
    *position = 0;
    if (*cursor == UINT_MAX)
        return NULL;
    struct stream *stream = timeline_next_signal(timeline, value, cursor, position);
    if (stream || !timeline->signaller)
        return stream;
    *cursor = UINT_MAX;
    object_retain(&timeline->signaller->object);
    return timeline->signaller;
}

void timeline_explain(struct timeline *timeline, uint64_t value, struct explanation *to) {
    struct stream *stream;
    unsigned cursor = 0;
    uint64_t position;
    describe(&timeline->gate, value, &to->text);
    text_printf(&to->text, "\n");
    while ((stream = source(&timeline->gate, value, &cursor, &position)) != NULL) {
        explain_also(to, stream);
        stream_put(stream);
    }
    explain_all(to);
}

const struct gate_type timeline_gate = {
    .look = look, .is_over = is_over, .describe = describe, .source = source};
