/* SPDX-License-Identifier: MIT */
/* The public calls on timelines that take no stream: create, destroy, signal, query, wait, reset, get_info. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/process.h"
#include "base/sized.h"
#include "coordinator/deadlock.h"
#include "coordinator/internals.h"
#include "coordinator/timeline.h"
#include "system/clocks.h"
#include "system/conditions.h"

/* The longest sleep of a host wait, and the longest wait for one of several queued signals. */
static const uint64_t SLICE_NS = 10 * CLOCK_MS, SHORT_SLICE_NS = CLOCK_MS;

/* --- creation --- */

static _Atomic unsigned long long names;

static bool init_sync(struct timeline *timeline) {
    bool made = condition_init(&timeline->progress);
    if (made && pthread_mutex_init(&timeline->lock, NULL)) {
        pthread_cond_destroy(&timeline->progress);
        return false;
    }
    return made;
}

/* Takes over the signaller on success. */
static cls_status build(const cls_timeline_config *config, struct stream *signaller,
                        struct timeline **out) {
    struct failure *spare = calloc(1, sizeof *spare);
    struct timeline *timeline = spare ? object_create(&timeline_pool) : NULL;
    if (!timeline || !init_sync(timeline)) {
        if (timeline)
            object_abandon(&timeline->gate.object);
        free(spare);
        return object_none(&timeline_pool, "a timeline");
    }
    timeline->gate.type = &timeline_gate;
    timeline->spare = spare;
    timeline->signaller = signaller;
    if (signaller)
        deadlock_enable();
    timeline->value = timeline->awaited = config->initial;
    timeline_enlist(timeline);
    if (config->name)
        snprintf(timeline->name, sizeof timeline->name, "%s", config->name);
    else
        snprintf(timeline->name, sizeof timeline->name, "timeline %llu",
                 atomic_fetch_add(&names, 1) + 1);
    *out = timeline;
    return CLS_SUCCESS;
}

cls_status cls_timeline_create(const cls_timeline_config *given, cls_timeline *out) {
    cls_timeline_config config = CLS_TIMELINE_CONFIG_INIT;
    struct timeline *timeline;
    struct stream *signaller = NULL;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_timeline_create: out is null");
    cls_status status = SIZED_IN(cls_timeline_config, &config, given);
    if (!status)
        status = process_enter();
    if (!status && config.signaller)
        status = stream_get(config.signaller, NULL, &signaller);
    if (!status)
        status = build(&config, signaller, &timeline);
    if (!status && timeline->value && race_on())
        race_signals(timeline, timeline->value, NULL, 0);
    if (!status)
        *out = object_handle(&timeline->gate.object);
    else if (signaller)
        stream_put(signaller);
    return status;
}

cls_status cls_timeline_destroy(cls_timeline handle) {
    struct timeline *timeline;
    cls_status status = timeline_get(handle, &timeline);
    if (status)
        return status;
    if (object_destroy(&timeline_pool, handle)) {
        atomic_store(&timeline->destroyed, true);
        pthread_mutex_lock(&timeline->lock);
        pthread_cond_broadcast(&timeline->progress);
        pthread_mutex_unlock(&timeline->lock);
        timeline_release_idle(timeline);
        engine_kick();
    } else {
        status = object_invalid(&timeline_pool, handle);
    }
    timeline_put(timeline);
    return status;
}

/* --- signal and query --- */

/* Under the lock: whether this thread may signal the value. */
static cls_status check_signal(const struct timeline *timeline, uint64_t value) {
    if (!timeline->signaller)
        return CLS_SUCCESS;
    if (!worker_is_in_code_of(timeline->signaller))
        return error_set(CLS_ERROR_INVALID_STATE, "only stream '%s' may signal timeline '%s'",
                         timeline->signaller->name, timeline->name);
    if (value <= timeline->value)
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "timeline '%s' is already at %llu, and a signal of %llu does not rise",
                         timeline->name, (unsigned long long)timeline->value,
                         (unsigned long long)value);
    return CLS_SUCCESS;
}

