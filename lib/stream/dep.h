/* SPDX-License-Identifier: MIT */
/*
 * Dependencies: what a command waits for besides the work before it in its stream. A dependency names a
 * position of another stream, a value of a gate, or a cl_event, of the user's for the most part. Where the work of a
 * stream is to open a gate it names both: it is over as that work is, and fails as either does.
 */
#ifndef CLSTREAM_STREAM_DEP_H
#define CLSTREAM_STREAM_DEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clstream/status.h>

#include "base/rare.h"
#include "driver/cl.h"

struct event_ref;
struct stream;
struct failure;
struct gate;

struct dep {
    struct stream *stream; /* retained; NULL: a gate's value, or the event is the user's own */
    struct gate *gate;     /* retained; NULL: no gate. One without a stream has no event */
    uint64_t position;     /* in that stream */
    union {
        uint64_t value; /* of that gate */
        /* Without a gate: the position of the waiting stream that the event waits for already; 0: none */
        uint64_t covers;
    };
    /* Held, of the event; NULL: the position was not with the driver when looked at, or the driver waits for
     * it already. */
    struct event_ref *event_ref;
    uint32_t since; /* how often the gate had failed when the wait was taken */
    bool hinted;    /* the event's callback is set, to kick the engine */
    /* What becomes of the work is nothing to the waiter. The driver, which passes failures on, is not to wait for
     * that of a stream; an event is of a launch that is to pass first (cross_context_hold.h). */
    bool order_only;
};

enum { DEPS_INLINE = 2 };

/* A small set; all zero is the empty one. Moved by plain assignment, the source then being cleared with
 * deps_forget. At most one entry a stream, gate, or both: the later position covers the earlier. */
struct deps {
    unsigned count;
    unsigned capacity; /* of the heap array; 0: inline */
    union {
        struct dep here[DEPS_INLINE];
        struct dep *heap;
    } u;
};

static inline struct dep *deps_items(struct deps *deps) {
    return deps->capacity ? deps->u.heap : deps->u.here;
}

/* Adds `dep`, taking over its references. CLS_ERROR_OUT_OF_MEMORY leaves the set as it was and the
 * references with the caller. */
cls_status deps_add(struct deps *deps, const struct dep *dep);

/* The same of a source that the set is known not to have, without a look for it. */
cls_status deps_add_other(struct deps *deps, const struct dep *dep);

/* Has a dependency on a gate name the work that is to open it, too; takes over the references of `work`. */
void dep_take_work(struct dep *dep, const struct dep *work);

/* Whether what it names is over, well or not. Fit for being called under a stream's lock. */
bool dep_is_over(const struct dep *dep);

/* Whether one outlives a failure of who waits: what is over does not, and of what has failed only the end is waited
 * for, since work before the failure may be under way still. */
bool dep_outlives(struct dep *dep);

/* A copy with references of its own, for one who only asks whether it is over. */
struct dep dep_to_ask(const struct dep *dep);

/* The recorded failure behind a dependency, or NULL; never of a user's own event. */
const struct failure *dep_failure(const struct dep *dep);

/* Of one that is an event alone: positive while pending, negative when it failed and that is something to the
 * waiter. */
cl_int dep_event_outcome(const struct dep *dep);

/* That of the first dependency that has failed, or NULL. */
const struct failure *deps_first_failure(struct deps *deps);
static inline const struct failure *deps_failure(struct deps *deps) {
    return deps->count ? deps_first_failure(deps) : NULL;
}

/* Empties a set whose contents were moved. */
static inline void deps_forget(struct deps *deps) { deps->count = deps->capacity = 0; }

/* Moves the contents of `from`, which is empty afterwards, over those of `to`. */
static inline void deps_move(struct deps *to, struct deps *from) {
    to->count = from->count;
    to->capacity = from->capacity;
    if (RARELY(from->capacity))
        to->u.heap = from->u.heap;
    for (unsigned i = 0; !from->capacity && i < from->count; i++)
        to->u.here[i] = from->u.here[i];
    deps_forget(from);
}

/* Drops the events: the driver keeps those that a command waits for, and their flights keep them. */
void deps_drop_events(struct deps *deps);

/* Drops the references and empties the set. */
void deps_clear(struct deps *deps);

/* Drops the references of one dependency. */
void dep_release(const struct dep *dep);

/* Whether nothing that it names is still to come. */
bool deps_are_over(struct deps *deps);

/* The position of `stream` that the set waits for; 0: none. */
uint64_t deps_position_of(struct deps *deps, const struct stream *stream);

/* A stream whose work, which the set waits for, has not retired: it is polled before the outcome of the waiting command is
 * known. NULL when all of it has retired. Not retained. */
struct stream *deps_unretired(struct deps *deps);

/* Removes entry i. */
void deps_remove(struct deps *deps, unsigned i);

#endif
