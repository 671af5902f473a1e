/* SPDX-License-Identifier: MIT */
/*
 * Stream-ordered malloc and free. Both are points in a stream's order, not commands: a free is stamped
 * with the position of the stream's latest command (or of the next one, when waits are pending for it), and work that
 * comes after that position may use the memory. The fast path is one lookup and one lock, the stream's; memory that
 * other streams freed, and fresh memory, come from memory/reuse.c.
 */
#include <string.h>

#include "base/error.h"
#include "memory/buffer_map.h"
#include "memory/magazine.h"
#include "stream/context.h"
#include "stream/hooks.h"
#include "stream/legacy.h"

/* --- malloc --- */

/* Under the stream's lock: makes the slot live, for the user or (`handle` NULL) for the library. `home` is stored last,
 * so that a thread that frees all of the stream's memory sees is_librarys where it sees `home`. */
static void begin(struct magazine *magazine, struct buffer *slot, size_t bytes, enum source source,
                  cls_buffer *handle) {
    if (race_on())
        hooks.race.begins(magazine->stream, slot->memory);
    slot->bytes = bytes;
    buffer_maps_end(slot);
    if (handle)
        *handle = object_handle(&slot->object);
    atomic_store_explicit(&slot->is_librarys, !handle, memory_order_relaxed);
    if (keeps_lives())
        object_note_made(&slot->object);
    atomic_store_explicit(&slot->home, magazine->stream->id, memory_order_release);
    magazine->allocated += slot->capacity;
    magazine->tally.mallocs[source]++;
    uint64_t used = magazine_used(magazine);
    if (used > magazine->peak)
        magazine->peak = used;
    if (used > magazine->counted) {
        pool_count(magazine->pool, used - magazine->counted);
        magazine->counted = used;
    }
}

/* Accounts a slot found elsewhere to the stream, and makes it live. */
static cls_status begin_found(struct stream *stream, struct mempool *pool, struct buffer *slot,
                              size_t bytes, enum source source, cls_buffer *handle) {
    pthread_mutex_lock(&stream->lock);
    struct magazine *magazine = magazine_need(stream, pool);
    if (magazine)
        begin(magazine, slot, bytes, source, handle);
    pthread_mutex_unlock(&stream->lock);
    if (magazine)
        return CLS_SUCCESS;
    buffer_put(slot);
    return error_no_memory("for a stream's part of a pool");
}

static cls_status malloc_elsewhere(struct stream *stream, struct mempool *pool, size_t bytes,
                                   cls_buffer *handle, struct buffer **out) {
    enum source source = SOURCE_FRESH;
    struct buffer *slot;
    unsigned size_class = size_class_of(bytes, pool->unit_shift);
    if (size_class >= SIZE_CLASSES)
        return error_set(CLS_ERROR_OUT_OF_DEVICE_MEMORY, "%zu bytes are more than a pool gives",
                         bytes);
    cls_status status = find_slot(stream, pool, size_class, &slot, &source);
    if (!status)
        status = begin_found(stream, pool, slot, bytes, source, handle);
    if (!status)
        *out = slot;
    return status;
}

/* Under the lock: what the stream has at hand, or NULL. */
static struct buffer *malloc_at_hand(struct stream *stream, const struct mempool *pool,
                                     size_t bytes, cls_buffer *handle) {
    struct context *context = stream->context;
    if (!pool)
        pool = atomic_load_explicit(&context->mempool, memory_order_relaxed);
    struct magazine *magazine = magazine_find(stream, pool);
    if (!magazine)
        return NULL;
    unsigned size_class = size_class_of(bytes, magazine->unit_shift);
    struct buffer *slot = size_class < SIZE_CLASSES && bytes <= magazine->most
                              ? magazine_take_own(stream, magazine, size_class)
                              : NULL;
    if (slot)
        begin(magazine, slot, bytes, SOURCE_SAME_STREAM, handle);
    return slot;
}

/* Memory for a captured stream: a buffer of its own, which the nodes that use it keep when it is freed. */
COLD static cls_status malloc_captured(struct stream *stream, const void *capture, size_t bytes,
                                       cls_buffer *handle, struct buffer **out) {
    cls_status status = buffer_check_most(stream->context->device, bytes);
    if (!status)
        status = buffer_allocate(stream->context, bytes, out);
    if (status)
        return status;
    (*out)->capture = capture;
    (*out)->kind = CLS_BUFFER_CAPTURED;
    if (!handle)
        return CLS_SUCCESS;
    *handle = object_handle(&(*out)->object);
    object_note_call(*handle, "cls_malloc_async");
    return CLS_SUCCESS;
}

