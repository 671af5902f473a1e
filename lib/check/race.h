/* SPDX-License-Identifier: MIT */
/*
 * The race checker (clstream/check.h): the calls by which the library reports to it that a command is submitted, that
 * a stream waits for a position, and that the host learns a position to be done. While the checker is off, each report
 * costs one branch on a global that never changes, and none is made.
 *
 * The model. The epoch of an event is (stream, position). Each stream has a clock: for every other stream
 * the position up to which its work comes before this stream's next command. Waits raise it, and its value
 * at each position is stored for waits on that position. One clock for the host holds all that any thread of
 * the program has learned to be done. An access A of (S, p) comes before a command of stream T when S is T,
 * or T's clock or the host's has S at p or later. Whether A happens to have run plays no part, so that a race
 * shows in every run; completions noticed by the driver's or the library's own threads do not count.
 *
 * Waits before their signal. Each report about a stream is an operation (struct race_op). It is followed (the
 * clock advanced, the accesses compared) at once if everything that it comes after has been followed. Behind
 * a wait for a value not signalled yet, or for a position that is itself behind such a wait, it is kept, and
 * followed in its order once the signal is submitted. So the accesses of all streams are compared in an order
 * consistent with the model. A kept operation stores the host's clock of the time of its report: what the host
 * learned since comes before later signals, and so before their waits, but not before earlier submissions
 * (check/race_follow.c).
 * A position that the host finds reached has been followed, by induction over the signals, unless something
 * failed: then the commands behind the wait were skipped, and their accesses are dropped.
 *
 * Memory is bounded: an access is dropped when it comes before everything that can follow (the host's clock
 * has it, and had it when the oldest kept operation was reported), or when a later access is recorded that
 * conflicts with all that it conflicts with. A stream's stored clocks are dropped to the same extent.
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

/* The checker's lock: guards all data of its files. */
void race_lock(void);
void race_unlock(void);

/* --- what happens; all only while the checker is on --- */

/* A command is about to be submitted, and may run before race_submitted is called. Under the stream's lock. */
void race_submits(const struct touches *touches) COLD;

/* A command was submitted and has its position; takes over `touches`. Under the stream's lock. */
void race_submitted(struct stream *stream, const struct command *command,
                    struct touches *touches) COLD;

/* Commands of `stream` from here on wait for a position of `other`. */
void race_waits(struct stream *stream, struct stream *other, uint64_t position) COLD;

/* Whether race_waits was called for the stream and no command was submitted since. */
bool race_waits_open(const struct stream *stream) COLD;

/* The host has learned that the stream's work up to a position is done; RACE_ALL: all work, and its open waits. */
#define RACE_ALL UINT64_MAX
void race_observed(struct stream *stream, uint64_t position) COLD;

/* The same for all work of a context, including that of destroyed streams. */
void race_observed_context(const struct context *context);

/* Signalled values; `source` is the address of the object that holds the value (coordinator/timeline.h). A signal
 * comes from a stream at a position or, with a NULL stream, from the calling thread or the host function that it runs.
 * A wait may be reported before its signal; a signal must be reported before it takes effect. */
void race_signals(const void *source, uint64_t value, struct stream *stream, uint64_t position);
void race_waits_signal(struct stream *stream, const void *source, uint64_t value);
void race_observed_signal(const void *source, uint64_t value);
void race_forget_signals(const void *source);

/* Positions up to this one are about to be retired, under the stream's lock. */
void race_retired(struct stream *stream, uint64_t position) COLD;

/* A staged upload has read its host memory, with this checksum (base/checksum.h), and will not do so again. */
void race_was_read(struct stream *stream, uint64_t position, uint64_t sum) COLD;

/* The program gets a cl_event of a stream's work, and may learn by it that the work is done. */
void race_event_exported(void);

/* A stream is to wait for a cl_event of the program's, or work on its queue. */
void race_waits_outside(void);

/* The thread runs the user's code for a command of the stream, until race_leave. */
void race_enter(struct stream *stream, const struct command *command);
void race_leave(void);

/* Commands of `lane` are parts of the stream's command at this position, until the next call: their user code is that
 * command's. A NULL stream: they are commands of their own again. */
void race_part_of(struct stream *lane, struct stream *stream, uint64_t position);

/* The calling thread, or the command whose code it runs, touches these bytes now. */
void race_declared(struct touches *touches);

/* Memory is allocated or freed at this point of a stream (memory/malloc.c): a write to all of it, behind the stream's
 * work so far. The pool orders an allocation behind all earlier uses of the memory, whose accesses are forgotten.
 * Under the stream's lock. */
void race_begins(struct stream *stream, cl_mem memory);
void race_ends(struct stream *stream, cl_mem memory);

/* Frees of the stream from here on, but not its commands, wait for a position of `other`. */
void race_frees_wait(struct stream *stream, struct stream *other, uint64_t position);

/* The memory is released, or newly made at the same address. */
void race_forget_memory(const struct device *device, cl_mem memory);
/* The same for host memory that no command uses any more. */
void race_forget_host(const void *memory, size_t bytes);

/* A stream is created; a stream is destroyed. */
void race_meet_stream(void);
void race_forget_stream(struct stream *stream);

#endif
