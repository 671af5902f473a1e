/* SPDX-License-Identifier: MIT */
/*
 * Magazines: what one stream has freed to one pool, by size class, newest first. The stream itself takes
 * the newest at once, since whatever it submits next comes after the free in its own order; other streams
 * take the oldest, whose work is most likely done. All under the stream's lock.
 */
#ifndef CLSTREAM_MEMORY_MAGAZINE_H
#define CLSTREAM_MEMORY_MAGAZINE_H

#include "memory/mempool.h"
#include "stream/dep.h"
#include "stream/stream.h"

struct freed {
    _Atomic(struct buffer *) newest; /* looked at, not through, without the lock */
    struct buffer *oldest;
};

/* What frees of a stream wait for; shared by those slots. */
struct fence {
    unsigned users; /* slots, and the stream itself */
    bool follows;   /* on the stream's fence before it: while that is closed, so is this */
    struct deps deps;
};

struct magazine {
    struct mempool *pool;           /* retained */
    struct stream *stream;          /* which owns this */
    struct magazine *next;          /* of the stream */
    struct magazine *newer, *older; /* of the pool, under its lock */
    unsigned unit_shift;            /* of the pool */
    uint64_t most;                  /* bytes of one allocation; the last class may be larger */

    /* Bytes: allocated for the stream; freed by it; freed by others (under the pool's lock). What is in
     * use is the difference; `counted` is as much of it as the pool's counter knows. */
    uint64_t allocated, freed;
    _Atomic uint64_t credited;
    uint64_t counted, peak;
    uint64_t cached;
    uint64_t last_free; /* the latest position that a free was stamped with */
    struct tally tally;

    struct freed lists[SIZE_CLASSES];
    struct freed held; /* for nobody before their fence and the work before the free are done */
    /* Of those the newest one that is known to be as closed as the oldest: the fences up to its own follow on each
     * other. NULL: none. */
    struct buffer *shut;
};

static inline struct magazine *magazine_find(struct stream *stream, const struct mempool *pool) {
    struct magazine *magazine = atomic_load_explicit(&stream->magazines, memory_order_relaxed);
    while (magazine && magazine->pool != pool)
        magazine = magazine->next;
    return magazine;
}

/* Finds or makes the stream's magazine for a pool, with the lock held, which is let go meanwhile. NULL
 * without memory. */
struct magazine *magazine_need(struct stream *stream, struct mempool *pool);

static inline void freed_push(struct freed *freed, struct buffer *slot) {
    struct buffer *newest = atomic_load_explicit(&freed->newest, memory_order_relaxed);
    slot->newer = NULL;
    slot->older = newest;
    if (newest)
        newest->newer = slot;
    else
        freed->oldest = slot;
    atomic_store_explicit(&freed->newest, slot, memory_order_relaxed);
}

static inline void freed_remove(struct freed *freed, struct buffer *slot) {
    if (slot->newer)
        slot->newer->older = slot->older;
    else
        atomic_store_explicit(&freed->newest, slot->older, memory_order_relaxed);
    if (slot->older)
        slot->older->newer = slot->newer;
    else
        freed->oldest = slot->newer;
}

static inline void magazine_take(struct magazine *magazine, struct freed *list,
                                 struct buffer *slot) {
    freed_remove(list, slot);
    magazine->cached -= slot->capacity;
}

/* The bytes that are allocated for the stream and not freed. */
static inline uint64_t magazine_used(const struct magazine *magazine) {
    return magazine->allocated - magazine->freed -
           atomic_load_explicit(&magazine->credited, memory_order_relaxed);
}

/* Whether all work before a free at `position` is done; under the stream's lock. */
bool magazine_is_past(struct stream *stream, uint64_t position);

/* Puts a slot whose life has ended into the magazine at this point of its stream; under the lock. */
void magazine_free(struct magazine *magazine, struct buffer *slot, cls_free_mode mode);

/* Whether the order that a slot was freed in may have been broken by a failure of the stream: then it may
 * be given again only once nothing uses it. */
bool slot_is_doubtful(const struct stream *stream, const struct buffer *slot);

/* What the stream itself freed last of a class, or NULL. */
static inline struct buffer *magazine_take_own(struct stream *stream, struct magazine *magazine,
                                               unsigned size_class) {
    struct freed *list = &magazine->lists[size_class];
    struct buffer *slot = atomic_load_explicit(&list->newest, memory_order_relaxed);
    if (!slot || slot_is_doubtful(stream, slot))
        return NULL;
    magazine_take(magazine, list, slot);
    return slot;
}

/* Takes out what no work needs any more, as a chain by `older`, for magazine_give_back. */
struct buffer *magazine_take_unused(struct stream *stream, struct magazine *magazine);
/* The same for what is held. */
struct buffer *magazine_take_unheld(struct stream *stream, struct magazine *magazine);

/* Drops the references of a chain, which makes its slots idle. Without the stream's lock. */
void slots_give_back(struct buffer *chain);

/* The next pool that the stream has a magazine of, retained; `previous` is released. NULL at the end. */
struct mempool *stream_next_pool(struct stream *stream, struct mempool *previous);

/* Streams with something of a class to give (SIZE_CLASSES: all) to the pool's other streams, retained, at
 * most `room`. Those looked at come last the next time. */
unsigned pool_streams(struct mempool *pool, unsigned size_class, struct stream **streams,
                      unsigned room);

/* Waits until streams that are gone, those that pool_streams leaves out, have given the pool what was theirs: each
 * is at its end on some thread, which waits for nobody. Without a lock. */
void pool_await_leaving(struct mempool *pool);

/* Drops one use of a fence; under the stream's lock. */
void fence_drop(struct fence *fence);
bool fence_is_open(struct fence *fence);

#endif
