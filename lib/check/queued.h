/* SPDX-License-Identifier: MIT */
/* What a stream's FIFO holds, for those who look on. */
#ifndef CLSTREAM_CHECK_QUEUED_H
#define CLSTREAM_CHECK_QUEUED_H

#include <stdbool.h>
#include <stdint.h>

struct command;
struct deps;
struct stream;

struct queued {
    uint64_t position;
    const struct command *command; /* NULL: the waits that nothing follows yet */
    struct deps *deps;             /* only to be looked at */
};

/* Calls `visit`, oldest first, under the stream's lock, until it returns false. */
void queued_visit(struct stream *stream, bool (*visit)(const struct queued *queued, void *arg),
                  void *arg);

/* Whether the command runs code of the user, which may call into the library. */
bool queued_runs_user_code(const struct queued *queued);

#endif
