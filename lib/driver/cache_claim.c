/* SPDX-License-Identifier: MIT */
#include "driver/cache_claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

static const uint64_t PATIENCE_NS = 60 * CLOCK_SECOND;
static const uint64_t LOOK_NS = 2 * 1000 * 1000;

enum claim_look { LOOK_MINE, LOOK_OTHERS, LOOK_NONE };

/* A file that its owner has removed meanwhile is nobody's claim. */
static enum claim_look try_to_lock(struct cache_claim *claim) {
    struct stat info;
    claim->file = open(claim->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (claim->file < 0)
        return LOOK_NONE;
    const bool locked = cache_lock_file(claim->file);
    if (locked && fstat(claim->file, &info) == 0 && info.st_nlink > 0)
        return LOOK_MINE;
    const bool others = locked || errno == EACCES || errno == EAGAIN;
    close(claim->file);
    claim->file = -1;
    return others ? LOOK_OTHERS : LOOK_NONE;
}

bool cache_claim_begin(enum cache_kind kind, struct cache_bytes key, struct cache_claim *claim) {
    char folder[CACHE_PATH], entry[CACHE_PATH];
    enum claim_look look;
    claim->file = -1;
    if (!cache_folder(folder) || !cache_path(kind, key, entry) || !cache_make_folders(folder) ||
        snprintf(claim->path, sizeof claim->path, "%s-making", entry) >= CACHE_PATH)
        return false;
    const uint64_t until = clock_now_ns() + PATIENCE_NS;
    while ((look = try_to_lock(claim)) == LOOK_OTHERS && clock_now_ns() < until)
        clock_sleep_ns(LOOK_NS);
    return look != LOOK_NONE;
}

void cache_claim_end(struct cache_claim *claim) {
    if (claim->file < 0)
        return;
    unlink(claim->path);
    close(claim->file);
    claim->file = -1;
}
