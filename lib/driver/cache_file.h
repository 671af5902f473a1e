/* SPDX-License-Identifier: MIT */
/*
 * The disk cache: one file per entry, in one folder. It is optional at every step: without a
 * folder, on a full or read-only disk, or after a crash, a load is a miss and a store does
 * nothing. Neither reports an error, and errno means nothing afterwards.
 *
 * Environment:
 *   CLSTREAM_CACHE=off    no disk cache
 *   CLSTREAM_CACHE=probes keeps capability records; programs are neither stored nor loaded, but their claims are made
 *   CLSTREAM_CACHE_DIR    the folder; made when missing
 *   XDG_CACHE_HOME, HOME  else $XDG_CACHE_HOME/clstream, else $HOME/.cache/clstream, else none;
 *   LOCALAPPDATA          on Windows %LOCALAPPDATA%/clstream
 */
#ifndef CLSTREAM_DRIVER_CACHE_FILE_H
#define CLSTREAM_DRIVER_CACHE_FILE_H

#include "driver/cache_blob.h"
#include "system/files.h"

enum { CACHE_PATH = 1024 };

/* Limit on the bytes of all entries together; the longest unused entries are removed first. */
#define CACHE_LIMIT_BYTES ((uint64_t)256 << 20)

/* The folder for the environment of this moment; false: no disk cache. */
bool cache_folder(char path[CACHE_PATH]);

/* Whether programs are kept, by the environment of this moment, or else where they are worth it. */
bool cache_keeps_programs(bool worthwhile);

/* The file of an entry: the folder, and a hash of kind and key. False: no disk cache. */
bool cache_path(enum cache_kind kind, struct cache_bytes key, char path[CACHE_PATH]);

/* The entry's payload, a part of `*owned`, which the caller frees; false: a miss. A file that does
 * not parse is a miss, and is overwritten by the next store. */
bool cache_load(enum cache_kind kind, struct cache_bytes key, struct cache_bytes *payload,
                void **owned);

/* Writes the entry aside and renames it into place, then trims the folder. */
void cache_store(enum cache_kind kind, struct cache_bytes key, struct cache_bytes payload);

/* Removes the longest unused entries until at most `limit` bytes are left, and the leftovers of
 * crashed processes. Touches only files named by this cache. */
void cache_trim(const char *folder, uint64_t limit);

/*
 * A crash mark is a file beside an entry while the driver loads it. A mark without a living owner
 * means that a process died loading the entry: it is not used again until the mark is a day old.
 */
struct cache_mark {
    file_lock lock; /* FILE_UNLOCKED: no mark was made */
    char path[CACHE_PATH];
};

/* False: an earlier process died on this entry; do not load it, and do not call cache_mark_end.
 * True: load it, then call cache_mark_end, whether or not the load succeeded. At most one mark per
 * process at a time. */
bool cache_mark_begin(enum cache_kind kind, struct cache_bytes key, struct cache_mark *mark);
void cache_mark_end(struct cache_mark *mark);

#endif
