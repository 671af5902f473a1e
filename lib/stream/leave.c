/* SPDX-License-Identifier: MIT */
#include "stream/leave.h"

#include "stream/failure.h"
#include "stream/wait.h"

void stream_finish_leaving(struct stream *stream, unsigned todo) {
    if (todo & AFTER_PROPAGATE)
        failures_propagate();
    if (todo & AFTER_KICK)
        engine_kick();
    if (todo & AFTER_NOTIFY)
        fifo_notify_blocked();
    if (todo & AFTER_RETIRE)
        stream_retire_known(stream);
    if (todo & AFTER_DRIVE)
        stream_drive(stream);
}
