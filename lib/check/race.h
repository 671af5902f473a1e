/* SPDX-License-Identifier: MIT */
/*
 * The race checker (clstream/check.h), as the streams see it: who submits a command, waits for
 * a position or learns that one is done says so here. While the checker is off each of these is one branch
 * on a global that never changes; nothing is said to it then.
 *
 * The model. The epoch of an event is (stream, position). Each stream has a clock: for every other stream
 * the position up to which its work comes before this stream's next command; waits raise it, and what
 * it was at each position is kept, for waits on that position. One clock for the host holds what any thread
 * has learned to be done. An access A of (S, p) comes before a command of stream T when S is T, or T's
 * clock or the host's has S at p or later. Whether A happens to have run plays no part, so that a race
 * shows in every run; what the driver and the library's own threads notice is never taken for knowledge.
 *
 * Waits before their signal. What a stream is told of is followed (its clock moved on, its accesses
 * compared) at once where it is known what it comes after. Else, behind a wait for a value that nobody has
 * signalled yet or for a position of a stream that is itself behind one, it is kept, and followed in its
 * order as soon as that is known: when the signal is submitted. So the accesses of all streams are compared
 * in an order that agrees with what comes before what. With each thing that is kept goes what the host knew
 * when it was told: what it has learned since comes before a signal of later, and so before what waits for
 * that, but not before what was submitted earlier (check/race_follow.c).
 * What the host finds reached is never unfollowed, by induction over the signals, unless something failed:
 * then the commands behind the wait were skipped, and what they would have touched is let go.
 *
 * Bounded: an access that comes before everything to come (the host's clock has it, and had it when the
 * oldest thing that is kept was told) is dropped, and so is one for which a later one stands; a stream's past
 * is dropped that far, too.
 *
 * Locks: the checker's is a leaf; it may be taken under a stream's.
 */
#ifndef CLSTREAM_CHECK_RACE_H
#define CLSTREAM_CHECK_RACE_H

#include <stdbool.h>
#include <stdint.h>

#include "driver/device.h"
#include "stream/hooks.h"
#include "stream/touch.h"

struct stream;
struct context;
struct command;

/* Reads CLSTREAM_CHECK, once. */
void race_prepare(void);

/* The checker's lock: guards all that its files keep. */
void race_lock(void);
void race_unlock(void);

/* --- what happens; all only while the checker is on --- */

/* The command has its position; takes the touches over. Under the stream's lock. */
void race_submitted(struct stream *stream, const struct command *command,
                    struct touches *touches) COLD;

/* What `stream` is given from here on waits for a position of `other`. */
void race_waits(struct stream *stream, struct stream *other, uint64_t position) COLD;

/* The same was told, and no command has followed yet. */
bool race_waits_open(const struct stream *stream) COLD;

/* The host has learned that the stream's work up to a position is done; RACE_ALL: and its open waits. */
#define RACE_ALL UINT64_MAX
void race_observed(struct stream *stream, uint64_t position) COLD;

/* The same for all work of a context, that of streams that are gone included. */
void race_observed_context(const struct context *context);

/* The same for values that are signalled, by the address of whatever keeps them (coordinator/timeline.h). A
 * signal with a stream is given by it at a position, without one by the calling thread, or the host function
 * that it runs. A wait may be told of before its signal, which must be told of before it takes effect. */
void race_signals(const void *source, uint64_t value, struct stream *stream, uint64_t position);
void race_waits_signal(struct stream *stream, const void *source, uint64_t value);
void race_observed_signal(const void *source, uint64_t value);
void race_forget_signals(const void *source);

/* The thread runs the user's code for a command of the stream, until race_leave. */
void race_enter(struct stream *stream, const struct command *command);
void race_leave(void);

/* The calling thread, or the command whose code it runs, touches these bytes now. */
void race_declared(struct touches *touches);

/* Memory begins or ends its life at this point of a stream (memory/malloc.c): a write to all of it, which
 * comes after the stream's work so far. That it is given says that what was done in an earlier life comes
 * before: that is forgotten. Under the stream's lock. */
void race_begins(struct stream *stream, cl_mem memory);
void race_ends(struct stream *stream, cl_mem memory);

/* The stream's ends of memory, but not its commands, wait for a position of `other` from here on. */
void race_frees_wait(struct stream *stream, struct stream *other, uint64_t position);

/* The memory goes, or is new again. */
void race_forget_memory(const struct device *device, cl_mem memory);
/* The same of host memory, with which all commands are done. */
void race_forget_host(const void *memory, size_t bytes);

/* A stream begins, and ends. */
void race_meet_stream(void);
void race_forget_stream(struct stream *stream);

#endif
