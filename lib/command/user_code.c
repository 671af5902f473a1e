/* SPDX-License-Identifier: MIT */
#include "command/user_code.h"

#include "stream/hooks.h"
#include "stream/worker.h"

void user_code_enter(struct stream *stream, const struct command *command) {
    if (race_on())
        hooks.race.enter(stream, command);
    worker_enter_user_code(stream);
}

void user_code_leave(void) {
    worker_leave_user_code();
    if (race_on())
        hooks.race.leave();
}
