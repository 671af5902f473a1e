/* SPDX-License-Identifier: MIT */
/* Who waits for whom, and why, in words. A snapshot, stream by stream. */
#ifndef CLSTREAM_CHECK_EXPLAIN_H
#define CLSTREAM_CHECK_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>

#include <clstream/status.h>

#include "base/text.h"

struct stream;

/* Streams to tell of; those that they wait for come behind. All zero is none. */
struct explanation {
    struct text text;
    struct stream **streams; /* retained */
    size_t count, room;
};

/* Adds a stream that is not among them yet. Without memory `text.failed`. */
void explain_also(struct explanation *explanation, struct stream *stream);

/* Writes a paragraph for each stream, and for those that turn up. */
void explain_all(struct explanation *explanation);

void explain_free(struct explanation *explanation);

/* Reports CLS_ERROR_TIMEOUT for a wait for the stream, with what it waits for. */
cls_status explain_timeout(struct stream *stream);

/* The same for a wait for `what`, a sentence, which is work of the streams. */
cls_status explain_timeout_of(const char *what, struct stream *const *streams, size_t count);

/* The same for a wait for the first of the streams. */
cls_status explain_timeout_all(struct stream *const *streams, size_t count);

#endif
