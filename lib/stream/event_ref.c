/* SPDX-License-Identifier: MIT */
#include "stream/event_ref.h"

#include <stdlib.h>

#include "driver/event.h"

struct share *share_new(const struct device *device, cl_event event) {
    struct share *share = malloc(sizeof *share);
    if (share)
        share_init(share, device, event, 1);
    return share;
}

void share_init(struct share *share, const struct device *device, cl_event event,
                unsigned holders) {
    atomic_init(&share->holders, holders);
    atomic_init(&share->kept, false);
    share->event = event;
    share->device = device;
}

/* A holder that is alone stays so: only a holder makes others. */
bool share_leave(struct share *share) {
    if (atomic_load_explicit(&share->holders, memory_order_acquire) != 1 &&
        atomic_fetch_sub_explicit(&share->holders, 1, memory_order_acq_rel) != 1)
        return false;
    if (!atomic_load_explicit(&share->kept, memory_order_relaxed))
        event_release(share->device, share->event);
    return true;
}

void share_drop(struct share *share) {
    if (share_leave(share))
        free(share);
}
