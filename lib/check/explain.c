/* SPDX-License-Identifier: MIT */
#include "check/explain.h"

#include <stdio.h>
#include <stdlib.h>

#include <clstream/context.h>

#include "base/array.h"
#include "base/error.h"
#include "stream/context.h"
#include "stream/failure.h"
#include "stream/gate.h"
#include "stream/wait.h"
#include "system/clocks.h"

/* `count`: it is not there. */
static size_t index_of(const struct explanation *explanation, const struct stream *stream) {
    size_t i = 0;
    while (i < explanation->count && explanation->streams[i] != stream)
        i++;
    return i;
}

void explain_also(struct explanation *explanation, struct stream *stream) {
    if (index_of(explanation, stream) < explanation->count)
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
    free(explanation->waits);
    free(explanation->text.bytes);
}

/* --- what a stream is doing --- */

/* Of a flight of one command, or of several. */
static void say_flight(struct text *text, const struct flight *flight) {
    if (flight->first == flight->position)
        text_printf(text, "'%s' (command %llu)", flight->label,
                    (unsigned long long)flight->position);
    else
        text_printf(text, "'%s' and those before it (commands %llu to %llu)", flight->label,
                    (unsigned long long)flight->first, (unsigned long long)flight->position);
}

/* Called under the stream's lock. */
static void say_progress(struct text *text, const struct stream *stream) {
    const struct failure *poison = stream_poison(stream);
    const struct flights *flights = &stream->flights;
    const unsigned long long submitted = stream->submitted, done = atomic_load(&stream->retired);
    text_printf(text, "stream '%s': ", stream->name);
    if (poison)
        text_printf(text, "poisoned (%s): %s. ", cls_status_string(poison->status),
                    failure_text(poison).text);
    if (!flights->count && fifo_is_empty(&stream->fifo)) {
        text_printf(text, "nothing to do after %llu commands.\n", submitted);
        return;
    }
    text_printf(text, "%llu of %llu commands are done.", done, submitted);
    if (flights->count) {
        text_printf(text, " The driver has %u%s; first comes ", flights->commands,
                    stream->unflushed_from ? ", not all of them flushed" : "");
        say_flight(text, flight_at(flights, 0));
        text_printf(text, ".");
    }
    if (!fifo_is_empty(&stream->fifo))
        text_printf(text, " The library holds %zu.", fifo_count(&stream->fifo));
    text_printf(text, "\n");
}

/* --- what it waits for --- */

/* The first command of a stream waits for the command at `position` of another; indices of explanation.streams. All waits
 * of one stream stand together. */
struct explained_wait {
    size_t from, to;
    uint64_t command, position;
};

struct look {
    struct explanation *explanation;
    size_t number;
    const struct stream *stream;
};

static void note_wait(const struct look *look, const struct queued *queued, struct stream *to,
                      uint64_t position) {
    struct explanation *explanation = look->explanation;
    explain_also(explanation, to);
    const size_t number = index_of(explanation, to);
    if (number == explanation->count || !queued->command || position <= atomic_load(&to->retired))
        return;
    if (ARRAY_ROOM(explanation->waits, explanation->n_waits, explanation->waits_room, 8))
        explanation->waits[explanation->n_waits++] =
            (struct explained_wait){look->number, number, queued->position, position};
    else
        explanation->text.failed = true;
}

static void say_source(const struct look *look, const struct queued *queued,
                       const struct dep *dep) {
    struct text *text = &look->explanation->text;
    if (dep->stream) {
        bool done = atomic_load(&dep->stream->retired) >= dep->position;
        text_printf(text, "command %llu of stream '%s'%s\n", (unsigned long long)dep->position,
                    dep->stream->name, done ? ", which is done" : "");
        note_wait(look, queued, dep->stream, dep->position);
    } else if (dep->gate) {
        struct stream *source;
        unsigned cursor = 0;
        uint64_t position;
        dep->gate->type->describe(dep->gate, dep->value, text);
        text_printf(text, "\n");
        while ((source = dep->gate->type->source(dep->gate, dep->value, &cursor, &position)) !=
               NULL) {
            note_wait(look, queued, source, position);
            stream_put(source);
        }
    } else {
        text_printf(text, dep->order_only ? "a launch of another context that it may not overlap\n"
                                          : "a cl_event of the program\n");
    }
}

