/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/command.h"
#include "core/context.h"
#include "core/race_report.h"
#include "core/race_state.h"
#include "core/stream.h"

_Atomic bool race_is_on;

/* All is guarded by the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct race_clock race_known;
static struct race_stream *streams;

/* The command whose user code this thread runs. */
static _Thread_local struct actor {
    struct race_stream *by; /* held; NULL: none */
    uint64_t position;
    const char *label;
} actor;

void race_lock(void) { pthread_mutex_lock(&lock); }
void race_unlock(void) { pthread_mutex_unlock(&lock); }

static void prepare(void) {
    const char *check = getenv("CLSTREAM_CHECK");
    if (!check || !*check)
        return;
    if (strcmp(check, "race") != 0) {
        fprintf(stderr, "clstream: CLSTREAM_CHECK=%s is ignored: there is only 'race'\n", check);
        return;
    }
    race_report_start();
    atomic_store(&race_is_on, true);
}

void race_prepare(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
}

/* --- streams --- */

static bool is_other(void *id, const struct tick *tick) { return tick->stream != *(uint64_t *)id; }

void race_hold(struct race_stream *by, int more) {
    by->holds += (unsigned)more;
    if (by->holds)
        return;
    HASH_DEL(streams, by);
    race_clock_filter(&race_known, is_other, &by->id);
    race_clock_clear(&by->clock);
    race_clock_clear(&by->frees);
    race_history_clear(&by->history);
    free(by);
}

struct race_stream *race_know(struct stream *stream) {
    if (stream->race)
        return stream->race;
    struct race_stream *by = calloc(1, sizeof *by);
    if (!by) {
        race_count_forgotten();
        return NULL;
    }
    by->id = stream->id;
    by->context = stream->context;
    by->holds = 1;
    by->lost_at = UINT64_MAX;
    memcpy(by->name, stream->name, sizeof by->name);
    HASH_ADD(hh, streams, id, sizeof by->id, by);
    if (!by->hh.tbl) {
        free(by);
        race_count_forgotten();
        return NULL;
    }
    return stream->race = by;
}

static bool is_news(void *unused, const struct tick *tick) {
    struct race_stream *alive;
    (void)unused;
    HASH_FIND(hh, streams, &tick->stream, sizeof tick->stream, alive);
    return alive && race_clock_at(&race_known, tick->stream) < tick->position;
}

void race_note(bool well) {
    if (!well)
        race_count_forgotten();
}

void race_learn(struct race_clock *clock, const struct race_stream *by, uint64_t position) {
    const struct race_clock *then = race_history_at(&by->history, position);
    race_note(race_clock_raise(clock, by->id, position) && (!then || race_clock_join(clock, then)));
}

void race_come_after(struct race_stream *stream, const struct race_stream *by, uint64_t position) {
    if (stream == by || race_clock_at(&race_known, by->id) >= position ||
        race_clock_at(&stream->clock, by->id) >= position)
        return;
    race_learn(&stream->clock, by, position);
    stream->changed = true;
    if (position >= by->lost_at)
        race_lose(stream);
}

void race_lose(struct race_stream *stream) {
    if (stream->lost_at == UINT64_MAX)
        stream->lost_at = stream->submitted + 1;
    stream->changed = true;
}

/* Whether the host has learned that what the stream waited for is over. */
static void find_again(struct race_stream *stream) {
    if (race_clock_at(&race_known, stream->id) >= stream->lost_at)
        stream->lost_at = UINT64_MAX;
}

bool race_actor(struct race_stream **by, uint64_t *position) {
    *by = actor.by;
    *position = actor.position;
    return actor.by != NULL;
}

static bool runs_user_code(const struct command *command) {
    cls_command_kind kind = command->type->kind;
    return kind == CLS_COMMAND_HOST || kind == CLS_COMMAND_CALLBACK || kind == CLS_COMMAND_FOREIGN;
}

/* The stream goes on to the command's position. What the host knows at that time is kept for code that
 * runs later, and for all others looked up when it is needed. */
static void advance(struct race_stream *by, const struct command *command) {
    bool keep = runs_user_code(command);
    if (by->changed || keep) {
        race_clock_filter(&by->clock, is_news, NULL);
        race_note((!keep || race_clock_join(&by->clock, &race_known)) &&
                  race_history_push(&by->history, command->position, &by->clock,
                                    race_clock_at(&race_known, by->id)));
    }
    by->changed = false;
    by->submitted = command->position;
}

