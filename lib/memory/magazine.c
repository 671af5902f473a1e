/* SPDX-License-Identifier: MIT */
#include "memory/magazine.h"

#include <stdlib.h>

#include "base/error.h"
#include "stream/context.h"
#include "stream/engine.h"
#include "stream/failure.h"
#include "stream/legacy.h"
#include "stream/wait.h"

/* --- fences --- */

bool fence_is_open(struct fence *fence) { return deps_are_over(&fence->deps); }

void fence_drop(struct fence *fence) {
    if (--fence->users)
        return;
    deps_clear(&fence->deps);
    free(fence);
}

/* --- positions --- */

/* Pending waits that no command carries yet count as the stream's next position (memory/malloc.c). */
bool magazine_is_past(struct stream *stream, uint64_t position) {
    uint64_t retired = atomic_load_explicit(&stream->retired, memory_order_acquire);
    if (retired >= position)
        return true;
    return retired == stream->submitted && position == retired + 1 &&
           deps_are_over(&stream->waits) && !legacy_is_due(stream);
}

/* --- taking out --- */

/* A failure breaks the order of a free in two ways: commands before the free were dropped while the work they waited for
 * may still run, or commands that use the slot were abandoned and may still run. The slot then counts as unused only
 * when the magazine's own reference is the last. */
bool slot_is_doubtful(const struct stream *stream, const struct buffer *slot) {
    const struct failure *failure = atomic_load_explicit(&stream->failures, memory_order_relaxed);
    if (atomic_load_explicit(&slot->use_abandoned, memory_order_relaxed))
        return object_references(&slot->object) > 1;
    if (!failure)
        return false;
    uint64_t last = atomic_load(&failure->last);
    return slot->freed_at <= last + (last != UINT64_MAX) && object_references(&slot->object) > 1;
}

static void move_to_chain(struct magazine *magazine, struct freed *list, struct buffer *slot,
                          struct buffer **chain) {
    magazine_take(magazine, list, slot);
    slot->older = *chain;
    *chain = slot;
}

/* Where a search of `held` begins: skips the slots known to be behind closed fences (magazine->shut). */
static struct buffer *first_of_held(struct magazine *magazine) {
    if (magazine->shut && !fence_is_open(magazine->held.oldest->fence))
        return magazine->shut->newer;
    magazine->shut = NULL;
    return magazine->held.oldest;
}

struct buffer *magazine_take_unheld(struct stream *stream, struct magazine *magazine) {
    struct buffer *chain = NULL, *newer;
    for (struct buffer *slot = first_of_held(magazine); slot; slot = newer) {
        newer = slot->newer;
        if (!magazine_is_past(stream, slot->freed_at))
            break;
        if (slot->fence && !fence_is_open(slot->fence)) {
            if (slot->fence->follows && slot->older == magazine->shut)
                magazine->shut = slot;
            continue;
        }
        if (slot->fence)
            fence_drop(slot->fence);
        slot->fence = NULL;
        move_to_chain(magazine, &magazine->held, slot, &chain);
    }
    return chain;
}

struct buffer *magazine_take_unused(struct stream *stream, struct magazine *magazine) {
    struct buffer *chain = magazine_take_unheld(stream, magazine);
    for (unsigned i = 0; i < SIZE_CLASSES; i++) {
        struct freed *list = &magazine->lists[i];
        while (list->oldest && magazine_is_past(stream, list->oldest->freed_at))
            move_to_chain(magazine, list, list->oldest, &chain);
    }
    return chain;
}

void slots_give_back(struct buffer *chain) {
    while (chain) {
        struct buffer *next = chain->older;
        buffer_put(chain);
        chain = next;
    }
}

/* --- joining and leaving --- */

static void join_pool(struct mempool *pool, struct magazine *magazine) {
    pthread_mutex_lock(&pool->lock);
    magazine->older = pool->last;
    if (pool->last)
        pool->last->newer = magazine;
    else
        pool->first = magazine;
    pool->last = magazine;
    pool->n_magazines++;
    pthread_mutex_unlock(&pool->lock);
}

static void add_tally(struct tally *to, const struct tally *from) {
    for (unsigned i = 0; i < SOURCES; i++)
        to->mallocs[i] += from->mallocs[i];
    to->frees += from->frees;
}

/* What is still in use stays counted; it goes when it is freed (pool_credit). */
static void leave_pool(struct mempool *pool, struct magazine *magazine) {
    pthread_mutex_lock(&pool->lock);
    if (magazine->older)
        magazine->older->newer = magazine->newer;
    else
        pool->first = magazine->newer;
    if (magazine->newer)
        magazine->newer->older = magazine->older;
    else
        pool->last = magazine->older;
    pool->n_magazines--;
    add_tally(&pool->tally, &magazine->tally);
    atomic_fetch_add(&pool->counted, magazine_used(magazine) - magazine->counted);
    pthread_cond_broadcast(&pool->left);
    pthread_mutex_unlock(&pool->lock);
}