static void say_running(struct text *text, const struct stream *stream,
                        const struct queued *queued) {
    uint64_t since = fifo_running_since(&stream->fifo);
    if (since)
        text_printf(text, "    '%s' (command %llu) has been running for %llu ms\n",
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
            text_printf(text, "    '%s' (command %llu) waits for ", command_label(queued->command),
                        (unsigned long long)queued->position);
        else
            text_printf(text, "    the next command will wait for ");
        say_source(look, queued, &items[i]);
    }
    return false;
}

/* --- circles --- */

struct cycle_search {
    const struct explanation *explanation;
    size_t *waits_of; /* the first wait of each stream */
    size_t *path;     /* waits, from stream to stream */
    size_t length;
    enum cycle_mark { UNSEEN, ON_PATH, SEEN } * marks;
};

static void search_free(struct cycle_search *search) {
    free(search->waits_of);
    free(search->path);
    free(search->marks);
}

static bool search_init(struct cycle_search *search, const struct explanation *explanation) {
    const size_t n = explanation->count;
    *search = (struct cycle_search){explanation, calloc(n + 1, sizeof *search->waits_of),
                                    calloc(n + 1, sizeof *search->path), 0,
                                    calloc(n + 1, sizeof *search->marks)};
    if (!search->waits_of || !search->path || !search->marks) {
        search_free(search);
        return false;
    }
    for (size_t stream = 0, wait = 0; stream <= n; stream++) {
        while (wait < explanation->n_waits && explanation->waits[wait].from < stream)
            wait++;
        search->waits_of[stream] = wait;
    }
    return true;
}

/* Whether the stream's first command waits, and is not behind `position`. */
static bool is_held_up(const struct cycle_search *search, size_t stream, uint64_t position) {
    const size_t wait = search->waits_of[stream];
    return wait < search->waits_of[stream + 1] &&
           search->explanation->waits[wait].command <= position;
}

/* Depth first. When it returns true, the path ends with a wait for a stream on it. */
static bool find_circle(struct cycle_search *search, size_t stream) {
    search->marks[stream] = ON_PATH;
    for (size_t i = search->waits_of[stream]; i < search->waits_of[stream + 1]; i++) {
        const struct explained_wait *wait = &search->explanation->waits[i];
        if (search->marks[wait->to] == SEEN || !is_held_up(search, wait->to, wait->position))
            continue;
        search->path[search->length++] = i;
        if (search->marks[wait->to] == ON_PATH || find_circle(search, wait->to))
            return true;
        search->length--;
    }
    search->marks[stream] = SEEN;
    return false;
}

static void say_circle(struct explanation *explanation, const struct cycle_search *search) {
    const struct explained_wait *waits = explanation->waits;
    const size_t entry = waits[search->path[search->length - 1]].to;
    size_t i = 0;
    while (waits[search->path[i]].from != entry)
        i++;
    text_printf(&explanation->text,
                "These streams wait for each other in a circle, and do not go on by themselves:\n");
    for (; i < search->length; i++) {
        const struct explained_wait *wait = &waits[search->path[i]];
        text_printf(&explanation->text,
                    "    command %llu of stream '%s' waits for command %llu of stream '%s'\n",
                    (unsigned long long)wait->command, explanation->streams[wait->from]->name,
                    (unsigned long long)wait->position, explanation->streams[wait->to]->name);
    }
}

static void explain_circle(struct explanation *explanation) {
    struct cycle_search search;
    if (!explanation->n_waits)
        return;
    if (!search_init(&search, explanation)) {
        explanation->text.failed = true;
        return;
    }
    for (size_t stream = 0; stream < explanation->count; stream++)
        if (search.marks[stream] == UNSEEN && find_circle(&search, stream)) {
            say_circle(explanation, &search);
            break;
        }
    search_free(&search);
}

static void explain_one(struct explanation *explanation, size_t number) {
    struct stream *stream = explanation->streams[number];
    struct look look = {explanation, number, stream};
    stream_poll(stream);
    pthread_mutex_lock(&stream->lock);
    say_progress(&explanation->text, stream);
    pthread_mutex_unlock(&stream->lock);
    fifo_visit(stream, say_queued, &look);
}

void explain_all(struct explanation *explanation) {
    for (size_t i = 0; i < explanation->count; i++)
        explain_one(explanation, i);
    explain_circle(explanation);
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
        status = error_no_memory("to explain");
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
