/* SPDX-License-Identifier: MIT */
/*
 * The deadlock check: refuses the call that would leave a stream waiting for itself.
 *
 * A wait for a value of a timeline with a named signaller waits for the signal queued on that stream. Where
 * none is queued it waits for all that the stream has queued, because a later signal comes behind that.
 * Together with the waits for events this gives a stall (coordinator/stall.h), of the streams that the call
 * leads to, which is solved. A cycle needs a wait for a signal that is not queued; while there is none,
 * nothing is searched.
 */
#ifndef CLSTREAM_COORDINATOR_DEADLOCK_H
#define CLSTREAM_COORDINATOR_DEADLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <clstream/status.h>

struct stream;

/* Turns the check of waits on, for good: a timeline with a signaller is made. */
void deadlock_enable(void);

/* CLS_ERROR_DEADLOCK, reported, for a signal that would be queued behind waits that never end. */
cls_status deadlock_check_signal(struct stream *stream);

/* Whether the stream can never reach the position: it is in a cycle that user code could have broken, and did
 * not. */
bool deadlock_is_hopeless(struct stream *stream, uint64_t position);

#endif