static void free_magazine(struct magazine *magazine) {
    leave_pool(magazine->pool, magazine);
    mempool_put(magazine->pool);
    free(magazine);
}

/* Under the stream's lock: takes out magazines of pools that are gone but for these. */
static struct magazine *take_dead(struct stream *stream) {
    struct magazine *dead = NULL, **link = NULL, *at = atomic_load(&stream->magazines);
    for (struct magazine *next; at; at = next) {
        next = at->next;
        bool gone = atomic_load(&at->pool->closed) && !atomic_load(&at->pool->reserved);
        if (!gone) {
            link = &at->next;
            continue;
        }
        if (link)
            *link = next;
        else
            atomic_store(&stream->magazines, next);
        at->next = dead;
        dead = at;
    }
    return dead;
}

static void free_magazines(struct magazine *magazine) {
    while (magazine) {
        struct magazine *next = magazine->next;
        free_magazine(magazine);
        magazine = next;
    }
}

struct magazine *magazine_need(struct stream *stream, struct mempool *pool) {
    struct magazine *known = magazine_find(stream, pool), *made;
    if (known)
        return known;
    struct magazine *dead = take_dead(stream);
    pthread_mutex_unlock(&stream->lock);
    free_magazines(dead);
    made = calloc(1, sizeof *made);
    pthread_mutex_lock(&stream->lock);
    known = magazine_find(stream, pool);
    if (known || !made) {
        free(made);
        return known;
    }
    made->pool = pool;
    made->stream = stream;
    made->unit_shift = pool->unit_shift;
    made->most = stream->context->device->info.max_allocation;
    object_retain(&pool->object);
    join_pool(pool, made);
    made->next = atomic_load(&stream->magazines);
    atomic_store(&stream->magazines, made);
    return made;
}

/* The stream and all its work are gone; other users of a slot hold references. */
static struct buffer *take_all(struct magazine *magazine) {
    struct buffer *chain = NULL;
    while (magazine->held.oldest) {
        if (magazine->held.oldest->fence)
            fence_drop(magazine->held.oldest->fence);
        magazine->held.oldest->fence = NULL;
        move_to_chain(magazine, &magazine->held, magazine->held.oldest, &chain);
    }
    for (unsigned i = 0; i < SIZE_CLASSES; i++)
        while (magazine->lists[i].oldest)
            move_to_chain(magazine, &magazine->lists[i], magazine->lists[i].oldest, &chain);
    return chain;
}

void stream_memory_leave(struct stream *stream) {
    struct magazine *all = atomic_load(&stream->magazines);
    for (struct magazine *magazine = all; magazine; magazine = magazine->next)
        slots_give_back(take_all(magazine));
    free_magazines(all);
    if (stream->fence)
        fence_drop(stream->fence);
}

bool stream_memory_is_held(struct stream *stream) {
    struct magazine *magazine = atomic_load(&stream->magazines);
    while (magazine && !magazine->held.oldest)
        magazine = magazine->next;
    return magazine != NULL;
}

void stream_memory_return_held(struct stream *stream) {
    struct buffer *chain;
    do {
        chain = NULL;
        pthread_mutex_lock(&stream->lock);
        struct magazine *magazine = atomic_load(&stream->magazines);
        for (; magazine && !chain; magazine = magazine->next)
            chain = magazine_take_unheld(stream, magazine);
        pthread_mutex_unlock(&stream->lock);
        slots_give_back(chain);
    } while (chain);
}

static bool is_owed(const struct magazine *magazine) {
    return magazine->cached && atomic_load(&magazine->pool->closed);
}

bool stream_memory_is_owed(struct stream *stream) {
    const struct magazine *magazine = atomic_load(&stream->magazines);
    while (magazine && !is_owed(magazine))
        magazine = magazine->next;
    return magazine != NULL;
}

/* Takes the unused slots of one magazine whose pool is closed, as a chain; NULL: there are no more. */
static struct buffer *take_owed(struct stream *stream) {
    struct buffer *chain = NULL;
    pthread_mutex_lock(&stream->lock);
    struct magazine *magazine = atomic_load(&stream->magazines);
    for (; magazine && !chain; magazine = magazine->next)
        if (is_owed(magazine))
            chain = magazine_take_unused(stream, magazine);
    pthread_mutex_unlock(&stream->lock);
    return chain;
}

static void free_dead(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    struct magazine *dead = take_dead(stream);
    pthread_mutex_unlock(&stream->lock);
    free_magazines(dead);
}

