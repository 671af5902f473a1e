/* SPDX-License-Identifier: MIT */
/*
 * Which streams can never move on. A pure data structure: streams are keys, numbered as they come. A
 * stream is a row of items at rising positions, and passes them in order; an item is passed once all
 * its needs are met. A need is met
 *
 *   - when its stream has passed the need's position: all items up to it;
 *   - or, for one that user code may meet (a host function could signal), when its stream has passed an
 *     item that is user code.
 *
 * What is not known to be in the way is not in the way: a stream without items has passed everything.
 * stall_solve lets all streams run as far as they can, whatever comes later; what is left is stuck for
 * good, and has a cycle at its end. Each look takes time by the number of items and needs: a stream that is
 * stuck is looked at again when the one that it is stuck on has moved.
 *
 * Streams are looked at as far as they are needed only: stall_next_wanted says which items are still to be
 * added. Without memory the functions that add say so, and the stall is of no more use.
 */
#ifndef CLSTREAM_COORDINATOR_STALL_H
#define CLSTREAM_COORDINATOR_STALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STALL_NONE = UINT32_MAX };

struct stall_need {
    uint32_t stream;
    bool user_code;       /* of that stream may meet it */
    bool needs_user_code; /* solved: nothing else was there to meet it */
    uint64_t position;
    void *tag; /* the caller's: what is waited for, and its value */
    uint64_t value;
};

struct stall_item {
    uint64_t position;
    bool user_code;
    const char *label; /* NULL: no command yet, so it may still get more needs */
    uint32_t first_need, n_needs;
    uint32_t next; /* of the stream, or STALL_NONE */
};

struct stall_stream {
    void *key;
    uint64_t wanted;      /* the highest position that a need names */
    uint64_t known;       /* items up to it are added */
    uint32_t first, last; /* items */
    uint32_t at;          /* the item that is not passed; STALL_NONE: all are */
    uint32_t met;         /* of that item's needs, from the first on */
    uint32_t stuck;       /* the first of those that are stuck on this one, or STALL_NONE */
    uint32_t link;        /* the next in the stall's row, or stuck on the same one */
    bool in_row;          /* of those whose items are wanted */
    bool user_code_known; /* is among what need not be added, and sure to be passed */
    bool user_code;       /* has passed some */
};

/* Streams by their links, first come first; `last` counts while `n` is not 0. */
struct stall_row {
    uint32_t first, last, n;
};

/* All zero is empty. */
struct stall {
    enum stall_trust { STALL_FIRM, STALL_CALLS, STALL_USER_CODE } trust; /* in what, while solved */
    struct stall_stream *streams;
    struct stall_item *items;
    struct stall_need *needs;
    uint32_t *numbers;    /* of streams, plus 1, by their keys' hashes; 0: none */
    struct stall_row row; /* those whose items are wanted; while solved, those that may move on */
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

/* Takes a stream whose items in `known` < position <= `wanted` are to be added now, or STALL_NONE. The caller
 * sets `known`. */
uint32_t stall_next_wanted(struct stall *stall);

void stall_solve(struct stall *stall);

/* In place of it: lets the streams run as far as they will without the needs for the position
 * UINT64_MAX, which stands for what is called later, and without user code. */
void stall_solve_firmly(struct stall *stall);

/* After that: the position of the last item, with a label, that the stream has passed; 0: none. */
uint64_t stall_firm_position(const struct stall *stall, uint32_t stream);

/* After stall_solve: the first unmet need of the stream's item, or NULL when it has passed all. */
const struct stall_need *stall_unmet(const struct stall *stall, uint32_t stream);

/* After stall_solve: follows unmet needs from a stuck stream until one comes again, and returns that: a
 * stream of the cycle. */
uint32_t stall_cycle(const struct stall *stall, uint32_t stream);

#endif
