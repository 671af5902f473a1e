/* SPDX-License-Identifier: MIT */
/* The value of a timeline: what signals do to it, and which waits no signal is queued for. */
#include "coordinator/timeline.h"

#include <stdlib.h>

#include <utlist.h>

#include "base/error.h"
#include "coordinator/internals.h"

/* --- waits without a signal, for the deadlock check --- */

/* How many timelines have each of the two flags set. */
static _Atomic long unsignalled, relaxed;

bool timeline_any_unsignalled(void) { return atomic_load(&unsignalled) != 0; }

bool timeline_any_relaxed(void) { return atomic_load(&relaxed) != 0; }

bool timeline_is_unsignalled(const struct timeline *timeline, uint64_t value) {
    const struct signal_queue *queue = signal_queues_find(&timeline->queues, timeline->signaller);
    return value > timeline->value && !(queue && signal_queue_reaching(queue, value));
}

static void set_flag(bool *flag, bool now, _Atomic long *count) {
    if (now != *flag)
        atomic_fetch_add(count, now ? 1 : -1);
    *flag = now;
}

void timeline_note_waits(struct timeline *timeline) {
    if (!timeline->signaller)
        return;
    set_flag(&timeline->has_unsignalled_wait, timeline_is_unsignalled(timeline, timeline->awaited),
             &unsignalled);
    set_flag(&timeline->check_relaxed, timeline->value < timeline->max_user_wait, &relaxed);
}

static void forget_waits(struct timeline *timeline) {
    set_flag(&timeline->has_unsignalled_wait, false, &unsignalled);
    set_flag(&timeline->check_relaxed, false, &relaxed);
}

/* --- signals in captures --- */

/* Under the lock: takes one out, of a capture that has ended, or any. */
static struct object *take_one(struct timeline *timeline, bool any) {
    for (unsigned i = 0; i < timeline->n_captured; i++) {
        struct object *capture = timeline->captured[i].at.capture;
        if (!any && !hooks.capture.is_over(capture))
            continue;
        timeline->captured[i] = timeline->captured[--timeline->n_captured];
        return capture;
    }
    return NULL;
}

void timeline_forget_captured(struct timeline *timeline, bool all) {
    struct object *capture;
    do {
        pthread_mutex_lock(&timeline->lock);
        capture = take_one(timeline, all);
        pthread_mutex_unlock(&timeline->lock);
        if (capture)
            object_release(capture);
    } while (capture);
}

/* --- the object --- */

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER; /* taken before a timeline's */
static struct timeline *timelines;

void timeline_enlist(struct timeline *timeline) {
    pthread_mutex_lock(&list_lock);
    DL_APPEND(timelines, timeline);
    pthread_mutex_unlock(&list_lock);
}

static void delist(struct timeline *timeline) {
    pthread_mutex_lock(&list_lock);
    DL_DELETE(timelines, timeline);
    pthread_mutex_unlock(&list_lock);
}

static void timeline_finalize(struct object *object) {
    struct timeline *timeline = (struct timeline *)(void *)object;
    delist(timeline);
    if (race_on())
        race_forget_signals(timeline);
    forget_waits(timeline);
    for (unsigned i = 0; i < timeline->queues.count; i++)
        stream_put(timeline->queues.items[i].key);
    signal_queues_free(&timeline->queues);
    timeline_forget_captured(timeline, true);
    free(timeline->captured);
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
    return error_set_code(failure->status, failure->code, "%s; timeline '%s' is poisoned",
                          failure_text(failure).text, timeline->name);
}

/* --- the value --- */

static void advance(struct timeline *timeline, uint64_t value, const struct failure *failure) {
    if (value <= timeline->value)
        return;
    if (failure)
        failures_record(&timeline->gate.failures, &timeline->spare, timeline->value + 1, failure);
    timeline->value = value;
    if (timeline->has_unsignalled_wait || timeline->check_relaxed)
        timeline_note_waits(timeline);
    pthread_cond_broadcast(&timeline->progress);
}

/* Whether failed work has retired before the oldest signal. */
static bool has_failed(const struct signal_queue *queue) {
    const struct stream *stream = queue->key;
    const struct queued_signal *signal = signal_queue_front(queue);
    return signal && signal->position <= atomic_load(&stream->retired) &&
           stream_failure_at(stream, signal->position);
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

/* Signals that retired before the failed work have been applied (timelines_update), so the failed signals come first among
 * the rest. */
void timeline_update(struct timeline *timeline) {
    struct signal_queues *queues = &timeline->queues;
    for (unsigned i = 0; i < queues->count; i++)
        if (has_failed(&queues->items[i]))
            retire_queue(timeline, &queues->items[i]);
    for (unsigned i = 0; i < queues->count; i++)
        retire_queue(timeline, &queues->items[i]);
}

void timelines_update(void) {
    struct timeline *timeline;
    pthread_mutex_lock(&list_lock);
    DL_FOREACH(timelines, timeline) {
        pthread_mutex_lock(&timeline->lock);
        timeline_update(timeline);
        pthread_mutex_unlock(&timeline->lock);
    }
    pthread_mutex_unlock(&list_lock);
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

void timeline_release_idle(struct timeline *timeline) {
    struct stream *stream;
    do {
        pthread_mutex_lock(&timeline->lock);
        timeline_update(timeline);
        stream = close_one(timeline);
        pthread_mutex_unlock(&timeline->lock);
        if (stream)
            stream_put(stream);
    } while (stream);
}

void timeline_signal_now(struct timeline *timeline, uint64_t value) {
    advance(timeline, value, NULL);
}

void timeline_fail_now(struct timeline *timeline, const char *label, const char *message) {
    struct failure what = {.status = CLS_ERROR_COMMAND_FAILED, .label = label};
    if (gate_failure(&timeline->gate, UINT64_MAX))
        return;
    strncpy(what.message, message, sizeof what.message - 1);
    failures_record(&timeline->gate.failures, &timeline->spare, timeline->value + 1, &what);
    pthread_cond_broadcast(&timeline->progress);
}

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

/* A claim counts: it is about to become a signal. What the waiter itself has queued comes behind its wait. */
static bool has_signal_for(const struct timeline *timeline, uint64_t value,
                           const struct stream *waiter) {
    for (unsigned i = 0; i < timeline->queues.count; i++) {
        const struct signal_queue *queue = &timeline->queues.items[i];
        if (queue->claimed >= value && queue->key != waiter)
            return true;
    }
    return false;
}

void timeline_fail_waits(struct timeline *timeline, uint64_t value, const struct stream *waiter,
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

void timeline_lock_updated(struct timeline *timeline, uint64_t value) {
    const bool over = timeline_is_over(timeline); /* before the signals, not after */
    pthread_mutex_lock(&timeline->lock);
    timeline_update(timeline);
    if (over)
        timeline_fail_waits(timeline, value, NULL, false);
}
