/* SPDX-License-Identifier: MIT */
/*
 * A magazine holds the slots that one stream has freed to one pool, by size class, newest first. The stream itself
 * reuses the newest at once, since whatever it submits next comes after the free in its own order; other streams take
 * the oldest, whose work is most likely done. The stream's lock guards a magazine.
 */
#ifndef CLSTREAM_MEMORY_MAGAZINE_H
#define CLSTREAM_MEMORY_MAGAZINE_H

#include "memory/mempool.h"
#include "stream/dep.h"
#include "stream/stream.h"

struct freed {
    _Atomic(struct buffer *) newest; /* without the lock: compared with NULL, not dereferenced */
    struct buffer *oldest;
};

/* Waits, besides the stream's own order, that must be over before slots freed by the stream may be reused. Shared by
 * the slots that were freed behind the same waits. */
struct fence {
    unsigned users; /* slots, and the stream itself */
    bool follows;   /* includes the stream's previous fence: closed as long as that one is */
    struct deps deps;
};

struct magazine {
    struct mempool *pool;           /* retained */
    struct stream *stream;          /* owns the magazine */
    struct magazine *next;          /* of the stream */
    struct magazine *newer, *older; /* of the pool, under its lock */
    unsigned unit_shift;            /* of the pool */
    uint64_t most;                  /* max bytes of one allocation; the last class may exceed it */

    /* Bytes. allocated: for the stream; freed: by the stream; credited: allocated for it and freed by others (under
     * the pool's lock). In use: allocated - freed - credited; `counted` is how much of that the pool's counter
     * includes. */
    uint64_t allocated, freed;
    _Atomic uint64_t credited;
    uint64_t counted, peak;
    uint64_t cached;
    uint64_t last_free; /* position stamped on the latest free */
    struct tally tally;

    struct freed lists[SIZE_CLASSES];
    struct freed held; /* not reusable until the fence and the work before the free are over */
    /* Searches of `held` begin behind this slot while the oldest slot's fence is closed: each fence up to this one
     * includes the one before it, so all of them are closed too. NULL: search from the oldest. */
    struct buffer *shut;
};

static inline struct magazine *magazine_find(struct stream *stream, const struct mempool *pool) {
    struct magazine *magazine = atomic_load_explicit(&stream->magazines, memory_order_relaxed);
    while (magazine && magazine->pool != pool)
        magazine = magazine->next;
    return magazine;
}

/* Finds or makes the stream's magazine for a pool. Called with the stream's lock held; making one drops the lock and
 * takes it again. NULL: out of memory. */
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

/* Puts a freed slot into the magazine, stamped with the stream's present position; under the lock. */
void magazine_free(struct magazine *magazine, struct buffer *slot, cls_free_mode mode);

/* Whether a failure may have broken the order that the slot was freed in, while commands still refer to the slot: it
 * must not be reused before they let go of it. */
bool slot_is_doubtful(const struct stream *stream, const struct buffer *slot);

/* Takes the slot of a class that the stream itself freed last, or NULL. */
static inline struct buffer *magazine_take_own(struct stream *stream, struct magazine *magazine,
                                               unsigned size_class) {
    struct freed *list = &magazine->lists[size_class];
    struct buffer *slot = atomic_load_explicit(&list->newest, memory_order_relaxed);
    if (!slot || slot_is_doubtful(stream, slot))
        return NULL;
    magazine_take(magazine, list, slot);
    return slot;
}

/* Takes out the slots that no work needs any more, as a chain linked by `older`, for slots_give_back. */
struct buffer *magazine_take_unused(struct stream *stream, struct magazine *magazine);
/* The same for the slots in `held`. */
struct buffer *magazine_take_unheld(struct stream *stream, struct magazine *magazine);

/* Drops the references of a chain, which makes its slots idle. Without the stream's lock. */
void slots_give_back(struct buffer *chain);

/* The next pool that the stream has a magazine of, retained; `previous` is released. NULL at the end. */
struct mempool *stream_next_pool(struct stream *stream, struct mempool *previous);

/* Writes up to `room` streams, retained, whose magazine of the pool has freed slots of the class; SIZE_CLASSES: all
 * streams with a magazine. The streams examined move to the end of the pool's list, so that the next call begins with
 * others. */
unsigned pool_streams(struct mempool *pool, unsigned size_class, struct stream **streams,
                      unsigned room);

/* Waits until streams that are being destroyed have returned their slots to the pool; pool_streams leaves such streams
 * out. Each is in its destructor on some thread, which waits for no other. Called without a lock. */
void pool_await_leaving(struct mempool *pool);

/* Drops one use of a fence; under the stream's lock. */
void fence_drop(struct fence *fence);
bool fence_is_open(struct fence *fence);

#endif
