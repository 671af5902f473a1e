/* SPDX-License-Identifier: MIT */
/* The FIFO as a worker sees it. */
#ifndef CLSTREAM_STREAM_WORKER_COMMANDS_H
#define CLSTREAM_STREAM_WORKER_COMMANDS_H

#include <stdbool.h>

#include "stream/command.h"

/* Hands over the heads of the FIFO until one has to wait or is for a worker; true, and the stream marked
 * running, when it is for a worker. Without the lock. */
bool fifo_drain(struct stream *stream);

/* Under the lock: the head is done without the driver, and all earlier work is: it is dropped and retired. */
void fifo_finish_head(struct stream *stream);
/* Under the lock: takes the head away, for the caller to push as a flight and to free. */
struct command *fifo_hand_over_head(struct stream *stream);

/* Under the lock: what was dropped is failed, also when the stream was poisoned for later work only. */
void fifo_fail_skipped(struct stream *stream, const struct command *command);

/* Under the lock: gives the worker's reservation back once the FIFO is empty. */
void fifo_settle_reservation(struct stream *stream);

/* Around the user's code, on a worker, for a command. */
void user_code_enter(struct stream *stream, const struct command *command);
void user_code_leave(void);

/* Runs the head of a stream marked running, and goes on while the next one is for a worker too. */
void worker_commands_run(struct stream *stream);

#endif
