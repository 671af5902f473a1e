/* SPDX-License-Identifier: MIT */
#include "stream/order_cache.h"

#include "stream/stream.h"

uint64_t known_position(const struct known *known, uint64_t stream) {
    for (unsigned i = 0; i < known->count; i++)
        if (known->of[i].stream == stream)
            return known->of[i].position;
    return 0;
}

static struct known_one *find(struct known *known, uint64_t stream) {
    for (unsigned i = 0; i < known->count; i++)
        if (known->of[i].stream == stream)
            return &known->of[i];
    return NULL;
}

/* An earlier `since` is kept only with its own position: a reader at that position must not be told of
 * more than it is behind. */
static void enter(struct known *known, uint64_t stream, uint64_t position, uint64_t since) {
    struct known_one *one = find(known, stream);
    if (one && one->position >= position)
        return;
    if (!one && known->count < KNOWN_STREAMS) {
        one = &known->of[known->count];
        atomic_store_explicit(&known->count, known->count + 1, memory_order_relaxed);
    } else if (!one) {
        one = &known->of[known->next];
        known->next = (known->next + 1) % KNOWN_STREAMS;
    }
    *one = (struct known_one){stream, position, since};
}

void known_gather(struct stream *other, uint64_t position, struct learned *learned) {
    bool others = atomic_load_explicit(&other->known.count, memory_order_relaxed) != 0;
    learned->count = 0;
    if (!others && !atomic_load_explicit(&other->magazines, memory_order_relaxed))
        return;
    learned->of[learned->count++] = (struct known_one){other->id, position, 0};
    if (!others)
        return;
    pthread_mutex_lock(&other->lock);
    for (unsigned i = 0; i < other->known.count; i++)
        if (other->known.of[i].since <= position)
            learned->of[learned->count++] = other->known.of[i];
    pthread_mutex_unlock(&other->lock);
}

void known_learn(struct known *known, const struct stream *stream, const struct learned *learned) {
    for (unsigned i = 0; i < learned->count; i++)
        if (learned->of[i].stream != stream->id)
            enter(known, learned->of[i].stream, learned->of[i].position, stream->submitted + 1);
}

void known_forget(struct known *known) {
    atomic_store_explicit(&known->count, 0, memory_order_relaxed);
    known->next = 0;
}
