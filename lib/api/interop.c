/* SPDX-License-Identifier: MIT */
/* Exchange of objects with the user's own OpenCL code: wrapping its objects and handing out the library's
 * (clstream/opencl.h). */
#include <clstream/opencl.h>

#include "base/error.h"
#include "base/intern.h"
#include "check/explain.h"
#include "check/race.h"
#include "command/foreign.h"
#include "driver/event.h"
#include "driver/memory.h"
#include "memory/buffer.h"
#include "memory/image.h"
#include "stream/context.h"
#include "stream/event.h"
#include "stream/event_ref.h"
#include "stream/failure.h"
#include "stream/handover.h"
#include "stream/submit.h"
#include "stream/wait.h"
#include "system/clocks.h"

static cls_status null_argument(const char *call, const char *name) {
    return error_set(CLS_ERROR_INVALID_VALUE, "%s: %s is null", call, name);
}

cls_status cls_context_wrap(cl_context cl, cl_device_id id, cls_context *out) {
    struct device *device;
    if (!cl || !id || !out)
        return null_argument("cls_context_wrap", !cl ? "context" : id ? "out" : "device");
    cls_status status = device_of_id(id, &device);
    if (!status)
        status = context_adopt(cl, device);
    if (!status)
        status = context_new(device, cl, false, out);
    if (!status)
        object_note_call(*out, "cls_context_wrap");
    return status;
}

/* Refuses a sub-buffer where the driver does not find it. */
static cls_status check_part(const struct context *context, cl_mem memory) {
    struct memory_place place;
    if (caps_trusts_parts(context->caps))
        return CLS_SUCCESS;
    memory_find(context->device, memory, &place);
    return place.root == memory
               ? CLS_SUCCESS
               : trust_refuse(context->device,
                              caps_trusts(context->caps, TRUST_SUB_BUFFER_ARGUMENTS)
                                  ? TRUST_SUB_BUFFER_COPIES
                                  : TRUST_SUB_BUFFER_ARGUMENTS);
}

cls_status cls_buffer_wrap(cls_context handle, cl_mem memory, cls_buffer *out) {
    struct context *context;
    struct buffer *buffer;
    size_t bytes;
    if (!memory || !out)
        return null_argument("cls_buffer_wrap", memory ? "out" : "memory");
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    status = check_part(context, memory);
    if (!status)
        status = memory_adopt(context->device, context->cl, memory, &bytes);
    if (!status) {
        status = buffer_new(context, memory, bytes, &buffer);
        if (status)
            memory_release(context->device, memory);
    }
    if (!status) {
        buffer->kind = CLS_BUFFER_WRAPPED;
        *out = object_handle(&buffer->object);
        object_note_call(*out, "cls_buffer_wrap");
    }
    context_put(context);
    return status;
}

cls_status cls_image_wrap(cls_context handle, cl_mem memory, cls_image *out) {
    struct context *context;
    cls_image_shape shape;
    size_t bytes;
    if (!memory || !out)
        return null_argument("cls_image_wrap", memory ? "out" : "memory");
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    status = image_adopt(context->device, context->cl, memory, &shape, &bytes);
    if (!status) {
        status = image_new(context, memory, &shape, NULL, 0, out);
        if (status)
            memory_release(context->device, memory);
    }
    context_put(context);
    if (!status)
        object_note_call(*out, "cls_image_wrap");
    return status;
}

cls_status cls_stream_wrap(cls_context handle, cl_command_queue cl, cls_stream *out) {
    struct context *context;
    struct queue *queue;
    struct stream *stream;
    if (!cl || !out)
        return null_argument("cls_stream_wrap", cl ? "out" : "queue");
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    status = queue_adopt(context, cl, &queue);
    if (!status) {
        status = stream_new(context, NULL, queue, &stream);
        if (status)
            queue_unuse(context, queue);
    }
    if (!status && race_on())
        race_waits_outside();
    if (!status)
        *out = object_handle(&stream->object);
    context_put(context);
    return status;
}

cls_status cls_context_get_cl(cls_context handle, cl_context *out, cl_device_id *device) {
    struct context *context;
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    if (out)
        *out = context->cl;
    if (device)
        *device = context->device->id;
    context_put(context);
    return CLS_SUCCESS;
}

cls_status cls_buffer_get_cl(cls_buffer handle, cl_mem *out) {
    struct buffer *buffer;
    if (!out)
        return null_argument("cls_buffer_get_cl", "out");
    cls_status status = buffer_find(handle, &buffer);
    if (status)
        return status;
    atomic_store(&buffer->is_exposed, true);
    *out = buffer->memory;
    buffer_put(buffer);
    return CLS_SUCCESS;
}