void race_submitted(struct stream *stream, const struct command *command,
                    struct race_touches *touches) {
    race_lock();
    struct race_stream *by = race_know(stream);
    if (by) {
        if (actor.by)
            race_come_after(by, actor.by, actor.position);
        advance(by, command);
        find_again(by);
        const struct race_visitor visitor = {by, command->position, command_label(command),
                                             &by->clock, false};
        if (by->lost_at == UINT64_MAX)
            race_visit(&visitor, touches);
        race_count_command();
    }
    race_unlock();
    race_drop(touches);
}

/* A write to all of the memory behind the stream's latest command and, for a free, what frees wait for. */
static void stamp(struct stream *stream, cl_mem memory, const char *label, bool frees) {
    struct race_touches touches = {0};
    struct race_clock clock = {0};
    race_add_whole(&touches, stream->context->device, memory, true, false);
    race_lock();
    struct race_stream *by = race_know(stream);
    if (by && by->lost_at == UINT64_MAX) {
        race_note(race_clock_join(&clock, &by->clock) &&
                  (!frees || race_clock_join(&clock, &by->frees)));
        const struct race_visitor visitor = {by, by->submitted, label, &clock, false};
        race_visit(&visitor, &touches);
    }
    race_unlock();
    race_clock_clear(&clock);
    race_drop(&touches);
}

void race_begins(struct stream *stream, cl_mem memory) {
    race_forget_memory(stream->context->device, memory);
    stamp(stream, memory, "malloc", false);
}

void race_ends(struct stream *stream, cl_mem memory) { stamp(stream, memory, "free", true); }

void race_declared(struct race_touches *touches) {
    struct race_visitor visitor = {.by = NULL};
    race_lock();
    if (actor.by)
        visitor = (struct race_visitor){actor.by, actor.position, actor.label,
                                        race_history_at(&actor.by->history, actor.position), true};
    if (!actor.by || actor.position < actor.by->lost_at)
        race_visit(&visitor, touches);
    race_unlock();
    race_drop(touches);
}

/* --- order --- */

void race_waits(struct stream *stream, struct stream *other, uint64_t position) {
    race_lock();
    struct race_stream *by = race_know(stream);
    if (by && other->race && position)
        race_come_after(by, other->race, position);
    race_unlock();
}

void race_frees_wait(struct stream *stream, struct stream *other, uint64_t position) {
    race_lock();
    struct race_stream *by = race_know(stream);
    if (by && other->race && other->race != by && position)
        race_learn(&by->frees, other->race, position);
    race_unlock();
}

bool race_waits_open(const struct stream *stream) {
    race_lock();
    bool open = stream->race && stream->race->changed;
    race_unlock();
    return open;
}

void race_learn_all(void) {
    for (const struct race_stream *by = streams; by; by = by->hh.next)
        race_note(race_clock_raise(&race_known, by->id, by->submitted));
}

void race_observed(struct stream *stream, uint64_t position) {
    race_lock();
    const struct race_stream *by = stream->race;
    bool all = position == RACE_ALL;
    if (by && position) {
        race_learn(&race_known, by, all ? by->submitted : position);
        race_note(!all || race_clock_join(&race_known, &by->clock));
        if (position >= by->lost_at)
            race_learn_all();
    }
    race_unlock();
}

void race_observed_context(const struct context *context) {
    race_lock();
    for (const struct race_stream *by = streams; by; by = by->hh.next)
        if (by->context == context)
            race_learn(&race_known, by, by->submitted);
    race_unlock();
}

void race_enter(struct stream *stream, const struct command *command) {
    race_lock();
    actor = (struct actor){race_know(stream), command->position, command_label(command)};
    if (actor.by)
        race_hold(actor.by, 1);
    race_unlock();
}

void race_leave(void) {
    race_lock();
    if (actor.by)
        race_hold(actor.by, -1);
    actor = (struct actor){0};
    race_unlock();
}

void race_forget_stream(struct stream *stream) {
    race_lock();
    if (stream->race)
        race_hold(stream->race, -1);
    stream->race = NULL;
    race_unlock();
}
