/* SPDX-License-Identifier: MIT */
/*
 * Launches that are not to overlap those of another context on some drivers (driver/grids.h). No wait list names
 * an event of another cl_context, so the library holds such a launch back in the FIFO until those are over.
 */
#ifndef CLSTREAM_STREAM_CROSS_CONTEXT_HOLD_H
#define CLSTREAM_STREAM_CROSS_CONTEXT_HOLD_H

#include <stdbool.h>

#include "driver/quirk.h"
#include "stream/command.h"
#include "stream/context.h"
#include "stream/stream.h"

/* Under the lock of the command's stream: adds to `deps` what a launch has to let pass first, whatever becomes of
 * it; false when there is nothing, or no memory to wait for it. */
bool cross_context_find(struct stream *stream, const struct command *command, struct deps *deps);

static inline bool cross_context_holds(struct stream *stream, const struct command *command,
                                       struct deps *deps) {
    return (stream->context->device->quirks & QUIRK_UNLIKE_GRIDS_ABORT) &&
           command->type->kind == CLS_COMMAND_KERNEL && cross_context_find(stream, command, deps);
}

#endif
