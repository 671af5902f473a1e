/* SPDX-License-Identifier: MIT */
/*
 * Follows the operations reported for streams, and keeps those that cannot be followed yet (check/race.h has the
 * model). A wait is ready when the awaited work has been followed; any other operation is ready as soon as nothing is
 * ahead of it in its stream. Kept operations belong to work that the streams themselves hold back, which bounds them.
 */
#include <stdlib.h>

#include <utlist.h>

#include "check/race_state.h"

/* The host's clock at some time; shared by the operations reported while it did not change. */
struct race_known {
    unsigned users;
    struct race_clock clock;
};

static struct race_op *kept;         /* oldest first */
static struct race_stream *behind;   /* the streams with kept operations */
static struct race_known *last_kept; /* the newest one in use */

bool race_keeps(void) { return kept != NULL; }

const struct race_clock *race_floor(void) { return kept ? &kept->known->clock : &race_known; }

bool race_is_news(void *unused, const struct tick *tick) {
    (void)unused;
    return race_clock_at(race_floor(), tick->stream) < tick->position && race_find(tick->stream);
}

static const struct race_clock *known_of(const struct race_op *op) {
    return op->known ? &op->known->clock : &race_known;
}

/* --- how each kind is followed --- */

static bool always(const struct race_op *op) {
    (void)op;
    return true;
}

static bool is_followed(const struct race_stream *by, uint64_t position) {
    return !by->kept || by->followed >= position;
}

static bool wait_is_ready(const struct race_op *op) {
    return is_followed(op->u.wait.stream, op->u.wait.position);
}

static bool signal_has_come(const struct race_op *op) {
    return race_source_reaches(op->u.signal.source, op->u.signal.value);
}

/* Advances the stream to the command. The host's clock becomes part of the stored clock only for a command that runs
 * user code, whose accesses are declared later; all others are compared now. */
static void go_on(const struct race_op *op) {
    struct race_stream *by = op->by;
    bool keep = op->u.command.runs_user_code;
    if (by->changed || keep) {
        race_clock_filter(&by->clock, race_is_news, NULL);
        race_note((!keep || race_clock_join(&by->clock, known_of(op))) &&
                  race_history_push(&by->history, op->position, &by->clock,
                                    race_clock_at(race_floor(), by->id)));
    }
    by->changed = false;
    by->followed = op->position;
}

static void visit(const struct race_op *op, uint64_t position, const struct race_clock *clock) {
    const struct race_visitor visitor = {.by = op->by,
                                         .position = position,
                                         .behind = op->kind != RACE_COMMAND,
                                         .label = op->u.command.label,
                                         .clock = clock,
                                         .known = known_of(op)};
    race_visit(&visitor, &op->u.command.touches);
}

static void follow_command(const struct race_op *op) {
    go_on(op);
    visit(op, op->position, &op->by->clock);
}

static void follow_wait(const struct race_op *op) {
    struct race_stream *by = op->by;
    const struct race_stream *other = op->u.wait.stream;
    uint64_t position = op->u.wait.position;
    if (race_clock_at(race_floor(), other->id) >= position ||
        race_clock_at(&by->clock, other->id) >= position)
        return;
    race_learn(&by->clock, other, position);
    by->changed = true;
}

static void follow_wait_signal(const struct race_op *op) {
    race_source_learn(&op->by->clock, op->u.signal.source, op->u.signal.value);
    op->by->changed = true;
}

static void follow_signal(const struct race_op *op) {
    race_source_raise(op->u.signal.source, op->u.signal.value, op->by, op->position, known_of(op));
}

/* An allocation counts as a write to all of the memory, behind the stream's latest command. */
static void follow_begin(const struct race_op *op) { visit(op, op->by->followed, &op->by->clock); }

/* Raises the clock by the further waits of the stream's frees; false if one of them has not been followed yet. */
static bool learn_frees(const struct race_stream *by, struct race_clock *clock) {
    for (size_t i = 0; i < by->frees.count; i++) {
        const struct tick *tick = &by->frees.ticks[i];
        const struct race_stream *other = race_find(tick->stream);
        if (other && !is_followed(other, tick->position))
            return false;
        if (other)
            race_learn(clock, other, tick->position);
    }
    return true;
}

static void follow_end(const struct race_op *op) {
    struct race_stream *by = op->by;
    struct race_clock clock = {0};
    race_clock_filter(&by->frees, race_is_news, NULL);
    race_note(race_clock_join(&clock, &by->clock));
    if (learn_frees(by, &clock))
        visit(op, by->followed, &clock);
    race_clock_clear(&clock);
}

static const struct {
    bool (*is_ready)(const struct race_op *op);
    void (*follow)(const struct race_op *op);
} kinds[] = {
    [RACE_COMMAND] = {always, follow_command},
    [RACE_WAIT] = {wait_is_ready, follow_wait},
    [RACE_WAIT_SIGNAL] = {signal_has_come, follow_wait_signal},
    [RACE_SIGNAL] = {always, follow_signal},
    [RACE_BEGIN] = {always, follow_begin},
    [RACE_END] = {always, follow_end},
};

static bool has_touches(enum race_kind kind) {
    return kind == RACE_COMMAND || kind == RACE_BEGIN || kind == RACE_END;
}

static void drop_touches(struct race_op *op) {
    if (has_touches(op->kind))
        touches_free(&op->u.command.touches);
    if (has_touches(op->kind))
        op->u.command.touches = (struct touches){0};
}

/* --- keeping --- */

static bool are_equal(const struct race_clock *a, const struct race_clock *b) {
    bool equal = a->count == b->count;
    for (size_t i = 0; i < a->count && equal; i++)
        equal = a->ticks[i].stream == b->ticks[i].stream &&
                a->ticks[i].position == b->ticks[i].position;
    return equal;
}

