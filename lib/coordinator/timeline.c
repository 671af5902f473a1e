/* SPDX-License-Identifier: MIT */
#include "coordinator/timeline.h"

#include <limits.h>
#include <stdlib.h>

#include "base/error.h"
#include "check/explain.h"
#include "check/race.h"
#include "coordinator/deadlock.h"
#include "stream/dep.h"
#include "stream/engine.h"
#include "stream/stream.h"

static void timeline_finalize(struct object *object) {
    struct timeline *timeline = (struct timeline *)(void *)object;
    if (race_on())
        race_forget_signals(timeline);
    deadlock_forget(timeline);
    for (unsigned i = 0; i < timeline->queues.count; i++)
        stream_put(timeline->queues.items[i].key);
    signal_queues_free(&timeline->queues);
    if (timeline->signaller)
        stream_put(timeline->signaller);
    struct failure *failure = atomic_load(&timeline->gate.failures);
    while (failure) {
        struct failure *older = failure->older;
        free(failure);
        failure = older;
    }
    free(timeline->spare);
    pthread_cond_destroy(&timeline->progress);
    pthread_mutex_destroy(&timeline->lock);
}

struct object_pool timeline_pool =
    OBJECT_POOL(12, sizeof(struct timeline), "timeline", timeline_finalize);

cls_status timeline_get(cls_timeline handle, struct timeline **out) {
    struct timeline *timeline = object_acquire(&timeline_pool, handle);
    if (!timeline)
        return object_invalid(&timeline_pool, handle);
    *out = timeline;
    return CLS_SUCCESS;
}

cls_status timeline_report(const struct timeline *timeline, const struct failure *failure) {
    return error_set_code(failure->status, failure->code,
                          "command '%s' failed; timeline '%s' is poisoned", failure->label,
                          timeline->name);
}

/* --- the value --- */

static void advance(struct timeline *timeline, uint64_t value, const struct failure *failure) {
    if (value <= timeline->value)
        return;
    if (failure)
        failures_record(&timeline->gate.failures, &timeline->spare, timeline->value + 1, failure);
    timeline->value = value;
    if (timeline->owes || timeline->lenient)
        deadlock_note_owed(timeline);
    pthread_cond_broadcast(&timeline->progress);
}

static void retire_queue(struct timeline *timeline, struct signal_queue *queue) {
    const struct stream *stream = queue->key;
    const struct queued_signal *signal;
    uint64_t retired = atomic_load(&stream->retired);
    while ((signal = signal_queue_front(queue)) != NULL && signal->position <= retired) {
        advance(timeline, signal->value, stream_failure_at(stream, signal->position));
        signal_queue_pop(queue);
    }
}

void timeline_settle(struct timeline *timeline) {
    for (unsigned i = 0; i < timeline->queues.count; i++)
        retire_queue(timeline, &timeline->queues.items[i]);
}

/* Under the lock: closes one queue without signals; its stream, to be released without the lock. */
static struct stream *close_one(struct timeline *timeline) {
    for (unsigned i = 0; i < timeline->queues.count; i++) {
        struct signal_queue *queue = &timeline->queues.items[i];
        struct stream *stream = queue->key;
        if (queue->count || queue->claims)
            continue;
        signal_queues_close(&timeline->queues, queue);
        return stream;
    }
    return NULL;
}

void timeline_tidy(struct timeline *timeline) {
    struct stream *stream;
    do {
        pthread_mutex_lock(&timeline->lock);
        timeline_settle(timeline);
        stream = close_one(timeline);
        pthread_mutex_unlock(&timeline->lock);
        if (stream)
            stream_put(stream);
    } while (stream);
}

void timeline_raise(struct timeline *timeline, uint64_t value) { advance(timeline, value, NULL); }

struct stream *timeline_next_signal(struct timeline *timeline, uint64_t value, unsigned *cursor,
                                    uint64_t *position) {
    struct stream *stream = NULL;
    pthread_mutex_lock(&timeline->lock);
    while (!stream && *cursor < timeline->queues.count) {
        const struct signal_queue *queue = &timeline->queues.items[(*cursor)++];
        const struct queued_signal *signal = signal_queue_reaching(queue, value);
        if (!signal)
            continue;
        stream = queue->key;
        object_retain(&stream->object);
        *position = signal->position;
    }
    pthread_mutex_unlock(&timeline->lock);
    return stream;
}

bool timeline_is_over(struct timeline *timeline) {
    return atomic_load(&timeline->destroyed) ||
           (timeline->signaller && stream_is_over(timeline->signaller));
}

