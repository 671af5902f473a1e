/* SPDX-License-Identifier: MIT */
/* Read access to the commands queued in a stream's FIFO, for explanations and the deadlock check. */
#ifndef CLSTREAM_CHECK_QUEUED_H
#define CLSTREAM_CHECK_QUEUED_H

#include <stdbool.h>
#include <stdint.h>

struct command;
struct deps;
struct stream;

struct queued {
    uint64_t position;
    const struct command *command; /* NULL: the pending waits of the next command */
    struct deps *deps;             /* to be read only */
};

/* Calls `visit` for each queued command, oldest first, under the stream's lock, until it returns false. */
void queued_visit(struct stream *stream, bool (*visit)(const struct queued *queued, void *arg),
                  void *arg);

/* Whether the command runs the user's code, which may call into the library. */
bool queued_runs_user_code(const struct queued *queued);

#endif
