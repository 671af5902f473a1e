/* SPDX-License-Identifier: MIT */
/* Counting the holders of an event, and releasing it with the last. */
#include "stream/event_ref.h"

#include <stdlib.h>

#include "driver/event.h"

struct event_ref *event_ref_new(const struct device *device, cl_event event) {
    struct event_ref *ref = malloc(sizeof *ref);
    if (ref)
        event_ref_init(ref, device, event, 1);
    return ref;
}

void event_ref_init(struct event_ref *ref, const struct device *device, cl_event event,
                    unsigned holders) {
    atomic_init(&ref->holders, holders);
    atomic_init(&ref->kept, false);
    ref->event = event;
    ref->device = device;
}

/* A holder that is alone stays so: only a holder makes others. */
bool event_ref_leave(struct event_ref *ref) {
    if (atomic_load_explicit(&ref->holders, memory_order_acquire) != 1 &&
        atomic_fetch_sub_explicit(&ref->holders, 1, memory_order_acq_rel) != 1)
        return false;
    if (!atomic_load_explicit(&ref->kept, memory_order_relaxed))
        event_release(ref->device, ref->event);
    return true;
}

void event_ref_drop(struct event_ref *ref) {
    if (event_ref_leave(ref))
        free(ref);
}
