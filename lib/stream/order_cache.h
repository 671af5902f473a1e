/* SPDX-License-Identifier: MIT */
/*
 * What a stream is known to be ordered behind: for some other streams, the latest position that its next
 * command comes after, directly or through third streams. Kept for the allocator, from the first
 * allocation on. A small table that forgets: what it does not say may be so all the same.
 */
#ifndef CLSTREAM_STREAM_ORDER_CACHE_H
#define CLSTREAM_STREAM_ORDER_CACHE_H

#include <stdatomic.h>
#include <stdint.h>

struct stream;

enum { ORDER_CACHE_STREAMS = 8 };

struct order_cache_entry {
    uint64_t stream;   /* its id */
    uint64_t position; /* of that stream */
    uint64_t since;    /* the first position of this stream that comes after it */
};

/* Under the stream's lock, but for the count. */
struct order_cache {
    _Atomic unsigned count;
    unsigned next; /* to be replaced when all are taken */
    struct order_cache_entry of[ORDER_CACHE_STREAMS];
};

/* What a stream comes to be ordered behind by waiting for another. */
struct learned {
    unsigned count;
    struct order_cache_entry of[ORDER_CACHE_STREAMS + 1];
};

/* What `other` was ordered behind at `position`, itself included; nothing where nobody has allocated. Takes
 * its lock. */
void order_cache_gather(struct stream *other, uint64_t position, struct learned *learned);

/* Under the stream's lock: from its next command on it comes after all of that. */
void order_cache_learn(struct order_cache *cache, const struct stream *stream,
                       const struct learned *learned);

/* Under the stream's lock: a failure has dropped commands that were to come after others, and with them the
 * order. */
void order_cache_forget(struct order_cache *cache);

/* The position of a stream up to which its work comes before; 0: none is known. */
uint64_t order_cache_position(const struct order_cache *cache, uint64_t stream);

#endif
