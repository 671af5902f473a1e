/* SPDX-License-Identifier: MIT */
#include "base/hidden.h"

#include "base/address_map.h"
#include "base/rare.h"
#include "system/pages.h"

/* Mappings without rights that were seen. They may have rights by now, so that each use asks again. */
static struct address_map seen;
ASKED static _Atomic bool has_seen;

bool hidden_is_readable(uintptr_t start, size_t bytes) {
    return pages_can_read(start) && pages_can_read(start + bytes - 1);
}

bool hidden_was_seen(uintptr_t address) {
    struct address_range range;
    return atomic_load_explicit(&has_seen, memory_order_relaxed) &&
           address_map_find(&seen, address, &range);
}

/* A mapping that overlaps with one seen before takes its place: mappings join and are cut. */
static void note_seen(uintptr_t start, uintptr_t end) {
    const struct address_range range = {start, end - start, &seen};
    struct address_range other;
    atomic_store(&has_seen, true);
    while (address_map_add(&seen, &range) == CLS_ERROR_OVERLAP) {
        const bool is_before = address_map_before(&seen, range.start, &other) &&
                               address_range_has(&other, range.start);
        if (!is_before && !address_map_behind(&seen, range.start, &other))
            return;
        address_map_remove(&seen, other.start);
    }
}

/* The part of a range that is yet to be found hidden. */
struct sought {
    uintptr_t start, end;
};

/* Mappings of one kind may lie side by side. */
static bool is_hidden(void *arg, uintptr_t start, uintptr_t end, bool hidden) {
    struct sought *sought = arg;
    if (start > sought->start || !hidden)
        return false;
    note_seen(start, end);
    sought->start = end;
    return sought->start < sought->end;
}

static bool is_in_one_seen(uintptr_t start, size_t bytes) {
    struct address_range range;
    return address_map_find(&seen, start, &range) && bytes <= range.bytes - (start - range.start) &&
           !pages_can_read(start) && !pages_can_read(start + bytes - 1);
}

/* A mapping seen before is believed by its first and its last byte. */
bool hidden_has(uintptr_t start, size_t bytes) {
    if (bytes > UINTPTR_MAX - start)
        return false;
    if (is_in_one_seen(start, bytes))
        return true;
    struct sought sought = {start, start + bytes};
    return pages_visit(start, is_hidden, &sought) && sought.start >= sought.end;
}
