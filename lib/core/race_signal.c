/* SPDX-License-Identifier: MIT */
/* Order that is not a stream's, nor an event's: what the caller tells, and values that are signalled. */
#include <stdlib.h>

#include <clstream/check.h>

#include "core/race_state.h"
#include "core/stream.h"

/* What cls_check_release has told. */
struct tag {
    UT_hash_handle hh;
    const void *address;
    bool lost; /* it comes after what is not known, too */
    struct race_clock clock;
};

static struct tag *tags;

static void tell(struct race_clock *clock, bool *lost, const struct race_stream *by,
                 uint64_t position) {
    race_learn(clock, by, position);
    *lost = *lost || position >= by->lost_at;
}

static struct tag *find_tag(const void *address) {
    struct tag *tag;
    HASH_FIND_PTR(tags, &address, tag);
    return tag;
}

static struct tag *make_tag(const void *address) {
    struct tag *tag = find_tag(address);
    if (tag)
        return tag;
    tag = calloc(1, sizeof *tag);
    if (!tag)
        return NULL;
    tag->address = address;
    HASH_ADD_PTR(tags, address, tag);
    if (tag->hh.tbl)
        return tag;
    free(tag);
    return NULL;
}

cls_status cls_check_release(const void *address) {
    struct race_stream *by;
    uint64_t position;
    if (!race_actor(&by, &position))
        return CLS_SUCCESS;
    race_lock();
    struct tag *tag = make_tag(address);
    if (tag)
        tell(&tag->clock, &tag->lost, by, position);
    race_note(tag != NULL);
    race_unlock();
    return CLS_SUCCESS;
}

cls_status cls_check_acquire(const void *address) {
    if (!race_on())
        return CLS_SUCCESS;
    race_lock();
    struct tag *tag = find_tag(address);
    if (tag) {
        race_note(race_clock_join(&race_known, &tag->clock));
        if (tag->lost)
            race_learn_all();
        HASH_DEL(tags, tag);
        race_clock_clear(&tag->clock);
        free(tag);
    }
    race_unlock();
    return CLS_SUCCESS;
}

/* --- signalled values --- */

/* More signals that the host has not learned of are not remembered. */
enum { MAX_SIGNALS = 1024 };

struct signal {
    uint64_t value;
    uint64_t stream; /* id */
    bool lost;       /* it comes after what is not known, too */
    struct race_clock clock;
};

struct source {
    UT_hash_handle hh;
    const void *address;
    uint64_t known;   /* the highest value that nothing needs to be learned of any more */
    uint64_t dropped; /* the highest value whose signal was dropped all the same */
    size_t count;
    struct signal signals[MAX_SIGNALS]; /* oldest first */
};
static struct source *sources;

static struct source *find_source(const void *address) {
    struct source *source;
    HASH_FIND_PTR(sources, &address, source);
    return source;
}

static struct source *make_source(const void *address) {
    struct source *source = find_source(address);
    if (source)
        return source;
    source = calloc(1, sizeof *source);
    if (!source)
        return NULL;
    source->address = address;
    HASH_ADD_PTR(sources, address, source);
    if (source->hh.tbl)
        return source;
    free(source);
    return NULL;
}

static bool is_known(const struct race_clock *clock) {
    for (size_t i = 0; i < clock->count; i++)
        if (race_clock_at(&race_known, clock->ticks[i].stream) < clock->ticks[i].position)
            return false;
    return true;
}

/* Drops the signals that the host has learned of, and the oldest where there is no room. */
static void make_room(struct source *source) {
    size_t kept = 0;
    bool full = source->count == MAX_SIGNALS;
    for (size_t i = 0; i < source->count; i++) {
        struct signal *signal = &source->signals[i];
        if ((full && !i) || is_known(&signal->clock)) {
            uint64_t *mark = is_known(&signal->clock) ? &source->known : &source->dropped;
            if (signal->value > *mark)
                *mark = signal->value;
            race_clock_clear(&signal->clock);
        } else {
            source->signals[kept++] = *signal;
        }
    }
    source->count = kept;
}

void race_signals(const void *address, uint64_t value, struct stream *stream, uint64_t position) {
    struct race_stream *by = NULL;
    race_lock();
    struct source *source = make_source(address);
    if (stream)
        by = race_know(stream);
    else
        race_actor(&by, &position);
    race_note(source != NULL);
    if (source && by && position) {
        make_room(source);
        struct signal *signal = &source->signals[source->count++];
        *signal = (struct signal){.value = value, .stream = by->id};
        tell(&signal->clock, &signal->lost, by, position);
    } else if (source && value > source->known) {
        source->known = value; /* by a thread: what it knows all know */
    }
    race_unlock();
}

/* Whether it is the stream's first signal that reaches the value. */
static bool is_first(const struct source *source, const struct signal *signal, uint64_t value) {
    for (const struct signal *other = source->signals; other < signal; other++)
        if (other->stream == signal->stream && other->value >= value)
            return false;
    return signal->value >= value;
}

/* Which of several streams was first to signal is not known: it may have been each of them. */
enum told { TOLD_NOTHING, TOLD_ALL, TOLD_PART };

static enum told learn_signals(struct race_clock *clock, const void *address, uint64_t value) {
    const struct source *source = find_source(address);
    if (!value || (source && source->known >= value))
        return TOLD_ALL;
    bool found = false, lost = source && source->dropped >= value;
    for (size_t i = 0; source && i < source->count; i++) {
        if (!is_first(source, &source->signals[i], value))
            continue;
        race_note(race_clock_join(clock, &source->signals[i].clock));
        lost = lost || source->signals[i].lost;
        found = true;
    }
    return lost ? TOLD_PART : found ? TOLD_ALL : TOLD_NOTHING;
}

void race_waits_signal(struct stream *stream, const void *source, uint64_t value) {
    race_lock();
    struct race_stream *by = race_know(stream);
    if (by && learn_signals(&by->clock, source, value) != TOLD_ALL)
        race_lose(by);
    if (by)
        by->changed = true;
    race_unlock();
}

void race_observed_signal(const void *source, uint64_t value) {
    race_lock();
    if (learn_signals(&race_known, source, value) == TOLD_PART)
        race_learn_all();
    race_unlock();
}

void race_forget_signals(const void *address) {
    race_lock();
    struct source *source = find_source(address);
    if (source) {
        for (size_t i = 0; i < source->count; i++)
            race_clock_clear(&source->signals[i].clock);
        HASH_DEL(sources, source);
        free(source);
    }
    race_unlock();
}
