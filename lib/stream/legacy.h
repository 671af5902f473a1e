/* SPDX-License-Identifier: MIT */
/*
 * CUDA's legacy order, of a context that asks for it: a command of the default stream comes after all earlier work of the
 * context's blocking streams, and their later work comes after it. Waits are commands here: a mark follows each
 * (legacy_note_wait), so that a stream's newest position stands for its pending waits too.
 *
 * A blocking stream is open or it has joined. A stream that has joined is behind the default stream's newest command, and
 * the context has noted it for the next one. It stays so until that next command, which takes the work of all noted streams
 * as waits and opens them. So only the first command of a stream behind one of the default stream costs anything. An open
 * stream submits nothing before it has joined.
 *
 * The context's order lock is held from before a command's waits are looked for until the command has its position, so
 * that of a command of the default stream and one of a blocking stream one comes after the other. It is taken without a
 * stream's lock. A captured stream takes no part: what it submits is recorded, and what it had submitted before counts as
 * that of any other. A stream that has joined needs it not: the default stream opens it under the stream's own lock, together
 * with reading its newest position. Nor does the default stream while nothing is noted: a stream is noted before it reads
 * the default stream's newest position, which takes that stream's lock.
 */
#ifndef CLSTREAM_STREAM_LEGACY_H
#define CLSTREAM_STREAM_LEGACY_H

#include "stream/stream.h"

/* For a new context; false without memory. legacy_free(NULL) does nothing. */
struct legacy *legacy_new(void);
void legacy_free(struct legacy *legacy);

/* Under the lock: whether the stream's next command has to wait for work of others by the order. */
bool legacy_is_due_for(struct stream *stream) COLD;
static inline bool legacy_is_due(struct stream *stream) {
    return RARELY(stream->legacy_open) && legacy_is_due_for(stream);
}

/* Whether the stream's next command waits for something that no command of the stream waits for yet. */
static inline bool stream_has_waits(struct stream *stream) {
    return stream->waits.count || legacy_is_due(stream);
}

/* The same as legacy_is_due of a default stream alone: what the host asks of it, it asks of all blocking streams. */
static inline bool legacy_is_due_to_ask(struct stream *stream) {
    return RARELY(stream->legacy_open) && stream->legacy_role == LEGACY_DEFAULT &&
           legacy_is_due_for(stream);
}

/* Under the lock, which it drops meanwhile; the caller holds a reference. Adds what the next command has to wait for, and
 * leaves the order lock held in every case, for legacy_leave once the command has its position. */
cls_status legacy_enter(struct stream *stream) COLD;
void legacy_leave(struct stream *stream) COLD;

/* A wait was added to the stream, without its lock. That of a stream whose capture begins meanwhile is for the command after
 * the capture. */
cls_status legacy_mark_wait(struct stream *stream) COLD;
static inline cls_status legacy_note_wait(struct stream *stream) {
    return RARELY(stream->legacy_role != LEGACY_NONE) ? legacy_mark_wait(stream) : CLS_SUCCESS;
}

/* A mark of the default stream is there because the host asks, at this position: it is no command of the order for others
 * who ask. */
void legacy_note_asked(struct stream *stream, uint64_t position) COLD;

/* The default stream, retained, and its newest command, for the host that asks about a blocking stream: it asks about the
 * work ahead of that stream's next command too. NULL: there is none, or it is done. */
struct stream *legacy_ahead_of(const struct stream *stream, uint64_t *position) COLD;
static inline struct stream *legacy_ahead(const struct stream *stream, uint64_t *position) {
    return RARELY(stream->legacy_role == LEGACY_BLOCKING) ? legacy_ahead_of(stream, position)
                                                          : NULL;
}

/* Under the lock, for the race checker: a free of the stream, which is no command, comes after what the order puts before
 * the next one. */
void legacy_tell_free(struct stream *stream) COLD;

/* The stream ends. */
void legacy_forget(struct stream *stream) COLD;

#endif