cls_status cls_image_get_cl(cls_image handle, cl_mem *out) {
    struct image *image;
    if (!out)
        return null_argument("cls_image_get_cl", "out");
    cls_status status = image_get(handle, &image);
    if (status)
        return status;
    *out = image->memory.memory;
    buffer_put(&image->memory);
    return CLS_SUCCESS;
}

/* --- events --- */

/* Makes an event for work that is done: a marker on a queue with no work but the mapping of pinned memory, so that it
 * completes soon. */
static cls_status completed_event(struct context *context, cl_event *out) {
    cl_command_queue queue;
    cl_event event;
    cls_status status = context_host_queue(context, &queue);
    if (!status)
        status = enqueue_marker(context->device, queue, (struct wait_list){0, NULL}, &event);
    if (status)
        return status;
    status = queue_flush(context->device, queue);
    if (status)
        event_release(context->device, event);
    else
        *out = event;
    return status;
}

static cls_status position_event(struct stream *stream, uint64_t position, cl_event *out) {
    struct dep dep;
    if (stream_dep(stream, position, NULL, &dep)) {
        const struct failure *failure = stream_failure_at(stream, position);
        return failure ? failure_report(stream, failure) : completed_event(stream->context, out);
    }
    if (!dep.event_ref)
        return CLS_NOT_READY;
    bool had = event_retain(dep.event_ref->device, dep.event_ref->event);
    if (had)
        *out = dep.event_ref->event;
    event_ref_drop(dep.event_ref);
    return had ? CLS_SUCCESS : CLS_NOT_READY;
}

cls_status cls_event_get_cl(cls_event handle, cl_event *out) {
    struct stream *stream;
    uint64_t position;
    if (!out)
        return null_argument("cls_event_get_cl", "out");
    cls_status status = event_snapshot(handle, &stream, &position);
    if (status)
        return status;
    if (!stream)
        return error_set(CLS_ERROR_INVALID_STATE, "the event was never recorded");
    status = position_event(stream, position, out);
    if (!status && race_on())
        race_event_exported();
    stream_put(stream);
    return status;
}

/* Reports the time-out of a wait until the event's work is with the driver. */
static cls_status not_handed_over(cls_event handle) {
    struct stream *stream;
    uint64_t position;
    cls_status status = event_snapshot(handle, &stream, &position);
    if (status)
        return status;
    status = explain_timeout_of("the work is not with the driver yet", &stream, stream ? 1 : 0);
    if (stream)
        stream_put(stream);
    return status;
}

cls_status cls_event_wait_cl(cls_event handle, uint64_t timeout_ns, cl_event *out) {
    const uint64_t deadline = deadline_after(timeout_ns);
    cls_status status = check_may_block();
    if (status)
        return status;
    while ((status = cls_event_get_cl(handle, out)) == CLS_NOT_READY) {
        if (deadline != WAIT_FOREVER && clock_now_ns() >= deadline)
            return not_handed_over(handle);
        clock_sleep_ns(50 * 1000);
    }
    return status;
}

/* Wraps the user's own event, with a reference of the library's. */
static cls_status foreign_event(const struct device *device, cl_event event,
                                struct event_ref **out) {
    if (!event_retain(device, event))
        return error_set(CLS_ERROR_INVALID_HANDLE, "the driver does not know the cl_event");
    *out = event_ref_new(device, event);
    if (*out)
        return CLS_SUCCESS;
    event_release(device, event);
    return error_no_memory("for a wait");
}

cls_status cls_stream_wait_cl(cls_stream handle, cl_event event) {
    struct stream *stream;
    if (!event)
        return null_argument("cls_stream_wait_cl", "event");
    cls_status status = stream_get(handle, NULL, &stream);
    if (status)
        return status;
    if (race_on())
        race_waits_outside();
    struct dep dep = {.event_ref = NULL};
    status = foreign_event(stream->context->device, event, &dep.event_ref);
    if (!status)
        status = event_flush(stream->context->device, event);
    if (!status)
        status = stream_add_wait(stream, &dep);
    if (status)
        dep_release(&dep);
    stream_put(stream);
    return status;
}

cls_status cls_stream_foreign_async(cls_stream handle, const char *label, cls_foreign_fn fn,
                                    void *arg) {
    struct stream *stream;
    struct command command = {.type = &type_foreign};
    if (!fn)
        return null_argument("cls_stream_foreign_async", "fn");
    cls_status status = stream_get(handle, NULL, &stream);
    if (status)
        return status;
    command.label = label ? intern(label) : NULL;
    command.u.host.foreign = fn;
    command.u.host.arg = arg;
    status = label && !command.label ? error_no_memory("for a label")
                                     : stream_submit(stream, &command, NULL);
    stream_put(stream);
    return status;
}