/* A queue with a claim only is a signal in the making. What the waiter itself has queued comes too late. */
static bool has_signal_for(const struct timeline *timeline, uint64_t value,
                           const struct stream *waiter) {
    for (unsigned i = 0; i < timeline->queues.count; i++) {
        const struct signal_queue *queue = &timeline->queues.items[i];
        if (queue->claimed >= value && queue->key != waiter)
            return true;
    }
    return false;
}

void timeline_give_up(struct timeline *timeline, uint64_t value, const struct stream *waiter,
                      bool hopeless) {
    if (timeline->value >= value || (!hopeless && has_signal_for(timeline, value, waiter)))
        return;
    const struct failure what = {.status = CLS_ERROR_COMMAND_FAILED,
                                 .label = atomic_load(&timeline->destroyed)
                                              ? "wait for a destroyed timeline"
                                              : "wait for a destroyed signaller"};
    failures_record(&timeline->gate.failures, &timeline->spare, value, &what);
    pthread_cond_broadcast(&timeline->progress);
}

void timeline_enter(struct timeline *timeline, uint64_t value) {
    const bool over = timeline_is_over(timeline); /* before the signals, not after */
    pthread_mutex_lock(&timeline->lock);
    timeline_settle(timeline);
    if (over)
        timeline_give_up(timeline, value, NULL, false);
}

/* --- as a gate --- */

static bool is_over(struct gate *gate, uint64_t value) {
    struct timeline *timeline = (struct timeline *)(void *)gate;
    timeline_enter(timeline, value);
    bool over = timeline->value >= value || gate_failure(gate, value);
    pthread_mutex_unlock(&timeline->lock);
    return over;
}

/* What one queued signal means for a waiter. */
static enum gate_answer look_via(struct stream *stream, uint64_t position,
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
        enum gate_answer answer = look_via(stream, signal, waiter, position, via);
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
    timeline_give_up(timeline, value, waiter, hopeless);
    pthread_mutex_unlock(&timeline->lock);
    return is_over(gate, value) ? GATE_OPEN : GATE_SHUT;
}

/* Under the lock: what is queued for the value. */
static bool say_queued(const struct timeline *timeline, uint64_t value, struct text *text) {
    bool queued = false;
    for (unsigned i = 0; i < timeline->queues.count; i++) {
        const struct signal_queue *queue = &timeline->queues.items[i];
        const struct queued_signal *signal = signal_queue_reaching(queue, value);
        if (signal)
            text_printf(text, "%s stream '%s' signals it behind its command %llu",
                        queued ? "," : ":", ((const struct stream *)queue->key)->name,
                        (unsigned long long)signal->position);
        queued = queued || signal;
    }
    return queued;
}

static void describe(struct gate *gate, uint64_t value, struct text *text) {
    struct timeline *timeline = (struct timeline *)(void *)gate;
    const struct failure *failure = gate_failure(gate, value);
    pthread_mutex_lock(&timeline->lock);
    timeline_settle(timeline);
    text_printf(text, "timeline '%s', at %llu of %llu", timeline->name,
                (unsigned long long)timeline->value, (unsigned long long)value);
    if (failure)
        text_printf(text, ", poisoned by '%s'", failure->label);
    else if (timeline->value < value && !say_queued(timeline, value, text)) {
        if (timeline->signaller)
            text_printf(text, ": only stream '%s' may signal it, and has not queued it",
                        timeline->signaller->name);
        else
            text_printf(text, ": anybody may signal it, and nobody has queued it: a possible "
                              "stall");
    }
    pthread_mutex_unlock(&timeline->lock);
}

/* Those with signals queued, then the signaller. */
static struct stream *source(struct gate *gate, uint64_t value, unsigned *cursor) {
    struct timeline *timeline = (struct timeline *)(void *)gate;
    uint64_t position;
    if (*cursor == UINT_MAX)
        return NULL;
    struct stream *stream = timeline_next_signal(timeline, value, cursor, &position);
    if (stream || !timeline->signaller)
        return stream;
    *cursor = UINT_MAX;
    object_retain(&timeline->signaller->object);
    return timeline->signaller;
}

void timeline_explain(struct timeline *timeline, uint64_t value, struct explanation *to) {
    struct stream *stream;
    unsigned cursor = 0;
    describe(&timeline->gate, value, &to->text);
    text_printf(&to->text, "\n");
    while ((stream = source(&timeline->gate, value, &cursor)) != NULL) {
        explain_also(to, stream);
        stream_put(stream);
    }
    explain_all(to);
}

const struct gate_type timeline_gate = {
    .look = look, .is_over = is_over, .describe = describe, .source = source};
