/* SPDX-License-Identifier: MIT */
#include "stream/spin_wait.h"

#include <sched.h>

#include "base/clock.h"
#include "stream/context.h"
#include "stream/stream.h"

/* A spinning host takes a core from a CPU device's own work, and nothing from another device. */
static const uint64_t SPIN_NS = 60 * 1000, SPIN_BESIDE_NS = 1000 * 1000;
static const uint64_t SPIN_ALWAYS_NS = 2 * 1000 * 1000; /* from poll to poll of the stream */

static const uint64_t PASS_NS = 2000; /* a thread that does not take over by then is off its core */

static bool is_beside(const struct stream *stream) {
    return stream->context->device->info.type != CLS_DEVICE_CPU;
}

bool spin_wait_is_endless(const struct stream *stream) {
    return stream->wait == CLS_WAIT_SPIN || stream->wait == CLS_WAIT_YIELD;
}

uint64_t spin_wait_ns(const struct stream *stream) {
    if (stream->wait == CLS_WAIT_BLOCK)
        return 0;
    if (spin_wait_is_endless(stream))
        return SPIN_ALWAYS_NS;
    return is_beside(stream) ? SPIN_BESIDE_NS : SPIN_NS;
}

/* Whoever hands a position over has the lock until it no longer drains: to wait for that lock is to sleep. */
static bool has_turn(struct stream *stream, uint64_t position) {
    if (atomic_load_explicit(&stream->pushed, memory_order_acquire) < position)
        return true;
    return atomic_load_explicit(&stream->popped, memory_order_acquire) >= position &&
           !atomic_load_explicit(&stream->draining, memory_order_relaxed);
}

static bool take_over(struct stream *stream) {
    return atomic_load_explicit(&stream->passed, memory_order_relaxed) &&
           atomic_exchange(&stream->passed, false);
}

/* Who takes over may be at it for long, so a thread with a deadline does not. */
static bool spin(struct stream *stream, uint64_t position, uint64_t deadline, bool takes) {
    uint64_t until = clock_now_ns() + spin_wait_ns(stream);
    if (deadline && deadline < until)
        until = deadline;
    while (!has_turn(stream, position)) {
        if (clock_now_ns() >= until)
            return false;
        if (takes && take_over(stream))
            stream_drive(stream);
        else if (stream->wait != CLS_WAIT_SPIN)
            sched_yield();
    }
    return true;
}

bool spin_wait(struct stream *stream, uint64_t position, uint64_t deadline) {
    if (has_turn(stream, position))
        return true;
    if (deadline || !is_beside(stream))
        return spin(stream, position, deadline, false);
    atomic_fetch_add(&stream->spinners, 1);
    bool came = spin(stream, position, deadline, true);
    atomic_fetch_sub(&stream->spinners, 1);
    return came;
}

bool spin_wait_pass_on(struct stream *stream) {
    if (!atomic_load(&stream->spinners))
        return false;
    uint64_t until = clock_now_ns() + PASS_NS;
    atomic_store(&stream->passed, true);
    while (clock_now_ns() < until)
        if (!atomic_load_explicit(&stream->passed, memory_order_relaxed))
            return true;
    return !atomic_exchange(&stream->passed, false);
}
