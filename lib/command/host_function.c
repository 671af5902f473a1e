/* SPDX-License-Identifier: MIT */
/* Host functions and completion callbacks as commands. */
#include "base/error.h"
#include "stream/context.h"
#include "stream/stream.h"

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
