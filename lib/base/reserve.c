/* SPDX-License-Identifier: MIT */
#include "base/reserve.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/address_map.h"
#include "base/error.h"
#include "base/rare.h"
#include "base/size_class.h"
#include "system/pages.h"

/* Sizes are those of memory pools: rounded up by at most an eighth. */
enum { UNIT_SHIFT = 12, FIRST_ROOM = 16 };
_Static_assert(RESERVE_ALIGN == 1 << UNIT_SHIFT, "a range begins at a unit");

/* All are between these; read without the lock. */
ASKED static _Atomic uintptr_t lowest = UINTPTR_MAX, highest;

static struct address_map mappings;
static uintptr_t next; /* the unused addresses of the last one */
static size_t unused;

/* The ranges of a class that were given back: a ring with room for all that were ever made. */
struct reserve_shelf {
    uintptr_t *ranges;
    size_t first, count, room; /* room: a power of two */
    size_t made;
};

static struct reserve_shelf shelves[SIZE_CLASSES];

bool reserve_has(uintptr_t address) {
    struct address_range mapping;
    if (address < atomic_load_explicit(&lowest, memory_order_relaxed) ||
        address >= atomic_load_explicit(&highest, memory_order_relaxed))
        return false;
    return address_map_find(&mappings, address, &mapping);
}

static void note_bounds(uintptr_t start, uintptr_t end) {
    if (start < lowest)
        lowest = start;
    if (end > highest)
        highest = end;
}

/* The rest of the last mapping is left. */
static cls_status add_mapping(size_t least) {
    const uint64_t usual = pages_reserve_usual();
    size_t bytes = least > usual ? least : (size_t)usual;
    void *start = pages_reserve(NULL, bytes);
    while (!start && bytes > least) {
        bytes = bytes / 2 > least ? bytes / 2 / RESERVE_ALIGN * RESERVE_ALIGN : least;
        start = pages_reserve(NULL, bytes);
    }
    if (!start)
        return error_set(CLS_ERROR_OUT_OF_MEMORY, "no %zu addresses are left to reserve", least);
    const struct address_range mapping = {(uintptr_t)start, bytes, &mappings};
    if (address_map_add(&mappings, &mapping)) {
        pages_unreserve(start, bytes);
        return error_no_memory("to reserve addresses");
    }
    next = mapping.start;
    unused = bytes;
    note_bounds(next, next + bytes);
    return CLS_SUCCESS;
}

/* Adds [start, end) to the mappings, of which it is none; both are multiples of a page. */
static bool claim_pages(uintptr_t start, uintptr_t end) {
    const struct address_range mapping = {start, end - start, &mappings};
    void *got = pages_reserve((void *)start, end - start);
    if (!got)
        return false;
    if (address_map_add(&mappings, &mapping)) {
        pages_unreserve(got, end - start);
        return false;
    }
    note_bounds(start, end);
    return true;
}

bool reserve_claim(uintptr_t start, size_t bytes) {
    const uintptr_t page = pages_reserve_unit(), end = start + bytes;
    struct address_range mapping;
    if (start > UINTPTR_MAX - page || bytes > UINTPTR_MAX - page - start)
        return false;
    uintptr_t at = start / page * page;
    while (at < end) {
        if (address_map_find(&mappings, at, &mapping)) {
            at = mapping.start + mapping.bytes;
            continue;
        }
        uintptr_t stop = (end + page - 1) / page * page;
        if (address_map_behind(&mappings, at, &mapping) && mapping.start < stop)
            stop = mapping.start;
        if (!claim_pages(at, stop))
            return false;
        at = stop;
    }
    return true;
}

/* Has room for one range more of the class to come back. */
static cls_status need_room(struct reserve_shelf *shelf) {
    if (shelf->made < shelf->room)
        return CLS_SUCCESS;
    const size_t room = shelf->room ? 2 * shelf->room : FIRST_ROOM;
    uintptr_t *ranges = malloc(room * sizeof *ranges);
    if (!ranges)
        return error_no_memory("to reserve addresses");
    for (size_t i = 0; i < shelf->count; i++)
        ranges[i] = shelf->ranges[(shelf->first + i) & (shelf->room - 1)];
    free(shelf->ranges);
    shelf->ranges = ranges;
    shelf->first = 0;
    shelf->room = room;
    return CLS_SUCCESS;
}

static cls_status take_fresh(struct reserve_shelf *shelf, size_t bytes, uintptr_t *start) {
    cls_status status = need_room(shelf);
    if (!status && bytes > unused)
        status = add_mapping(bytes);
    if (status)
        return status;
    *start = next;
    next += bytes;
    unused -= bytes;
    shelf->made++;
    return CLS_SUCCESS;
}

/* With at least one byte behind `bytes`. */
static unsigned reserve_class(size_t bytes) { return size_class_of(bytes + 1, UNIT_SHIFT); }

cls_status reserve_take(size_t bytes, uintptr_t *start) {
    const unsigned size_class = bytes < SIZE_MAX / 4 ? reserve_class(bytes) : SIZE_CLASSES;
    if (size_class >= SIZE_CLASSES)
        return error_set(CLS_ERROR_OUT_OF_MEMORY, "no %zu addresses are left to reserve", bytes);
    struct reserve_shelf *shelf = &shelves[size_class];
    if (!shelf->count)
        return take_fresh(shelf, size_class_bytes(size_class, UNIT_SHIFT), start);
    *start = shelf->ranges[shelf->first];
    shelf->first = (shelf->first + 1) & (shelf->room - 1);
    shelf->count--;
    return CLS_SUCCESS;
}

void reserve_give(uintptr_t start, size_t bytes) {
    struct reserve_shelf *shelf = &shelves[reserve_class(bytes)];
    shelf->ranges[(shelf->first + shelf->count) & (shelf->room - 1)] = start;
    shelf->count++;
}
