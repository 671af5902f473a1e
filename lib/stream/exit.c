/* SPDX-License-Identifier: MIT */
#include "stream/exit.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "base/at_exit.h"
#include "base/clock.h"
#include "base/mover.h"
#include "driver/quirk.h"
#include "driver/warm.h"
#include "stream/engine.h"
#include "stream/observe.h"
#include "stream/stream.h"
#include "stream/worker.h"

static const uint64_t DRAIN_NS = 5 * CLOCK_SECOND;

/* Handlers run in the reverse of their registration, and drivers register theirs as late as when the
 * first kernel runs. So this one is registered twice: with the first work, for a process that exits
 * early, and after the first kernel has run; the run that comes first counts. */
enum { REGISTERED_EARLY = 1, REGISTERED_LATE = 2 };
ASKED static _Atomic int registered;
static _Atomic bool ran;

static struct at_exit handler;

/* A host function that ends the process does not end itself. */
static uint64_t last_to_end(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    const bool here = worker_is_in_code_of(stream);
    const uint64_t position = here ? fifo_head(&stream->fifo)->position - 1 : stream->submitted;
    pthread_mutex_unlock(&stream->lock);
    return position;
}

static void drain(uint64_t deadline) {
    for (struct stream *stream = stream_next(NULL); stream; stream = stream_next(stream))
        stream_await(stream, last_to_end(stream), deadline);
}

/* Nothing of the FIFOs is handed over any more; callbacks still come, with a status. */
static void drop_queued(void) {
    for (struct stream *stream = stream_next(NULL); stream; stream = stream_next(stream)) {
        pthread_mutex_lock(&stream->lock);
        const struct command *first = fifo_first_not_running(&stream->fifo);
        if (first)
            stream_fail_locked(stream, first->position, CLS_ERROR_SHUTDOWN, 0, "process exit");
        stream->fresh_failure = false;
        pthread_mutex_unlock(&stream->lock);
        stream_drive(stream);
    }
}

static void at_exit(void) {
    if (!at_exit_is_due(&handler) || atomic_exchange(&ran, true))
        return;
    uint64_t deadline = clock_now_ns() + DRAIN_NS;
    engine_close();
    drop_queued();
    drain(deadline);
    workers_stop(deadline);
    movers_stop(deadline);
    engine_stop();
    if (observer())
        observer()->drained();
}

COLD static void register_early(const struct device *device) {
    int none = 0;
    if (device->quirks & QUIRK_LATE_EXIT_HANDLER)
        return;
    if (atomic_compare_exchange_strong(&registered, &none, REGISTERED_EARLY))
        at_exit_register(&handler, at_exit);
}

void exit_note_work(const struct device *device) {
    if (RARELY(!atomic_load_explicit(&registered, memory_order_relaxed)))
        register_early(device);
}

COLD static void register_late(void) {
    if (atomic_exchange(&registered, REGISTERED_LATE) != REGISTERED_LATE)
        at_exit_register(&handler, at_exit);
}

void exit_note_done(cls_command_kind kind) {
    if (atomic_load_explicit(&registered, memory_order_relaxed) != REGISTERED_LATE &&
        kind == CLS_COMMAND_KERNEL)
        register_late();
}

cls_status exit_prepare(struct device *device, cl_context context) {
    if (!(device->quirks & QUIRK_LATE_EXIT_HANDLER) || atomic_load(&registered) == REGISTERED_LATE)
        return CLS_SUCCESS;
    cls_status status = device_warm(device, context);
    if (!status)
        exit_note_done(CLS_COMMAND_KERNEL);
    return status;
}
