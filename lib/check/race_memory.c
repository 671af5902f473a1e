/* SPDX-License-Identifier: MIT */
/* The shadows of all buffers and of host memory, and the rules by which a new access is compared with those recorded. */
#include <stdlib.h>
#include <string.h>

#include "check/race_host.h"
#include "check/race_report.h"
#include "check/race_state.h"
#include "driver/shareable.h"
#include "memory/buffer.h"

/* MAX_SEGMENTS: a buffer in more pieces with different accesses, none settled, is forgotten. MAX_PAIRS: most
 * races reported for one command. */
enum { MAX_SEGMENTS = 1 << 16, MAX_PAIRS = 16 };

/* The shadow of a driver's buffer. */
struct race_memory {
    UT_hash_handle hh;
    cl_mem root;
    struct race_shadow shadow;
};

static struct race_shadows shadows;

/* The comparison of one access with a shadow. */
struct shadow_visit {
    const struct race_visitor *visitor;
    const struct touch *touch;
    struct race_access access;
    struct race_finding pairs[MAX_PAIRS];
    char names[MAX_PAIRS][64];
    uint64_t streams[MAX_PAIRS];
    size_t n_pairs;
};

static bool settled(void *unused, const struct race_access *access) {
    (void)unused;
    return race_clock_at(race_floor(), access->by->id) >= access->position;
}

static bool has(const struct race_clock *clock, const struct race_access *access) {
    return clock && race_clock_at(clock, access->by->id) >= access->position;
}

/* For a late access the host's clock is ignored: the host may have learned of work since the host function was
 * submitted, which does not order that work before the function. A recorded access may come after this one: after a late
 * one, and after one that was kept until now, where a failed stream gave up its waits for it. */
static enum race_order order_of(void *context, const struct race_access *other) {
    const struct shadow_visit *visit = context;
    const struct race_visitor *visitor = visit->visitor;
    const struct race_access *access = &visit->access;
    if (visitor->before)
        return visitor->before[other->position - 1] ? RACE_BEFORE : RACE_UNORDERED;
    if (other->by == access->by)
        return other->position <= access->position ? RACE_BEFORE : RACE_AFTER;
    if (has(visitor->clock, other) || (!visitor->late && has(visitor->known, other)))
        return RACE_BEFORE;
    if (access->by && !visitor->behind &&
        has(race_history_at(&other->by->history, other->position), access))
        return RACE_AFTER;
    return RACE_UNORDERED;
}

/* Notes one finding for each pair of commands, however many bytes they share; a certain race replaces a possible one. */
static void note_pair(void *context, const struct race_access *other, size_t start, size_t end) {
    struct shadow_visit *visit = context;
    const struct race_access *access = &visit->access;
    bool possible = access->possible || other->possible;
    size_t i = 0;
    while (i < visit->n_pairs && (visit->streams[i] != other->by->id ||
                                  visit->pairs[i].first.position != other->position))
        i++;
    if (i == MAX_PAIRS || (i < visit->n_pairs && (possible || !race_is_possible(&visit->pairs[i]))))
        return;
    visit->n_pairs += i == visit->n_pairs;
    visit->streams[i] = other->by->id;
    memcpy(visit->names[i], other->by->name, sizeof visit->names[i]);
    visit->pairs[i] = (struct race_finding){
        .first = {visit->names[i], other->label, other->position, other->write, other->possible},
        .second = {access->by ? access->by->name : NULL, access->label, access->position,
                   access->write, access->possible},
        .nodes = visit->visitor->nodes,
        .host = !visit->touch->root,
        .bytes = visit->touch->bytes,
        .start = start - visit->touch->origin,
        .end = end - visit->touch->origin};
}

static struct race_shadow *shadow_of(struct race_shadows *of, cl_mem root) {
    struct race_memory *memory;
    if (!root)
        return &of->host;
    HASH_FIND_PTR(of->memories, &root, memory);
    if (memory)
        return &memory->shadow;
    memory = calloc(1, sizeof *memory);
    if (!memory)
        return NULL;
    memory->root = root;
    HASH_ADD_PTR(of->memories, root, memory);
    if (memory->hh.tbl)
        return &memory->shadow;
    free(memory);
    return NULL;
}

/* Host memory that a buffer has too is compared as that buffer's. */
static struct touch place_of(const struct touch *touch) {
    struct touch placed = *touch;
    struct memory_place place;
    size_t start;
    if (touch->root || !host_find_place((const void *)touch->span.start, &place, &start))
        return placed;
    placed.root = place.root;
    placed.bytes = place.bytes;
    placed.origin = place.origin;
    placed.span.start = start;
    return placed;
}

static void visit_one(struct shadow_visit *visit) {
    const struct race_rules rules = {visit, order_of, settled, note_pair, race_hold};
    struct race_shadows *own = visit->visitor->shadows;
    struct race_shadow *shadow = shadow_of(own ? own : &shadows, visit->touch->root);
    if (!shadow || !race_shadow_touch(shadow, &visit->touch->span, &visit->access, &rules)) {
        race_count_forgotten();
    } else if (shadow->count > MAX_SEGMENTS) {
        race_shadow_forget(shadow, 0, SIZE_MAX, &rules);
        race_count_forgotten();
    }
}

void race_visit(const struct race_visitor *visitor, const struct touches *touches) {
    if (race_has_lost())
        return;
    struct shadow_visit visit = {.visitor = visitor, .n_pairs = 0};
    visit.access = (struct race_access){
        .by = visitor->by, .position = visitor->position, .label = visitor->label};
    for (size_t i = 0; i < touches->count; i++) {
        const struct touch touch = place_of(&touches->items[i]);
        visit.touch = &touch;
        visit.access.write = visit.touch->write;
        visit.access.possible = visit.touch->possible;
        visit_one(&visit);
    }
    for (size_t i = 0; i < visit.n_pairs; i++)
        race_report(&visit.pairs[i]);
    if (touches->failed)
        race_count_forgotten();
}

static const struct race_rules forgetting = {.settled = settled, .hold = race_hold};

void race_shadows_clear(struct race_shadows *of) {
    struct race_memory *memory, *next;
    race_shadow_forget(&of->host, 0, SIZE_MAX, &forgetting);
    HASH_ITER(hh, of->memories, memory, next) {
        race_shadow_forget(&memory->shadow, 0, SIZE_MAX, &forgetting);
        HASH_DEL(of->memories, memory);
        free(memory);
    }
}

void race_forget_all(void) {
    race_host_forget_all();
    race_shadows_clear(&shadows);
}

void race_forget_bytes(cl_mem root, size_t start, size_t end) {
    struct race_memory *found;
    HASH_FIND_PTR(shadows.memories, &root, found);
    if (!found)
        return;
    race_shadow_forget(&found->shadow, start, end, &forgetting);
    if (found->shadow.count)
        return;
    HASH_DEL(shadows.memories, found);
    free(found);
}

void race_forget_memory(const struct device *device, cl_mem memory) {
    struct memory_place place;
    memory_identify(device, memory, &place);
    bool whole = place.root == memory;
    size_t start = whole ? 0 : place.origin, end = whole ? SIZE_MAX : start + place.bytes;
    race_lock();
    race_forget_kept(place.root, start, end);
    race_forget_bytes(place.root, start, end);
    race_unlock();
}

void race_forget_host(const void *memory, size_t bytes) {
    size_t start = (size_t)(uintptr_t)memory;
    race_lock();
    race_forget_kept(NULL, start, start + bytes);
    race_shadow_forget(&shadows.host, start, start + bytes, &forgetting);
    race_host_forget(start, start + bytes);
    race_unlock();
}