/* Under the lock: the handle of the stream's capture; NULL: it is not captured. */
static const void *capture_of(const struct stream *stream) {
    return RARELY(stream->capturing) ? object_handle((struct object *)(void *)stream->capture)
                                     : NULL;
}

cls_status stream_malloc(struct stream *stream, struct mempool *pool, size_t bytes,
                         cls_buffer *handle, struct buffer **out) {
    struct context *context = stream->context;
    pthread_mutex_lock(&stream->lock);
    const void *capture = capture_of(stream);
    struct buffer *slot = capture ? NULL : malloc_at_hand(stream, pool, bytes, handle);
    pthread_mutex_unlock(&stream->lock);
    if (RARELY(capture))
        return malloc_captured(stream, capture, bytes, handle, out);
    if (slot) {
        *out = slot;
        return CLS_SUCCESS;
    }
    struct mempool *current = NULL;
    cls_status status = buffer_check_most(context->device, bytes);
    if (!status && !pool)
        status = context_mempool(context, &current);
    if (!status)
        status = malloc_elsewhere(stream, pool ? pool : current, bytes, handle, out);
    if (current)
        mempool_put(current);
    return status;
}

static cls_status malloc_slowly(cls_stream handle, size_t bytes, cls_buffer *out) {
    struct stream *stream;
    struct buffer *slot;
    cls_status status = stream_get(handle, NULL, &stream);
    if (status)
        return status;
    status = stream_malloc(stream, NULL, bytes, out, &slot);
    stream_put(stream);
    return status;
}

cls_status cls_malloc_async(cls_stream handle, size_t bytes, cls_buffer *out) {
    struct stream *stream;
    struct buffer *slot = NULL;
    cls_status status = buffer_check_create(bytes, out, "cls_malloc_async");
    if (!status && handle) {
        status = stream_enter(handle, &stream);
        if (status)
            return status;
        if (!RARELY(stream->capturing))
            slot = malloc_at_hand(stream, NULL, bytes, out);
        pthread_mutex_unlock(&stream->lock);
    }
    return status || slot ? status : malloc_slowly(handle, bytes, out);
}

static cls_status malloc_from(struct mempool *pool, cls_stream handle, size_t bytes,
                              cls_buffer *out) {
    struct stream *stream;
    struct buffer *slot;
    cls_status status = stream_get(handle, pool->context, &stream);
    if (status)
        return status;
    if (stream->context != pool->context)
        status = error_set(CLS_ERROR_WRONG_CONTEXT, "pool and stream are of different contexts");
    if (!status)
        status = stream_malloc(stream, pool, bytes, out, &slot);
    stream_put(stream);
    return status;
}

cls_status cls_mempool_malloc_async(cls_mempool handle, cls_stream stream, size_t bytes,
                                    cls_buffer *out) {
    struct mempool *pool;
    cls_status status = buffer_check_create(bytes, out, "cls_mempool_malloc_async");
    if (!status)
        status = mempool_get(handle, &pool);
    if (status)
        return status;
    status = malloc_from(pool, stream, bytes, out);
    if (!status)
        object_note_call(*out, "cls_mempool_malloc_async");
    mempool_put(pool);
    return status;
}

/* --- free --- */

/* Under the lock: whether a free has to wait for the stream's fence. */
static bool is_fenced(struct stream *stream) {
    if (!stream->fence)
        return false;
    if (!fence_is_open(stream->fence))
        return true;
    fence_drop(stream->fence);
    stream->fence = NULL;
    return false;
}

/* Whether other contexts have it open. Called when the slot's handle is stale: they are not becoming more. The
 * addition of 0 is an update, as keep_slot's in share.c: the later of the two sees all stores before the earlier one. */
static bool is_open_elsewhere(struct magazine *magazine, struct buffer *slot) {
    return magazine->pool->is_shareable && atomic_fetch_add(&slot->opened, 0);
}

/* A slot that is open elsewhere goes back to its block, as all held ones do: it is idle once no handle and no work
 * refers to it. Its memory does not end for the race checker. */
void magazine_free(struct magazine *magazine, struct buffer *slot, cls_free_mode mode) {
    struct stream *stream = magazine->stream;
    uint64_t home = atomic_load_explicit(&slot->home, memory_order_relaxed);
    const bool open = is_open_elsewhere(magazine, slot);
    if (race_on() && mode == CLS_FREE_IN_ORDER && !open) {
        if (legacy_is_due(stream))
            legacy_tell_free(stream);
        hooks.race.ends(stream, slot->memory);
    }
    slot->freed_at = stream_newest_locked(stream) + stream_has_waits(stream);
    magazine->last_free = slot->freed_at;
    if (home == stream->id)
        magazine->freed += slot->capacity;
    else
        pool_credit(magazine->pool, home, slot->capacity);
    atomic_store_explicit(&slot->home, 0, memory_order_relaxed);
    object_begin_life(&slot->object);
    magazine->tally.frees++;
    magazine->cached += slot->capacity;
    bool fenced = is_fenced(stream);
    if (fenced) {
        slot->fence = stream->fence;
        stream->fence->users++;
    }
    if (fenced || open || mode == CLS_FREE_WHEN_DONE)
        freed_push(&magazine->held, slot);
    else
        freed_push(&magazine->lists[slot->size_class], slot);
}

