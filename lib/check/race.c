/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/setting.h"
#include "check/race_host.h"
#include "check/race_report.h"
#include "check/race_state.h"
#include "memory/buffer_map.h"
#include "stream/command.h"
#include "stream/context.h"
#include "stream/stream.h"

/* The race checker's entry points, the records of streams, and the clock of the host. `lock` guards all of it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct race_clock race_known;
static struct race_stream *streams;
static unsigned living; /* streams of the process, known here or not */
static bool lost;       /* an order was lost for want of memory */

/* The command whose user code this thread runs. */
static _Thread_local struct actor {
    struct race_stream *by; /* held; NULL: none */
    uint64_t position;
    const char *label;
} actor;

void race_lock(void) { pthread_mutex_lock(&lock); }

/* Once an order is lost, accesses must not be compared. They are dropped here, where no loop over them is running. */
void race_unlock(void) {
    if (lost)
        race_forget_all();
    pthread_mutex_unlock(&lock);
}

bool race_has_lost(void) { return lost; }

static void prepare(void) {
    if (!setting_lists("CLSTREAM_CHECK", "race"))
        return;
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

static struct race_stream *make_record(uint64_t id) {
    struct race_stream *by = calloc(1, sizeof *by);
    race_note(by != NULL);
    if (!by)
        return NULL;
    by->id = id;
    by->holds = 1;
    HASH_ADD(hh, streams, id, sizeof by->id, by);
    if (by->hh.tbl)
        return by;
    free(by);
    race_note(false);
    return NULL;
}

struct race_stream *race_know(struct stream *stream) {
    if (!stream->race && (stream->race = make_record(stream->id)) != NULL) {
        stream->race->context = stream->context;
        memcpy(stream->race->name, stream->name, sizeof stream->race->name);
    }
    return stream->race;
}

struct race_stream *race_find(uint64_t id) {
    struct race_stream *by;
    HASH_FIND(hh, streams, &id, sizeof id, by);
    return by;
}

void race_note(bool well) {
    if (well)
        return;
    lost = true;
    race_count_forgotten();
}

void race_learn(struct race_clock *clock, const struct race_stream *by, uint64_t position) {
    const struct race_clock *then = race_history_at(&by->history, position);
    race_note(race_clock_raise(clock, by->id, position) && (!then || race_clock_join(clock, then)));
}

void race_learn_all(struct race_clock *clock) {
    for (const struct race_stream *by = streams; by; by = by->hh.next)
        race_note(race_clock_raise(clock, by->id, by->last_reported));
}

bool race_actor(struct race_stream **by, uint64_t *position) {
    *by = actor.by;
    *position = actor.position;
    return actor.by != NULL;
}

/* --- commands --- */

static void add_wait(struct race_stream *by, struct race_stream *other, uint64_t position) {
    const struct race_op op = {.by = by,
                               .kind = RACE_WAIT,
                               .position = by->last_reported + 1,
                               .u.wait = {other, position}};
    if (by == other)
        return;
    race_process(&op);
    by->waits = by->waits || by->changed || by->kept;
}

void race_submits(const struct touches *touches) {
    race_lock();
    for (size_t i = 0; i < touches->count; i++)
        if (!touches->items[i].root && touches->items[i].write)
            race_host_overwrites(&touches->items[i].span);
    race_unlock();
}

/* The accesses to host memory, copied. */
static struct touches host_touches(const struct touches *touches) {
    struct touches host = {.items = malloc((touches->count + 1) * sizeof *host.items)};
    for (size_t i = 0; i < touches->count && host.items; i++)
        if (!touches->items[i].root)
            host.items[host.count++] = touches->items[i];
    if (!host.items)
        race_count_forgotten();
    return host;
}

/* A command that is submitted, and which bytes it touches. */
struct mapped_visit {
    const struct stream *stream;
    const struct command *command;
    const struct touch *touch;
};

/* Order does not help here: the command may come behind the map, but not ahead of the unmap. */
static void compare_map(const struct buffer_map *map, void *arg) {
    const struct mapped_visit *visit = arg;
    const struct touch *touch = visit->touch;
    const size_t origin = map->place.origin, start = origin + map->range.offset;
    const struct byte_span span = byte_span_1d(start, map->range.bytes);
    if (!map->position || (!buffer_map_writes(map) && !touch->write) ||
        touch->root != map->place.root || !byte_spans_overlap(&span, &touch->span))
        return;
    const size_t end = byte_span_end(&touch->span), map_end = byte_span_end(&span);
    const struct race_finding finding = {
        .first = {map->stream, "map", map->position, buffer_map_writes(map), false},
        .second = {visit->stream->name, command_label(visit->command), visit->command->position,
                   touch->write, touch->possible},
        .mapped = true,
        .bytes = map->place.bytes,
        .start = (start > touch->span.start ? start : touch->span.start) - origin,
        .end = (end < map_end ? end : map_end) - origin};
    race_report(&finding);
}

static void compare_with_maps(const struct stream *stream, const struct command *command,
                              const struct touches *touches) {
    for (size_t i = 0; i < touches->count; i++)
        if (touches->items[i].root)
            buffer_map_visit(compare_map,
                             &(struct mapped_visit){stream, command, &touches->items[i]});
}

void race_submitted(struct stream *stream, const struct command *command, struct touches *touches) {
    race_lock();
    compare_with_maps(stream, command, touches);
    const struct touches host = host_touches(touches);
    struct race_stream *by = race_know(stream);
    if (by) {
        const struct race_op op = {
            .by = by,
            .kind = RACE_COMMAND,
            .position = command->position,
            .u.command = {command_label(command), command->type->user_code, *touches}};
        if (actor.by)
            add_wait(by, actor.by, actor.position);
        race_process(&op);
        by->last_reported = command->position;
        by->waits = false;
        race_host_submitted(by, stream, command, &host);
        race_count_command();
    } else {
        touches_free(touches);
    }
    free(host.items);
    race_unlock();
}

static void note_lifetime(struct stream *stream, cl_mem memory, const char *label,
                          enum race_kind kind) {
    struct touches touches = {0};
    touches_add_whole(&touches, stream->context->device, memory, true, false);
    race_lock();
    struct race_stream *by = race_know(stream);
    for (size_t i = 0; kind == RACE_BEGIN && i < touches.count; i++) {
        const struct touch *touch = &touches.items[i];
        race_forget_bytes(touch->root, touch->span.start, touch->span.start + touch->span.width);
    }
    const struct race_op op = {.by = by,
                               .kind = kind,
                               .position = by ? by->last_reported : 0,
                               .u.command = {label, false, touches}};
    if (by)
        race_process(&op);
    else
        touches_free(&touches);
    race_unlock();
}

void race_begins(struct stream *stream, cl_mem memory) {
    note_lifetime(stream, memory, "malloc", RACE_BEGIN);
}

void race_ends(struct stream *stream, cl_mem memory) {
    note_lifetime(stream, memory, "free", RACE_END);
}

/* An access by a thread of the program comes before every later call of that thread, so it is compared with the
 * recorded accesses and not recorded itself. An access inside a host function is recorded as the command's. */
void race_declared(struct touches *touches) {
    struct race_visitor visitor = {.known = &race_known};
    race_lock();
    if (actor.by)
        visitor =
            (struct race_visitor){.by = actor.by,
                                  .position = actor.position,
                                  .label = actor.label,
                                  .clock = race_history_at(&actor.by->history, actor.position),
                                  .late = true};
    race_visit(&visitor, touches);
    for (size_t i = 0; i < touches->count && !actor.by; i++) {
        const struct touch *touch = &touches->items[i];
        if (!touch->root && touch->write)
            race_host_forget(touch->span.start, touch->span.start + touch->span.width);
    }
    race_unlock();
    touches_free(touches);
}

void race_retired(struct stream *stream, uint64_t position) {
    race_lock();
    if (stream->race)
        race_host_retired(stream->race, stream, position);
    race_unlock();
}

void race_was_read(struct stream *stream, uint64_t position, uint64_t sum) {
    race_lock();
    if (stream->race)
        race_host_was_read(stream->race, position, sum);
    race_unlock();
}

void race_event_exported(void) {
    race_lock();
    race_host_forget_all();
    race_unlock();
}

/* --- order --- */

void race_waits(struct stream *stream, struct stream *other, uint64_t position) {
    race_lock();
    struct race_stream *by = race_know(stream);
    if (by && other->race && position)
        add_wait(by, other->race, position);
    race_unlock();
}

void race_frees_wait(struct stream *stream, struct stream *other, uint64_t position) {
    race_lock();
    struct race_stream *by = race_know(stream);
    if (by && other->race && other->race != by)
        race_note(race_clock_raise(&by->frees, other->id, position));
    race_unlock();
}

bool race_waits_open(const struct stream *stream) {
    race_lock();
    bool open = stream->race && stream->race->waits;
    race_unlock();
    return open;
}

void race_observed(struct stream *stream, uint64_t position) {
    race_lock();
    struct race_stream *by = stream->race;
    bool all = position == RACE_ALL;
    if (by && position) {
        race_reach(by, position);
        race_learn(&race_known, by, all ? by->last_reported : position);
        race_note(!all || race_clock_join(&race_known, &by->clock));
    }
    race_unlock();
}

void race_observed_context(const struct context *context) {
    race_lock();
    race_reach_context(context);
    for (const struct race_stream *by = streams; by; by = by->hh.next)
        if (by->context == context)
            race_learn(&race_known, by, by->last_reported);
    race_unlock();
}

void race_part_of(struct stream *lane, struct stream *stream, uint64_t position) {
    race_lock();
    struct race_stream *by = race_know(lane);
    if (by) {
        by->part_of = stream ? stream->race : NULL;
        by->part_position = position;
    }
    race_unlock();
}

void race_enter(struct stream *stream, const struct command *command) {
    race_lock();
    actor = (struct actor){race_know(stream), command->position, command_label(command)};
    if (actor.by && actor.by->part_of)
        actor = (struct actor){actor.by->part_of, actor.by->part_position, actor.label};
    if (actor.by) {
        race_hold(actor.by, 1);
        race_reach(actor.by, actor.position);
        race_host_enter(actor.by, actor.position);
    }
    race_unlock();
}

void race_leave(void) {
    race_lock();
    if (actor.by)
        race_hold(actor.by, -1);
    actor = (struct actor){0};
    race_unlock();
}

void race_waits_outside(void) {
    race_lock();
    race_host_waits_outside();
    race_unlock();
}

void race_meet_stream(void) {
    race_lock();
    living++;
    race_unlock();
}

void race_forget_stream(struct stream *stream) {
    race_lock();
    if (stream->race) {
        race_reach(stream->race, RACE_ALL);
        race_host_forget_stream(stream->race);
        race_hold(stream->race, -1);
    }
    stream->race = NULL;
    lost = --living && lost;
    race_unlock();
}
