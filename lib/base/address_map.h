/* SPDX-License-Identifier: MIT */
/*
 * An ordered map of address ranges that do not overlap. Readers take no lock: they search under a sequence number, and
 * search again if a writer was at work meanwhile. Writers exclude each other by a lock of their caller's.
 *
 *   top     the first address of each leaf and the leaf, sorted
 *   leaf    at most ADDRESS_LEAF ranges, sorted
 *
 * What readers may hold is never given back: leaves are kept for later ranges, and a top array that was outgrown stays.
 */
#ifndef CLSTREAM_BASE_ADDRESS_MAP_H
#define CLSTREAM_BASE_ADDRESS_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clstream/status.h>

#include "base/cache_line.h"

enum { ADDRESS_LEAF = 128 };

/* Of at least one byte. */
struct address_range {
    uintptr_t start;
    size_t bytes;
    void *name; /* the caller's; not NULL */
};

static inline bool address_range_has(const struct address_range *range, uintptr_t address) {
    return address - range->start < range->bytes;
}

struct address_top;
struct address_leaf;

/* All zero: empty. */
struct address_map {
    /* Odd while a writer is at work. */
    _Alignas(CACHE_LINE) _Atomic uintptr_t sequence;
    _Atomic(struct address_top *) top;
    struct address_leaf *unused; /* the writers' */
};

/* The range that has the address. Any thread, at any time. */
bool address_map_find(struct address_map *map, uintptr_t address, struct address_range *out);

/* What one thread found last in one map, which holds until the map changes: ranges, and gaps between them without a name.
 * All zero: nothing. */
enum { ADDRESS_CACHED = 2 };
struct address_cache {
    uintptr_t sequence; /* of the map when they were found */
    struct address_range found[ADDRESS_CACHED];
    unsigned next; /* to be replaced */
};

/* The same, with the thread's cache. */
bool address_map_find_anew(struct address_map *map, struct address_cache *cache, uintptr_t address,
                           struct address_range *out);

/* The same, by the cache first: a copy or a launch has two pointers or so, and each step of a search may cost the time of
 * a cache line. */
static inline bool address_map_find_again(struct address_map *map, struct address_cache *cache,
                                          uintptr_t address, struct address_range *out) {
    if (atomic_load_explicit(&map->sequence, memory_order_acquire) == cache->sequence)
        for (unsigned i = 0; i < ADDRESS_CACHED; i++)
            if (address_range_has(&cache->found[i], address)) {
                *out = cache->found[i];
                return out->name;
            }
    return address_map_find_anew(map, cache, address, out);
}

/* --- under the writers' lock --- */

/* CLS_ERROR_OVERLAP: a range has one of the bytes; CLS_ERROR_OUT_OF_MEMORY. Neither is reported. */
cls_status address_map_add(struct address_map *map, const struct address_range *range);

/* Gives the range that starts there another size and name. False, and nothing done: there is none, or another range has one
 * of the bytes. */
bool address_map_replace(struct address_map *map, const struct address_range *range);

/* Takes out the range that starts at the address. False: there is none. */
bool address_map_remove(struct address_map *map, uintptr_t start);

/* The last range that starts at or before the address, and the first one that starts behind it; false: there is none. */
bool address_map_before(struct address_map *map, uintptr_t address, struct address_range *out);
bool address_map_behind(struct address_map *map, uintptr_t address, struct address_range *out);

/* Gives all memory back, for tests: no reader may be left. */
void address_map_free(struct address_map *map);

#endif
