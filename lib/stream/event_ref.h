/* SPDX-License-Identifier: MIT */
/*
 * An event of the driver's that several hold: the flight of its command, and who is to wait for it. They are
 * counted here, since drivers take locks for a reference of their own that their threads take too.
 */
#ifndef CLSTREAM_STREAM_EVENT_REF_H
#define CLSTREAM_STREAM_EVENT_REF_H

#include <stdatomic.h>
#include <stdbool.h>

#include "driver/device.h"

struct event_ref {
    _Atomic unsigned holders;
    _Atomic bool kept; /* given up instead of released in the end */
    cl_event event;
    const struct device *device;
};

/* Takes over the event's reference, which goes with the last holder; the caller is the first. NULL without
 * memory. */
struct event_ref *event_ref_new(const struct device *device, cl_event event);

/* The same for so many holders in the caller's memory, from malloc and beginning there: it is the last
 * holder's to free. */
void event_ref_init(struct event_ref *ref, const struct device *device, cl_event event,
                    unsigned holders);

static inline void event_ref_hold(struct event_ref *ref) {
    atomic_fetch_add_explicit(&ref->holders, 1, memory_order_relaxed);
}

void event_ref_drop(struct event_ref *ref);

/* The same, but that the memory is the caller's when it was the last holder: true. */
bool event_ref_leave(struct event_ref *ref);

/* The event has failed, and its driver may abort when it is released. */
static inline void event_ref_keep(struct event_ref *ref) { atomic_store(&ref->kept, true); }

#endif