cls_status cls_timeline_signal(cls_timeline handle, uint64_t value) {
    struct timeline *timeline;
    cls_status status = timeline_get(handle, &timeline);
    if (status)
        return status;
    /* Not during a deadlock check, which must see the value and the host function that signals it change
     * together. */
    bool owned = timeline->signaller != NULL;
    if (owned)
        wait_check_lock();
    pthread_mutex_lock(&timeline->lock);
    timeline_update(timeline);
    status = check_signal(timeline, value);
    if (!status && race_on())
        race_signals(timeline, value, NULL, 0);
    if (!status)
        timeline_signal_now(timeline, value);
    pthread_mutex_unlock(&timeline->lock);
    if (owned)
        wait_check_unlock();
    timeline_put(timeline);
    engine_kick();
    return status;
}

/* Under the lock: whether this thread may fail the timeline. */
static cls_status check_fail(const struct timeline *timeline) {
    return timeline->signaller && !worker_is_in_code_of(timeline->signaller)
               ? error_set(CLS_ERROR_INVALID_STATE, "only stream '%s' may fail timeline '%s'",
                           timeline->signaller->name, timeline->name)
               : CLS_SUCCESS;
}

cls_status cls_timeline_fail(cls_timeline handle, const char *label, const char *message) {
    struct timeline *timeline;
    if (!label || !message)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_timeline_fail: a null pointer");
    cls_status status = timeline_get(handle, &timeline);
    if (status)
        return status;
    const char *kept = intern(label);
    if (!kept)
        status = error_no_memory("for the name '%s'", label);
    pthread_mutex_lock(&timeline->lock);
    timeline_update(timeline);
    if (!status)
        status = check_fail(timeline);
    if (!status)
        timeline_fail_now(timeline, kept, message);
    pthread_mutex_unlock(&timeline->lock);
    timeline_put(timeline);
    engine_kick();
    return status;
}

cls_status cls_timeline_annotate(cls_timeline handle, const char *text) {
    struct timeline *timeline;
    cls_status status = timeline_get(handle, &timeline);
    if (status)
        return status;
    pthread_mutex_lock(&timeline->lock);
    snprintf(timeline->note, sizeof timeline->note, "%s", text ? text : "");
    pthread_mutex_unlock(&timeline->lock);
    timeline_put(timeline);
    return CLS_SUCCESS;
}

/* CLS_NOT_READY, or the outcome of a wait that began after `since` failures. */
static cls_status poll_value(struct timeline *timeline, uint64_t value, uint32_t since) {
    timeline_lock_updated(timeline, value);
    bool reached = timeline->value >= value;
    pthread_mutex_unlock(&timeline->lock);
    const struct failure *failure = gate_failure_since(&timeline->gate, value, since);
    if (failure)
        return timeline_report(timeline, failure);
    if (reached && race_on())
        race_observed_signal(timeline, value);
    return reached ? CLS_SUCCESS : CLS_NOT_READY;
}

/* Flushes and polls the streams that are to signal the value. */
static void progress(struct timeline *timeline, uint64_t value) {
    struct stream *stream;
    unsigned cursor = 0;
    uint64_t position;
    while ((stream = timeline_next_signal(timeline, value, &cursor, &position)) != NULL) {
        stream_query(stream, position);
        stream_put(stream);
    }
}

cls_status cls_timeline_query(cls_timeline handle, uint64_t value) {
    struct timeline *timeline;
    cls_status status = timeline_get(handle, &timeline);
    if (status)
        return status;
    const uint32_t since = gate_failures(&timeline->gate);
    status = poll_value(timeline, value, since);
    if (status == CLS_NOT_READY) {
        progress(timeline, value);
        status = poll_value(timeline, value, since);
    }
    timeline_put(timeline);
    return status;
}

/* --- waiting --- */

/* Sleeps until something is signalled or queued, or `until` comes. */
static void sleep_on(struct timeline *timeline, uint64_t value, uint64_t until) {
    unsigned cursor = 0;
    pthread_mutex_lock(&timeline->lock);
    timeline_update(timeline);
    bool queued = false;
    for (; cursor < timeline->queues.count && !queued; cursor++)
        queued = signal_queue_reaching(&timeline->queues.items[cursor], value) != NULL;
    if (timeline->value < value && !queued && !gate_failure(&timeline->gate, value))
        condition_wait(&timeline->progress, &timeline->lock, until);
    pthread_mutex_unlock(&timeline->lock);
}

