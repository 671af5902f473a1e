/* SPDX-License-Identifier: MIT */
/* Order that comes neither from a stream nor from an event: cls_check_release and cls_check_acquire, and signalled
 * values. */
#include <stdlib.h>

#include <clstream/check.h>

#include "base/process.h"
#include "check/race_state.h"
#include "stream/stream.h"

/* The work that cls_check_release has reported for an address. */
struct tag {
    UT_hash_handle hh;
    const void *address;
    struct race_clock clock;
};

static struct tag *tags;

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
    cls_status status = process_check();
    if (status || !race_actor(&by, &position))
        return status;
    race_lock();
    struct tag *tag = make_tag(address);
    if (tag)
        race_learn(&tag->clock, by, position);
    race_note(tag != NULL);
    race_unlock();
    return CLS_SUCCESS;
}

cls_status cls_check_acquire(const void *address) {
    cls_status status = process_check();
    if (status || !race_on())
        return status;
    race_lock();
    struct tag *tag = find_tag(address);
    if (tag) {
        race_note(race_clock_join(&race_known, &tag->clock));
        HASH_DEL(tags, tag);
        race_clock_clear(&tag->clock);
        free(tag);
    }
    race_unlock();
    return CLS_SUCCESS;
}

/* --- signalled values --- */

/* Signals kept of one source; beyond that the oldest is dropped. */
enum { MAX_SIGNALS = 1024 };

struct signal {
    uint64_t value;
    uint64_t stream;         /* id; 0: signalled by the host, at once */
    uint64_t position;       /* in the stream; 0 for the host's */
    struct race_clock clock; /* the work before the signal, its own position included */
};

struct race_source {
    UT_hash_handle hh; /* while its address is in use */
    const void *address;
    unsigned users;   /* references: the address, and kept operations (check/race_follow.c) */
    uint64_t known;   /* the highest value whose signal was dropped as settled: known to the host */
    uint64_t dropped; /* the highest value whose signal was dropped for want of room */
    size_t count;
    struct signal signals[MAX_SIGNALS]; /* oldest first */
};
static struct race_source *sources;

struct race_source *race_source_hold(struct race_source *source) {
    source->users++;
    return source;
}

void race_source_drop(struct race_source *source) {
    if (--source->users)
        return;
    for (size_t i = 0; i < source->count; i++)
        race_clock_clear(&source->signals[i].clock);
    free(source);
}

static struct race_source *find_source(const void *address) {
    struct race_source *source;
    HASH_FIND_PTR(sources, &address, source);
    return source;
}

static struct race_source *make_source(const void *address) {
    struct race_source *source = find_source(address);
    if (source)
        return source;
    source = calloc(1, sizeof *source);
    race_note(source != NULL);
    if (!source)
        return NULL;
    source->address = address;
    source->users = 1;
    HASH_ADD_PTR(sources, address, source);
    if (source->hh.tbl)
        return source;
    free(source);
    race_note(false);
    return NULL;
}

static bool is_settled(const struct race_clock *clock) {
    for (size_t i = 0; i < clock->count; i++)
        if (race_clock_at(race_floor(), clock->ticks[i].stream) < clock->ticks[i].position)
            return false;
    return true;
}

/* Drops the settled signals, and the oldest one if there is no room. */
static void make_room(struct race_source *source) {
    size_t kept = 0;
    bool full = source->count == MAX_SIGNALS;
    for (size_t i = 0; i < source->count; i++) {
        struct signal *signal = &source->signals[i];
        bool settled = is_settled(&signal->clock);
        if ((full && !i) || settled) {
            uint64_t *mark = settled ? &source->known : &source->dropped;
            if (signal->value > *mark)
                *mark = signal->value;
            race_clock_clear(&signal->clock);
        } else {
            source->signals[kept++] = *signal;
        }
    }
    source->count = kept;
}

void race_source_raise(struct race_source *source, uint64_t value, const struct race_stream *by,
                       uint64_t position, const struct race_clock *known) {
    make_room(source);
    struct signal *signal = &source->signals[source->count++];
    *signal = (struct signal){.value = value, .stream = by ? by->id : 0, .position = position};
    if (by)
        race_learn(&signal->clock, by, position);
    if (race_keeps()) /* else every wait is followed with the host's present clock, which has more */
        race_note(race_clock_join(&signal->clock, known));
    race_clock_filter(&signal->clock, race_is_news, NULL);
}

bool race_source_reaches(const struct race_source *source, uint64_t value) {
    bool reaches = source->known >= value || source->dropped >= value;
    for (size_t i = 0; i < source->count && !reaches; i++)
        reaches = source->signals[i].value >= value;
    return reaches;
}

/* Whether the signal may be the first to reach the value: it does reach it, and comes after no other signal that does.
 * Such another one was followed earlier. A signal by the host comes before all signals followed later. */
static bool may_be_first(const struct race_source *source, const struct signal *signal,
                         uint64_t value) {
    const struct signal *other = source->signals;
    while (other < signal &&
           (other->value < value || race_clock_at(&signal->clock, other->stream) < other->position))
        other++;
    return other == signal && signal->value >= value;
}

void race_source_learn(struct race_clock *clock, const struct race_source *source, uint64_t value) {
    if (source->known >= value)
        return;
    if (source->dropped >= value)
        race_learn_all(clock);
    for (size_t i = 0; i < source->count; i++)
        if (may_be_first(source, &source->signals[i], value))
            race_note(race_clock_join(clock, &source->signals[i].clock));
}

/* --- reports by the coordinator --- */

void race_signals(const void *address, uint64_t value, struct stream *stream, uint64_t position) {
    struct race_stream *by = NULL;
    race_lock();
    if (stream)
        by = race_know(stream);
    else
        race_actor(&by, &position);
    const bool at_once = !by || !position;
    struct race_source *source = make_source(address);
    const struct race_op op = {
        .by = by, .kind = RACE_SIGNAL, .position = position, .u.signal = {source, value}};
    if (source && at_once) {
        race_source_raise(source, value, NULL, 0, &race_known);
        race_follow_all();
    } else if (source) {
        race_process(&op);
    }
    race_unlock();
}

void race_waits_signal(struct stream *stream, const void *address, uint64_t value) {
    race_lock();
    struct race_stream *by = race_know(stream);
    struct race_source *source = by && value ? make_source(address) : NULL;
    if (source) {
        const struct race_op op = {.by = by,
                                   .kind = RACE_WAIT_SIGNAL,
                                   .position = by->last_reported + 1,
                                   .u.signal = {source, value}};
        race_process(&op);
        by->waits = true;
    }
    race_unlock();
}

void race_observed_signal(const void *address, uint64_t value) {
    race_lock();
    const struct race_source *source = find_source(address);
    if (source)
        race_source_learn(&race_known, source, value);
    race_unlock();
}

void race_forget_signals(const void *address) {
    race_lock();
    struct race_source *source = find_source(address);
    if (source) {
        HASH_DEL(sources, source);
        race_source_drop(source);
    }
    race_unlock();
}
