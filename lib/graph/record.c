/* SPDX-License-Identifier: MIT */
#include "graph/record.h"

#include "base/error.h"
#include "graph/capture_state.h"

cls_status graph_record(struct context *context, const char *name, cls_stream *recorder,
                        cls_status (*submit)(const void *call, cls_stream recorder),
                        const void *call, struct command_graph **out) {
    cls_status status = CLS_SUCCESS;
    struct detail held;
    cls_graph handle;
    if (!*recorder)
        status =
            stream_create_owned(object_handle(&context->object), NULL, capture_owner, recorder);
    if (!status)
        status = cls_stream_begin_capture(*recorder, name);
    if (status)
        return status;
    status = submit(call, *recorder);
    error_save(&held);
    cls_status ended = cls_stream_end_capture(*recorder, &handle);
    error_restore(&held, status ? CLS_SUCCESS : ended);
    if (ended)
        return status ? status : ended;
    if (!status)
        status = command_graph_get(handle, out);
    cls_graph_destroy(handle);
    return status;
}
