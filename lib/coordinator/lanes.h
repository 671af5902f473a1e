/* SPDX-License-Identifier: MIT */
/*
 * The queued signals of a timeline: for each stream that has any a lane, a ring of marks (position in the
 * stream, value) that rise in both. A pure data structure: a stream is a key. The caller locks.
 *
 * A signal claims its value before its position is known: lane_claim, then lane_settle.
 */
#ifndef CLSTREAM_COORDINATOR_LANES_H
#define CLSTREAM_COORDINATOR_LANES_H

#include <stdbool.h>
#include <stdint.h>

struct mark {
    uint64_t position, value;
};

struct lane {
    void *key;
    struct mark *ring;
    unsigned capacity; /* a power of two, or 0 */
    unsigned first, count;
    unsigned claims;  /* room for so many more is kept */
    uint64_t claimed; /* the highest value so far, marks to come included */
};

/* All zero is none. A pointer to a lane holds until another lane is opened or closed. */
struct lanes {
    struct lane *items;
    unsigned count, capacity;
};

/* The lane of a key, or NULL. */
struct lane *lanes_find(const struct lanes *lanes, const void *key);

/* The same, made when there is none; NULL without memory. `*made` says which. */
struct lane *lanes_open(struct lanes *lanes, void *key, bool *made);

/* Closes a lane that has neither marks nor claims; the last one takes its place. */
void lanes_close(struct lanes *lanes, struct lane *lane);

void lanes_free(struct lanes *lanes);

/* Claims a value above `claimed`; false without memory. */
bool lane_claim(struct lane *lane, uint64_t value);

/* Ends the claim: with a mark, or without. Claims are settled in any order. */
void lane_settle(struct lane *lane, uint64_t position, uint64_t value);
void lane_waive(struct lane *lane);

/* The oldest mark, or NULL; and its removal. */
const struct mark *lane_front(const struct lane *lane);
void lane_pop(struct lane *lane);

/* The newest mark, or NULL. */
const struct mark *lane_back(const struct lane *lane);

/* The first mark whose value is at least `value`, or NULL. */
const struct mark *lane_reaching(const struct lane *lane, uint64_t value);

#endif
