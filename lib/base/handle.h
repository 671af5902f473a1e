/* SPDX-License-Identifier: MIT */
/*
 * Handles and the objects behind them. A public handle's value encodes type, slot and generation; it is
 * looked up here and never dereferenced. Objects live in type-stable pools whose memory is never given
 * back, so looking at a stale slot is safe.
 *
 * One atomic word holds an object's generation and its reference count. Creating an object takes the
 * owner's reference; destroying the handle moves the generation on, which makes the handle stale at
 * once, and drops that reference; the object itself goes with its last reference.
 *
 * All functions are safe from any thread and, but for object_create and a last object_release,
 * lock-free.
 */
#ifndef CLSTREAM_BASE_HANDLE_H
#define CLSTREAM_BASE_HANDLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clstream/status.h>

#include "base/cache_line.h"
#include "base/life.h"
#include "base/rare.h"

/* The first member of every pooled object. */
struct object {
    _Atomic uint64_t state; /* generation << 32 | references */
    uint32_t name;          /* what all its handles have in common: all but the generation */
    uint32_t generation;    /* of this life's handle, whatever has become of it */
    struct object_pool *pool;
    union {
        struct object *next_free; /* while there is no reference */
        struct object_life *life; /* while there is one; NULL unless lives are kept (base/life.h) */
    };
};

enum { POOL_CHUNKS = 20, POOL_FIRST_CHUNK = 64 };

/* A pool of one type; define it with OBJECT_POOL. Chunk i holds POOL_FIRST_CHUNK << i objects. */
struct object_pool {
    unsigned type; /* 0 to 31, of no other pool: tests/unit/layering.sh; 32 in a forked child */
    size_t object_size, stride;
    const char *name;                   /* as "stream", for messages */
    void (*finalize)(struct object *o); /* undoes what was built behind the object */
    bool locked; /* a mutex follows the header: made with the slot, it outlives the objects there */
    pthread_mutex_t lock; /* guards what follows */
    _Atomic(unsigned char *) chunks[POOL_CHUNKS];
    uint32_t used;
    struct object *free_list;
    _Atomic long live;
    /* Asked, where there is one, about an object whose last reference is gone, before it is finalized:
     * true when it lives on, revived (object_revive) and somebody else's from then on. */
    bool (*reclaim)(struct object *o);
    struct object_pool *next; /* in the list of pools that have chunks */
};

/* Objects of different threads share no cache line: each call changes its object's references. */
#define OBJECT_STRIDE(size) (((size) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE)

#define OBJECT_POOL(type, size, name, finalize) \
    OBJECT_POOL_OF(type, size, name, finalize, false, NULL)
#define OBJECT_POOL_LOCKED(type, size, name, finalize) \
    OBJECT_POOL_OF(type, size, name, finalize, true, NULL)
#define OBJECT_POOL_RECLAIMED(type, size, name, finalize, reclaim) \
    OBJECT_POOL_OF(type, size, name, finalize, false, reclaim)
#define OBJECT_POOL_OF(type, size, name, finalize, locked, reclaim)                         \
    {                                                                                       \
        type, size, OBJECT_STRIDE(size), name, finalize, locked, PTHREAD_MUTEX_INITIALIZER, \
            {NULL}, 0, NULL, 0, reclaim, NULL                                               \
    }

/* A zeroed object (but for its header) with one reference, the owner's; NULL without memory, or without a handle that
 * is free: there are 2^26 of a type at once, and 2^13 where pointers have 32 bits. */
void *object_create(struct object_pool *pool);

/* Reports why object_create gave NULL, as for "a stream": CLS_ERROR_LIMIT, CLS_ERROR_OUT_OF_MEMORY. */
cls_status object_none(struct object_pool *pool, const char *what) COLD;

/* Lowers the number of handles of each type, for tests. */
void object_limit(uint32_t handles);

/* The public handle of an object; stale once the owner has destroyed it. */
void *object_handle(const struct object *object);

/* The object behind a handle with a reference more, or NULL for anything that is not a live handle of
 * the pool. Reports nothing. */
