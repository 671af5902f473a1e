/* SPDX-License-Identifier: MIT */
/*
 * Vector clocks of the race checker. The epoch of an event is (stream, position); a clock gives for each
 * stream the position up to which its work is known to come before. A stream's clock leaves out the
 * stream's own order. Pure data: no locks, no OpenCL.
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

/* The history of a stream's clock: its value from each position on at which it changed. */
struct race_history {
    struct race_mark {
        uint64_t position;
        struct race_clock clock;
    } * marks;
    size_t count, capacity;
};

/* The clock in force at a position, or NULL for the empty one. */
const struct race_clock *race_history_at(const struct race_history *history, uint64_t position);

/* Appends a copy of the clock, in force from `position` on, which is past all earlier marks. Positions up to
 * `settled` are not asked for any more. At most HISTORY_MARKS are kept: beyond that two neighbours are merged
 * into the later clock, which may hide a race and never invents one. */
enum { HISTORY_MARKS = 4096 };
bool race_history_push(struct race_history *history, uint64_t position,
                       const struct race_clock *clock, uint64_t settled);
void race_history_clear(struct race_history *history);

#endif
