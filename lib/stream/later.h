/* SPDX-License-Identifier: MIT */
/*
 * Work that is left to the engine's thread, because it has to wait, or takes locks that the thread that leaves it may
 * not take. At the process's exit it is left undone.
 */
#ifndef CLSTREAM_STREAM_LATER_H
#define CLSTREAM_STREAM_LATER_H

#include <stdbool.h>
#include <stdint.h>

/* Part of the object that is worked on. */
struct later {
    struct later *next;
    /* Called without a lock, again and again until it returns true: it is done, and `later` may be gone. It does not
     * block. */
    bool (*attempt)(struct later *later);
};

/* Takes a leaf lock. */
void later_add(struct later *later);

/* Attempts all of it that is due. Returns the nanoseconds until the next call, 0: none is needed. For the engine's
 * thread. */
uint64_t later_attempt(void);

#endif
