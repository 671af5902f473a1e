/* SPDX-License-Identifier: MIT */
/*
 * Finds memory for a stream whose own magazine has none of the size. In this order: a larger slot of its own; an idle
 * slot, the stream's held ones whose waits are over among them; a slot that another stream freed, as far as the pool's
 * reuse policy allows; a slot never used; a new block.
 */
#include "base/error.h"
#include "memory/magazine.h"
#include "stream/context.h"
#include "stream/failure.h"
#include "stream/follow.h"
#include "stream/submit.h"
#include "stream/wait.h"

enum { MOST_OTHERS = 32 };

struct reuse_search {
    struct stream *stream;
    struct mempool *pool;
    unsigned size_class;
    unsigned reuse;
    struct order_cache order_cache; /* of the stream */
    struct stream *others[MOST_OTHERS];
    unsigned n_others;
};

enum pass { PASS_LOOK, PASS_POLL, PASS_INSERT };

/* By which rule the searching stream may reuse a slot that `other` freed; SOURCES: by none. */
static enum source way_to(const struct reuse_search *search, struct stream *other,
                          const struct buffer *slot, enum pass pass) {
    uint64_t behind = order_cache_position(&search->order_cache, other->id);
    if ((search->reuse & CLS_REUSE_FOLLOW) && behind && behind >= slot->freed_at &&
        !slot_is_doubtful(other, slot))
        return SOURCE_FOLLOWED;
    if ((search->reuse & CLS_REUSE_DONE) && magazine_is_past(other, slot->freed_at) &&
        object_references(&slot->object) == 1)
        return SOURCE_DONE;
    if (pass == PASS_INSERT && !stream_poison(other) && !slot_is_doubtful(other, slot))
        return SOURCE_INSERTED;
    return SOURCES;
}

static struct buffer *take_others(const struct reuse_search *search, struct stream *other,
                                  enum pass pass, enum source *source) {
    struct buffer *slot = NULL;
    pthread_mutex_lock(&other->lock);
    struct magazine *magazine = magazine_find(other, search->pool);
    struct freed *list = magazine ? &magazine->lists[search->size_class] : NULL;
    if (list && list->oldest) {
        *source = way_to(search, other, list->oldest, pass);
        slot = *source == SOURCES ? NULL : list->oldest;
    }
    if (slot)
        magazine_take(magazine, list, slot);
    pthread_mutex_unlock(&other->lock);
    return slot;
}

/* Makes the searching stream's next command wait for the free. One that comes behind a command to come needs a mark, which a
 * captured stream does not take. */
static cls_status wait_for_free(struct stream *stream, struct stream *other, uint64_t position) {
    const bool to_come = position > stream_newest(other);
    cls_status status = to_come ? stream_mark_for(other, MARK_BESIDE, &position) : CLS_SUCCESS;
    if (status)
        return status;
    return stream_wait_for(stream, other, position);
}

/* Returns a slot to the stream it was taken from, as held: not reusable before its work is done. */
static void put_back(const struct reuse_search *search, struct stream *other, struct buffer *slot) {
    pthread_mutex_lock(&other->lock);
    struct magazine *magazine = magazine_find(other, search->pool);
    magazine->cached += slot->capacity;
    freed_push(&magazine->held, slot);
    pthread_mutex_unlock(&other->lock);
}

static struct buffer *search_pass(const struct reuse_search *search, enum pass pass,
                                  enum source *source) {
    for (unsigned i = 0; i < search->n_others; i++) {
        struct stream *other = search->others[i];
        if (other == search->stream)
            continue;
        if (pass == PASS_POLL)
            stream_poll(other);
        struct buffer *slot = take_others(search, other, pass, source);
        if (!slot)
            continue;
        if (*source != SOURCE_INSERTED || !wait_for_free(search->stream, other, slot->freed_at))
            return slot;
        put_back(search, other, slot);
    }
    return NULL;
}

static struct buffer *search_others(struct reuse_search *search, enum source *source) {
    struct buffer *slot = NULL;
    search->n_others = pool_streams(search->pool, search->size_class, search->others, MOST_OTHERS);
    if (search->n_others)
        slot = search_pass(search, PASS_LOOK, source);
    if (!slot && (search->reuse & CLS_REUSE_DONE))
        slot = search_pass(search, PASS_POLL, source);
    if (!slot && (search->reuse & CLS_REUSE_INSERT) && !stream_poison(search->stream))
        slot = search_pass(search, PASS_INSERT, source);
    for (unsigned i = 0; i < search->n_others; i++)
        stream_put(search->others[i]);
    return slot;
}

