/* SPDX-License-Identifier: MIT */
/* Waiting for the first of several streams: by looking at each, at growing intervals. Beside the devices the thread spins at first. */

#include "stream/context.h"
#include "stream/wait.h"
#include "stream/waiter.h"
#include "system/clocks.h"

static const uint64_t SPIN_NS = 60 * 1000;

uint64_t deadline_after(uint64_t timeout_ns) {
    uint64_t now = clock_now_ns();
    return timeout_ns > UINT64_MAX - now ? WAIT_FOREVER : now + timeout_ns;
}

static bool find_done(struct stream *const *streams, const uint64_t *positions, size_t count,
                      size_t start, size_t *which) {
    for (size_t i = 0; i < count; i++) {
        size_t at = (start + i) % count;
        if (stream_progress(streams[at], positions[at]))
            continue;
        *which = at;
        return true;
    }
    return false;
}

/* How long the thread spins: not at all if that takes a core from one of the devices. */
static uint64_t spin_ns(struct stream *const *streams, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (device_uses_host_cores(streams[i]->context->device))
            return 0;
    return SPIN_NS;
}

static void pause_looking(uint64_t start, uint64_t spin_ns, uint64_t deadline) {
    if (clock_now_ns() - start < spin_ns)
        system_yield();
    else
        clock_sleep_ns(waiter_span(start, deadline));
}

cls_status stream_wait_any(struct stream *const *streams, const uint64_t *positions, size_t count,
                           size_t start, uint64_t deadline, size_t *which) {
    const uint64_t began = clock_now_ns(), spin = spin_ns(streams, count);
    while (!find_done(streams, positions, count, start, which)) {
        if (deadline != WAIT_FOREVER && clock_now_ns() >= deadline)
            return CLS_ERROR_TIMEOUT;
        pause_looking(began, spin, deadline);
    }
    return CLS_SUCCESS;
}
