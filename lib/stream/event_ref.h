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

struct share {
    _Atomic unsigned holders;
    _Atomic bool kept; /* given up instead of released in the end */
    cl_event event;
    const struct device *device;
};

/* Takes over the event's reference, which goes with the last holder; the caller is the first. NULL without
 * memory. */
struct share *share_new(const struct device *device, cl_event event);

/* The same for so many holders in the caller's memory, from malloc and beginning there: it is the last
 * holder's to free. */
void share_init(struct share *share, const struct device *device, cl_event event, unsigned holders);

static inline void share_hold(struct share *share) {
    atomic_fetch_add_explicit(&share->holders, 1, memory_order_relaxed);
}

void share_drop(struct share *share);

/* The same, but that the memory is the caller's when it was the last holder: true. */
bool share_leave(struct share *share);

/* The event has failed, and its driver may abort when it is released. */
static inline void share_keep(struct share *share) { atomic_store(&share->kept, true); }

#endif
