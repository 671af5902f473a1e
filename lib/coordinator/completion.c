/* SPDX-License-Identifier: MIT */
/* Callbacks, queries and waits for all streams of a coordinator, or for any. */
#include <stdlib.h>

#include "base/error.h"
#include "coordinator/coordinator.h"
#include "coordinator/internals.h"

/* --- callbacks --- */

/* A count shared by the callbacks of all streams; the callback that takes the last one calls the function. All
 * callbacks are counted from the start, so the submitting thread never takes the last, unless it cancels. */
struct countdown {
    _Atomic size_t left;
    _Atomic int first; /* the first error; 0: none */
    _Atomic bool cancelled;
    cls_coordinator coordinator;
    cls_coordinator_callback fn;
    void *arg;
};

static void count_down(struct countdown *countdown, size_t counts) {
    if (atomic_fetch_sub(&countdown->left, counts) != counts)
        return;
    if (!atomic_load(&countdown->cancelled))
        countdown->fn(countdown->coordinator, (cls_status)atomic_load(&countdown->first),
                      countdown->arg);
    free(countdown);
}

static void count_one(cls_stream stream, cls_status status, void *arg) {
    struct countdown *countdown = arg;
    int none = 0;
    (void)stream;
    if (status)
        atomic_compare_exchange_strong(&countdown->first, &none, (int)status);
    count_down(countdown, 1);
}

static cls_status add_to_all(const struct plan *plan, struct countdown *countdown) {
    for (size_t i = 0; i < plan->count; i++) {
        cls_status status = stream_add_callback_once(plan->streams[i].stream, count_one, countdown);
        if (!status)
            continue;
        atomic_store(&countdown->cancelled, true);
        count_down(countdown, plan->count - i);
        return status;
    }
    return CLS_SUCCESS;
}

static cls_status no_streams(const struct coordinator *coordinator) {
    return error_set(CLS_ERROR_INVALID_STATE, "'%s' has no streams", coordinator->name);
}

static cls_status add_callback(struct coordinator *coordinator, const struct plan *plan,
                               cls_coordinator_callback fn, void *arg) {
    if (!plan->count)
        return no_streams(coordinator);
    struct countdown *countdown = calloc(1, sizeof *countdown);
    if (!countdown)
        return error_no_memory("for a callback");
    atomic_init(&countdown->left, plan->count);
    countdown->coordinator = object_handle(&coordinator->object);
    countdown->fn = fn;
    countdown->arg = arg;
    return add_to_all(plan, countdown);
}

/* Looks up the coordinator and takes a plan. */
static cls_status open_plan(cls_coordinator handle, struct coordinator **coordinator,
                            struct plan *plan) {
    cls_status status = coordinator_get(handle, coordinator);
    if (status)
        return status;
    status = plan_take(*coordinator, PLAN_ANY, plan);
    if (status)
        coordinator_put(*coordinator);
    return status;
}

cls_status cls_coordinator_add_callback(cls_coordinator handle, cls_coordinator_callback fn,
                                        void *arg) {
    struct coordinator *coordinator;
    struct plan plan;
    if (!fn)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_coordinator_add_callback: fn is null");
    cls_status status = open_plan(handle, &coordinator, &plan);
    if (status)
        return status;
    status = add_callback(coordinator, &plan, fn, arg);
    plan_drop(&plan);
    coordinator_put(coordinator);
    return status;
}

/* --- one stream --- */

/* Replaces NULL by the default stream, and checks that the stream is the coordinator's. */
static cls_status check_member(cls_coordinator handle, cls_stream *stream) {
    struct coordinator *coordinator;
    struct member *member;
    cls_status status = coordinator_open(handle, stream, &coordinator);
    if (status)
        return status;
    pthread_mutex_lock(&coordinator->lock);
    status = coordinator_find(coordinator, *stream, &member);
    return coordinator_leave(coordinator, status);
}

cls_status cls_coordinator_add_stream_callback(cls_coordinator coordinator, cls_stream stream,
                                               cls_stream_callback fn, void *arg) {
    cls_status status = check_member(coordinator, &stream);
    return status ? status : cls_stream_add_callback(stream, fn, arg);
}

cls_status cls_coordinator_wait(cls_coordinator coordinator, cls_stream stream,
                                uint64_t timeout_ns) {
    cls_status status = check_member(coordinator, &stream);
    return status ? status : cls_stream_wait(stream, timeout_ns);
}

/* --- all streams --- */

/* The first failure, in the plan's order, up to the positions or from now on. */
static cls_status first_failure(const struct plan *plan) {
    for (size_t i = 0; i < plan->count; i++) {
        const struct planned *planned = &plan->streams[i];
        const struct failure *failure = stream_failure_at(planned->stream, planned->position);
        if (!failure)
            failure = stream_poison(planned->stream);
        if (failure)
            return failure_report(planned->stream, failure);
    }
    return CLS_SUCCESS;
}

/* cls_stream_query returns a poisoned stream's error at once; here its work must have drained as well. */
static bool is_at_work(const struct planned *planned, cls_status *status) {
    struct stream *stream = planned->stream;
    *status = cls_stream_query(planned->handle);
    if (!*status || *status == CLS_NOT_READY || !stream_poison(stream))
        return *status == CLS_NOT_READY;
    *status = CLS_SUCCESS;
    return stream_query(stream, stream_newest(stream)) == CLS_NOT_READY;
}

