/* SPDX-License-Identifier: MIT */
/* What has failed: ranges of a stream's positions, or of a gate's values, and how others come to fail by them. */
#ifndef CLSTREAM_STREAM_FAILURE_H
#define CLSTREAM_STREAM_FAILURE_H

#include "stream/stream.h"

/* One failure: the positions from `first` to `last` are failed. Nodes are never removed while the
 * stream (or the gate) lives, so outcomes can be read without its lock. */
struct failure {
    _Atomic uint64_t first;
    _Atomic uint64_t last; /* UINT64_MAX while the stream is poisoned by it */
    cls_status status;
    int code;
    const char *label;
    char message[128]; /* from the user's code (user_code.h), cut; "": none */
    uint64_t origin,
        at;         /* the command that failed: its stream's id, its position; 0: there is none */
    char where[64]; /* that stream's name */
    struct failure *older;
    uint32_t number; /* from 1, in its list */
};

/* The one of a list, newest first, that a position is in, or NULL. */
const struct failure *failure_in(const struct failure *newest, uint64_t position);

/* The outcome of a retired position, from the recorded failures; needs no lock, reports nothing. */
static inline const struct failure *stream_failure_at(const struct stream *stream,
                                                      uint64_t position) {
    const struct failure *newest = atomic_load_explicit(&stream->failures, memory_order_acquire);
    return RARELY(newest) ? failure_in(newest, position) : NULL;
}

/* The failure that poisons the stream now, or NULL. */
static inline const struct failure *stream_poison(const struct stream *stream) {
    const struct failure *newest = atomic_load_explicit(&stream->failures, memory_order_acquire);
    return RARELY(newest) && atomic_load(&newest->last) == UINT64_MAX ? newest : NULL;
}

/* What the status of a command that the driver refused makes of its stream. */
cls_status stream_poison_status(cls_status status);

/* The same of the code that a failed event ended with. */
cls_status stream_event_status(cl_int code);

/* A command of the stream's failed with the driver: its queues may be dead; under the lock. */
void stream_note_hurt(struct stream *stream);

/* Puts a failure from `first` on at the head of the list, in `*spare`, which is used up; or has the one
 * that lasts begin at `first`: the first error is kept. Whether the list changed. Under its owner's lock. */
bool failures_record(_Atomic(struct failure *) *failures, struct failure **spare, uint64_t first,
                     const struct failure *what);

/* Records that the positions from `first` on are failed; under the lock. Keeps the first error. */
void stream_fail_locked(struct stream *stream, uint64_t first, cls_status status, int code,
                        const char *label) COLD;

/* The same with a message of the user's code, which may be "". */
void stream_fail_saying_locked(struct stream *stream, uint64_t first, cls_status status, int code,
                               const char *label, const char *message) COLD;

/* The same by what they depend on. */
void stream_fail_by_locked(struct stream *stream, uint64_t first,
                           const struct failure *failure) COLD;

/* Poisons the stream's later work with somebody else's failure. */
void stream_inherit(struct stream *stream, const struct failure *failure) COLD;
void stream_inherit_locked(struct stream *stream, const struct failure *failure) COLD;

/* A failure in words: its command, where it began, and the driver's code by name. */
struct failure_text {
    char text[512];
};
struct failure_text failure_text(const struct failure *failure) COLD;

/* Reports a failure to this thread's detail; returns its status. */
cls_status failure_report(const struct stream *stream, const struct failure *failure) COLD;

/* Poisons all streams that depend on failed work, and those that depend on them; no stream's lock may be held, nor a leaf. */
void failures_propagate(void) COLD;

#endif