/* The host's present clock, with a reference; the same object as long as the clock does not change. */
static struct race_known *know_now(void) {
    struct race_known *known = last_kept;
    if (!known || !are_equal(&known->clock, &race_known)) {
        known = calloc(1, sizeof *known);
        if (known && !race_clock_join(&known->clock, &race_known)) {
            race_clock_clear(&known->clock);
            free(known);
            known = NULL;
        }
    }
    if (!known)
        return NULL;
    known->users++;
    return last_kept = known;
}

static void know_no_more(struct race_known *known) {
    if (--known->users)
        return;
    if (last_kept == known)
        last_kept = NULL;
    race_clock_clear(&known->clock);
    free(known);
}

static void hold_all(const struct race_op *op, int more) {
    race_hold(op->by, more);
    if (op->kind == RACE_WAIT)
        race_hold(op->u.wait.stream, more);
    if (op->kind != RACE_SIGNAL && op->kind != RACE_WAIT_SIGNAL)
        return;
    if (more > 0)
        race_source_hold(op->u.signal.source);
    else
        race_source_drop(op->u.signal.source);
}

/* Inserts by position. A signal may be reported late: it goes behind the operations up to its position and ahead of
 * later ones, which might wait for it. */
static void put_in_order(struct race_op *op) {
    struct race_stream *by = op->by;
    struct race_op *last = by->kept ? by->kept->prev : NULL;
    if (!last)
        DL_APPEND2(behind, by, previous, next);
    while (op->kind == RACE_SIGNAL && last && last->position > op->position)
        last = last == by->kept ? NULL : last->prev;
    if (last)
        DL_APPEND_ELEM(by->kept, last, op);
    else
        DL_PREPEND(by->kept, op);
    DL_APPEND2(kept, op, older, newer);
}

static bool keep(const struct race_op *op) {
    struct race_op *copy = malloc(sizeof *copy);
    struct race_known *known = copy ? know_now() : NULL;
    if (!known) {
        free(copy);
        return false;
    }
    *copy = *op;
    copy->known = known;
    hold_all(copy, 1);
    put_in_order(copy);
    return true;
}

/* Removes the stream's first kept operation; the caller holds the stream's record. */
static void end_first(struct race_stream *by) {
    struct race_op *op = by->kept;
    DL_DELETE(by->kept, op);
    if (!by->kept)
        DL_DELETE2(behind, by, previous, next);
    DL_DELETE2(kept, op, older, newer);
    drop_touches(op);
    hold_all(op, -1);
    know_no_more(op->known);
    free(op);
}

static bool follow_ready(struct race_stream *by) {
    bool moved = false;
    race_hold(by, 1);
    while (by->kept && kinds[by->kept->kind].is_ready(by->kept)) {
        kinds[by->kept->kind].follow(by->kept);
        end_first(by);
        moved = true;
    }
    race_hold(by, -1);
    return moved;
}

void race_follow_all(void) {
    bool moved = behind != NULL;
    while (moved) {
        struct race_stream *by, *next;
        moved = false;
        DL_FOREACH_SAFE2(behind, by, next, next)
        moved = follow_ready(by) || moved;
    }
}

/* A signal at a position already followed need not wait for operations kept behind that position. */
static bool nothing_ahead(const struct race_op *op) {
    return !op->by->kept || (op->kind == RACE_SIGNAL && op->by->followed >= op->position);
}

void race_process(const struct race_op *op) {
    struct race_op now = *op;
    if (nothing_ahead(op) && kinds[op->kind].is_ready(op)) {
        kinds[op->kind].follow(op);
        drop_touches(&now);
        if (op->kind == RACE_SIGNAL)
            race_follow_all();
    } else if (!keep(op)) {
        race_note(false);
        drop_touches(&now);
    }
}

/* --- waits whose signal was never reported --- */

/* Gives up the first kept wait. What it waited for is unknown, so the work behind it is taken to come after all work
 * reported so far. */
static void give_up_first(struct race_stream *by) {
    race_learn_all(&by->clock);
    by->changed = true;
    end_first(by);
}

static void skip_commands(struct race_stream *by, uint64_t position) {
    struct race_op *op;
    DL_FOREACH(by->kept, op)
    if (op->kind == RACE_COMMAND && op->position <= position)
        drop_touches(op);
}

void race_reach(struct race_stream *by, uint64_t position) {
    if (!by->kept)
        return;
    race_hold(by, 1);
    while (by->kept && by->kept->position <= position) {
        skip_commands(by, position);
        give_up_first(by);
        race_follow_all();
    }
    race_hold(by, -1);
}

static struct race_stream *any_behind(const struct context *context) {
    struct race_stream *by;
    DL_FOREACH2(behind, by, next)
    if (by->context == context)
        return by;
    return NULL;
}

void race_reach_context(const struct context *context) {
    struct race_stream *by;
    while ((by = any_behind(context)) != NULL)
        race_reach(by, RACE_ALL);
}

void race_forget_kept(cl_mem root, size_t start, size_t end) {
    struct race_op *op;
    DL_FOREACH2(kept, op, newer) {
        struct touches *touches = has_touches(op->kind) ? &op->u.command.touches : NULL;
        size_t left = 0;
        for (size_t i = 0; touches && i < touches->count; i++) {
            const struct touch *touch = &touches->items[i];
            size_t at = root ? touch->origin : touch->span.start;
            if (touch->root != root || at < start || at >= end)
                touches->items[left++] = *touch;
        }
        if (touches)
            touches->count = left;
    }
}
