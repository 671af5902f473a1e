/* SPDX-License-Identifier: MIT */
/* The functions of clstream/stream.h but for host functions and memory: handles and arguments are checked here. */
#include <string.h>

#include "api/reset.h"
#include "base/error.h"
#include "base/sized.h"
#include "check/explain.h"
#include "check/race.h"
#include "memory/mempool.h"
#include "stream/context.h"
#include "stream/engine.h"
#include "stream/failure.h"
#include "stream/gate.h"
#include "stream/hooks.h"
#include "stream/legacy.h"
#include "stream/submit.h"
#include "stream/wait.h"

cls_status cls_stream_create(cls_context handle, const cls_stream_config *config, cls_stream *out) {
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_stream_create: out is null");
    return stream_create_owned(handle, config, NULL, out);
}

cls_status cls_stream_destroy(cls_stream handle) { return stream_destroy(handle, false); }

cls_status cls_stream_get_info(cls_stream handle, cls_stream_info *info) {
    cls_stream_info now = CLS_STREAM_INFO_INIT;
    struct stream *stream;
    cls_status status = SIZED_CHECK(cls_stream_info, info);
    if (!status)
        status = stream_get(handle, NULL, &stream);
    if (status)
        return status;
    pthread_mutex_lock(&stream->lock);
    const struct queue_traits *traits = &stream->queue->traits;
    memcpy(now.name, stream->name, sizeof now.name);
    now.context = object_handle(&stream->context->object);
    now.priority = traits->priority;
    now.held_priority = stream->priority;
    now.order = traits->out_of_order ? CLS_ORDER_OUT_OF_ORDER : CLS_ORDER_IN_ORDER;
    now.wait = stream->wait;
    now.timing = traits->profiled || stream->want_profiled;
    now.max_in_flight = stream->max_in_flight;
    now.fifo_limit = stream->fifo.limit;
    now.non_blocking = stream->legacy_role == LEGACY_NONE;
    pthread_mutex_unlock(&stream->lock);
    SIZED_OUT(cls_stream_info, info, &now);
    stream_put(stream);
    return CLS_SUCCESS;
}

cls_status cls_stream_get_counters(cls_stream handle, cls_stream_counters *counters) {
    struct stream *stream;
    cls_status status = SIZED_CHECK(cls_stream_counters, counters);
    if (!status)
        status = stream_get(handle, NULL, &stream);
    if (status)
        return status;
    stream_poll(stream);
    pthread_mutex_lock(&stream->lock);
    cls_stream_counters now = stream->counters;
    now.submitted = stream->submitted;
    now.in_flight = stream->flights.commands;
    now.queued = fifo_count(&stream->fifo);
    pthread_mutex_unlock(&stream->lock);
    SIZED_OUT(cls_stream_counters, counters, &now);
    stream_put(stream);
    return CLS_SUCCESS;
}

/* --- waiting and asking --- */

static cls_status poisoned_status(struct stream *stream) {
    const struct failure *failure = stream_poison(stream);
    return failure ? failure_report(stream, failure) : CLS_SUCCESS;
}

/* The failure of what is ahead reaches the stream with its next command. */
static cls_status await_ahead(struct stream *ahead, uint64_t position, uint64_t deadline) {
    if (!stream_await(ahead, position, deadline))
        return explain_timeout(ahead);
    if (race_on())
        race_observed(ahead, position);
    return CLS_SUCCESS;
}

static cls_status await(struct stream *stream, uint64_t deadline) {
    uint64_t position = 0, ahead_position;
    struct stream *ahead = legacy_ahead(stream, &ahead_position);
    cls_status status = stream_mark_to_wait(stream, MARK_TO_ASK, &position, deadline);
    if (!status)
        status = stream_wait(stream, position, deadline);
    if (status == CLS_ERROR_TIMEOUT)
        explain_timeout(stream);
    if (!status && ahead)
        status = await_ahead(ahead, ahead_position, deadline);
    if (ahead)
        stream_put(ahead);
    return status;
}

static cls_status synchronize(struct stream *stream, uint64_t deadline) {
    cls_status status = check_may_block();
    if (status)
        return status;
    status = await(stream, deadline);
    if (status == CLS_ERROR_TIMEOUT)
        return status;
    stream_memory_waited(stream);
    cls_status poisoned = poisoned_status(stream);
    return poisoned ? poisoned : status;
}

