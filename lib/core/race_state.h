/* SPDX-License-Identifier: MIT */
/* What the files of the race checker share; all of it under its lock. */
#ifndef CLSTREAM_CORE_RACE_STATE_H
#define CLSTREAM_CORE_RACE_STATE_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "core/race.h"
#include "core/race_clock.h"

struct context;

/* A stream as the checker knows it; it outlives the stream while accesses of it are remembered. */
struct race_stream {
    UT_hash_handle hh;
    uint64_t id;
    char name[64];
    const struct context *context; /* compared only: it may be gone */
    unsigned holds;          /* the stream's own, one for each access, the running functions' */
    uint64_t submitted;      /* the last position */
    struct race_clock clock; /* for the next command */
    struct race_clock frees; /* what its frees come after besides */
    bool changed;            /* `clock`, since the last command */
    uint64_t
        lost_at; /* from this position on it comes after what is not known; UINT64_MAX: nowhere */
    struct race_history history;
};

/* What any thread has learned to be done. */
extern struct race_clock race_known;

/* The record of a stream, or NULL without memory: then nothing is known of it, and nothing found. */
struct race_stream *race_know(struct stream *stream);

/* Has the stream's next command come after (by, position). */
void race_come_after(struct race_stream *stream, const struct race_stream *by, uint64_t position);

/* Raises a clock to all that comes before the end of (by, position). */
void race_learn(struct race_clock *clock, const struct race_stream *by, uint64_t position);

/* What the host has learned comes after something that is not known: anything submitted so far, then. */
void race_learn_all(void);

/* The command whose user code this thread runs; false: none. */
bool race_actor(struct race_stream **by, uint64_t *position);

/* The stream's next command comes after something that is not known. */
void race_lose(struct race_stream *stream);

/* A reference more or less; the last one frees the record. */
void race_hold(struct race_stream *by, int more);

/* Counts what could not be remembered for want of memory. */
void race_note(bool well);

/* Who accesses, and what it comes after. */
struct race_visitor {
    struct race_stream *by; /* NULL: a thread of the program */
    uint64_t position;
    const char *label;
    const struct race_clock *clock; /* NULL: the host's alone */
    bool late;                      /* what was submitted before may come after it */
};

/* Compares all that is touched with what is known, enters it, and reports. */
void race_visit(const struct race_visitor *visitor, const struct race_touches *touches);

#endif
