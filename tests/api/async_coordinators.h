/* SPDX-License-Identifier: MIT */
/* What the tests of async coordinators share. */
#ifndef CLSTREAM_TESTS_ASYNC_COORDINATORS_H
#define CLSTREAM_TESTS_ASYNC_COORDINATORS_H

#include <clstream/async_coordinator.h>

#include "../support/rig.h"

static inline cls_async_coordinator coordinator_make(void) {
    cls_async_coordinator coordinator;
    OK(cls_async_coordinator_create(rig.context, NULL, &coordinator));
    return coordinator;
}

/* cells[0] = cells[0] * factor + add, taking `ms`. */
struct step {
    cls_buffer cells;
    uint32_t factor, add;
    double ms;
};

static inline cls_status run_step(cls_stream stream, const cls_slot *slot, void *arg) {
    const struct step *step = arg;
    return rig_step(stream, slot ? slot->buffer : step->cells, 0, step->factor, step->add,
                    step->ms);
}

static inline cls_op compute(cls_async_coordinator c, struct step *step, const cls_op *deps,
                             unsigned n) {
    cls_compute what = CLS_COMPUTE_INIT;
    cls_op op = 0;
    what.fn = run_step;
    what.arg = step;
    what.buffers = &step->cells;
    what.n_buffers = 1;
    OK(cls_async_coordinator_queue_compute(c, &what, deps, n, &op));
    return op;
}

static inline cls_status nothing(cls_stream stream, const cls_slot *slot, void *arg) {
    (void)stream;
    (void)slot;
    (void)arg;
    return CLS_SUCCESS;
}

#endif
