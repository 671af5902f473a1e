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

enum { KNOWN_STREAMS = 8 };

struct known_one {
    uint64_t stream;   /* its id */
    uint64_t position; /* of that stream */
    uint64_t since;    /* the first position of this stream that comes after it */
};

/* Under the stream's lock, but for the count. */
struct known {
    _Atomic unsigned count;
    unsigned next; /* to be replaced when all are taken */
    struct known_one of[KNOWN_STREAMS];
};

/* What a stream comes to be ordered behind by waiting for another. */
struct learned {
    unsigned count;
    struct known_one of[KNOWN_STREAMS + 1];
};

/* What `other` was ordered behind at `position`, itself included; nothing where nobody has allocated. Takes
 * its lock. */
void known_gather(struct stream *other, uint64_t position, struct learned *learned);

/* Under the stream's lock: from its next command on it comes after all of that. */
void known_learn(struct known *known, const struct stream *stream, const struct learned *learned);

/* Under the stream's lock: a failure has dropped commands that were to come after others, and with them the
 * order. */
void known_forget(struct known *known);

/* The position of a stream up to which its work comes before; 0: none is known. */
uint64_t known_position(const struct known *known, uint64_t stream);

#endif
