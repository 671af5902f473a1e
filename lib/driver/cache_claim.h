/* SPDX-License-Identifier: MIT */
/*
 * Claims: of the processes that find a cache entry missing, one makes it and the others wait for it. That saves
 * work, and it protects drivers whose own compiler cache does not support two processes at once: while another
 * process compiles the same program, PoCL 3.1 may return a binary that aborts the process that loads it (about one
 * in some hundred).
 *
 * A claim is a locked file beside the entry; the lock ends with its process. Like the cache it is optional at every
 * step: without a folder, and after waiting for a minute, the caller goes on without a claim.
 */
#ifndef CLSTREAM_DRIVER_CACHE_CLAIM_H
#define CLSTREAM_DRIVER_CACHE_CLAIM_H

#include "driver/cache_file.h"

struct cache_claim {
    file_lock lock; /* FILE_UNLOCKED: no claim was made */
    char path[CACHE_PATH];
};

/* Waits for the process that makes the entry, if there is one. True: look for the entry again. The caller ends the
 * claim in either case. Threads of one process do not exclude each other. */
bool cache_claim_begin(enum cache_kind kind, struct cache_bytes key, struct cache_claim *claim);
void cache_claim_end(struct cache_claim *claim);

#endif