/* Called with the stream's lock held; drops it. The caller has no reference: the lock alone keeps the stream. */
static cls_status free_ended(struct stream *stream, struct mempool *pool, struct buffer *slot) {
    object_retain(&stream->object);
    struct magazine *magazine = magazine_need(stream, pool);
    if (magazine)
        magazine_free(magazine, slot, CLS_FREE_IN_ORDER);
    pthread_mutex_unlock(&stream->lock);
    if (magazine)
        stream_memory_waited(stream);
    else
        object_undo_end(&slot->object);
    stream_put(stream);
    if (magazine)
        return CLS_SUCCESS;
    return error_no_memory("for a stream's part of a pool");
}

/* Under the lock: whether a free is for a capture that did not allocate the buffer. What is wrong with the call itself is
 * reported by free_entered. */
COLD static bool is_from_outside(const struct stream *stream, const struct buffer *slot,
                                 cls_buffer handle) {
    return object_is(&slot->object, handle) && slot->context == stream->context && !slot->owner &&
           slot->capture != capture_of(stream);
}

/* Reports why a buffer is not freed. A handle that is stale by now comes first: the slot may have a new life. */
static cls_status refuse_free(const struct buffer *slot, cls_buffer handle) {
    if (!object_is(&slot->object, handle))
        return object_invalid(&buffer_pool, handle);
    return error_set(CLS_ERROR_WRONG_CONTEXT, "buffer and stream are of different contexts");
}

/* Called with the stream's lock held; drops it. Another thread may free the slot too: its fields count only once this
 * call has ended the life that the handle names. A buffer with memory of its own needs no point of the stream: the commands
 * submitted so far keep the memory, and no later one gets it. */
static cls_status free_entered(struct stream *stream, struct buffer *slot, cls_buffer handle) {
    const bool is_pools = slot->block != NULL;
    if (RARELY(stream->capturing) && is_from_outside(stream, slot, handle)) {
        cls_status status = hooks.capture.refuse(stream, "free of memory from outside of it");
        pthread_mutex_unlock(&stream->lock);
        return status;
    }
    if (slot->context != stream->context ||
        (is_pools && !object_end_life(&slot->object, object_generation_of(handle)))) {
        pthread_mutex_unlock(&stream->lock);
        return refuse_free(slot, handle);
    }
    if (!is_pools) {
        pthread_mutex_unlock(&stream->lock);
        return cls_buffer_destroy(handle);
    }
    struct mempool *pool = slot->block->pool;
    struct magazine *magazine = magazine_find(stream, pool);
    if (!magazine || atomic_load_explicit(&pool->closed, memory_order_relaxed))
        return free_ended(stream, pool, slot);
    magazine_free(magazine, slot, CLS_FREE_IN_ORDER);
    pthread_mutex_unlock(&stream->lock);
    return CLS_SUCCESS;
}

/* Without a stream named, and perhaps without one left. */
static cls_status free_on_default(cls_buffer handle) {
    struct buffer *slot = object_acquire(&buffer_pool, handle);
    if (!slot)
        return object_invalid(&buffer_pool, handle);
    cls_status status;
    struct stream *stream = context_default_stream(slot->context);
    if (stream) {
        pthread_mutex_lock(&stream->lock);
        status = free_entered(stream, slot, handle);
        stream_put(stream);
    } else {
        status = cls_buffer_destroy(handle);
    }
    buffer_put(slot);
    return status;
}

cls_status cls_free_async(cls_buffer handle, cls_stream stream_handle) {
    struct buffer *slot = object_peek(&buffer_pool, handle);
    struct stream *stream;
    if (!slot)
        return object_invalid(&buffer_pool, handle);
    if (!stream_handle)
        return free_on_default(handle);
    cls_status status = stream_enter_to_return(stream_handle, slot->context, &stream);
    return status ? status : free_entered(stream, slot, handle);
}

void stream_free(struct stream *stream, struct buffer *slot) {
    cls_buffer handle = object_handle(&slot->object);
    pthread_mutex_lock(&stream->lock);
    if (free_entered(stream, slot, handle))
        cls_buffer_destroy(handle);
}
