/* SPDX-License-Identifier: MIT */
/* A stream's memory as a whole: freeing all of it, frees that wait for an event, and queries of what a stream holds. */
#include <stdlib.h>

#include "base/error.h"
#include "base/sized.h"
#include "memory/magazine.h"
#include "stream/context.h"
#include "stream/event.h"
#include "stream/hooks.h"
#include "stream/submit.h"
#include "stream/wait.h"

/* --- freeing all --- */

/* Under the pool's lock: ends the lives of what the user has allocated for a stream, as a chain by `older`. The
 * generation is read first: if it is still that of the slot's life when the life is ended, then the slot
 * was the stream's all along. */
static struct buffer *end_all(struct mempool *pool, uint64_t stream_id) {
    struct buffer *chain = NULL;
    for (struct block *block = pool->blocks; block; block = block->next)
        for (unsigned i = 0; i < block->n_carved; i++) {
            struct buffer *slot = block->slots[i];
            uint32_t generation = object_generation(&slot->object);
            if (atomic_load(&slot->home) != stream_id || atomic_load(&slot->is_librarys) ||
                !object_end_life(&slot->object, generation))
                continue;
            slot->older = chain;
            chain = slot;
        }
    return chain;
}

static void free_all_of(struct stream *stream, struct mempool *pool, cls_free_mode mode) {
    pthread_mutex_lock(&pool->lock);
    struct buffer *chain = end_all(pool, stream->id);
    pthread_mutex_unlock(&pool->lock);
    pthread_mutex_lock(&stream->lock);
    /* A pool with something in use keeps its magazine. */
    struct magazine *magazine = magazine_find(stream, pool);
    while (chain) {
        struct buffer *next = chain->older;
        magazine_free(magazine, chain, mode);
        chain = next;
    }
    pthread_mutex_unlock(&stream->lock);
}

/* Also of a context that is gone: what was allocated is still owed. */
static cls_status find_stream(cls_stream handle, struct stream **out) {
    if (!handle)
        return stream_get(NULL, NULL, out);
    *out = object_acquire(&stream_pool, handle);
    return *out ? CLS_SUCCESS : object_invalid(&stream_pool, handle);
}

cls_status cls_stream_free_all_async(cls_stream handle, cls_free_mode mode) {
    struct stream *stream;
    if (mode != CLS_FREE_IN_ORDER && mode != CLS_FREE_WHEN_DONE)
        return error_set(CLS_ERROR_INVALID_VALUE, "%d is no cls_free_mode", (int)mode);
    cls_status status = find_stream(handle, &stream);
    if (status)
        return status;
    pthread_mutex_lock(&stream->lock);
    if (RARELY(stream->capturing))
        status = hooks.capture.refuse(stream, "free of memory from outside of it");
    pthread_mutex_unlock(&stream->lock);
    if (status) {
        stream_put(stream);
        return status;
    }
    bool closed = false;
    for (struct mempool *pool = NULL; (pool = stream_next_pool(stream, pool)) != NULL;) {
        free_all_of(stream, pool, mode);
        closed = closed || atomic_load(&pool->closed);
    }
    if (closed)
        stream_memory_waited(stream);
    stream_put(stream);
    return CLS_SUCCESS;
}

/* --- frees that wait --- */

/* Makes a fence of one wait and of those that the old fence still has. Takes over the reference of `dep` in every
 * case. */
static struct fence *fence_new(const struct dep *dep, struct fence *old) {
    struct fence *fence = calloc(1, sizeof *fence);
    bool good = fence && !deps_add(&fence->deps, dep);
    if (!good)
        dep_release(dep);
    if (!fence)
        return NULL;
    fence->users = 1;
    for (unsigned i = 0; good && old && i < old->deps.count; i++) {
        if (dep_is_over(&deps_items(&old->deps)[i]))
            continue;
        const struct dep also = dep_to_ask(&deps_items(&old->deps)[i]);
        good = also.stream == dep->stream && also.gate == dep->gate
                   ? !deps_add(&fence->deps, &also)
                   : !deps_add_other(&fence->deps, &also);
        if (!good)
            dep_release(&also);
    }
    if (good)
        return fence;
    fence_drop(fence);
    return NULL;
}

