/* SPDX-License-Identifier: MIT */
/* Checks and waits that the files of lib/pipeline share. */
#include "pipeline/pipeline.h"

#include <clstream/context.h>
#include <clstream/stream.h>

#include "base/error.h"
#include "pipeline/internals.h"

cls_status pipeline_context(cls_context given, cls_context *context, cls_stream *default_stream) {
    cls_context found = given;
    cls_status status = given ? CLS_SUCCESS : cls_context_default(&found);
    if (!status)
        status = cls_context_default_stream(found, default_stream);
    if (!status)
        *context = found;
    return status;
}

cls_status pipeline_check_stream(cls_stream stream, cls_context context) {
    cls_stream_info info = CLS_STREAM_INFO_INIT;
    cls_status status = cls_stream_get_info(stream, &info);
    if (!status && info.context != context)
        status = error_set(CLS_ERROR_WRONG_CONTEXT, "a stream of another context");
    return status;
}

cls_status pipeline_check_users_stream(cls_stream handle, cls_context context, const char *owner) {
    struct stream *stream;
    cls_status status = pipeline_check_stream(handle, context);
    if (!status)
        status = stream_enter(handle, &stream);
    if (status)
        return status;
    if (RARELY(stream->capturing))
        status = event_refuse_owner(stream, owner);
    pthread_mutex_unlock(&stream->lock);
    return status;
}

cls_status pipeline_returned(cls_status status, unsigned long before, const char *whose) {
    if (status && error_count() == before)
        return error_set(status, "%s returned %s", whose, cls_status_string(status));
    return status;
}

cls_status pipeline_event(cls_context context, const cls_event_config *config, const char *owner,
                          cls_event *out) {
    const cls_status status = cls_event_create(context, config, out);
    if (status)
        return status;
    object_note_librarys(*out);
    event_own(*out, owner);
    return CLS_SUCCESS;
}

cls_status pipeline_may_block(void) { return check_may_block(); }
