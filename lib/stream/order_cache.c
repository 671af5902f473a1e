/* SPDX-License-Identifier: MIT */
/* Learning what a stream is ordered behind, and looking it up. */
#include "stream/order_cache.h"

#include "stream/stream.h"

uint64_t order_cache_position(const struct order_cache *cache, uint64_t stream) {
    for (unsigned i = 0; i < cache->count; i++)
        if (cache->of[i].stream == stream)
            return cache->of[i].position;
    return 0;
}

static struct order_cache_entry *find(struct order_cache *cache, uint64_t stream) {
    for (unsigned i = 0; i < cache->count; i++)
        if (cache->of[i].stream == stream)
            return &cache->of[i];
    return NULL;
}

/* An earlier `since` is kept only with its own position: a reader at that position must not be told of
 * more than it is behind. */
static void enter(struct order_cache *cache, uint64_t stream, uint64_t position, uint64_t since) {
    struct order_cache_entry *one = find(cache, stream);
    if (one && one->position >= position)
        return;
    if (!one && cache->count < ORDER_CACHE_STREAMS) {
        one = &cache->of[cache->count];
        atomic_store_explicit(&cache->count, cache->count + 1, memory_order_relaxed);
    } else if (!one) {
        one = &cache->of[cache->next];
        cache->next = (cache->next + 1) % ORDER_CACHE_STREAMS;
    }
    *one = (struct order_cache_entry){stream, position, since};
}

void order_cache_gather(struct stream *other, uint64_t position, struct learned *learned) {
    bool others = atomic_load_explicit(&other->order_cache.count, memory_order_relaxed) != 0;
    learned->count = 0;
    if (!others && !atomic_load_explicit(&other->magazines, memory_order_relaxed))
        return;
    learned->of[learned->count++] = (struct order_cache_entry){other->id, position, 0};
    if (!others)
        return;
    pthread_mutex_lock(&other->lock);
    for (unsigned i = 0; i < other->order_cache.count; i++)
        if (other->order_cache.of[i].since <= position)
            learned->of[learned->count++] = other->order_cache.of[i];
    pthread_mutex_unlock(&other->lock);
}

void order_cache_learn(struct order_cache *cache, const struct stream *stream,
                       const struct learned *learned) {
    for (unsigned i = 0; i < learned->count; i++)
        if (learned->of[i].stream != stream->id)
            enter(cache, learned->of[i].stream, learned->of[i].position, stream->submitted + 1);
}

void order_cache_forget(struct order_cache *cache) {
    atomic_store_explicit(&cache->count, 0, memory_order_relaxed);
    cache->next = 0;
}
