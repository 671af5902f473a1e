/* SPDX-License-Identifier: MIT */
/* Queued signals: sorted rings of (position, value), one for each stream. */
#include "coordinator/signal_queues.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/ring.h"

enum { FIRST_CAPACITY = 4 };

static struct queued_signal *signal_at(const struct signal_queue *queue, unsigned i) {
    return &queue->ring[(queue->first + i) & (queue->capacity - 1)];
}

struct signal_queue *signal_queues_find(const struct signal_queues *queues, const void *key) {
    for (unsigned i = 0; i < queues->count; i++)
        if (queues->items[i].key == key)
            return &queues->items[i];
    return NULL;
}

struct signal_queue *signal_queues_open(struct signal_queues *queues, void *key, bool *made) {
    struct signal_queue *known = signal_queues_find(queues, key);
    *made = false;
    if (known)
        return known;
    if (!ARRAY_ROOM(queues->items, queues->count, queues->capacity, 1))
        return NULL;
    struct signal_queue *queue = &queues->items[queues->count++];
    *queue = (struct signal_queue){.key = key};
    *made = true;
    return queue;
}

void signal_queues_close(struct signal_queues *queues, struct signal_queue *queue) {
    free(queue->ring);
    *queue = queues->items[--queues->count];
}

void signal_queues_free(struct signal_queues *queues) {
    for (unsigned i = 0; i < queues->count; i++)
        free(queues->items[i].ring);
    free(queues->items);
}

static bool grow(struct signal_queue *queue) {
    unsigned capacity = queue->capacity ? 2 * queue->capacity : FIRST_CAPACITY;
    struct queued_signal *ring = ring_grown(queue->ring, sizeof *ring, queue->capacity,
                                            queue->first, queue->count, capacity);
    if (!ring)
        return false;
    free(queue->ring);
    queue->ring = ring;
    queue->capacity = capacity;
    queue->first = 0;
    return true;
}

bool signal_queue_claim(struct signal_queue *queue, uint64_t value) {
    if (queue->count + queue->claims == queue->capacity && !grow(queue))
        return false;
    queue->claims++;
    queue->claimed = value;
    return true;
}

/* Claims end in any order, so `claimed` is lowered after a cancelled one only when no claim is left. */
static void lower_claimed(struct signal_queue *queue) {
    const struct queued_signal *last = signal_queue_back(queue);
    if (!queue->claims)
        queue->claimed = last ? last->value : 0;
}

static void take_out(struct signal_queue *queue, unsigned i) {
    for (; i + 1 < queue->count; i++)
        *signal_at(queue, i) = *signal_at(queue, i + 1);
    queue->count--;
}

/* Inserts by position and keeps values rising: a signal adds nothing where an earlier one has a value as high.
 * Room is reserved. */
static void put_signal(struct signal_queue *queue, uint64_t position, uint64_t value) {
    unsigned at = queue->count;
    while (at && signal_at(queue, at - 1)->position > position)
        at--;
    if (at && signal_at(queue, at - 1)->value >= value)
        return;
    if (at && signal_at(queue, at - 1)->position == position)
        take_out(queue, --at);
    while (at < queue->count && signal_at(queue, at)->value <= value)
        take_out(queue, at);
    for (unsigned i = queue->count++; i > at; i--)
        *signal_at(queue, i) = *signal_at(queue, i - 1);
    *signal_at(queue, at) = (struct queued_signal){position, value};
}

void signal_queue_commit(struct signal_queue *queue, uint64_t position, uint64_t value) {
    queue->claims--;
    put_signal(queue, position, value);
    lower_claimed(queue);
}

void signal_queue_cancel(struct signal_queue *queue) {
    queue->claims--;
    lower_claimed(queue);
}

const struct queued_signal *signal_queue_front(const struct signal_queue *queue) {
    return queue->count ? signal_at(queue, 0) : NULL;
}

const struct queued_signal *signal_queue_back(const struct signal_queue *queue) {
    return queue->count ? signal_at(queue, queue->count - 1) : NULL;
}

void signal_queue_pop(struct signal_queue *queue) {
    queue->first = (queue->first + 1) & (queue->capacity - 1);
    queue->count--;
}

const struct queued_signal *signal_queue_reaching(const struct signal_queue *queue,
                                                  uint64_t value) {
    unsigned low = 0, high = queue->count;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (signal_at(queue, middle)->value < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < queue->count ? signal_at(queue, low) : NULL;
}
