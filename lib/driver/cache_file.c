/* SPDX-License-Identifier: MIT */
#include "driver/cache_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/setting.h"
#include "system/clocks.h"
#include "system/processes.h"

/* No entry is larger: a larger file was not written by this cache. */
enum { MAX_FILE = 64 << 20 };

enum keeps { KEEPS_NOTHING, KEEPS_PROBES, KEEPS_CHOSEN, KEEPS_ALL };

static enum keeps what_is_kept(void) {
    static const struct setting setting = {
        "CLSTREAM_CACHE",
        {{"off", KEEPS_NOTHING}, {"probes", KEEPS_PROBES}, {"all", KEEPS_ALL}},
        KEEPS_CHOSEN};
    static atomic_bool told;
    return (enum keeps)setting_now(&setting, &told);
}

bool cache_keeps_programs(bool worthwhile) {
    char folder[CACHE_PATH];
    return cache_folder(folder) && what_is_kept() >= (worthwhile ? KEEPS_CHOSEN : KEEPS_ALL);
}

static bool join(char path[CACHE_PATH], const char *a, const char *b, const char *c) {
    int length = snprintf(path, CACHE_PATH, "%s%s%s", a, b, c);
    return length > 0 && length < CACHE_PATH;
}

bool cache_folder(char path[CACHE_PATH]) {
    const char *folder, *base;
    if (what_is_kept() == KEEPS_NOTHING)
        return false;
    if ((base = setting_path("CLSTREAM_CACHE_DIR", &folder)) != NULL)
        return join(path, folder, base, "");
    for (const struct file_cache_place *place = file_cache_places; place->variable; place++)
        if ((base = setting_path(place->variable, &folder)) != NULL)
            return join(path, folder, base, place->rest);
    return false;
}

bool cache_path(enum cache_kind kind, struct cache_bytes key, char path[CACHE_PATH]) {
    char folder[CACHE_PATH];
    char name[64];
    if (!cache_folder(folder))
        return false;
    XXH128_hash_t hash = XXH3_128bits_withSeed(key.bytes, key.size, (XXH64_hash_t)kind);
    snprintf(name, sizeof name, "/%016" PRIx64 "%016" PRIx64 ".clsb", (uint64_t)hash.high64,
             (uint64_t)hash.low64);
    return join(path, folder, name, "");
}

/* Reading */

bool cache_load(enum cache_kind kind, struct cache_bytes key, struct cache_bytes *payload,
                void **owned) {
    char path[CACHE_PATH];
    if (!cache_path(kind, key, path))
        return false;
    struct cache_bytes blob = {NULL, 0};
    void *bytes = file_read_own(path, MAX_FILE, &blob.size);
    blob.bytes = bytes;
    if (!bytes || !cache_blob_parse(blob, kind, key, payload)) {
        free(bytes);
        return false;
    }
    file_touch(path); /* the time of last use, by which entries are trimmed */
    *owned = bytes;
    return true;
}

/* Writing */

/* A folder that the user named is expected to keep something. */
static void report_useless(const char *folder, int code) {
    static atomic_bool told;
    char words[128];
    const char *unused;
    if (!setting_path("CLSTREAM_CACHE_DIR", &unused) || atomic_exchange(&told, true))
        return;
    system_error_words(code, words, sizeof words);
    fprintf(stderr, "clstream: CLSTREAM_CACHE_DIR: nothing is kept in %s: %s\n", folder, words);
}

/* A rename is atomic: readers see the old file, the new one or none, but never a part. No fsync:
 * what a power cut leaves does not pass the checksum. */
static void replace(const char *folder, const char *path, const void *bytes, size_t size) {
    char aside[CACHE_PATH];
    char name[64];
    snprintf(name, sizeof name, "/tmp-%ld-%" PRIu64 ".clsb-new", system_process(), clock_now_ns());
    if (!join(aside, folder, name, ""))
        return;
    const int code = file_write_own(aside, path, bytes, size);
    if (code)
        report_useless(folder, code);
}

static bool mark_path(const char *entry, char path[CACHE_PATH]) {
    return join(path, entry, "-loading", "");
}

/* Trims the folder, so that a mark goes once it is old, also where nothing else is stored any more. */
static bool is_marked(const char *folder, const char *mark) {
    if (!file_is_there(mark))
        return false;
    cache_trim(folder, CACHE_LIMIT_BYTES);
    return file_is_there(mark);
}

void cache_store(enum cache_kind kind, struct cache_bytes key, struct cache_bytes payload) {
    char folder[CACHE_PATH];
    char path[CACHE_PATH];
    char mark[CACHE_PATH];
    if (!cache_folder(folder) || !cache_path(kind, key, path) || !mark_path(path, mark) ||
        is_marked(folder, mark))
        return;
    if (!file_make_folders(folder)) {
        report_useless(folder, errno);
        return;
    }
    size_t size;
    void *blob = cache_blob_pack(kind, key, payload, &size);
    if (blob && size <= MAX_FILE) {
        replace(folder, path, blob, size);
        cache_trim(folder, CACHE_LIMIT_BYTES);
    }
    free(blob);
}

/* Crash marks */

/* A mark that can be locked and is still in its place has lost its owner; one that cannot be locked
 * belongs to a process that loads the same entry at this moment, and does no harm. */
static bool owner_died(const char *path) {
    file_lock lock;
    if (file_lock_try(path, FILE_LOCK_LEFT, &lock) != FILE_LOCK_MINE)
        return false;
    file_lock_leave(&lock);
    return true;
}

bool cache_mark_begin(enum cache_kind kind, struct cache_bytes key, struct cache_mark *mark) {
    char entry[CACHE_PATH];
    mark->lock = FILE_UNLOCKED;
    if (!cache_path(kind, key, entry) || !mark_path(entry, mark->path) ||
        file_lock_try(mark->path, FILE_LOCK_NEW, &mark->lock) != FILE_LOCK_THERE ||
        !owner_died(mark->path))
        return true;
    file_remove(entry);
    return false;
}

void cache_mark_end(struct cache_mark *mark) {
    if (mark->lock != FILE_UNLOCKED)
        file_lock_remove(mark->path, &mark->lock);
}
