/* SPDX-License-Identifier: MIT */
#include "driver/cache_claim.h"

#include <stdio.h>

#include "system/clocks.h"

static const uint64_t PATIENCE_NS = 60 * CLOCK_SECOND;
static const uint64_t LOOK_NS = 2 * 1000 * 1000;

bool cache_claim_begin(enum cache_kind kind, struct cache_bytes key, struct cache_claim *claim) {
    char folder[CACHE_PATH], entry[CACHE_PATH];
    enum file_lock_result result;
    claim->lock = FILE_UNLOCKED;
    if (!cache_folder(folder) || !cache_path(kind, key, entry) || !file_make_folders(folder) ||
        snprintf(claim->path, sizeof claim->path, "%s-making", entry) >= CACHE_PATH)
        return false;
    const uint64_t until = clock_now_ns() + PATIENCE_NS;
    while ((result = file_lock_try(claim->path, FILE_LOCK_ANY, &claim->lock)) == FILE_LOCK_OTHERS &&
           clock_now_ns() < until)
        clock_sleep_ns(LOOK_NS);
    return result != FILE_LOCK_NONE;
}

void cache_claim_end(struct cache_claim *claim) {
    if (claim->lock != FILE_UNLOCKED)
        file_lock_remove(claim->path, &claim->lock);
}
