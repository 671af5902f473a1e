/* SPDX-License-Identifier: MIT */
/*
 * Memory pools inside. A pool takes blocks from the driver and carves each into slots of one size class;
 * a slot is a struct buffer with one cl_mem, made once, that lives through many allocations. A slot is
 *
 *   live      the user's, from malloc to free
 *   cached    in the magazine of the stream that freed it (memory/magazine.h), stamped with its position
 *   idle      in its block: no submitted command uses it, and anybody may have it
 *
 * A reference is held by the user, the magazine or the block, and one by every submitted command; where
 * only the last of them is left to say when a slot is unused, its holder drops its own, and the last
 * reference reclaims the slot as an idle one.
 *
 * Locks: a pool's lock is taken inside a stream's, never the other way round. Blocks are made and given
 * back without it. A block keeps its pool, a pool and each slot their context; a context keeps its
 * default pool until it is destroyed.
 */
#ifndef CLSTREAM_MEMORY_MEMPOOL_H
#define CLSTREAM_MEMORY_MEMPOOL_H

#include <pthread.h>
#include <stdatomic.h>

#include <clstream/mempool.h>

#include "base/handle.h"
#include "memory/buffer.h"
#include "memory/size_class.h"

struct context;
struct magazine;
struct stream;
struct deps;

/* From here on a slot is a block of its own. */
enum { LARGE_SLOT = 256 << 10 };

/* Where the memory of an allocation came from. */
enum source {
    SOURCE_FRESH,
    SOURCE_SAME_STREAM,
    SOURCE_FOLLOWED,
    SOURCE_DONE,
    SOURCE_INSERTED,
    SOURCES
};

struct tally {
    uint64_t mallocs[SOURCES];
    uint64_t frees;
};

/* What blocks of a class may have to give: slots that were used before, and slots yet to be carved. */
enum shelf { SHELF_IDLE, SHELF_FRESH, SHELVES };

struct block {
    struct mempool *pool;      /* retained */
    struct block *next, *prev; /* of all of the pool */
    struct {
        bool on;
        struct block *next, *prev;
    } shelf[SHELVES];
    cl_mem memory; /* NULL: the one slot is the whole block */
    unsigned size_class;
    size_t slot_bytes;
    unsigned n_slots, n_carved, n_idle;
    struct buffer *idle; /* linked by `older` */
    struct buffer *slots[];
};

struct mempool {
    struct object object;
    struct context *context; /* retained */
    unsigned unit_shift;     /* of the alignment of slots */
    bool is_default;
    _Atomic bool closed; /* the handle is destroyed: nothing is kept that need not be */
    _Atomic size_t release_threshold;
    _Atomic size_t max_bytes;
    _Atomic unsigned reuse;
    _Atomic uint64_t reserved; /* what is being asked for included */

    /* The sum of what the magazines have counted as used (struct magazine), and its high water. */
    _Atomic uint64_t counted, counted_high;

    pthread_mutex_t lock;   /* guards what follows */
    uint64_t asked;         /* of what is reserved: the driver has not answered yet */
    uint64_t reserved_high; /* of what it has given */
    uint64_t n_blocks;
    struct block *blocks;
    struct block *shelves[SHELVES][SIZE_CLASSES];
    unsigned n_slots[SIZE_CLASSES];
    pthread_cond_t left;           /* a magazine has left the list, with its stream */
    struct magazine *first, *last; /* of all streams */
    unsigned n_magazines;
    struct tally tally; /* of streams that are gone */
};

extern struct object_pool mempool_objects;

/* Checks a handle, its context included, and takes a reference. Reports. */
cls_status mempool_get(cls_mempool handle, struct mempool **out);
static inline void mempool_put(struct mempool *pool) { object_release(&pool->object); }

/* The context's current pool, retained; the default one is made on first need. */
cls_status context_mempool(struct context *context, struct mempool **out);
cls_status context_default_mempool(struct context *context, struct mempool **out);

/* The context is being destroyed: its pools close. */
void context_close_mempools(struct context *context);

/* The driver has no more memory: what its pools keep and nothing uses goes back; false: nothing. Takes
 * streams' locks. */
bool context_trim_mempools(struct context *context);

/* --- allocation (memory/malloc.c) --- */

/* A buffer for work submitted to `stream` from now on; its one reference is the caller's. NULL pool: the
 * context's current one. `handle` is what the user is told: known here alone, since another thread may free all of
 * the stream's at once. NULL: the memory is the library's own, which cls_stream_free_all_async leaves alone. */
cls_status stream_malloc(struct stream *stream, struct mempool *pool, size_t bytes,
                         cls_buffer *handle, struct buffer **out);

/* Frees it at this point of the stream; never fails. */
void stream_free(struct stream *stream, struct buffer *buffer);

/* A slot that the stream has not freed itself (memory/reuse.c). */
cls_status find_slot(struct stream *stream, struct mempool *pool, unsigned size_class,
                     struct buffer **out, enum source *source);

/* --- blocks (memory/block.c) --- */

/* A slot of the class from a shelf, or NULL where nothing is on it. */
cls_status pool_take(struct mempool *pool, unsigned size_class, enum shelf shelf,
                     struct buffer **out);

/* What a new block of the class would take from the driver, in bytes. */
uint64_t pool_growth(struct mempool *pool, unsigned size_class);

/* A slot of a new block. */
cls_status pool_grow(struct mempool *pool, unsigned size_class, struct buffer **out);

/* The last reference to a slot is gone: it is idle from now on. False for one whose block is going. */
bool slot_reclaim(struct buffer *slot);

/* Gives wholly idle blocks back to the driver while more than `keep` bytes are reserved; false: none. */
bool pool_release_idle(struct mempool *pool, size_t keep);

/* Gives back what the streams' magazines hold and no work needs, then pool_release_idle. */
bool pool_trim(struct mempool *pool, size_t keep);

/* --- figures (memory/mempool_stats.c) --- */

/* Notes that `bytes` that were allocated for a stream were freed elsewhere. */
void pool_credit(struct mempool *pool, uint64_t stream_id, size_t bytes);

/* Adds to what is counted as used. */
void pool_count(struct mempool *pool, uint64_t more);

/* --- streams --- */

/* The host has seen the stream's work done: unused memory beyond the threshold goes back. */
void stream_memory_waited(struct stream *stream);

/* Under the lock, before waits are dropped that come behind the position `since`: what was freed behind them is held
 * until all is over that they are for. Without memory for that it is not. */
void stream_memory_hold(struct stream *stream, struct deps *waits, uint64_t since);

/* Under the lock: whether the stream has freed what is for nobody yet. */
bool stream_memory_is_held(struct stream *stream);

/* Gives back what of that is for anybody by now. Without the lock. */
void stream_memory_settle(struct stream *stream);

/* Under the lock: whether the stream still has what it freed to pools that are destroyed by now. */
bool stream_memory_is_owed(struct stream *stream);

/* Gives back what of that no work needs any more. Without the lock. */
void stream_memory_shed(struct stream *stream);

/* The stream is going: what it has freed is given back. */
void stream_memory_leave(struct stream *stream);

#endif