void *object_acquire(struct object_pool *pool, const void *handle);

/* The object behind a handle that is live at this moment, without a reference; NULL for any other value. It
 * may go at any time: only what lasts in its slot may be touched, as a lock that object_destroy is called
 * under; whoever holds that lock and finds object_is true knows that the object stays. */
void *object_peek(struct object_pool *pool, const void *handle);

/* Where the generation begins in a handle; what is below it is the object's name. */
#if UINTPTR_MAX > 0xffffffffu
enum { GENERATION_SHIFT = 32 };
#else
enum { GENERATION_SHIFT = 19 };
#endif

/* Whether a handle that an object was found by still names it. */
static inline bool object_is(const struct object *object, const void *handle) {
    const uint64_t state = atomic_load_explicit(&object->state, memory_order_acquire);
    return (uint32_t)(state >> 32) == (uint32_t)((uintptr_t)handle >> GENERATION_SHIFT) &&
           (uint32_t)state;
}

/* The same of any handle. */
static inline bool object_is_at(const struct object *object, const void *handle) {
    const uintptr_t name = (uintptr_t)handle & (((uintptr_t)1 << GENERATION_SHIFT) - 1);
    return name == object->name && object_is(object, handle);
}

/* A reference more to an object that the caller holds one of. */
static inline void object_retain(struct object *object) {
    atomic_fetch_add_explicit(&object->state, 1, memory_order_relaxed);
}

/* A reference more, unless the last one is gone already. For lists that hold none of their own: the
 * object must be kept from being recycled meanwhile (its finalize leaves the list under a lock). */
bool object_try_retain(struct object *object);

/* Drops a reference; the last one finalizes the object and recycles its slot. */
void object_release(struct object *object);

/* The same where this is not the last one; else false, and nothing is done. */
bool object_release_unless_last(struct object *object);

/* Takes back an object_create whose object was never built: no finalize. */
void object_abandon(struct object *object);

/* Makes the handle stale and drops the owner's reference. False, and nothing done, when the handle is
 * not a live one of the pool: of several concurrent callers one gets true. */
bool object_destroy(struct object_pool *pool, const void *handle);

/* --- objects with several lives: each life has a handle of its own, and the object stays --- */

/* Ends a life: the handle of `generation` becomes stale, the caller takes over the owner's reference.
 * False, and nothing done, when that life is over already: of several callers one gets true. The caller
 * makes object_handle tell the next life's handle with object_begin_life. */
bool object_end_life(struct object *object, uint32_t generation);
void object_begin_life(struct object *object);

/* Takes object_end_life back, for a caller that cannot go through with it. */
void object_undo_end(struct object *object);

/* The generation of the object's present life, for object_end_life. */
static inline uint32_t object_generation(const struct object *object) {
    return __atomic_load_n(&object->generation, __ATOMIC_ACQUIRE);
}

/* The generation that a handle names. */
uint32_t object_generation_of(const void *handle);

/* Under CLSTREAM_CHECK=leak: the object is the library's own and destroyed with another one; it is made anew, for the
 * program. */
void object_note_librarys(const void *handle);

/* Under CLSTREAM_CHECK=leak: the program made the object by this call, where its type has several. */
void object_note_call(const void *handle, const char *call);
void object_note_made(struct object *object);

/* Calls `visit` for each object of a type, if there are any, whose handle is not destroyed, in the order of creation as
 * far as lives are kept. False: there was no memory, and none was visited. */
bool object_visit(unsigned type, void (*visit)(const struct object *object, void *arg), void *arg);

/* The number of references, at some moment of the call. */
static inline uint32_t object_references(const struct object *object) {
    return (uint32_t)atomic_load_explicit(&object->state, memory_order_acquire);
}

/* For reclaim: the object has its owner's reference again, and the handle of its next life. */
void object_revive(struct object *object);

/* Reports CLS_ERROR_INVALID_HANDLE for a handle, saying which kind was wanted and what is wrong; in a forked child,
 * where no handle is found, CLS_ERROR_FORKED. */
cls_status object_invalid(const struct object_pool *pool, const void *handle) COLD;

#endif
