/* SPDX-License-Identifier: MIT */
#include "api/exit.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "base/at_exit.h"
#include "base/mover.h"
#include "stream/engine.h"
#include "stream/failure.h"
#include "stream/observe.h"
#include "stream/wait.h"
#include "stream/worker.h"
#include "stream/worker_commands.h"
#include "system/clocks.h"

static const uint64_t DRAIN_NS = 5 * CLOCK_SECOND;

static _Atomic bool ran;

static void drain(uint64_t deadline) {
    for (struct stream *stream = stream_next(NULL); stream; stream = stream_next(stream))
        stream_await(stream, stream_newest(stream), deadline);
}

/* Fails the commands that are still queued; their callbacks are called with that status. */
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

void exit_run(void) {
    if (atomic_exchange(&ran, true))
        return;
    uint64_t deadline = clock_now_ns() + DRAIN_NS;
    engine_close();
    worker_commands_leave();
    drop_queued();
    drain(deadline);
    workers_stop(deadline);
    movers_stop(deadline);
    engine_stop();
    if (observer())
        observer()->drained();
    at_exit_close(deadline);
}