cls_status cls_stream_synchronize(cls_stream handle) {
    struct stream *stream;
    cls_status status = stream_get(handle, NULL, &stream);
    if (status)
        return status;
    status = synchronize(stream, WAIT_FOREVER);
    stream_put(stream);
    return status;
}

cls_status cls_stream_wait(cls_stream handle, uint64_t timeout_ns) {
    struct stream *stream;
    cls_status status = stream_get(handle, NULL, &stream);
    if (status)
        return status;
    status = synchronize(stream, deadline_after(timeout_ns));
    stream_put(stream);
    return status;
}

/* The state of a wait, like an event's: positive while pending, 0 when over, negative when failed. */
static cl_int wait_state(const struct dep *dep) {
    if (!dep->stream && !dep->gate)
        return dep_event_outcome(dep);
    if (!dep_is_over(dep))
        return CL_SUBMITTED;
    return dep_failure(dep) ? -1 : CL_COMPLETE;
}

/* Whether the pending waits of the next command are over; sets `*failed` if one of them failed. */
static bool waits_are_over(struct stream *stream, bool *failed) {
    bool over = true;
    pthread_mutex_lock(&stream->lock);
    struct dep *items = deps_items(&stream->waits);
    for (unsigned i = 0; i < stream->waits.count; i++) {
        cl_int state = wait_state(&items[i]);
        over = over && state <= 0;
        *failed = *failed || state < 0;
    }
    pthread_mutex_unlock(&stream->lock);
    return over;
}

/* A pending wait has failed and no command carries it yet: submits a marker, which takes the failure over. */
static cls_status take_failure_over(struct stream *stream) {
    uint64_t position;
    cls_status status = stream_mark(stream, &position);
    cls_status poisoned = poisoned_status(stream);
    if (poisoned)
        return poisoned;
    return status ? status : CLS_NOT_READY;
}

/* The newest position, and whether waits come after it. What the legacy order puts before the default stream's next command
 * gets a mark. */
static cls_status position_to_ask(struct stream *stream, uint64_t *position, bool *waits) {
    struct detail held;
    pthread_mutex_lock(&stream->lock);
    *position = stream->submitted;
    *waits = stream->waits.count != 0;
    const bool due = legacy_is_due_to_ask(stream);
    cls_status captured =
        RARELY(stream->capturing) ? hooks.capture.refuse(stream, "cls_stream_query") : CLS_SUCCESS;
    pthread_mutex_unlock(&stream->lock);
    if (captured || !due)
        return captured;
    error_save(&held);
    const cls_status status = stream_mark_for(stream, MARK_TO_ASK, position);
    const bool is_full = status == CLS_ERROR_LIMIT;
    error_restore(&held, is_full ? CLS_SUCCESS : status);
    *waits = *waits && status;
    return is_full ? CLS_NOT_READY : status;
}

cls_status cls_stream_query(cls_stream handle) {
    struct stream *stream;
    uint64_t position, ahead_position;
    bool waits;
    cls_status status = stream_get(handle, NULL, &stream);
    if (status)
        return status;
    struct stream *ahead = legacy_ahead(stream, &ahead_position);
    cls_status progress = position_to_ask(stream, &position, &waits);
    if (!progress)
        progress = stream_query(stream, position);
    status = poisoned_status(stream);
    if (!status)
        status = progress;
    bool failed = false;
    if (!status && waits && !waits_are_over(stream, &failed)) {
        engine_kick();
        status = CLS_NOT_READY;
    }
    if (!status && failed)
        status = take_failure_over(stream);
    if (!status && waits && race_on())
        race_observed(stream, RACE_ALL);
    if (!status && ahead)
        status = stream_progress(ahead, ahead_position);
    if (ahead)
        stream_put(ahead);
    stream_put(stream);
    return status;
}

cls_status cls_stream_reset(cls_stream handle) {
    struct stream *stream;
    cls_status status = stream_get(handle, NULL, &stream);
    if (status)
        return status;
    hooks.capture.leave(stream);
    status = stream_reset(stream);
    stream_put(stream);
    return status;
}