/* One round of a host wait: waits for the stream whose signal is queued, or for one to be queued. */
static void wait_round(struct timeline *timeline, uint64_t value, uint64_t deadline) {
    unsigned cursor = 0;
    uint64_t position, other, now = clock_now_ns();
    struct stream *stream = timeline_next_signal(timeline, value, &cursor, &position);
    struct stream *second = stream ? timeline_next_signal(timeline, value, &cursor, &other) : NULL;
    uint64_t until = now + (second ? SHORT_SLICE_NS : SLICE_NS);
    if (deadline != WAIT_FOREVER && deadline < until)
        until = deadline;
    if (stream)
        stream_await(stream, position, until);
    else
        sleep_on(timeline, value, until);
    if (second)
        stream_put(second);
    if (stream)
        stream_put(stream);
}

static cls_status time_out(struct timeline *timeline, uint64_t value) {
    struct explanation explanation = {.count = 0};
    timeline_explain(timeline, value, &explanation);
    cls_status status =
        error_set(CLS_ERROR_TIMEOUT, "waiting for %s",
                  explanation.text.failed ? timeline->name : explanation.text.bytes);
    explain_free(&explanation);
    return status;
}

static cls_status await(struct timeline *timeline, uint64_t value, uint64_t deadline) {
    const uint32_t since = gate_failures(&timeline->gate);
    for (;;) {
        bool expired = deadline != WAIT_FOREVER && clock_now_ns() >= deadline;
        cls_status status = poll_value(timeline, value, since);
        if (status != CLS_NOT_READY)
            return status;
        if (engine_is_down())
            return error_set(CLS_ERROR_SHUTDOWN, "the process is exiting");
        if (expired)
            return time_out(timeline, value);
        wait_round(timeline, value, deadline);
    }
}

cls_status cls_timeline_wait(cls_timeline handle, uint64_t value, uint64_t timeout_ns) {
    struct timeline *timeline;
    uint64_t deadline = deadline_after(timeout_ns);
    cls_status status = timeline_get(handle, &timeline);
    if (status)
        return status;
    status = check_may_block();
    if (!status)
        status = await(timeline, value, deadline);
    timeline_put(timeline);
    return status;
}

/* --- reset and get_info --- */

cls_status cls_timeline_reset(cls_timeline handle) {
    struct timeline *timeline;
    cls_status status = timeline_get(handle, &timeline);
    if (status)
        return status;
    struct failure *spare = calloc(1, sizeof *spare);
    if (!spare)
        status = error_no_memory("to reset a timeline");
    pthread_mutex_lock(&timeline->lock);
    timeline_update(timeline);
    struct failure *failure = atomic_load(&timeline->gate.failures);
    if (!status && failure && atomic_load(&failure->last) == UINT64_MAX) {
        atomic_store(&failure->last, timeline->value);
        timeline->spare = spare;
        spare = NULL;
    }
    pthread_mutex_unlock(&timeline->lock);
    free(spare);
    timeline_put(timeline);
    return status;
}

static uint64_t highest_queued(const struct timeline *timeline) {
    uint64_t highest = timeline->value;
    for (unsigned i = 0; i < timeline->queues.count; i++) {
        const struct queued_signal *last = signal_queue_back(&timeline->queues.items[i]);
        if (last && last->value > highest)
            highest = last->value;
    }
    return highest;
}

cls_status cls_timeline_get_info(cls_timeline handle, cls_timeline_info *info) {
    cls_timeline_info now = CLS_TIMELINE_INFO_INIT;
    struct timeline *timeline;
    cls_status status = SIZED_CHECK(cls_timeline_info, info);
    if (!status)
        status = timeline_get(handle, &timeline);
    if (status)
        return status;
    pthread_mutex_lock(&timeline->lock);
    timeline_update(timeline);
    const struct failure *failure = gate_failure(&timeline->gate, UINT64_MAX);
    memcpy(now.name, timeline->name, sizeof now.name);
    now.value = timeline->value;
    now.queued = highest_queued(timeline);
    now.status = failure ? failure->status : CLS_SUCCESS;
    now.signaller = timeline->signaller ? object_handle(&timeline->signaller->object) : NULL;
    pthread_mutex_unlock(&timeline->lock);
    SIZED_OUT(cls_timeline_info, info, &now);
    timeline_put(timeline);
    return CLS_SUCCESS;
}
