/* SPDX-License-Identifier: MIT */
/*
 * Failure is propagated by the library and never left to the driver: seven drivers give seven answers
 * to one failed command. A stream's failures are a list of ranges of positions, a gate's of its values;
 * whoever depends on one of those fails too.
 */
#include "stream/failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "driver/status.h"
#include "stream/context.h"
#include "stream/engine.h"
#include "stream/gate.h"

/* The ranges end one before the other: behind the newest there is nothing to look for. */
const struct failure *failure_in(const struct failure *failure, uint64_t at) {
    for (; failure && at <= atomic_load(&failure->last); failure = failure->older)
        if (at >= atomic_load(&failure->first))
            return failure;
    return NULL;
}

static const struct failure *newest_failure(const struct gate *gate) {
    return atomic_load_explicit(&gate->failures, memory_order_acquire);
}

uint32_t gate_failures(const struct gate *gate) {
    const struct failure *newest = newest_failure(gate);
    return newest ? newest->number : 0;
}

const struct failure *gate_failure(const struct gate *gate, uint64_t value) {
    return failure_in(newest_failure(gate), value);
}

/* The value was not reached well before one that has come since, or that one begins behind it. */
const struct failure *gate_failure_since(const struct gate *gate, uint64_t value, uint32_t since) {
    const struct failure *failure = newest_failure(gate);
    for (; failure && failure->number != since; failure = failure->older)
        if (value >= atomic_load(&failure->first))
            return failure;
    return gate_failure(gate, value);
}

cls_status stream_poison_status(cls_status status) {
    bool own = status == CLS_ERROR_CONTEXT_LOST || status == CLS_ERROR_OUT_OF_MEMORY ||
               status == CLS_ERROR_OUT_OF_DEVICE_MEMORY || status == CLS_ERROR_SHUTDOWN;
    return own ? status : CLS_ERROR_COMMAND_FAILED;
}

cls_status stream_event_status(cl_int code) {
    return status_of_cl(code) == CLS_ERROR_CONTEXT_LOST ? CLS_ERROR_CONTEXT_LOST
                                                        : CLS_ERROR_COMMAND_FAILED;
}

void stream_note_hurt(struct stream *stream) {
    stream->hurt = true;
    atomic_store(&stream->context->hurt, true);
}

bool failures_record(_Atomic(struct failure *) *failures, struct failure **spare, uint64_t first,
                     const struct failure *what) {
    struct failure *known = atomic_load(failures);
    if (known && atomic_load(&known->last) == UINT64_MAX) {
        bool earlier = first < atomic_load(&known->first);
        if (earlier)
            atomic_store(&known->first, first);
        return earlier;
    }
    struct failure *failure = *spare;
    *spare = NULL;
    failure->status = what->status;
    failure->code = what->code;
    failure->label = what->label;
    memcpy(failure->message, what->message, sizeof failure->message);
    memcpy(failure->where, what->where, sizeof failure->where);
    failure->origin = what->origin;
    failure->at = what->at;
    failure->older = known;
    failure->number = known ? known->number + 1 : 1;
    atomic_store(&failure->first, first);
    atomic_store(&failure->last, UINT64_MAX);
    atomic_store_explicit(failures, failure, memory_order_release);
    return true;
}

void stream_fail_by_locked(struct stream *stream, uint64_t first, const struct failure *failure) {
    if (failures_record(&stream->failures, &stream->spare, first, failure))
        stream->fresh_failure = true;
}

void stream_fail_saying_locked(struct stream *stream, uint64_t first, cls_status status, int code,
                               const char *label, const char *message) {
    struct failure own = {
        .status = status, .code = code, .label = label, .origin = stream->id, .at = first};
    strncpy(own.message, message, sizeof own.message - 1);
    memcpy(own.where, stream->name, sizeof own.where);
    const bool poisoned = stream_poison(stream) != NULL;
    stream_fail_by_locked(stream, first, &own);
    if (!poisoned && status == CLS_ERROR_CONTEXT_LOST)
        atomic_store(&stream->context->lost_by, label);
}

void stream_fail_locked(struct stream *stream, uint64_t first, cls_status status, int code,
                        const char *label) {
    stream_fail_saying_locked(stream, first, status, code, label, "");
}

/* PoCL reports each failed command as -1, whose name is that of another error. */
static const char *code_name(int code) { return code == -1 ? "status" : cl_code_name(code); }

struct failure_text failure_text(const struct failure *failure) {
    struct failure_text text;
    char where[128] = "", code[64] = "";
    if (failure->at)
        snprintf(where, sizeof where, ", number %llu of stream '%s',",
                 (unsigned long long)failure->at, failure->where);
    if (failure->code)
        snprintf(code, sizeof code, ": %s (%d)", code_name(failure->code), failure->code);
    snprintf(text.text, sizeof text.text, "command '%s'%s failed%s%s%s", failure->label, where,
             code, failure->message[0] ? ": " : "", failure->message);
    return text;
}

cls_status failure_report(const struct stream *stream, const struct failure *failure) {
    return error_set_code(failure->status, failure->code, "%s; stream '%s' is %s",
                          failure_text(failure).text, stream->name,
                          stream_poison(stream)
                              ? "poisoned until cls_stream_reset"
                              : "reset since, but this work is from before the reset");
}

/* Under the lock: where the stream first depends on failed work. */
static const struct failure *inherited(struct stream *stream, uint64_t *first) {
    const struct failure *failure;
    for (unsigned i = 0; i < stream->flights.count; i++) {
        struct flight *flight = flight_at(&stream->flights, i);
        *first = flight->first;
        if ((failure = deps_failure(&flight->deps)) != NULL)
            return failure;
    }
    for (struct command *command = fifo_head(&stream->fifo); command; command = command->next) {
        *first = command->position;
        if ((failure = deps_failure(&command->deps)) != NULL)
            return failure;
    }
    *first = stream->submitted + 1;
    return deps_failure(&stream->waits);
}

/* Returns whether the stream is newly failed. */
static bool inherit(struct stream *stream) {
    uint64_t first;
    bool fresh = false;
    pthread_mutex_lock(&stream->lock);
    if (!stream_poison(stream)) {
        const struct failure *failure = inherited(stream, &first);
        if (failure) {
            stream_fail_by_locked(stream, first, failure);
            stream->fresh_failure = false;
            fresh = true;
        }
    }
    pthread_mutex_unlock(&stream->lock);
    return fresh;
}

void stream_inherit_locked(struct stream *stream, const struct failure *failure) {
    bool fresh = stream->fresh_failure;
    stream_fail_by_locked(stream, stream->submitted + 1, failure);
    stream->fresh_failure = fresh; /* nobody depends on work that is not submitted yet */
}

void stream_inherit(struct stream *stream, const struct failure *failure) {
    pthread_mutex_lock(&stream->lock);
    stream_inherit_locked(stream, failure);
    pthread_mutex_unlock(&stream->lock);
}

void failures_propagate(void) {
    bool again = true;
    while (again) {
        again = false;
        for (struct stream *stream = stream_next(NULL); stream; stream = stream_next(stream))
            again |= inherit(stream);
    }
    engine_kick();
}
