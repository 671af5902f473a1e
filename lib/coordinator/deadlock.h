/* SPDX-License-Identifier: MIT */
/*
 * Refusing the call that would leave a stream waiting for itself. A wait for a timeline with a named
 * signaller is a wait for a signal queued on that stream or, where none is, for all that the stream has
 * queued: later signals come behind. With the waits for events that makes a stall (coordinator/stall.h) of
 * the streams that the call leads to. As long as every awaited signal is queued nothing is looked at: a
 * cycle needs a wait for one that is not, an owed one.
 */
#ifndef CLSTREAM_COORDINATOR_DEADLOCK_H
#define CLSTREAM_COORDINATOR_DEADLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <clstream/status.h>

struct stream;
struct timeline;

/* From here on waits are checked: there is a timeline with a signaller. */
void deadlock_watch(void);

/* CLS_ERROR_DEADLOCK, reported, for a signal that would stand behind waits that are never over. */
cls_status deadlock_check_signal(struct stream *stream);

/* Whether the stream can never come to the position: it is of a cycle that user code could have broken. */
bool deadlock_is_hopeless(struct stream *stream, uint64_t position);

/* Under the timeline's lock, when values were awaited, queued or reached: whether it owes a signal. */
void deadlock_note_owed(struct timeline *timeline);

/* The timeline is going. */
void deadlock_forget(struct timeline *timeline);

#endif
