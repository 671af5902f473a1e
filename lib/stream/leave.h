/* SPDX-License-Identifier: MIT */
/* What a thread still has to do when it drops a stream's lock. */
#ifndef CLSTREAM_STREAM_LEAVE_H
#define CLSTREAM_STREAM_LEAVE_H

#include "stream/engine.h"
#include "stream/stream.h"

/* What a thread does once it has dropped a stream's lock, in this order. */
enum after {
    AFTER_NOTHING = 0,
    AFTER_ROUSE = 1, /* the engine looks at the stream within a tick */
    AFTER_PROPAGATE =
        2, /* a fresh failure poisons the streams that depend on the work; no stream's lock may be held, nor a leaf */
    AFTER_KICK = 4,    /* the engine looks at all streams at once, and propagates */
    AFTER_NOTIFY = 8,  /* fifo_notify_blocked */
    AFTER_RETIRE = 16, /* stream_retire_known */
    AFTER_DRIVE = 32   /* stream_drive */
};

/* All but the first. */
void stream_finish_leaving(struct stream *stream, unsigned todo);

/* Drops the lock and does what is left. A caller that passes AFTER_RETIRE or AFTER_DRIVE holds a reference. */
static inline void stream_leave(struct stream *stream, unsigned todo) {
    if (!RARELY(stream->fresh_failure))
        todo &= ~(unsigned)AFTER_PROPAGATE;
    else if (todo & AFTER_PROPAGATE)
        stream->fresh_failure = false;
    pthread_mutex_unlock(&stream->lock);
    if (todo & AFTER_ROUSE)
        engine_rouse();
    if (RARELY(todo & ~(unsigned)AFTER_ROUSE))
        stream_finish_leaving(stream, todo);
}

#endif
