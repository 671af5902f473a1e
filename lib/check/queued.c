/* SPDX-License-Identifier: MIT */
#include "check/queued.h"

#include "stream/stream.h"

void queued_visit(struct stream *stream, bool (*visit)(const struct queued *queued, void *arg),
                  void *arg) {
    bool going = true;
    pthread_mutex_lock(&stream->lock);
    for (struct command *command = fifo_head(&stream->fifo); command && going;
         command = command->next) {
        struct queued queued = {command->position, command, &command->deps};
        going = visit(&queued, arg);
    }
    if (stream->waits.count && going) {
        struct queued queued = {stream->submitted + 1, NULL, &stream->waits};
        visit(&queued, arg);
    }
    pthread_mutex_unlock(&stream->lock);
}

bool queued_runs_user_code(const struct queued *queued) {
    return queued->command && queued->command->type->user_code;
}
