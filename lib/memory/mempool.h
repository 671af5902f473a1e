/* SPDX-License-Identifier: MIT */
/*
 * Memory pools. A pool takes blocks from the driver and carves each into slots of one size class; a slot is a struct
 * buffer with one cl_mem, made once and reused by many allocations. A slot is
 *
 *   live      the user's, from malloc to free
 *   cached    in the magazine of the stream that freed it (memory/magazine.h), stamped with its position
 *   idle      in its block: no submitted command uses it, and any stream may take it
 *
 * One reference is held by the user, the magazine or the block, in turn, and one by every submitted command that uses
 * the slot. A magazine that gives a slot up drops its reference; the last reference, its own or a command's, makes the
 * slot idle.
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
#include "base/size_class.h"
#include "memory/buffer.h"

struct context;
struct magazine;
struct stream;
struct deps;
struct share;

/* Slots of this many bytes or more are a block each. */
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

/* Lists of the blocks of a class that have free slots: slots used before, and slots yet to be carved. */
enum shelf { SHELF_IDLE, SHELF_FRESH, SHELVES };

struct block {
    struct mempool *pool;      /* retained */
    struct block *next, *prev; /* list of all blocks of the pool */
    struct {
        bool on;
        struct block *next, *prev;
    } shelf[SHELVES];
    cl_mem memory; /* NULL: the block is one slot, which has the cl_mem, or of a shareable pool */
    struct share *share; /* retained: of a shareable pool; NULL: of all others */
    unsigned size_class;
    size_t slot_bytes;
    unsigned n_slots, n_carved, n_idle;
    struct buffer *idle; /* linked by `older` */
    struct buffer *slots[];
};

struct mempool {
    struct object object;
    struct context *context; /* retained */
    unsigned unit_shift;     /* log2 of the slots' alignment */
    bool is_default;
    bool is_shareable;
    _Atomic bool closed; /* the handle is destroyed: unused memory is not kept */
    _Atomic size_t release_threshold;
    _Atomic size_t max_bytes;
    _Atomic unsigned reuse;
    _Atomic uint64_t reserved; /* bytes taken from the driver, those being requested included */

    /* Sum of `counted` over the magazines (struct magazine), and its high-water mark. */
    _Atomic uint64_t counted, counted_high;

    pthread_mutex_t lock;   /* guards what follows */
    uint64_t asked;         /* part of `reserved` being requested from the driver right now */
    uint64_t reserved_high; /* high-water mark of `reserved` - `asked` */
    uint64_t n_blocks;
    struct block *blocks;
    struct block *shelves[SHELVES][SIZE_CLASSES];
    unsigned n_slots[SIZE_CLASSES];
    pthread_cond_t left;           /* a magazine has left the list */
    struct magazine *first, *last; /* the magazines of all streams */
    unsigned n_magazines;
    struct tally tally; /* of magazines that have left */
};

extern struct object_pool mempool_objects;

/* Checks a handle, its context included, and takes a reference. Reports. */
cls_status mempool_get(cls_mempool handle, struct mempool **out);
static inline void mempool_put(struct mempool *pool) { object_release(&pool->object); }

/* The context's current pool, retained; the default one is made on first need. */
cls_status context_mempool(struct context *context, struct mempool **out);
cls_status context_default_mempool(struct context *context, struct mempool **out);

/* Makes the default pool of a new context, which nobody uses yet, a shareable one. CLS_ERROR_UNSUPPORTED where the device
 * has no memory that can be shared. */
cls_status context_share_default_mempool(struct context *context);

/* The context is being destroyed: its pools close. */
void context_close_mempools(struct context *context);

/* Whether more may be had once unused memory is given back: the driver is out of memory, or the library out of handles, of
 * which each part of a pool's memory has one. */
static inline bool mempools_may_help(cls_status status) {
    return status == CLS_ERROR_OUT_OF_DEVICE_MEMORY || status == CLS_ERROR_LIMIT;
}

/* Gives the unused memory of the context's pools, and the pinned memory that it keeps, back to the driver. False: there was
 * none. Takes streams' locks. */
bool context_trim_mempools(struct context *context);

/* --- allocation (memory/malloc.c) --- */

/* Allocates a buffer for work submitted to `stream` from now on; its one reference is the caller's. NULL pool: the
 * context's current one. `handle` receives the user's handle; it is taken inside this call, since another thread may
 * free all of the stream's memory right afterwards. NULL handle: the memory is the library's own, which
 * cls_stream_free_all_async leaves alone. */
cls_status stream_malloc(struct stream *stream, struct mempool *pool, size_t bytes,
                         cls_buffer *handle, struct buffer **out);

/* Frees it at this point of the stream; never fails. */
void stream_free(struct stream *stream, struct buffer *buffer);

/* Finds a slot where the stream's own magazine has none of the class (memory/reuse.c). */
cls_status find_slot(struct stream *stream, struct mempool *pool, unsigned size_class,
                     struct buffer **out, enum source *source);

/* --- blocks (memory/block.c) --- */

/* Takes a slot of the class from a shelf; NULL where the shelf is empty. */
cls_status pool_take(struct mempool *pool, unsigned size_class, enum shelf shelf,
                     struct buffer **out);

/* What a new block of the class would take from the driver, in bytes. */
uint64_t pool_growth(struct mempool *pool, unsigned size_class);

/* Takes a slot of a new block. */
cls_status pool_grow(struct mempool *pool, unsigned size_class, struct buffer **out);

/* Called when the last reference to a slot is gone: makes it idle. False: its block is being destroyed. */
bool slot_reclaim(struct buffer *slot);

/* Gives wholly idle blocks back to the driver while more than `keep` bytes are reserved. False: none was given. */
bool pool_release_idle(struct mempool *pool, size_t keep);

/* Returns the slots in the streams' magazines that no work needs to their blocks, then does pool_release_idle. */
bool pool_trim(struct mempool *pool, size_t keep);

/* --- figures (memory/mempool_stats.c) --- */

/* Notes that `bytes` allocated for one stream were freed by another. */
void pool_credit(struct mempool *pool, uint64_t stream_id, size_t bytes);

/* Adds to the pool's counter of used bytes. */
void pool_count(struct mempool *pool, uint64_t more);

/* --- streams --- */

/* Called when the host has waited for the stream: returns unused memory beyond the release threshold. */
void stream_memory_waited(struct stream *stream);

/* Called under the lock before the stream drops `waits`, which come behind position `since`. Holds the slots that were
 * freed behind them until the awaited work is over; without memory for a fence they are not held. */
void stream_memory_hold(struct stream *stream, struct deps *waits, uint64_t since);

/* Under the lock: whether the stream has freed slots that are still held (struct magazine). */
bool stream_memory_is_held(struct stream *stream);

/* Returns the held slots whose waits are over. Without the lock. */
void stream_memory_return_held(struct stream *stream);

/* Under the lock: whether the stream still caches slots of pools that were destroyed since. */
bool stream_memory_is_owed(struct stream *stream);

/* Returns those of them that no work needs any more. Without the lock. */
void stream_memory_shed(struct stream *stream);

/* Called when the stream is destroyed: returns all that it has freed. */
void stream_memory_leave(struct stream *stream);

#endif
