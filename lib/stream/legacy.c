/* SPDX-License-Identifier: MIT */
#include "stream/legacy.h"

#include <stdlib.h>

#include <utlist.h>

#include "stream/context.h"
#include "stream/failure.h"
#include "stream/follow.h"
#include "stream/hooks.h"
#include "stream/submit.h"

struct legacy {
    pthread_mutex_t order;
    /* under the context's lock */
    struct stream *noted; /* by noted_next; not retained */
    uint64_t asked_first,
        asked_last; /* the default stream's newest marks in a row for the host that asks; 0: none */
};

struct legacy *legacy_new(void) {
    struct legacy *legacy = calloc(1, sizeof *legacy);
    if (legacy && !pthread_mutex_init(&legacy->order, NULL))
        return legacy;
    free(legacy);
    return NULL;
}

void legacy_free(struct legacy *legacy) {
    if (legacy)
        pthread_mutex_destroy(&legacy->order);
    free(legacy);
}

/* --- the noted streams --- */

static void note(struct stream *stream) {
    struct context *context = stream->context;
    pthread_mutex_lock(&context->lock);
    if (!stream->is_noted)
        DL_APPEND2(context->legacy->noted, stream, noted_prev, noted_next);
    stream->is_noted = true;
    pthread_mutex_unlock(&context->lock);
}

void legacy_forget(struct stream *stream) {
    struct context *context = stream->context;
    pthread_mutex_lock(&context->lock);
    if (stream->is_noted)
        DL_DELETE2(context->legacy->noted, stream, noted_prev, noted_next);
    stream->is_noted = false;
    pthread_mutex_unlock(&context->lock);
}

/* The first that is not ending, retained, or NULL: a stream ends with all of its work done. */
static struct stream *first_noted(struct context *context) {
    pthread_mutex_lock(&context->lock);
    struct stream *stream = context->legacy->noted;
    while (stream && !object_try_retain(&stream->object))
        stream = stream->noted_next;
    pthread_mutex_unlock(&context->lock);
    return stream;
}

/* The race checker is told of an order whether or not the work happens to be over. */
static bool is_busy(const struct stream *stream) {
    return stream && (race_on() || atomic_load(&stream->retired) !=
                                       __atomic_load_n(&stream->submitted, __ATOMIC_RELAXED));
}

bool legacy_is_due_for(struct stream *stream) {
    struct context *context = stream->context;
    pthread_mutex_lock(&context->lock);
    const bool due = stream->legacy_role == LEGACY_DEFAULT ? context->legacy->noted != NULL
                                                           : is_busy(context->default_stream);
    pthread_mutex_unlock(&context->lock);
    return due;
}

static void tell_wait(struct stream *stream, struct stream *other) {
    hooks.race.waits(stream, other, __atomic_load_n(&other->submitted, __ATOMIC_RELAXED));
}

void legacy_tell_free(struct stream *stream) {
    struct context *context = stream->context;
    pthread_mutex_lock(&context->lock);
    if (stream->legacy_role == LEGACY_DEFAULT)
        for (struct stream *other = context->legacy->noted; other; other = other->noted_next)
            tell_wait(stream, other);
    else if (context->default_stream)
        tell_wait(stream, context->default_stream);
    pthread_mutex_unlock(&context->lock);
}

/* --- what the host asks --- */

cls_status legacy_mark_wait(struct stream *stream) {
    uint64_t position;
    const cls_status status = stream_mark_for(stream, MARK_BESIDE, &position);
    return status == CLS_NOT_READY ? CLS_SUCCESS : status;
}

void legacy_note_asked(struct stream *stream, uint64_t position) {
    struct context *context = stream->context;
    struct legacy *legacy = context->legacy;
    pthread_mutex_lock(&context->lock);
    if (position != legacy->asked_last + 1)
        legacy->asked_first = position;
    legacy->asked_last = position;
    pthread_mutex_unlock(&context->lock);
}

struct stream *legacy_ahead_of(const struct stream *stream, uint64_t *position) {
    struct context *context = stream->context;
    struct stream *first = context_default_stream(context);
    if (!first)
        return NULL;
    *position = stream_newest(first);
    pthread_mutex_lock(&context->lock);
    if (*position && *position == context->legacy->asked_last)
        *position = context->legacy->asked_first - 1;
    pthread_mutex_unlock(&context->lock);
    if (race_on() || atomic_load(&first->retired) < *position)
        return first;
    stream_put(first);
    return NULL;
}

/* --- taking the order --- */

/* Adds the wait alone, of which no mark is made. Work that failed before its stream was reset has ended, and fails nothing
 * any more. */
static cls_status come_after(struct stream *stream, struct stream *other, uint64_t position) {
    const bool was_reset = !stream_poison(other) && stream_failure_at(other, position);
    if (was_reset)
        return CLS_SUCCESS;
    cls_status status = stream_enter_behind(stream, other, position);
    if (!status)
        pthread_mutex_unlock(&stream->lock);
    return status;
}

static cls_status join(struct stream *stream) {
    struct stream *first = context_default_stream(stream->context);
    note(stream);
    if (!first)
        return CLS_SUCCESS;
    cls_status status = come_after(stream, first, stream_newest(first));
    stream_put(first);
    return status;
}

static uint64_t open_again(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    stream->legacy_open = true;
    const uint64_t position = stream_newest_locked(stream);
    pthread_mutex_unlock(&stream->lock);
    return position;
}

/* A stream is noted until its work is waited for: meanwhile another command of the default stream does not pass. */
static cls_status gather(struct stream *stream) {
    struct stream *other;
    cls_status status = CLS_SUCCESS;
    while (!status && (other = first_noted(stream->context)) != NULL) {
        status = come_after(stream, other, open_again(other));
        if (!status)
            legacy_forget(other);
        stream_put(other);
    }
    return status;
}

cls_status legacy_enter(struct stream *stream) {
    const bool is_default = stream->legacy_role == LEGACY_DEFAULT;
    pthread_mutex_unlock(&stream->lock);
    pthread_mutex_lock(&stream->context->legacy->order);
    cls_status status = is_default ? gather(stream) : join(stream);
    pthread_mutex_lock(&stream->lock);
    if (!status && !is_default)
        stream->legacy_open = false;
    return status;
}

void legacy_leave(struct stream *stream) { pthread_mutex_unlock(&stream->context->legacy->order); }
