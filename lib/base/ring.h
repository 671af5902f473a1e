/* SPDX-License-Identifier: MIT */
/* Growing a ring buffer. */
#ifndef CLSTREAM_BASE_RING_H
#define CLSTREAM_BASE_RING_H

#include <stdlib.h>
#include <string.h>

/* A copy with `capacity` places of a ring of `old` places of `size` bytes: its `count` elements, the first of
 * which is number `first` modulo `old`, stand at the beginning. NULL: no memory. */
static inline void *ring_grown(const void *ring, size_t size, size_t old, size_t first,
                               size_t count, size_t capacity) {
    char *grown = malloc(capacity * size);
    for (size_t i = 0; grown && i < count; i++)
        memcpy(grown + i * size, (const char *)ring + (first + i) % old * size, size);
    return grown;
}

#endif