/* Makes a fence of all waits that are not over; NULL where there are none, or no memory. */
static struct fence *fence_of(struct deps *waits, struct fence *old) {
    struct dep *items = deps_items(waits);
    struct fence *fence = NULL;
    for (unsigned i = 0; i < waits->count; i++) {
        if (dep_is_over(&items[i]))
            continue;
        const struct dep dep = dep_to_ask(&items[i]);
        struct fence *both = fence_new(&dep, fence ? fence : old);
        if (fence)
            fence_drop(fence);
        if (!both)
            return NULL;
        fence = both;
    }
    return fence;
}

static void put_behind(struct fence *fence, struct buffer *slot) {
    if (slot->fence)
        fence_drop(slot->fence);
    slot->fence = fence;
    fence->users++;
}

/* Puts the slots that were freed behind a position behind the fence. */
static void hold_latest(struct magazine *magazine, uint64_t since, struct fence *fence) {
    struct buffer *slot = atomic_load(&magazine->held.newest);
    magazine->shut = NULL;
    for (; slot; slot = slot->older)
        if (slot->freed_at > since)
            put_behind(fence, slot);
    for (unsigned i = 0; i < SIZE_CLASSES; i++)
        while ((slot = atomic_load(&magazine->lists[i].newest)) && slot->freed_at > since) {
            freed_remove(&magazine->lists[i], slot);
            put_behind(fence, slot);
            freed_push(&magazine->held, slot);
        }
}

/* Under the lock: replaces the stream's fence by one that was made from it. NULL: keeps the present one. */
static void set_fence(struct stream *stream, struct fence *fence) {
    if (!fence)
        return;
    fence->follows = true;
    if (stream->fence)
        fence_drop(stream->fence);
    stream->fence = fence;
}

static bool has_freed(struct stream *stream, uint64_t since) {
    const struct magazine *magazine = atomic_load(&stream->magazines);
    while (magazine && magazine->last_free <= since)
        magazine = magazine->next;
    return magazine != NULL;
}

/* The new fence is made from the stream's own and so has all the waits of the fences that the slots had before. */
void stream_memory_hold(struct stream *stream, struct deps *waits, uint64_t since) {
    struct fence *fence = has_freed(stream, since) ? fence_of(waits, stream->fence) : NULL;
    set_fence(stream, fence);
    for (struct magazine *magazine = atomic_load(&stream->magazines); magazine && fence;
         magazine = magazine->next)
        if (magazine->last_free > since)
            hold_latest(magazine, since, fence);
}

static cls_status add_fence(struct stream *stream, struct stream *other, uint64_t position) {
    const struct dep dep = {.stream = other, .position = position};
    object_retain(&other->object);
    pthread_mutex_lock(&stream->lock);
    struct fence *fence = fence_new(&dep, stream->fence);
    set_fence(stream, fence);
    pthread_mutex_unlock(&stream->lock);
    return fence ? CLS_SUCCESS : error_no_memory("for a wait of frees");
}

cls_status cls_stream_frees_wait_event(cls_stream stream_handle, cls_event event) {
    struct stream *stream, *other;
    uint64_t position;
    cls_status status = event_snapshot(event, &other, &position);
    if (status)
        return status;
    status = stream_get(stream_handle, other ? other->context : NULL, &stream);
    if (!status) {
        if (other && race_on())
            hooks.race.frees_wait(stream, other, position);
        if (other && other != stream && atomic_load(&other->retired) < position)
            status = add_fence(stream, other, position);
        stream_put(stream);
    }
    if (other)
        stream_put(other);
    return status;
}

/* --- asking --- */

