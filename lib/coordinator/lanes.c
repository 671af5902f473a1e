/* SPDX-License-Identifier: MIT */
#include "coordinator/lanes.h"

#include <stdlib.h>

#include "base/ring.h"

enum { FIRST_CAPACITY = 4 };

static struct mark *mark_at(const struct lane *lane, unsigned i) {
    return &lane->ring[(lane->first + i) & (lane->capacity - 1)];
}

struct lane *lanes_find(const struct lanes *lanes, const void *key) {
    for (unsigned i = 0; i < lanes->count; i++)
        if (lanes->items[i].key == key)
            return &lanes->items[i];
    return NULL;
}

struct lane *lanes_open(struct lanes *lanes, void *key, bool *made) {
    struct lane *known = lanes_find(lanes, key);
    *made = false;
    if (known)
        return known;
    if (lanes->count == lanes->capacity) {
        unsigned capacity = lanes->capacity ? 2 * lanes->capacity : 1;
        struct lane *grown = realloc(lanes->items, capacity * sizeof *grown);
        if (!grown)
            return NULL;
        lanes->items = grown;
        lanes->capacity = capacity;
    }
    struct lane *lane = &lanes->items[lanes->count++];
    *lane = (struct lane){.key = key};
    *made = true;
    return lane;
}

void lanes_close(struct lanes *lanes, struct lane *lane) {
    free(lane->ring);
    *lane = lanes->items[--lanes->count];
}

void lanes_free(struct lanes *lanes) {
    for (unsigned i = 0; i < lanes->count; i++)
        free(lanes->items[i].ring);
    free(lanes->items);
}

static bool grow(struct lane *lane) {
    unsigned capacity = lane->capacity ? 2 * lane->capacity : FIRST_CAPACITY;
    struct mark *ring =
        ring_grown(lane->ring, sizeof *ring, lane->capacity, lane->first, lane->count, capacity);
    if (!ring)
        return false;
    free(lane->ring);
    lane->ring = ring;
    lane->capacity = capacity;
    lane->first = 0;
    return true;
}

bool lane_claim(struct lane *lane, uint64_t value) {
    if (lane->count + lane->claims == lane->capacity && !grow(lane))
        return false;
    lane->claims++;
    lane->claimed = value;
    return true;
}

/* Claims are settled in any order, so what a waived one had claimed is known to be free only behind the last. */
static void forget_claims(struct lane *lane) {
    const struct mark *last = lane_back(lane);
    if (!lane->claims)
        lane->claimed = last ? last->value : 0;
}

static void take_out(struct lane *lane, unsigned i) {
    for (; i + 1 < lane->count; i++)
        *mark_at(lane, i) = *mark_at(lane, i + 1);
    lane->count--;
}

/* In its place by position: one that comes no later with no less leaves nothing to the others. There is room. */
static void put_mark(struct lane *lane, uint64_t position, uint64_t value) {
    unsigned at = lane->count;
    while (at && mark_at(lane, at - 1)->position > position)
        at--;
    if (at && mark_at(lane, at - 1)->value >= value)
        return;
    if (at && mark_at(lane, at - 1)->position == position)
        take_out(lane, --at);
    while (at < lane->count && mark_at(lane, at)->value <= value)
        take_out(lane, at);
    for (unsigned i = lane->count++; i > at; i--)
        *mark_at(lane, i) = *mark_at(lane, i - 1);
    *mark_at(lane, at) = (struct mark){position, value};
}

void lane_settle(struct lane *lane, uint64_t position, uint64_t value) {
    lane->claims--;
    put_mark(lane, position, value);
    forget_claims(lane);
}

void lane_waive(struct lane *lane) {
    lane->claims--;
    forget_claims(lane);
}

const struct mark *lane_front(const struct lane *lane) {
    return lane->count ? mark_at(lane, 0) : NULL;
}

const struct mark *lane_back(const struct lane *lane) {
    return lane->count ? mark_at(lane, lane->count - 1) : NULL;
}

void lane_pop(struct lane *lane) {
    lane->first = (lane->first + 1) & (lane->capacity - 1);
    lane->count--;
}

const struct mark *lane_reaching(const struct lane *lane, uint64_t value) {
    unsigned low = 0, high = lane->count;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (mark_at(lane, middle)->value < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < lane->count ? mark_at(lane, low) : NULL;
}
