/* SPDX-License-Identifier: MIT */
#include "command/user_code.h"

#include <stdbool.h>
#include <string.h>

#include <clstream/stream.h>

#include "base/error.h"
#include "stream/hooks.h"
#include "stream/worker.h"

/* Of the user code that this thread runs, or ran last. */
static _Thread_local bool failed;
static _Thread_local char message[128];

void user_code_enter(struct stream *stream, const struct command *command) {
    if (race_on())
        hooks.race.enter(stream, command);
    failed = false;
    worker_enter_user_code(stream);
}

const char *user_code_leave(void) {
    worker_leave_user_code();
    if (race_on())
        hooks.race.leave();
    return failed ? message : NULL;
}

cls_status cls_host_function_fail(const char *why) {
    if (!why)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_host_function_fail: message is null");
    if (!worker_in_user_code())
        return error_set(CLS_ERROR_INVALID_STATE,
                         "cls_host_function_fail: called outside a host function");
    if (!failed)
        strncpy(message, why, sizeof message - 1);
    failed = true;
    return CLS_SUCCESS;
}
