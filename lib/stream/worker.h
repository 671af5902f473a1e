/* SPDX-License-Identifier: MIT */
/*
 * Threads that run host functions, callbacks, staging copies and foreign libraries' calls, each for one
 * stream at a time. They are made as needed and go after some idle seconds.
 */
#ifndef CLSTREAM_STREAM_WORKER_H
#define CLSTREAM_STREAM_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include <clstream/status.h>

struct stream;

/* Makes sure that a thread will be free for one more stream, until workers_unreserve. */
cls_status workers_reserve(void);
void workers_unreserve(void);

/* Runs the head of the stream's FIFO, and what may follow, on a thread. The FIFO is in FIFO_ON_WORKER, with a worker
 * reserved; takes over a reference to the stream. Cannot fail. */
void workers_run(struct stream *stream);

/* Whether this thread is inside a host function or callback, and of which stream: NULL, none. */
bool worker_in_user_code(void);
bool worker_is_in_code_of(const struct stream *stream);
struct stream *worker_user_code_of(void);
void worker_enter_user_code(struct stream *stream);
void worker_leave_user_code(void);

/* The calling thread will not come back to the pool: it ends the process. Another takes its place; false where there can
 * be none. */
bool workers_replace_this(void);

/* Stops the threads, but for this one where it is one of them, once they are idle; waits until `deadline`
 * (clock_now_ns). */
void workers_stop(uint64_t deadline);

#endif
