/* SPDX-License-Identifier: MIT */
/*
 * What the contract says of a run, without a call of the library: the value of every cell and whether a
 * stream, an event or a value of a timeline has failed. All follows from the order in which the calls are made
 * on each object, so that whoever makes one holds that object's lock from the call to the change here.
 *
 * A failure is seen some time after its call: of what has failed here the library may still say that it is
 * pending, and take submissions; it may never say that it went well, nor of the rest that it failed.
 */
#ifndef CLSTREAM_TESTS_MODEL_H
#define CLSTREAM_TESTS_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include <clstream/status.h>

enum { CELLS = 64, ROW = 8 };

struct lane_model {
    uint32_t cells[CELLS];
    uint32_t host;   /* changed by host functions */
    uint64_t stream; /* which one of all that were ever made */
    /* The failures that poison the stream; 0: healthy. After the first, others may be seen only after a reset:
     * a wait that has been taken is kept, unless it is known by then to have failed. */
    unsigned causes;
    /* One of the others is a wait for a timeline: whether it outlives a reset is not said, not even where the
     * work behind its signal is known to have failed. */
    bool unsure;
};

struct mark_model {
    bool recorded, failed;
    uint64_t stream;
};

/* Of a timeline that one lane signals. */
struct timeline_model {
    uint64_t value; /* signalled, if perhaps not reached yet */
    uint64_t floor; /* the lowest value of which more is said here */
    uint64_t well;  /* the highest that is reached well */
    bool failed;    /* all above `well` are not */
};

enum model_cause { CAUSE_OWN, CAUSE_EVENT, CAUSE_TIMELINE };

static inline bool model_is_well(const struct lane_model *lane) { return !lane->causes; }
void model_poison(struct lane_model *lane, enum model_cause cause);
void model_reset(struct lane_model *lane);

/* What commands do to the cells; nothing on a poisoned stream. */
void model_advance(struct lane_model *lane, unsigned i, unsigned n, uint32_t factor, uint32_t add);
void model_sort(struct lane_model *lane, unsigned i, unsigned n, bool descending);
void model_mix(struct lane_model *to, unsigned i, const uint32_t *from, unsigned n,
               uint32_t factor);
void model_write(struct lane_model *lane, unsigned i, const uint32_t *words, unsigned n);
void model_fill(struct lane_model *lane, unsigned i, unsigned n, uint32_t value);

void model_record(struct mark_model *mark, const struct lane_model *lane);
/* Whether the contract says what a wait comes to: not of a stream for its own work that failed. */
bool model_may_wait(const struct lane_model *lane, const struct mark_model *mark);
void model_wait(struct lane_model *lane, const struct mark_model *mark);

void model_signal(struct timeline_model *timeline, uint64_t value, const struct lane_model *lane);
bool model_value_fails(const struct timeline_model *timeline, uint64_t value);

/* The answers that are right: to a submission, to a question, and to a wait that has ended. */
bool model_takes(const struct lane_model *lane, cls_status status);
bool model_answers(bool failed, cls_status status);
bool model_ends(bool failed, cls_status status);

#endif
