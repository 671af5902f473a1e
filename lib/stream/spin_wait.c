/* SPDX-License-Identifier: MIT */
/* How long a waiting host thread spins, by policy and device, and what it takes over meanwhile. */
#include "stream/spin_wait.h"

#include "stream/context.h"
#include "stream/stream.h"
#include "system/clocks.h"

static const uint64_t SPIN_NS = 1000 * 1000; /* where that takes nothing from the device */
static const uint64_t SPIN_ALWAYS_NS = 2 * 1000 * 1000; /* from poll to poll of the stream */

static bool uses_host_cores(const struct stream *stream) {
    return device_uses_host_cores(stream->context->device);
}

bool spin_wait_is_endless(const struct stream *stream) {
    return stream->wait == CLS_WAIT_SPIN || stream->wait == CLS_WAIT_YIELD;
}

uint64_t spin_wait_ns(const struct stream *stream) {
    if (stream->wait == CLS_WAIT_BLOCK)
        return 0;
    if (spin_wait_is_endless(stream))
        return SPIN_ALWAYS_NS;
    return uses_host_cores(stream) ? 0 : SPIN_NS;
}

void spin_wait_yield(const struct stream *stream) {
    if (uses_host_cores(stream))
        system_yield();
}

/* `takes`: it drives the FIFO when a worker offers it. */
static bool spin(struct stream *stream, uint64_t position, uint64_t deadline, bool takes) {
    uint64_t until = clock_now_ns() + spin_wait_ns(stream);
    if (deadline && deadline < until)
        until = deadline;
    while (!fifo_has_passed(&stream->fifo, position)) {
        if (clock_now_ns() >= until)
            return false;
        if (takes && fifo_take_offer(&stream->fifo))
            stream_drive(stream);
        else if (stream->wait != CLS_WAIT_SPIN)
            system_yield();
    }
    return true;
}

bool spin_wait(struct stream *stream, uint64_t position, uint64_t deadline) {
    if (fifo_has_passed(&stream->fifo, position))
        return true;
    if (deadline || uses_host_cores(stream))
        return spin(stream, position, deadline, false);
    fifo_spin_begin(&stream->fifo);
    bool came = spin(stream, position, deadline, true);
    fifo_spin_end(&stream->fifo);
    return came;
}
