/* SPDX-License-Identifier: MIT */
#include "check/explain.h"

#include <stdio.h>
#include <stdlib.h>

#include <clstream/context.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "stream/context.h"
#include "stream/gate.h"
#include "stream/stream.h"

void explain_also(struct explanation *explanation, struct stream *stream) {
    for (size_t i = 0; i < explanation->count; i++)
        if (explanation->streams[i] == stream)
            return;
    if (!ARRAY_ROOM(explanation->streams, explanation->count, explanation->room, 8)) {
        explanation->text.failed = true;
        return;
    }
    object_retain(&stream->object);
    explanation->streams[explanation->count++] = stream;
}

void explain_free(struct explanation *explanation) {
    for (size_t i = 0; i < explanation->count; i++)
        stream_put(explanation->streams[i]);
    free(explanation->streams);
    free(explanation->text.bytes);
}

/* --- what a stream is doing --- */

/* Called under the stream's lock. */
static void say_progress(struct text *text, const struct stream *stream) {
    const struct failure *poison = stream_poison(stream);
    const struct flights *flights = &stream->flights;
    text_printf(text, "stream '%s': ", stream->name);
    if (poison)
        text_printf(text, "poisoned by '%s' (%s); ", poison->label,
                    cls_status_string(poison->status));
    if (!flights->count && fifo_is_empty(&stream->fifo)) {
        text_printf(text, "nothing to do after %llu commands\n",
                    (unsigned long long)stream->submitted);
        return;
    }
    text_printf(text, "%llu of %llu commands done",
                (unsigned long long)atomic_load(&stream->retired),
                (unsigned long long)stream->submitted);
    if (flights->count)
        text_printf(text, "; %u with the driver, '%s' up to %llu first%s", flights->commands,
                    flight_at(flights, 0)->label,
                    (unsigned long long)flight_at(flights, 0)->position,
                    stream->unflushed_from ? ", unflushed" : "");
    if (!fifo_is_empty(&stream->fifo))
        text_printf(text, "; %zu unsubmitted", fifo_count(&stream->fifo));
    text_printf(text, "\n");
}

/* --- what it waits for --- */

struct look {
    struct explanation *explanation;
    const struct stream *stream;
};

static void say_source(struct explanation *explanation, const struct dep *dep) {
    struct text *text = &explanation->text;
    if (dep->stream) {
        bool done = atomic_load(&dep->stream->retired) >= dep->position;
        text_printf(text, "stream '%s' up to %llu%s\n", dep->stream->name,
                    (unsigned long long)dep->position, done ? ", which is done" : "");
        explain_also(explanation, dep->stream);
    } else if (dep->gate) {
        struct stream *source;
        unsigned cursor = 0;
        dep->gate->type->describe(dep->gate, dep->position, text);
        text_printf(text, "\n");
        while ((source = dep->gate->type->source(dep->gate, dep->position, &cursor)) != NULL) {
            explain_also(explanation, source);
            stream_put(source);
        }
    } else {
        text_printf(text, dep->order_only ? "a launch of another context that it may not overlap\n"
                                          : "a cl_event of the caller's\n");
    }
}

static void say_running(struct text *text, const struct stream *stream,
                        const struct queued *queued) {
    uint64_t since = fifo_running_since(&stream->fifo);
    if (since)
        text_printf(text, "    '%s' (%llu) has been running for %llu ms\n",
                    command_label(queued->command), (unsigned long long)queued->position,
                    (unsigned long long)((clock_now_ns() - since) / CLOCK_MS));
}

/* Explains the first queued command, which holds the stream up, or without one the waits of the next command. */
static bool say_queued(const struct queued *queued, void *arg) {
    const struct look *look = arg;
    struct text *text = &look->explanation->text;
    const struct dep *items = deps_items(queued->deps);
    if (queued->command)
        say_running(text, look->stream, queued);
    for (unsigned i = 0; i < queued->deps->count; i++) {
        if (queued->command)
            text_printf(text, "    '%s' (%llu) waits for ", command_label(queued->command),
                        (unsigned long long)queued->position);
        else
            text_printf(text, "    what comes next waits for ");
        say_source(look->explanation, &items[i]);
    }
    return false;
}

static void explain_one(struct explanation *explanation, struct stream *stream) {
    struct look look = {explanation, stream};
    stream_poll(stream);
    pthread_mutex_lock(&stream->lock);
    say_progress(&explanation->text, stream);
    pthread_mutex_unlock(&stream->lock);
    fifo_visit(stream, say_queued, &look);
}

void explain_all(struct explanation *explanation) {
    for (size_t i = 0; i < explanation->count; i++)
        explain_one(explanation, explanation->streams[i]);
}

cls_status explain_timeout_of(const char *what, struct stream *const *streams, size_t count) {
    struct explanation explanation = {.count = 0};
    for (size_t i = 0; i < count; i++)
        explain_also(&explanation, streams[i]);
    explain_all(&explanation);
    cls_status status = error_set(CLS_ERROR_TIMEOUT, "%s\n%s", what,
                                  explanation.text.failed ? "" : explanation.text.bytes);
    explain_free(&explanation);
    return status;
}

cls_status explain_timeout(struct stream *stream) {
    char what[128];
    snprintf(what, sizeof what, "stream '%s' is still at work", stream->name);
    return explain_timeout_of(what, &stream, 1);
}

cls_status explain_timeout_all(struct stream *const *streams, size_t count) {
    char what[64];
    snprintf(what, sizeof what, "all %zu streams are still at work", count);
    return explain_timeout_of(what, streams, count);
}

/* --- the public call --- */

static cls_status explain(struct context *context, char *text, size_t size, size_t *length) {
    struct explanation explanation = {.count = 0};
    cls_status status = CLS_SUCCESS;
    for (struct stream *stream = stream_next(NULL); stream; stream = stream_next(stream))
        if (stream->context == context)
            explain_also(&explanation, stream);
    explain_all(&explanation);
    if (explanation.text.failed)
        status = error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory to explain");
    else /* another thread may have destroyed the context, which then has no streams */
        text_copy_out(explanation.count ? explanation.text.bytes : "", text, size, length);
    explain_free(&explanation);
    return status;
}

cls_status cls_context_explain(cls_context handle, char *text, size_t size, size_t *length) {
    struct context *context;
    if (size && !text)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_context_explain: text is null");
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    status = explain(context, text, size, length);
    context_put(context);
    return status;
}
