/* SPDX-License-Identifier: MIT */
/*
 * Gates: what a stream may wait for that is no position of another stream, or not yet. A gate opens by
 * value: a dependency on it (stream/dep.h) names a value, and commands behind a closed gate stay in the
 * FIFO, never with the driver. What opens a gate calls engine_kick; what is outside of the library (api/outside_wait.h)
 * is looked at with each tick of the engine.
 */
#ifndef CLSTREAM_STREAM_GATE_H
#define CLSTREAM_STREAM_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/handle.h"

struct dep;
struct failure;
struct stream;
struct text;

enum gate_answer {
    GATE_SHUT,
    GATE_OPEN, /* or failed: gate_failure tells */
    GATE_VIA   /* it opens with work that is with the driver: `via` */
};

struct gate;

struct gate_type {
    /* Looks for the command of `waiter` at `position`; called without locks. `via` is retained. */
    enum gate_answer (*look)(struct gate *gate, uint64_t value, const struct stream *waiter,
                             uint64_t position, struct dep *via);
    /* Whether it is open or failed by now; fit for being called under a stream's lock. */
    bool (*is_over)(struct gate *gate, uint64_t value);
    /* Says what a wait for the value waits for. As is_over. */
    void (*describe)(struct gate *gate, uint64_t value, struct text *text);
    /* The streams that could open it, one a call, retained; `*cursor` is 0 at first. `*position`: the command of the
     * stream that it opens with, 0: none that is submitted. As is_over. */
    struct stream *(*source)(struct gate *gate, uint64_t value, unsigned *cursor,
                             uint64_t *position);
};

/* The first member of whatever is a gate. */
struct gate {
    struct object object;
    const struct gate_type *type;
    _Atomic(struct failure *) failures; /* ranges of values, newest first; never removed */
};

/* The failure behind a value, or NULL; needs no lock. */
const struct failure *gate_failure(const struct gate *gate, uint64_t value);

/* The number of failures so far. A wait keeps the number from its beginning, and gate_failure_since returns the failure
 * behind a value for such a wait: one that a reset has cleared meanwhile still counts. */
uint32_t gate_failures(const struct gate *gate);
const struct failure *gate_failure_since(const struct gate *gate, uint64_t value, uint32_t since);

#endif
