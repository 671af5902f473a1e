/* SPDX-License-Identifier: MIT */
/* Commands, waits and marks are given to a stream. */
#ifndef CLSTREAM_STREAM_SUBMIT_H
#define CLSTREAM_STREAM_SUBMIT_H

#include "stream/stream.h"

/* What a submission to a captured stream gives as its position: there is none, and a wait for it is refused. */
#define POSITION_CAPTURED UINT64_MAX

/* Submits a command of any kind. Takes over what it holds in every case; on failure nothing else happened. `position`, the
 * command's, may be NULL. */
cls_status stream_submit(struct stream *stream, struct command *command, uint64_t *position);

/* The same for a caller that builds its command under the stream's lock (stream_enter): drops it in every case. A launch
 * comes with its arguments, for the race checker (check/race.h). */
cls_status stream_submit_entered(struct stream *stream, struct command *command,
                                 const struct launch_args *args, uint64_t *position);

/* Makes later work wait for a dependency; takes over its references on success. */
cls_status stream_add_wait(struct stream *stream, const struct dep *dep);

/* Whether `position`, the newest one, stands for all work so far, pending waits included: then no mark is needed. Under the
 * lock. */
bool stream_marked_locked(struct stream *stream, uint64_t *position);

/* The same for the host, which asks about the stream's own work: what the legacy order puts before later work of a stream
 * other than the default one is not part of that. */
bool stream_marked_to_ask_locked(struct stream *stream, uint64_t *position);

/* What a mark is for. A captured stream refuses it, and its capture becomes invalid; with MARK_BESIDE, of calls that are no
 * use of the stream or may be captured, it is left alone: CLS_NOT_READY, and the newest position. */
enum mark_use {
    MARK_TO_ORDER = 0, /* others are to come after it */
    MARK_TO_ASK = 1,   /* the host waits for it, or asks about it */
    MARK_BESIDE = 2
};

/* The position that stands for all work so far, pending waits included; submits a mark where one is needed. Whether the
 * stream is captured is found out under the lock under which the mark is submitted. */
cls_status stream_mark_for(struct stream *stream, unsigned use, uint64_t *position);
static inline cls_status stream_mark(struct stream *stream, uint64_t *position) {
    return stream_mark_for(stream, MARK_TO_ORDER, position);
}

#endif