/* Under the lock: the latest position that a free of the stream is stamped with. */
static uint64_t last_free(struct stream *stream) {
    uint64_t latest = 0;
    const struct magazine *magazine = atomic_load(&stream->magazines);
    for (; magazine; magazine = magazine->next)
        if (magazine->last_free > latest)
            latest = magazine->last_free;
    return latest;
}

/* Gives frees stamped with a position not yet submitted a position to wait for, by a mark. Where fifo_limit leaves no
 * room for a mark, or the stream is captured, progress is made with the work before it. */
static cls_status mark_frees(struct stream *stream, uint64_t *position) {
    struct detail held;
    error_save(&held);
    const cls_status status = stream_mark_for(stream, MARK_TO_ASK | MARK_BESIDE, position);
    const bool none = status == CLS_ERROR_LIMIT || status == CLS_NOT_READY;
    error_restore(&held, none ? CLS_SUCCESS : status);
    if (!none)
        return status;
    const cls_status progress = stream_query(stream, stream_newest(stream));
    return progress ? progress : CLS_NOT_READY;
}

/* Makes progress towards the latest free's position. If that is not submitted yet because waits were pending, submits a
 * mark; a poisoned stream does so only after its reset, a captured one after its capture. */
static cls_status progress_to_frees(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    const uint64_t latest = last_free(stream);
    const bool to_come = latest > stream->submitted;
    pthread_mutex_unlock(&stream->lock);
    uint64_t position = latest;
    cls_status status = to_come ? mark_frees(stream, &position) : CLS_SUCCESS;
    if (!status)
        status = stream_query(stream, position);
    if (status)
        return status;
    pthread_mutex_lock(&stream->lock);
    const bool past = magazine_is_past(stream, latest);
    pthread_mutex_unlock(&stream->lock);
    return past ? CLS_SUCCESS : CLS_NOT_READY;
}

/* Finds a wait of a held slot's fence that is not over, for the caller to release; false when all fences are open. */
static bool closed_fence(struct stream *stream, struct dep *out) {
    bool found = false;
    pthread_mutex_lock(&stream->lock);
    struct magazine *magazine = atomic_load(&stream->magazines);
    for (; magazine && !found; magazine = magazine->next)
        for (struct buffer *slot = magazine->held.oldest; slot && !found; slot = slot->newer)
            for (unsigned i = 0; slot->fence && i < slot->fence->deps.count && !found; i++) {
                const struct dep *dep = &deps_items(&slot->fence->deps)[i];
                found = !dep_is_over(dep);
                if (found)
                    *out = dep_to_ask(dep);
            }
    pthread_mutex_unlock(&stream->lock);
    return found;
}

cls_status cls_stream_query_frees(cls_stream handle) {
    struct stream *stream;
    struct dep dep;
    cls_status status = stream_get(handle, NULL, &stream);
    if (status)
        return status;
    status = progress_to_frees(stream);
    while (!status && closed_fence(stream, &dep)) {
        status = dep.stream ? stream_query(dep.stream, dep.position) : CLS_NOT_READY;
        dep_release(&dep);
    }
    stream_put(stream);
    return status;
}

cls_status cls_stream_get_memory(cls_stream handle, cls_stream_memory *memory) {
    struct stream *stream;
    cls_stream_memory now = CLS_STREAM_MEMORY_INIT;
    cls_status status = SIZED_CHECK(cls_stream_memory, memory);
    if (!status)
        status = stream_get(handle, NULL, &stream);
    if (status)
        return status;
    pthread_mutex_lock(&stream->lock);
    struct magazine *magazine = atomic_load(&stream->magazines);
    for (; magazine; magazine = magazine->next) {
        now.used += magazine_used(magazine);
        now.peak += magazine->peak;
        now.cached += magazine->cached;
        now.frees += magazine->tally.frees;
        for (unsigned i = 0; i < SOURCES; i++)
            now.mallocs += magazine->tally.mallocs[i];
    }
    pthread_mutex_unlock(&stream->lock);
    SIZED_OUT(cls_stream_memory, memory, &now);
    stream_put(stream);
    return CLS_SUCCESS;
}
