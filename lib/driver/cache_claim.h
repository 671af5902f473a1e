/* SPDX-License-Identifier: MIT */
/*
 * Claims: of the processes that find an entry missing one makes it, and the others come to a wait until it is
 * there. That saves them the work, and it keeps drivers from harm whose own cache of what they compile cannot bear
 * two processes: PoCL 3.1 gives out a binary that aborts whoever loads it, where another process compiles the same
 * program meanwhile (one of some hundred).
 *
 * A claim is a locked file beside the entry, which goes with its process. Optional at every step, as the cache is:
 * without a folder, and after a minute, the caller goes on without one.
 */
#ifndef CLSTREAM_DRIVER_CACHE_CLAIM_H
#define CLSTREAM_DRIVER_CACHE_CLAIM_H

#include "driver/cache_file.h"

struct cache_claim {
    int file; /* -1: none was made */
    char path[CACHE_PATH];
};

/* Waits for whoever makes the entry. True: it is worth to look for the entry again. End the claim either way; of one
 * process's threads all get it. */
bool cache_claim_begin(enum cache_kind kind, struct cache_bytes key, struct cache_claim *claim);
void cache_claim_end(struct cache_claim *claim);

#endif
