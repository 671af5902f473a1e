/* SPDX-License-Identifier: MIT */
/* When the driver is told to start what it was given (flush.c has the rules). */
#ifndef CLSTREAM_STREAM_FLUSH_H
#define CLSTREAM_STREAM_FLUSH_H

#include "stream/stream.h"

/* The newest flight was handed over and is to be flushed, unless the device was found to run what never is. Under the
 * lock. */
void stream_note_unflushed(struct stream *stream);

/* Flushes what is unflushed; under the lock. While that fails, the caller or the engine repeats it, until the stream is
 * failed (flush.c). */
void stream_flush_locked(struct stream *stream);

/* Whether any stream has unflushed work. */
bool streams_unflushed(void);

#endif
