/* SPDX-License-Identifier: MIT */
/* What the files of the race checker share; all of it under its lock. */
#ifndef CLSTREAM_CHECK_RACE_STATE_H
#define CLSTREAM_CHECK_RACE_STATE_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "check/race.h"
#include "check/race_clock.h"
#include "check/race_shadow.h"

struct context;
struct race_op;
struct race_known;
struct race_source;

/* A stream as the checker knows it; it outlives the stream while accesses of it are remembered, or things
 * that it was told of are kept. */
struct race_stream {
    UT_hash_handle hh;
    uint64_t id;
    char name[64];
    const struct context *context; /* compared only: it may be gone */
    unsigned holds;    /* the stream's own, one for each access, thing kept and running function */
    uint64_t told;     /* the last position that was told of */
    uint64_t followed; /* and the last one followed */
    struct race_clock clock; /* for the next command to be followed */
    struct race_clock frees; /* the positions that its frees wait for besides */
    bool changed;            /* `clock`, since the last command */
    bool waits;              /* a wait was told of since the last command */
    struct race_history history;
    struct race_op *kept;                /* told and not followed yet, in the stream's order */
    struct race_stream *previous, *next; /* of those that have some */
};

/* --- what a stream is told of (check/race_follow.c) --- */

enum race_kind { RACE_COMMAND, RACE_WAIT, RACE_WAIT_SIGNAL, RACE_SIGNAL, RACE_BEGIN, RACE_END };

struct race_op {
    struct race_op *prev, *next;   /* of the stream's */
    struct race_op *older, *newer; /* of all that are kept */
    struct race_stream *by;        /* held while it is kept */
    struct race_known *known;      /* what the host knew; NULL: what it knows now */
    enum race_kind kind;
    uint64_t position; /* a wait's is the one of the command to come */
    union {
        struct { /* of memory that begins or ends: the label, and its bytes */
            const char *label;
            bool runs_user_code;
            struct touches touches; /* the op's own */
        } command;
        struct {
            struct race_stream *stream;
            uint64_t position;
        } wait;
        struct {
            struct race_source *source;
            uint64_t value;
        } signal;
    } u;
};

/* Follows it at once, or keeps it; takes over what a command touches. */
void race_tell(const struct race_op *op);

/* Follows what a signal was kept for. */
void race_follow_all(void);

/* The stream's position is reached, whatever was ahead of it. */
void race_reach(struct race_stream *by, uint64_t position);
void race_reach_context(const struct context *context);

/* What is kept touches these bytes no more: their memory goes. NULL: host memory, by its addresses. */
void race_forget_kept(cl_mem root, size_t start, size_t end);

/* What the host knew when the oldest thing that is kept was told; what it knows now where none is. */
const struct race_clock *race_floor(void);
bool race_keeps(void);

/* The ticks that say more than the floor, of streams that there still are. */
bool race_is_news(void *unused, const struct tick *tick);

/* --- streams (check/race.c) --- */

/* What any thread has learned to be done. */
extern struct race_clock race_known;

/* The record of a stream, or NULL without memory: then nothing is known of it, and nothing found. */
struct race_stream *race_know(struct stream *stream);

/* The record by its id, or NULL. */
struct race_stream *race_find(uint64_t id);

/* Raises a clock to all that comes before the end of (by, position). */
void race_learn(struct race_clock *clock, const struct race_stream *by, uint64_t position);

/* Raises it to all that was told so far: for what comes after something that is not known. */
void race_learn_all(struct race_clock *clock);

/* The command whose user code this thread runs; false: none. */
bool race_actor(struct race_stream **by, uint64_t *position);

/* A reference more or less; the last one frees the record. */
void race_hold(struct race_stream *by, int more);

/* Not well: what orders accesses could not be remembered for want of memory. What it ordered is not known, so
 * that nothing is compared, and no access remembered, until every stream that there is now is gone. */
void race_note(bool well);
bool race_has_lost(void);

/* --- values that are signalled (check/race_signal.c) --- */

struct race_source *race_source_hold(struct race_source *source);
void race_source_drop(struct race_source *source);

/* Whether the value has been signalled; and raises the clock to what comes before that. */
bool race_source_reaches(const struct race_source *source, uint64_t value);
void race_source_learn(struct race_clock *clock, const struct race_source *source, uint64_t value);

/* The value is signalled behind (by, position), or at once where `by` is NULL, by a call of a host that knew
 * that much. */
void race_source_raise(struct race_source *source, uint64_t value, const struct race_stream *by,
                       uint64_t position, const struct race_clock *known);

/* --- accesses (check/race_memory.c) --- */

/* Who accesses, and what it comes after. */
struct race_visitor {
    struct race_stream *by; /* NULL: a thread of the program */
    uint64_t position;
    const char *label;
    const struct race_clock *clock; /* may be NULL */
    const struct race_clock *known; /* what the host knew; not asked when it is late */
    bool late;                      /* what was submitted before may come after it */
};

/* Compares all that is touched with what is known, enters it, and reports. */
void race_visit(const struct race_visitor *visitor, const struct touches *touches);

void race_forget_bytes(cl_mem root, size_t start, size_t end);

/* Of all memory. */
void race_forget_all(void);

#endif
