/* SPDX-License-Identifier: MIT */
/* Waits of the host for a position of a stream, and what has work done meanwhile. */
#ifndef CLSTREAM_STREAM_WAIT_H
#define CLSTREAM_STREAM_WAIT_H

#include "stream/stream.h"

/* Makes a dependency of `waiter`, which is only compared, on the stream's work up to `position`. Its event is filled in, and
 * held, when the work is with the driver; the caller retains the stream. True when the work is done, failed or not
 * (stream_failure_at): then nothing is held. */
bool stream_dep(struct stream *stream, uint64_t position, const struct stream *waiter,
                struct dep *out);

/* Flushes and polls; CLS_NOT_READY unless `position` is retired. Polling this alone finishes the work. */
cls_status stream_progress(struct stream *stream, uint64_t position);

/* The same for a query of the user's, which is mostly repeated at once: pending work gets this thread's core where the device
 * computes on the host's. */
cls_status stream_query(struct stream *stream, uint64_t position);

/* Asks the driver and retires what is done, of this stream and of those whose work it depends on. Called without the lock.
 */
void stream_poll(struct stream *stream);

/* Retires what is known to be done, of this stream and of those whose work it depends on, without asking the driver.
 * Called without the lock. */
void stream_retire_known(struct stream *stream);

enum { WAIT_FOREVER = 0 };

/* Waits until `position` is retired; `deadline` in clock_now_ns time, or WAIT_FOREVER. Returns the
 * position's outcome, or CLS_ERROR_TIMEOUT, without a word: explain_timeout has them. */
cls_status stream_wait(struct stream *stream, uint64_t position, uint64_t deadline);

/* stream_wait without a word, nor one to the race checker, for waits of the library's own: true when it is
 * retired, false when the deadline came first. */
bool stream_await(struct stream *stream, uint64_t position, uint64_t deadline);

/* stream_mark_for a call that waits anyway: where fifo_limit leaves no room for a mark, it waits until what is
 * there is done. CLS_ERROR_TIMEOUT, without a word, when the deadline comes first. */
cls_status stream_mark_to_wait(struct stream *stream, unsigned use, uint64_t *position,
                               uint64_t deadline);

/* Waits until the position of one of the streams is retired and stores which; of several the first from
 * `start` on. CLS_ERROR_TIMEOUT, without a word: explain_timeout_all has them. */
cls_status stream_wait_any(struct stream *const *streams, const uint64_t *positions, size_t count,
                           size_t start, uint64_t deadline, size_t *which);

/* The deadline of a wait that begins now. */
uint64_t deadline_after(uint64_t timeout_ns);

/* stream_wait for the end of a blocking call: refuses inside host functions before anything is done. */
cls_status check_may_block(void);

/* The same on a captured stream, for a call of several steps: its capture is invalid from now on. */
cls_status check_uncaptured(struct stream *stream);

#endif
