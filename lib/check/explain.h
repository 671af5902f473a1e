/* SPDX-License-Identifier: MIT */
/* Explains in words what streams are doing and what they wait for: a snapshot, one paragraph a stream. Used for the
 * message of a wait that timed out, and by cls_context_explain. */
#ifndef CLSTREAM_CHECK_EXPLAIN_H
#define CLSTREAM_CHECK_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>

#include <clstream/status.h>

#include "base/text.h"

struct stream;

/* The streams to explain; the streams that they wait for are appended. All zero is the empty list. */
struct explanation {
    struct text text;
    struct stream **streams; /* retained */
    size_t count, room;
    struct explained_wait *waits; /* of the streams' first commands; explain.c */
    size_t n_waits, waits_room;
};

/* Adds a stream unless it is in the list. Sets `text.failed` without memory. */
void explain_also(struct explanation *explanation, struct stream *stream);

/* Writes a paragraph for each stream, those added meanwhile included, and the streams that wait for each other in a
 * circle. */
void explain_all(struct explanation *explanation);

void explain_free(struct explanation *explanation);

/* Reports CLS_ERROR_TIMEOUT for a wait for the stream; the message explains what the stream waits for. */
cls_status explain_timeout(struct stream *stream);

/* The same for a wait for other work of the streams; the sentence `what` begins the message. */
cls_status explain_timeout_of(const char *what, struct stream *const *streams, size_t count);

/* The same for a wait until any one of the streams is done. */
cls_status explain_timeout_all(struct stream *const *streams, size_t count);

#endif
