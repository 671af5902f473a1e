/* SPDX-License-Identifier: MIT */
/* Host functions and completion callbacks as commands. */
#include "base/error.h"
#include "command/user_code.h"
#include "stream/context.h"
#include "stream/engine.h"
#include "stream/hooks.h"
#include "stream/submit.h"

static struct run_result leave(void) {
    const char *message = user_code_leave();
    return (struct run_result){.status = message ? CLS_ERROR_COMMAND_FAILED : CLS_SUCCESS,
                               .message = message};
}

static struct run_result run_host(struct stream *stream, struct command *command,
                                  cls_status so_far) {
    (void)so_far;
    user_code_enter(stream, command);
    command->u.host.fn(command->u.host.arg);
    return leave();
}

static struct run_result run_callback(struct stream *stream, struct command *command,
                                      cls_status so_far) {
    if (engine_is_down() && !so_far)
        so_far = CLS_ERROR_SHUTDOWN;
    user_code_enter(stream, command);
    command->u.host.callback(command->u.host.stream, so_far, command->u.host.arg);
    return leave();
}

static const struct command_type type_host = {.kind = CLS_COMMAND_HOST,
                                              .capture = CAPTURE_CODE,
                                              .label = "host function",
                                              .run = run_host,
                                              .after_completion = true,
                                              .user_code = true};
static const struct command_type type_callback = {.kind = CLS_COMMAND_CALLBACK,
                                                  .capture = CAPTURE_CODE,
                                                  .label = "callback",
                                                  .run = run_callback,
                                                  .after_completion = true,
                                                  .when_failed = true,
                                                  .user_code = true};

static cls_status submit(cls_stream handle, struct command *command) {
    struct stream *stream;
    cls_status status = stream_get(handle, NULL, &stream);
    if (status)
        return status;
    command->u.host.stream = handle ? handle : object_handle(&stream->object);
    status = stream_submit(stream, command, NULL);
    stream_put(stream);
    return status;
}

cls_status stream_add_callback_once(struct stream *stream, cls_stream_callback fn, void *arg) {
    struct command command = {.type = &type_callback};
    command.u.host.stream = object_handle(&stream->object);
    command.u.host.callback = fn;
    command.u.host.arg = arg;
    pthread_mutex_lock(&stream->lock);
    if (!RARELY(stream->capturing))
        return stream_submit_entered(stream, &command, NULL, NULL);
    cls_status status = hooks.capture.refuse(stream, "callback that is called once");
    pthread_mutex_unlock(&stream->lock);
    return status;
}

cls_status cls_stream_launch_host_async(cls_stream stream, cls_host_fn fn, void *arg) {
    struct command command = {.type = &type_host};
    if (!fn)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_stream_launch_host_async: fn is null");
    command.u.host.fn = fn;
    command.u.host.arg = arg;
    return submit(stream, &command);
}

cls_status cls_stream_add_callback(cls_stream stream, cls_stream_callback fn, void *arg) {
    struct command command = {.type = &type_callback};
    if (!fn)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_stream_add_callback: fn is null");
    command.u.host.callback = fn;
    command.u.host.arg = arg;
    return submit(stream, &command);
}
