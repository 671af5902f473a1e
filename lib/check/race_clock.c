/* SPDX-License-Identifier: MIT */
#include "check/race_clock.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { FIRST_TICKS = 4, FIRST_MARKS = 16 };

/* Binary search: the first tick whose stream is this one or has a higher id. */
static size_t find(const struct race_clock *clock, uint64_t stream) {
    size_t low = 0, high = clock->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (clock->ticks[middle].stream < stream)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t race_clock_at(const struct race_clock *clock, uint64_t stream) {
    size_t i = find(clock, stream);
    return i < clock->count && clock->ticks[i].stream == stream ? clock->ticks[i].position : 0;
}

static bool reserve(struct race_clock *clock, size_t count) {
    size_t capacity = clock->capacity ? clock->capacity : FIRST_TICKS;
    if (count <= clock->capacity)
        return true;
    while (capacity < count)
        capacity *= 2;
    struct tick *grown = realloc(clock->ticks, capacity * sizeof *grown);
    if (!grown)
        return false;
    clock->ticks = grown;
    clock->capacity = capacity;
    return true;
}

bool race_clock_raise(struct race_clock *clock, uint64_t stream, uint64_t position) {
    size_t i = find(clock, stream);
    if (i < clock->count && clock->ticks[i].stream == stream) {
        if (clock->ticks[i].position < position)
            clock->ticks[i].position = position;
        return true;
    }
    if (!position)
        return true;
    if (!reserve(clock, clock->count + 1))
        return false;
    memmove(&clock->ticks[i + 1], &clock->ticks[i], (clock->count - i) * sizeof *clock->ticks);
    clock->ticks[i] = (struct tick){stream, position};
    clock->count++;
    return true;
}

bool race_clock_join(struct race_clock *clock, const struct race_clock *other) {
    bool well = true;
    for (size_t i = 0; i < other->count && well; i++)
        well = race_clock_raise(clock, other->ticks[i].stream, other->ticks[i].position);
    return well;
}

void race_clock_filter(struct race_clock *clock,
                       bool (*keep)(void *context, const struct tick *tick), void *context) {
    size_t kept = 0;
    for (size_t i = 0; i < clock->count; i++)
        if (keep(context, &clock->ticks[i]))
            clock->ticks[kept++] = clock->ticks[i];
    clock->count = kept;
}

void race_clock_clear(struct race_clock *clock) {
    free(clock->ticks);
    *clock = (struct race_clock){0};
}

/* --- history --- */

const struct race_clock *race_history_at(const struct race_history *history, uint64_t position) {
    size_t low = 0, high = history->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (history->marks[middle].position <= position)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &history->marks[low - 1].clock : NULL;
}

/* Drops the marks before the last one up to `settled`, which is in force for the positions behind it. */
static void drop_settled(struct race_history *history, uint64_t settled) {
    size_t gone = 0;
    while (gone + 1 < history->count && history->marks[gone + 1].position <= settled)
        race_clock_clear(&history->marks[gone++].clock);
    history->count -= gone;
    if (gone)
        memmove(history->marks, history->marks + gone, history->count * sizeof *history->marks);
}

static void thin_out(struct race_history *history) {
    size_t kept = 0;
    for (size_t i = 0; i + 1 < history->count; i += 2) {
        race_clock_clear(&history->marks[i].clock);
        history->marks[kept].position = history->marks[i].position;
        history->marks[kept++].clock = history->marks[i + 1].clock;
    }
    if (history->count % 2)
        history->marks[kept++] = history->marks[history->count - 1];
    history->count = kept;
}

static bool make_room(struct race_history *history, uint64_t settled) {
    if (history->count < history->capacity)
        return true;
    drop_settled(history, settled);
    if (history->capacity == HISTORY_MARKS && history->count > HISTORY_MARKS / 2)
        thin_out(history);
    if (history->capacity && history->count <= history->capacity / 2)
        return true;
    return ARRAY_ROOM(history->marks, history->count, history->capacity, FIRST_MARKS);
}

bool race_history_push(struct race_history *history, uint64_t position,
                       const struct race_clock *clock, uint64_t settled) {
    struct race_mark mark = {.position = position};
    if (!make_room(history, settled))
        return false;
    if (!race_clock_join(&mark.clock, clock)) {
        race_clock_clear(&mark.clock);
        return false;
    }
    history->marks[history->count++] = mark;
    return true;
}

void race_history_clear(struct race_history *history) {
    for (size_t i = 0; i < history->count; i++)
        race_clock_clear(&history->marks[i].clock);
    free(history->marks);
    *history = (struct race_history){0};
}