static cls_status query(const struct plan *plan) {
    bool at_work = false;
    for (size_t i = 0; i < plan->count; i++) {
        cls_status status;
        at_work |= is_at_work(&plan->streams[i], &status);
        if (status && status != CLS_NOT_READY)
            return status;
    }
    return at_work ? CLS_NOT_READY : first_failure(plan);
}

cls_status cls_coordinator_query(cls_coordinator handle) {
    struct coordinator *coordinator;
    struct plan plan;
    cls_status status = open_plan(handle, &coordinator, &plan);
    if (status)
        return status;
    status = query(&plan);
    plan_drop(&plan);
    coordinator_put(coordinator);
    return status;
}

static cls_status mark_all_to_wait(struct plan *plan, uint64_t deadline) {
    cls_status status = check_may_block();
    for (size_t i = 0; i < plan->count && !status; i++) {
        struct planned *planned = &plan->streams[i];
        status = stream_mark_to_wait(planned->stream, MARK_TO_ASK, &planned->position, deadline);
        if (status == CLS_ERROR_TIMEOUT)
            return explain_timeout(planned->stream);
    }
    return status;
}

static cls_status wait_all(struct plan *plan, uint64_t deadline) {
    cls_status status = mark_all_to_wait(plan, deadline);
    if (status)
        return status;
    for (size_t i = 0; i < plan->count; i++) {
        status = stream_wait(plan->streams[i].stream, plan->streams[i].position, deadline);
        if (status == CLS_ERROR_TIMEOUT)
            return explain_timeout(plan->streams[i].stream);
        stream_memory_waited(plan->streams[i].stream);
    }
    return first_failure(plan);
}

cls_status cls_coordinator_wait_all(cls_coordinator handle, uint64_t timeout_ns) {
    struct coordinator *coordinator;
    struct plan plan;
    uint64_t deadline = deadline_after(timeout_ns);
    cls_status status = open_plan(handle, &coordinator, &plan);
    if (status)
        return status;
    status = wait_all(&plan, deadline);
    plan_drop(&plan);
    coordinator_put(coordinator);
    return status;
}

/* --- any stream --- */

static cls_status wait_marked(const struct plan *plan, size_t start, uint64_t deadline,
                              size_t *which) {
    cls_status status = CLS_SUCCESS;
    struct stream **streams = calloc(plan->count, sizeof *streams);
    uint64_t *positions = calloc(plan->count, sizeof *positions);
    for (size_t i = 0; i < plan->count && streams && positions; i++) {
        streams[i] = plan->streams[i].stream;
        positions[i] = plan->streams[i].position;
    }
    if (streams && positions)
        status = stream_wait_any(streams, positions, plan->count, start, deadline, which);
    else
        status = error_no_memory("to wait for %zu streams", plan->count);
    if (status == CLS_ERROR_TIMEOUT)
        status = explain_timeout_all(streams, plan->count);
    free(streams);
    free(positions);
    return status;
}

/* `full`: fifo_limit leaves no room for the mark, and the position is that of the newest work. */
static cls_status mark_or_not(struct planned *planned) {
    cls_status status = plan_mark(planned);
    planned->full = status == CLS_ERROR_LIMIT;
    return planned->full ? CLS_SUCCESS : status;
}

/* A full stream is marked again when it has made progress; it counts as done when that mark is reached. */
static cls_status wait_for_marks(struct plan *plan, size_t start, uint64_t deadline,
                                 size_t *which) {
    cls_status status = check_may_block();
    bool again = true;
    for (size_t i = 0; i < plan->count && !status; i++)
        status = mark_or_not(&plan->streams[i]);
    while (again && !status) {
        status = wait_marked(plan, start, deadline, which);
        again = !status && plan->streams[*which].full;
        if (again)
            status = mark_or_not(&plan->streams[*which]);
    }
    return status;
}

static cls_status wait_any(struct coordinator *coordinator, struct plan *plan, uint64_t deadline,
                           size_t *which) {
    if (!plan->count)
        return no_streams(coordinator);
    pthread_mutex_lock(&coordinator->lock);
    size_t start = coordinator->turn;
    pthread_mutex_unlock(&coordinator->lock);
    cls_status status = wait_for_marks(plan, start % plan->count, deadline, which);
    if (status)
        return status;
    pthread_mutex_lock(&coordinator->lock);
    coordinator->turn = *which + 1;
    pthread_mutex_unlock(&coordinator->lock);
    return CLS_SUCCESS;
}

cls_status cls_coordinator_wait_any(cls_coordinator handle, uint64_t timeout_ns,
                                    cls_stream *stream) {
    struct coordinator *coordinator;
    struct plan plan;
    size_t which;
    uint64_t deadline = deadline_after(timeout_ns);
    if (!stream)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_coordinator_wait_any: stream is null");
    cls_status status = open_plan(handle, &coordinator, &plan);
    if (status)
        return status;
    status = wait_any(coordinator, &plan, deadline, &which);
    if (!status)
        *stream = plan.streams[which].handle;
    plan_drop(&plan);
    coordinator_put(coordinator);
    return status;
}
