/* SPDX-License-Identifier: MIT */
/*
 * Vector clocks of the race checker. The epoch of an event is (stream, position): a clock says for each
 * stream up to which position its work is known to come before. What the stream's own order says is not
 * in its clock. Pure data: no locks, no OpenCL.
 */
#ifndef CLSTREAM_CHECK_RACE_CLOCK_H
#define CLSTREAM_CHECK_RACE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tick {
    uint64_t stream; /* its id */
    uint64_t position;
};

/* Sorted by stream; streams that are not in it are at 0. All zero is the empty one. */
struct race_clock {
    struct tick *ticks;
    size_t count, capacity;
};

uint64_t race_clock_at(const struct race_clock *clock, uint64_t stream);

/* Each keeps the greater position. False without memory: then the clock is as it was, or joined in part. */
bool race_clock_raise(struct race_clock *clock, uint64_t stream, uint64_t position);
bool race_clock_join(struct race_clock *clock, const struct race_clock *other);

/* Keeps the ticks for which keep(context, tick) holds. */
void race_clock_filter(struct race_clock *clock,
                       bool (*keep)(void *context, const struct tick *tick), void *context);
void race_clock_clear(struct race_clock *clock);

/* How a stream's clock came about: what it was from each position on at which it changed. */
struct race_history {
    struct race_mark {
        uint64_t position;
        struct race_clock clock;
    } * marks;
    size_t count, capacity;
};

/* The clock in force at a position, or NULL for the empty one. */
const struct race_clock *race_history_at(const struct race_history *history, uint64_t position);

/* Adds the clock from `position` on, which is past all known ones; copies it. Nobody asks for a position
 * up to `settled` any more. At most HISTORY_MARKS are kept: beyond, two neighbours become one, and what
 * lies between is taken to know as much as the later one: an order too many, never one too few. */
enum { HISTORY_MARKS = 4096 };
bool race_history_push(struct race_history *history, uint64_t position,
                       const struct race_clock *clock, uint64_t settled);
void race_history_clear(struct race_history *history);

#endif
