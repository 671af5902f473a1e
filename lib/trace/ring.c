/* SPDX-License-Identifier: MIT */
#include "trace/ring.h"

#include <stdlib.h>
#include <string.h>

bool raw_ring_init(struct record_ring *ring, size_t capacity) {
    size_t bytes;
    raw_ring_clear(ring);
    ring->capacity = capacity;
    ring->slots = NULL;
    if (!__builtin_mul_overflow(capacity, sizeof *ring->slots, &bytes))
        ring->slots = malloc(bytes);
    return ring->slots != NULL;
}

void raw_ring_free(struct record_ring *ring) { free(ring->slots); }

void raw_ring_clear(struct record_ring *ring) {
    ring->count = ring->next = 0;
    ring->dropped = 0;
}

struct raw *raw_ring_put(struct record_ring *ring) {
    struct raw *slot = &ring->slots[ring->next];
    ring->next = ring->next + 1 < ring->capacity ? ring->next + 1 : 0;
    if (ring->count < ring->capacity)
        ring->count++;
    else
        ring->dropped++;
    return slot;
}

void raw_ring_copy(const struct record_ring *ring, struct raw *out) {
    size_t first = ring->count < ring->capacity ? 0 : ring->next;
    size_t tail = ring->count - first;
    memcpy(out, ring->slots + first, tail * sizeof *out);
    memcpy(out + tail, ring->slots, first * sizeof *out);
}
