/* SPDX-License-Identifier: MIT */
#include "command/user_code.h"

#include "check/race.h"
#include "stream/worker.h"

void user_code_enter(struct stream *stream, const struct command *command) {
    if (race_on())
        race_enter(stream, command);
    worker_enter_user_code(stream);
}

void user_code_leave(void) {
    worker_leave_user_code();
    if (race_on())
        race_leave();
}
