/* SPDX-License-Identifier: MIT */
/* Handing a command to the driver, under the stream's lock. */
#ifndef CLSTREAM_STREAM_HANDOVER_H
#define CLSTREAM_STREAM_HANDOVER_H

#include "base/rare.h"
#include "stream/stream.h"

/* Whether the driver itself can wait for it: an event of this cl_context that is with the driver. */
bool dep_is_native(const struct stream *stream, const struct dep *dep);

/* Makes room for one more flight in a stream that is not poisoned; polls completions first when that is due.
 * FLIGHT_POISONED when a failure was found meanwhile. */
enum flight_room handover_room(struct stream *stream);

/* Enqueues a device command that waits for `deps`, which are native, behind everything handed over before. Needs
 * room. On success its references and `deps` are the flight's. CLS_ERROR_COMMAND_FAILED and the like when a
 * dependency is known to have failed: it never reaches the driver. */
cls_status handover(struct stream *stream, struct command *command, struct deps *deps);

/* Whether the driver can time the stream's commands: its queue is profiled, or can be replaced by one that is. */
bool handover_can_profile(const struct stream *stream);

/* Moves the stream to a queue that is profiled, or to one that is not, as it and the command want. */
cls_status handover_choose_queue(struct stream *stream, const struct command *command);

/* Under the lock: the stream has gone over to another queue. One that flights are on stays in use, so that it can be
 * flushed or stranded, until handover_release_queues finds none on it. One that a failure may have killed is buried. */
void handover_leave_queue(struct stream *stream, struct queue *queue) COLD;
void handover_release_queues(struct stream *stream);

/* Gives the newest flight an event, if it has none, so that somebody can wait for it. Where the driver refuses, the
 * flights without an event are lost: the next poll fails them. */
cls_status handover_cover(struct stream *stream);

/* The event of the stream's newest work, for the next command on `queue` to wait for; borrowed. NULL when the queue keeps
 * the order, or there is no such work. */
cl_event handover_tail(struct stream *stream, const struct queue *queue);

#endif