void stream_memory_shed(struct stream *stream) {
    struct buffer *chain = take_owed(stream);
    if (!chain)
        return;
    for (; chain; chain = take_owed(stream))
        slots_give_back(chain);
    free_dead(stream);
}

/* Walks the pools in the order of their addresses, so that magazines may leave the list between two calls. */
static struct mempool *next_pool(struct stream *stream, struct mempool *previous,
                                 bool (*wanted)(const struct mempool *pool)) {
    struct mempool *next = NULL;
    pthread_mutex_lock(&stream->lock);
    const struct magazine *magazine = atomic_load(&stream->magazines);
    for (; magazine; magazine = magazine->next) {
        struct mempool *pool = magazine->pool;
        if ((uintptr_t)pool > (uintptr_t)previous && (!next || (uintptr_t)pool < (uintptr_t)next) &&
            wanted(pool))
            next = pool;
    }
    if (next)
        object_retain(&next->object);
    pthread_mutex_unlock(&stream->lock);
    if (previous)
        mempool_put(previous);
    return next;
}

static bool any(const struct mempool *pool) {
    (void)pool;
    return true;
}

struct mempool *stream_next_pool(struct stream *stream, struct mempool *previous) {
    return next_pool(stream, previous, any);
}

static size_t bytes_to_keep(const struct mempool *pool) {
    return atomic_load(&pool->closed) ? 0 : atomic_load(&pool->release_threshold);
}

static bool has_too_much(const struct mempool *pool) {
    return atomic_load(&pool->reserved) > bytes_to_keep(pool);
}

void stream_memory_waited(struct stream *stream) {
    if (!atomic_load_explicit(&stream->magazines, memory_order_relaxed))
        return;
    struct mempool *pool = NULL;
    while ((pool = next_pool(stream, pool, has_too_much)) != NULL)
        pool_trim(pool, bytes_to_keep(pool));
    free_dead(stream);
}

/* --- all magazines of a pool --- */

unsigned pool_streams(struct mempool *pool, unsigned size_class, struct stream **streams,
                      unsigned room) {
    unsigned n = 0;
    pthread_mutex_lock(&pool->lock);
    unsigned left = pool->n_magazines;
    for (; left && n < room; left--) {
        struct magazine *magazine = pool->first;
        bool wanted =
            size_class >= SIZE_CLASSES ||
            atomic_load_explicit(&magazine->lists[size_class].newest, memory_order_relaxed);
        if (wanted && object_try_retain(&magazine->stream->object))
            streams[n++] = magazine->stream;
        if (magazine == pool->last)
            break;
        pool->first = magazine->newer;
        pool->first->older = NULL;
        magazine->newer = NULL;
        magazine->older = pool->last;
        pool->last->newer = magazine;
        pool->last = magazine;
    }
    pthread_mutex_unlock(&pool->lock);
    return n;
}

/* Under the lock: whether the last reference to a stream is gone, and its magazine still here. */
static bool is_leaving(const struct mempool *pool) {
    const struct magazine *magazine = pool->first;
    while (magazine && object_references(&magazine->stream->object))
        magazine = magazine->newer;
    return magazine != NULL;
}

void pool_await_leaving(struct mempool *pool) {
    pthread_mutex_lock(&pool->lock);
    while (is_leaving(pool))
        pthread_cond_wait(&pool->left, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

/* What remains of a destroyed pool is returned by the engine later: no further call may ever come for it. */
static void give_back_unused(struct stream *stream, struct mempool *pool) {
    struct buffer *chain = NULL;
    stream_poll(stream);
    pthread_mutex_lock(&stream->lock);
    struct magazine *magazine = magazine_find(stream, pool);
    if (magazine)
        chain = magazine_take_unused(stream, magazine);
    if (magazine && is_owed(magazine) && !stream->watched)
        engine_watch(stream);
    pthread_mutex_unlock(&stream->lock);
    slots_give_back(chain);
}

enum { AT_ONCE = 32 };

bool pool_trim(struct mempool *pool, size_t keep) {
    struct stream *streams[AT_ONCE];
    pthread_mutex_lock(&pool->lock);
    unsigned left = pool->n_magazines;
    pthread_mutex_unlock(&pool->lock);
    while (left) {
        unsigned n = pool_streams(pool, SIZE_CLASSES, streams, left < AT_ONCE ? left : AT_ONCE);
        for (unsigned i = 0; i < n; i++) {
            give_back_unused(streams[i], pool);
            stream_put(streams[i]);
        }
        left = n ? left - n : 0;
    }
    pool_await_leaving(pool);
    return pool_release_idle(pool, keep);
}