/* A large slot may serve a request of down to half its size, so that sizes that change from step to step share slots. */
static unsigned last_class(const struct reuse_search *search) {
    unsigned last = search->size_class + SIZE_CLASS_STEPS;
    bool large = size_class_bytes(search->size_class, search->pool->unit_shift) >= LARGE_SLOT;
    if (!large)
        return search->size_class;
    return last < SIZE_CLASSES ? last : SIZE_CLASSES - 1;
}

/* Under the lock: the smallest slot of a larger class that the stream has freed itself and that may serve. */
static struct buffer *take_larger(const struct reuse_search *search, struct magazine *magazine) {
    struct buffer *slot = NULL;
    for (unsigned i = search->size_class + 1; !slot && i <= last_class(search); i++)
        slot = magazine_take_own(search->stream, magazine, i);
    return slot;
}

/* The smallest idle slot that may serve. */
static struct buffer *take_idle(const struct reuse_search *search) {
    struct buffer *slot = NULL;
    for (unsigned i = search->size_class; !slot && i <= last_class(search); i++)
        pool_take(search->pool, i, SHELF_IDLE, &slot); /* which cannot fail */
    return slot;
}

/* Returns the stream's held slots whose waits are over to the pool, and looks for a larger slot of its own. */
static struct buffer *take_larger_own(struct reuse_search *search) {
    struct stream *stream = search->stream;
    struct buffer *chain = NULL, *slot = NULL;
    pthread_mutex_lock(&stream->lock);
    struct magazine *magazine = magazine_find(stream, search->pool);
    if (magazine)
        chain = magazine_take_unheld(stream, magazine);
    if (magazine)
        slot = take_larger(search, magazine);
    if (!stream_poison(stream))
        search->order_cache = stream->order_cache;
    pthread_mutex_unlock(&stream->lock);
    slots_give_back(chain);
    return slot;
}

/* Further bytes that small sizes may leave unused: about a block for each of their classes. */
enum { SMALL_ROOM = 16 << 20 };

/* Sizes that are used once leave memory behind that no later request fits. Before more than 5/4 of the bytes ever in use
 * are reserved, unused blocks are given back to the driver. */
static void make_room(struct mempool *pool, unsigned size_class) {
    const bool small = size_class_bytes(size_class, pool->unit_shift) < LARGE_SLOT;
    const uint64_t more = pool_growth(pool, size_class);
    const uint64_t used = atomic_load(&pool->counted_high);
    const uint64_t keep = used + used / 4 + (small ? SMALL_ROOM : 0);
    if (atomic_load(&pool->reserved) + more > keep)
        pool_trim(pool, keep > more ? keep - more : 0);
}

/* Memory of a block that is there, or of a new one. */
static cls_status carve_or_grow(struct mempool *pool, unsigned size_class, struct buffer **out) {
    cls_status status = pool_take(pool, size_class, SHELF_FRESH, out);
    if (status || *out)
        return status;
    make_room(pool, size_class);
    return pool_grow(pool, size_class, out);
}

static cls_status search_all(struct reuse_search *search, struct buffer **out,
                             enum source *source) {
    struct mempool *pool = search->pool;
    unsigned size_class = search->size_class;
    *source = SOURCE_SAME_STREAM;
    *out = take_larger_own(search);
    if (*out)
        return CLS_SUCCESS;
    *source = SOURCE_DONE;
    *out = take_idle(search);
    if (!*out && search->reuse)
        *out = search_others(search, source);
    if (*out)
        return CLS_SUCCESS;
    *source = SOURCE_FRESH;
    cls_status status = carve_or_grow(pool, size_class, out);
    if (!mempools_may_help(status))
        return status;
    const bool is_own_limit = status != CLS_ERROR_LIMIT && cls_last_error_code() == 0;
    bool more = pool_trim(pool, 0);
    if (!is_own_limit)
        more = context_trim_mempools(pool->context) || more;
    if (!more)
        return status;
    return status == CLS_ERROR_LIMIT ? carve_or_grow(pool, size_class, out)
                                     : pool_grow(pool, size_class, out);
}

cls_status find_slot(struct stream *stream, struct mempool *pool, unsigned size_class,
                     struct buffer **out, enum source *source) {
    struct reuse_search search = {.stream = stream, .pool = pool, .size_class = size_class};
    struct detail held;
    search.reuse = atomic_load(&pool->reuse);
    error_save(&held);
    return error_restore(&held, search_all(&search, out, source));
}
