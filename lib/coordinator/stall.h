/* SPDX-License-Identifier: MIT */
/*
 * Finds streams that can never move on. A pure data structure: streams are keys, numbered as they come.
 *
 * A stream is a list of items at rising positions and passes them in order; it passes an item once all needs
 * of the item are met. A need is met
 *
 *   - when its stream has passed the need's position, that is all items up to it;
 *   - or, if user code may meet it (a host function could signal), when its stream has passed an item that is user
 *     code.
 *
 * Only items added count: a stream without items has passed everything. stall_solve lets all streams run as
 * far as they can, whatever is called later. A stream that is left is stuck for good, and its unmet needs
 * lead to a cycle. Solving takes time linear in items and needs: a stuck stream is tried again only when the
 * one it waits for has moved.
 *
 * Streams are explored only as far as they are needed: stall_next_wanted names the items to add next. A
 * function that adds fails without memory; the stall is useless then.
 */
#ifndef CLSTREAM_COORDINATOR_STALL_H
#define CLSTREAM_COORDINATOR_STALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STALL_NONE = UINT32_MAX };

struct stall_need {
    uint32_t stream;
    bool user_code;       /* user code of that stream may meet it */
    bool needs_user_code; /* after stall_solve: only user code met it */
    uint64_t position;
    void *tag; /* of the caller: what is waited for, and its value */
    uint64_t value;
};

struct stall_item {
    uint64_t position;
    bool user_code;
    const char *label; /* NULL: not submitted yet, so it may still get more needs */
    uint32_t first_need, n_needs;
    uint32_t next; /* of the stream, or STALL_NONE */
};

struct stall_stream {
    void *key;
    uint64_t wanted;      /* the highest position that a need names */
    uint64_t known;       /* items up to it are added */
    uint32_t first, last; /* items */
    uint32_t at;          /* the next item to pass; STALL_NONE: all are passed */
    uint32_t met;         /* how many of that item's needs are met, from the first on */
    uint32_t stuck;       /* the first stream that is stuck on this one, or STALL_NONE */
    uint32_t link;        /* the next in the row, or the next stuck on the same stream */
    bool in_row;          /* items of it are wanted */
    bool
        user_code_known; /* user code is among the items that are sure to be passed, and not added */
    bool user_code;      /* has passed user code */
};

/* A queue of streams, by their links; `last` is valid while `n` is not 0. */
struct stall_row {
    uint32_t first, last, n;
};

/* All zero is empty. */
struct stall {
    /* While solving, what may meet a need besides items: nothing, later calls, or user code too. */
    enum stall_trust { STALL_FIRM, STALL_CALLS, STALL_USER_CODE } trust;
    struct stall_stream *streams;
    struct stall_item *items;
    struct stall_need *needs;
    uint32_t *numbers;    /* of streams, plus 1, by their keys' hashes; 0: none */
    struct stall_row row; /* streams whose items are wanted; while solving, streams to try */
    uint32_t n_streams, n_items, n_needs, n_numbers;
    uint32_t room_streams, room_items, room_needs;
};

void stall_free(struct stall *stall);

/* The number of a key; STALL_NONE without memory. `*made` says whether it is new. */
uint32_t stall_stream(struct stall *stall, void *key, bool *made);

/* Appends an item to a stream, at a position above those it has. */
bool stall_add_item(struct stall *stall, uint32_t stream, uint64_t position, bool user_code,
                    const char *label);

/* Adds a need to the item added last; its stream's items up to the position are wanted from now on. */
bool stall_add_need(struct stall *stall, struct stall_need need);

/* The next stream whose items at `known` < position <= `wanted` are to be added, or STALL_NONE. The caller sets
 * `known`. */
uint32_t stall_next_wanted(struct stall *stall);

void stall_solve(struct stall *stall);

/* Like stall_solve, but trusts neither later calls (needs for the position UINT64_MAX) nor user code: what a
 * stream passes, it is sure to pass. */
void stall_solve_firmly(struct stall *stall);

/* After stall_solve_firmly: the position of the last submitted item that the stream has passed; 0: none. */
uint64_t stall_firm_position(const struct stall *stall, uint32_t stream);

/* After stall_solve: the first unmet need of the stream's next item, or NULL when it has passed all. */
const struct stall_need *stall_unmet(const struct stall *stall, uint32_t stream);

/* After stall_solve: a stream of the cycle that a stuck stream's unmet needs lead to. */
uint32_t stall_cycle(const struct stall *stall, uint32_t stream);

#endif
