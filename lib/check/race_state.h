/* SPDX-License-Identifier: MIT */
/* Data and functions common to the files of the race checker; all of it under the checker's lock. */
#ifndef CLSTREAM_CHECK_RACE_STATE_H
#define CLSTREAM_CHECK_RACE_STATE_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "check/race.h"
#include "check/race_clock.h"
#include "check/race_shadow.h"

struct context;
struct race_memory;
struct race_node;
struct race_op;
struct race_pending;
struct race_known;
struct race_source;

/* Pending commands that use host memory, or may. The downloads and the user code may write it. */
enum { RACE_UPLOADS, RACE_DOWNLOADS, RACE_USER_CODE, RACE_PENDING_KINDS };

/* The checker's record of a stream. It outlives the stream while accesses of the stream are recorded, or operations of
 * it are kept. */
struct race_stream {
    UT_hash_handle hh;
    uint64_t id;
    char name[64];
    const struct context *context; /* compared only: it may be gone */
    unsigned holds; /* references: the stream, each access, kept operation and running function */
    uint64_t last_reported;  /* the last position reported */
    uint64_t followed;       /* the last position followed */
    struct race_clock clock; /* for the next command to be followed */
    struct race_clock frees; /* further positions that its frees wait for */
    bool changed;            /* `clock` has changed since the last command */
    struct race_stream
        *part_of; /* the stream of the command that its commands are parts of, or NULL */
    uint64_t part_position;
    bool waits; /* a wait was reported since the last command */
    struct race_history history;
    struct race_op *kept;                /* reported and not followed yet, in the stream's order */
    struct race_stream *previous, *next; /* list of the streams with kept operations */
    struct race_pending *pending[RACE_PENDING_KINDS]; /* by position (check/race_host.c) */
};

/* --- operations reported for a stream (check/race_follow.c) --- */

enum race_kind { RACE_COMMAND, RACE_WAIT, RACE_WAIT_SIGNAL, RACE_SIGNAL, RACE_BEGIN, RACE_END };

struct race_op {
    struct race_op *prev, *next;   /* in the stream's list */
    struct race_op *older, *newer; /* in the list of all kept operations */
    struct race_stream *by;        /* held while the operation is kept */
    struct race_known *known;      /* the host's clock at the report; NULL: the present one */
    enum race_kind kind;
    uint64_t position; /* a wait's is that of the next command */
    union {
        struct { /* for RACE_BEGIN and RACE_END too: `touches` is the memory's bytes */
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

/* Processes an operation: follows it at once, or keeps it. Takes over its touches. */
void race_process(const struct race_op *op);

/* Follows all kept operations that are ready, after a signal. */
void race_follow_all(void);

/* The host has seen the stream's position reached: kept waits up to it are given up. */
void race_reach(struct race_stream *by, uint64_t position);
void race_reach_context(const struct context *context);

/* The memory of these bytes is released: kept operations drop their touches of it. NULL: host memory, by address. */
void race_forget_kept(cl_mem root, size_t start, size_t end);

/* The host's clock when the oldest kept operation was reported; its present clock if none is kept. */
const struct race_clock *race_floor(void);
bool race_keeps(void);

/* A filter: keeps ticks that are beyond the floor and whose stream still has a record. */
bool race_is_news(void *unused, const struct tick *tick);

/* --- streams (check/race.c) --- */

/* The host's clock: the work that any thread has learned to be done. */
extern struct race_clock race_known;

/* Finds or makes the record of a stream. NULL without memory: the stream is then not checked. */
struct race_stream *race_know(struct stream *stream);

/* The record by its id, or NULL. */
struct race_stream *race_find(uint64_t id);

/* Raises a clock to all that comes before the end of (by, position). */
void race_learn(struct race_clock *clock, const struct race_stream *by, uint64_t position);

/* Raises a clock to all positions reported so far: for work whose predecessors are not known. */
void race_learn_all(struct race_clock *clock);

/* The command whose user code this thread runs; false: none. */
bool race_actor(struct race_stream **by, uint64_t *position);

/* A reference more or less; the last one frees the record. */
void race_hold(struct race_stream *by, int more);

/* `well` false: an order was lost for want of memory. Since races would be reported that are none, nothing is compared
 * and no access recorded until no stream is left. */
void race_note(bool well);
bool race_has_lost(void);

/* --- values that are signalled (check/race_signal.c) --- */

struct race_source *race_source_hold(struct race_source *source);
void race_source_drop(struct race_source *source);

/* race_source_reaches: whether the value has been signalled. race_source_learn: raises the clock to all that comes
 * before the value's signal. */
bool race_source_reaches(const struct race_source *source, uint64_t value);
void race_source_learn(struct race_clock *clock, const struct race_source *source, uint64_t value);

/* The value is signalled behind (by, position), or at once where `by` is NULL; `known` is the host's clock at the
 * call. */
void race_source_raise(struct race_source *source, uint64_t value, const struct race_stream *by,
                       uint64_t position, const struct race_clock *known);

/* --- accesses (check/race_memory.c) --- */

/* The accesses to all buffers and to host memory. All zero is the empty one. */
struct race_shadows {
    struct race_memory *memories;
    struct race_shadow host;
};

/* The origin of an access, and what it comes after. */
struct race_visitor {
    struct race_stream *by; /* NULL: a thread of the program */
    uint64_t position;
    const char *label;
    const struct race_clock *clock; /* may be NULL */
    const struct race_clock *known; /* the host's clock; ignored if `late` */
    bool late; /* declared while the command runs: accesses recorded before may come after it */
    bool
        behind; /* behind the command of that position: what waits for that does not come after it */
    /* Of a graph's node; NULL of all else: */
    const struct race_node *nodes; /* the one at hand is that of `position`, counted from 1 */
    const bool *before;            /* of each node: the one at hand comes after it */
    struct race_shadows *shadows;  /* the graph's own */
};

/* Compares all touches with the recorded accesses, records them, and reports races. */
void race_visit(const struct race_visitor *visitor, const struct touches *touches);

void race_forget_bytes(cl_mem root, size_t start, size_t end);

/* Forgets the accesses to all memory. */
void race_forget_all(void);
void race_shadows_clear(struct race_shadows *shadows);

#endif
