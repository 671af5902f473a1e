/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* process_vm_readv */
#include "base/hidden.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/address_map.h"
#include "base/rare.h"

/* Mappings without rights that were seen. They may have rights by now, so that each use asks again. */
static struct address_map seen;
ASKED static _Atomic bool has_seen;

/* A read that the system does for the process, which fails where a load would end it. */
static bool can_read(uintptr_t address) {
    char byte;
    const struct iovec to = {&byte, 1}, from = {(void *)address, 1};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1;
}

bool hidden_is_readable(uintptr_t start, size_t bytes) {
    return can_read(start) && can_read(start + bytes - 1);
}

bool hidden_was_seen(uintptr_t address) {
    struct address_range range;
    return atomic_load_explicit(&has_seen, memory_order_relaxed) &&
           address_map_find(&seen, address, &range);
}

/* --- the system's list of mappings --- */

struct mapped {
    uintptr_t start, end;
    char rights[5];
};

/* False at the end. */
static bool read_mapped(FILE *list, struct mapped *out) {
    char line[512];
    bool whole = true, is_first = true;
    do {
        if (!fgets(line, sizeof line, list))
            return false;
        if (is_first &&
            sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &out->start, &out->end, out->rights) != 3)
            return false;
        is_first = false;
        whole = strchr(line, '\n') != NULL;
    } while (!whole);
    return true;
}

/* A mapping that overlaps with one seen before takes its place: mappings join and are cut. */
static void note_seen(const struct mapped *mapped) {
    const struct address_range range = {mapped->start, mapped->end - mapped->start, &seen};
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

/* Mappings of one kind may lie side by side. */
static bool maps_hide(FILE *list, uintptr_t start, uintptr_t end) {
    struct mapped mapped;
    while (start < end && read_mapped(list, &mapped)) {
        if (mapped.end <= start)
            continue;
        if (mapped.start > start || strncmp(mapped.rights, "---", 3))
            return false;
        note_seen(&mapped);
        start = mapped.end;
    }
    return start >= end;
}

static bool is_in_one_seen(uintptr_t start, size_t bytes) {
    struct address_range range;
    return address_map_find(&seen, start, &range) && bytes <= range.bytes - (start - range.start) &&
           !can_read(start) && !can_read(start + bytes - 1);
}

/* A mapping seen before is believed by its first and its last byte. */
bool hidden_has(uintptr_t start, size_t bytes) {
    if (bytes > UINTPTR_MAX - start)
        return false;
    if (is_in_one_seen(start, bytes))
        return true;
    FILE *list = fopen("/proc/self/maps", "re");
    if (!list)
        return false;
    const bool has = maps_hide(list, start, start + bytes);
    fclose(list);
    return has;
}
