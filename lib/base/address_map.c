/* SPDX-License-Identifier: MIT */
#include "base/address_map.h"

#include <stdlib.h>

#include "base/rare.h"
#include "system/clocks.h"

/*
 * The sequence lock without fences, which ThreadSanitizer does not know: a writer's stores to the data release, so that a
 * reader that sees one of them sees the odd number too; a reader's loads of the data acquire, so that its second look at
 * the number comes after them.
 */

struct address_leaf {
    _Atomic unsigned count;
    struct address_leaf *next;             /* while it is unused */
    _Atomic uintptr_t start[ADDRESS_LEAF]; /* together, since a search goes through them alone */
    struct leaf_rest {
        _Atomic size_t bytes;
        _Atomic(void *) name;
    } rest[ADDRESS_LEAF];
};

struct address_top {
    struct address_top *outgrown; /* the array before it */
    unsigned room;
    _Atomic unsigned count; /* at most `room`; no leaf is empty */
    _Atomic(struct address_leaf *) *leaf;
    _Atomic uintptr_t start[]; /* of each leaf's first range; behind them are the leaves */
};

enum { FIRST_TOP = 16, SPINS = 64, BLOCK = 8, MOST_BLOCKS = 16 };

#define GET(place) atomic_load_explicit(&(place), memory_order_acquire)
#define PUT(place, value) atomic_store_explicit(&(place), value, memory_order_release)

/* --- searching; also while a writer moves things, when any number may come out, but no bad index --- */

/* How many of the sorted starts are at or before the address. Loads that do not wait for each other: a step of a binary
 * search would wait for a cache line, or have the processor guess, half of the time wrong. */
static unsigned starts_before(_Atomic uintptr_t *start, unsigned n, uintptr_t address) {
    unsigned low = 0, blocks = 0, rest = 0;
    for (; n > MOST_BLOCKS * BLOCK; n -= n / 2)
        low += GET(start[low + n / 2 - 1]) <= address ? n / 2 : 0;
    for (unsigned last = BLOCK - 1; last < n; last += BLOCK)
        blocks += GET(start[low + last]) <= address;
    low += blocks * BLOCK;
    n -= blocks * BLOCK;
    for (unsigned i = 0; i < (n < BLOCK ? n : BLOCK); i++)
        rest += GET(start[low + i]) <= address;
    return low + rest;
}

/* How many leaves begin at or before the address. */
static unsigned leaves_before(struct address_top *top, uintptr_t address) {
    return starts_before(top->start, GET(top->count), address);
}

static unsigned ranges_before(struct address_leaf *leaf, uintptr_t address) {
    return starts_before(leaf->start, GET(leaf->count), address);
}

static struct address_range range_at(struct address_leaf *leaf, unsigned i) {
    struct leaf_rest *rest = &leaf->rest[i];
    return (struct address_range){GET(leaf->start[i]), GET(rest->bytes), GET(rest->name)};
}

/* Range `n` - 1 of leaf `at` - 1. */
static bool search(struct address_map *map, uintptr_t address, struct address_range *out) {
    struct address_top *top = GET(map->top);
    const unsigned at = top ? leaves_before(top, address) : 0;
    if (!at)
        return false;
    struct address_leaf *leaf = GET(top->leaf[at - 1]);
    const unsigned n = ranges_before(leaf, address);
    if (!n)
        return false;
    *out = range_at(leaf, n - 1);
    return true;
}

/* Where the first range behind the address starts; the last address if there is none. */
static uintptr_t start_behind(struct address_map *map, uintptr_t address) {
    struct address_top *top = GET(map->top);
    const unsigned at = top ? leaves_before(top, address) : 0;
    if (at) {
        struct address_leaf *leaf = GET(top->leaf[at - 1]);
        const unsigned n = ranges_before(leaf, address);
        if (n < GET(leaf->count))
            return GET(leaf->start[n]);
    }
    return top && at < GET(top->count) ? GET(top->start[at]) : UINTPTR_MAX;
}

/* The gap that has the address, which is in no range; without the last address of all. */
static struct address_range gap_at(struct address_map *map, uintptr_t address) {
    struct address_range before = {0, 0, NULL};
    search(map, address, &before);
    const uintptr_t start = before.start + before.bytes;
    return (struct address_range){start, start_behind(map, address) - start, NULL};
}

/* A writer that the system has stopped is let on. */
static uintptr_t await_even(struct address_map *map) {
    uintptr_t sequence;
    for (unsigned i = 1; (sequence = GET(map->sequence)) & 1; i++)
        if (i % SPINS == 0)
            system_yield();
    return sequence;
}

/* Finds a range, or with `gaps` the gap in its place; returns the sequence number of the map that has it. */
static uintptr_t find_stable(struct address_map *map, uintptr_t address, bool gaps,
                             struct address_range *out) {
    uintptr_t before;
    do {
        before = GET(map->sequence);
        if (RARELY(before & 1))
            before = await_even(map);
        if (!search(map, address, out) || !address_range_has(out, address))
            *out = gaps ? gap_at(map, address) : (struct address_range){0, 0, NULL};
    } while (RARELY(atomic_load_explicit(&map->sequence, memory_order_relaxed) != before));
    return before;
}

