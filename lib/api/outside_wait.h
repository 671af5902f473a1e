/* SPDX-License-Identifier: MIT */
/*
 * Waits of streams for what nobody tells the library about: memory that changes, a record in another process. A wait is a
 * gate (stream/gate.h) of its own, which the engine looks at while it holds up its stream's FIFO.
 */
#ifndef CLSTREAM_API_OUTSIDE_WAIT_H
#define CLSTREAM_API_OUTSIDE_WAIT_H

#include <clstream/stream.h>

#include "stream/gate.h"

/* An element in a buffer's memory, and the condition that it is to meet. */
struct element {
    size_t offset, bytes;
    uint64_t value, mask;
    cls_value_condition condition;
};

struct outside_wait {
    struct gate gate;
    struct object *awaited; /* a buffer or a shared event, retained */
    union {
        struct element element; /* of the buffer */
        uint64_t record;        /* the number of one of the event's */
    } u;
    _Atomic bool
        is_met; /* the stream has passed: what the memory holds later is nothing to this wait */
};

static inline struct outside_wait *outside_wait_of(struct gate *gate) {
    return (struct outside_wait *)(void *)gate;
}

/* Retains `awaited`. The caller fills in the union. */
cls_status outside_wait_new(const struct gate_type *type, struct object *awaited,
                            struct outside_wait **out);

/* Has later work of the stream wait. Takes over the wait in every case. */
cls_status outside_wait_begin(struct outside_wait *wait, struct stream *stream);

/* The source of such a gate: no stream. */
struct stream *outside_wait_source(struct gate *gate, uint64_t unused, unsigned *cursor,
                                   uint64_t *position);

#endif
