/* SPDX-License-Identifier: MIT */
/*
 * Host memory of pending uploads: it is summed up when the upload is submitted, and again when it has been read. A
 * difference is a store that nothing ordered before the upload, unless one of these made it, which the sums leave out:
 * a copy into the memory that was submitted before the upload, or user code (host functions, callbacks, foreign
 * calls) that comes before the upload. While one of them may be writing, nothing is compared, and after its end the
 * memory is summed up anew.
 *
 * An upload has been read when its last byte is packed into a staging chunk, or, without staging, when its position is
 * retired. A download into its memory that is submitted meanwhile ends the comparison, because it may run before the
 * upload is seen to be done.
 *
 * All functions are called under the checker's lock.
 */
#ifndef CLSTREAM_CHECK_RACE_HOST_H
#define CLSTREAM_CHECK_RACE_HOST_H

#include "check/race_state.h"

struct command;
struct stream;

/* A download into this memory is about to be submitted: it may run at once. */
void race_host_overwrites(const struct byte_span *span);

/* A command was submitted and followed or kept; `host` has its accesses to host memory. */
void race_host_submitted(struct race_stream *by, const struct stream *stream,
                         const struct command *command, const struct touches *host);

/* User code begins to run for (by, position). */
void race_host_enter(const struct race_stream *by, uint64_t position);

/* A staged upload has read its memory, whose checksum was this one. */
void race_host_was_read(struct race_stream *by, uint64_t position, uint64_t sum);

/* The stream's positions up to this one are about to be retired. */
void race_host_retired(struct race_stream *by, const struct stream *stream, uint64_t position);

/* The program declares that it writes these bytes of host memory, or they are freed: uploads from them are compared no
 * more. */
void race_host_forget(size_t start, size_t end);

/* The stream's order is not known to the checker any more, or the program has means to learn that work is done without
 * the library. */
void race_host_forget_stream(struct race_stream *by);
void race_host_forget_all(void);

/* From now on streams may wait for what the program signals by cl_events, unseen by the checker. */
void race_host_waits_outside(void);

#endif