bool address_map_find(struct address_map *map, uintptr_t address, struct address_range *out) {
    struct address_range range;
    find_stable(map, address, false, &range);
    if (!range.name)
        return false;
    *out = range;
    return true;
}

bool address_map_find_anew(struct address_map *map, struct address_cache *cache, uintptr_t address,
                           struct address_range *out) {
    const unsigned place = cache->next;
    const uintptr_t sequence = find_stable(map, address, true, &cache->found[place]);
    if (RARELY(cache->sequence != sequence)) {
        cache->sequence = sequence;
        for (unsigned i = 0; i < ADDRESS_CACHED; i++)
            if (i != place)
                cache->found[i] = (struct address_range){0, 0, NULL};
    }
    cache->next = (place + 1) % ADDRESS_CACHED;
    *out = cache->found[place];
    return out->name;
}

bool address_map_before(struct address_map *map, uintptr_t address, struct address_range *out) {
    return search(map, address, out);
}

bool address_map_behind(struct address_map *map, uintptr_t address, struct address_range *out) {
    struct address_top *top = GET(map->top);
    const unsigned at = top ? leaves_before(top, address) : 0;
    if (at) {
        struct address_leaf *leaf = GET(top->leaf[at - 1]);
        const unsigned n = ranges_before(leaf, address);
        if (n < GET(leaf->count)) {
            *out = range_at(leaf, n);
            return true;
        }
    }
    if (!top || at == GET(top->count))
        return false;
    *out = range_at(GET(top->leaf[at]), 0);
    return true;
}

/* --- writing; each change of the data is between these --- */

static void begin_write(struct address_map *map) {
    atomic_store_explicit(&map->sequence,
                          atomic_load_explicit(&map->sequence, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

static void end_write(struct address_map *map) {
    PUT(map->sequence, atomic_load_explicit(&map->sequence, memory_order_relaxed) + 1);
}

static void leaf_put(struct address_leaf *leaf, unsigned i, const struct address_range *range) {
    PUT(leaf->start[i], range->start);
    PUT(leaf->rest[i].bytes, range->bytes);
    PUT(leaf->rest[i].name, range->name);
}

static void put_item(struct address_top *top, unsigned i, struct address_leaf *leaf) {
    PUT(top->start[i], GET(leaf->start[0]));
    PUT(top->leaf[i], leaf);
}

/* Has an array with room for one leaf more. */
static struct address_top *need_top(struct address_map *map) {
    struct address_top *top = GET(map->top);
    if (top && GET(top->count) < top->room)
        return top;
    const unsigned room = top ? 2 * top->room : FIRST_TOP;
    struct address_top *grown =
        calloc(1, sizeof *grown + room * (sizeof *grown->start + sizeof *grown->leaf));
    if (!grown)
        return NULL;
    grown->leaf = (void *)(grown->start + room);
    const unsigned count = top ? GET(top->count) : 0;
    for (unsigned i = 0; i < count; i++)
        put_item(grown, i, GET(top->leaf[i]));
    grown->room = room;
    grown->outgrown = top;
    PUT(grown->count, count);
    PUT(map->top, grown);
    return grown;
}

static struct address_leaf *take_leaf(struct address_map *map) {
    struct address_leaf *leaf = map->unused;
    if (leaf)
        map->unused = leaf->next;
    return leaf ? leaf : calloc(1, sizeof *leaf);
}

static void insert_leaf(struct address_top *top, unsigned at, struct address_leaf *leaf) {
    const unsigned count = GET(top->count);
    for (unsigned i = count; i > at; i--) {
        PUT(top->start[i], GET(top->start[i - 1]));
        PUT(top->leaf[i], GET(top->leaf[i - 1]));
    }
    put_item(top, at, leaf);
    PUT(top->count, count + 1);
}

static void insert_range(struct address_leaf *leaf, unsigned at,
                         const struct address_range *range) {
    const unsigned count = GET(leaf->count);
    for (unsigned i = count; i > at; i--) {
        const struct address_range moved = range_at(leaf, i - 1);
        leaf_put(leaf, i, &moved);
    }
    leaf_put(leaf, at, range);
    PUT(leaf->count, count + 1);
}

/* Moves the upper half of a full leaf to one behind it. False: no memory. */
static bool split(struct address_map *map, unsigned at) {
    struct address_top *top = need_top(map);
    struct address_leaf *upper = top ? take_leaf(map) : NULL;
    if (!upper)
        return false;
    struct address_leaf *lower = GET(top->leaf[at]);
    begin_write(map);
    for (unsigned i = 0; i < ADDRESS_LEAF / 2; i++) {
        const struct address_range moved = range_at(lower, ADDRESS_LEAF / 2 + i);
        leaf_put(upper, i, &moved);
    }
    PUT(upper->count, ADDRESS_LEAF / 2);
    PUT(lower->count, ADDRESS_LEAF / 2);
    insert_leaf(top, at + 1, upper);
    end_write(map);
    return true;
}

static cls_status add_first(struct address_map *map, const struct address_range *range) {
    struct address_top *top = need_top(map);
    struct address_leaf *leaf = top ? take_leaf(map) : NULL;
    if (!leaf)
        return CLS_ERROR_OUT_OF_MEMORY;
    begin_write(map);
    leaf_put(leaf, 0, range);
    PUT(leaf->count, 1);
    insert_leaf(top, 0, leaf);
    end_write(map);
    return CLS_SUCCESS;
}

static bool overlaps_any(struct address_map *map, const struct address_range *range) {
    struct address_range other;
    if (address_map_before(map, range->start, &other) && address_range_has(&other, range->start))
        return true;
    return address_map_behind(map, range->start, &other) && address_range_has(range, other.start);
}

/* The leaf of a range that is to be added: the one that begins before it, or else the first. */
static unsigned leaf_for(struct address_map *map, uintptr_t start) {
    const unsigned at = leaves_before(GET(map->top), start);
    return at ? at - 1 : 0;
}

cls_status address_map_add(struct address_map *map, const struct address_range *range) {
    struct address_top *top = GET(map->top);
    if (overlaps_any(map, range))
        return CLS_ERROR_OVERLAP;
    if (!top || !GET(top->count))
        return add_first(map, range);
    unsigned at = leaf_for(map, range->start);
    if (GET(GET(top->leaf[at])->count) == ADDRESS_LEAF) {
        if (!split(map, at))
            return CLS_ERROR_OUT_OF_MEMORY;
        top = GET(map->top);
        at = leaf_for(map, range->start);
    }
    struct address_leaf *leaf = GET(top->leaf[at]);
    begin_write(map);
    insert_range(leaf, ranges_before(leaf, range->start), range);
    PUT(top->start[at], GET(leaf->start[0]));
    end_write(map);
    return CLS_SUCCESS;
}

/* Readers may still search the leaf, and then search again. */
static void remove_leaf(struct address_map *map, struct address_top *top, unsigned at) {
    struct address_leaf *leaf = GET(top->leaf[at]);
    const unsigned count = GET(top->count) - 1;
    for (unsigned i = at; i < count; i++) {
        PUT(top->start[i], GET(top->start[i + 1]));
        PUT(top->leaf[i], GET(top->leaf[i + 1]));
    }
    PUT(top->count, count);
    leaf->next = map->unused;
    map->unused = leaf;
}

static void remove_range(struct address_leaf *leaf, unsigned at) {
    const unsigned count = GET(leaf->count) - 1;
    for (unsigned i = at; i < count; i++) {
        const struct address_range moved = range_at(leaf, i + 1);
        leaf_put(leaf, i, &moved);
    }
    PUT(leaf->count, count);
}

/* The place of the range that starts at the address. */
static bool place_of_start(struct address_map *map, uintptr_t start, unsigned *leaf_at,
                           unsigned *at) {
    struct address_top *top = GET(map->top);
    const unsigned n_leaves = top ? leaves_before(top, start) : 0;
    struct address_leaf *leaf = n_leaves ? GET(top->leaf[n_leaves - 1]) : NULL;
    const unsigned n = leaf ? ranges_before(leaf, start) : 0;
    if (!n || GET(leaf->start[n - 1]) != start)
        return false;
    *leaf_at = n_leaves - 1;
    *at = n - 1;
    return true;
}

bool address_map_replace(struct address_map *map, const struct address_range *range) {
    struct address_range behind;
    unsigned leaf_at, at;
    if (!place_of_start(map, range->start, &leaf_at, &at) ||
        (address_map_behind(map, range->start, &behind) && address_range_has(range, behind.start)))
        return false;
    begin_write(map);
    leaf_put(GET(GET(map->top)->leaf[leaf_at]), at, range);
    end_write(map);
    return true;
}

bool address_map_remove(struct address_map *map, uintptr_t start) {
    struct address_top *top = GET(map->top);
    unsigned leaf_at, at;
    if (!place_of_start(map, start, &leaf_at, &at))
        return false;
    struct address_leaf *leaf = GET(top->leaf[leaf_at]);
    begin_write(map);
    remove_range(leaf, at);
    if (!GET(leaf->count))
        remove_leaf(map, top, leaf_at);
    else
        PUT(top->start[leaf_at], GET(leaf->start[0]));
    end_write(map);
    return true;
}

void address_map_free(struct address_map *map) {
    struct address_top *top = GET(map->top);
    for (unsigned i = 0; top && i < GET(top->count); i++)
        free(GET(top->leaf[i]));
    while (top) {
        struct address_top *outgrown = top->outgrown;
        free(top);
        top = outgrown;
    }
    while (map->unused) {
        struct address_leaf *next = map->unused->next;
        free(map->unused);
        map->unused = next;
    }
    PUT(map->top, NULL);
}
