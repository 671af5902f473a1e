/* SPDX-License-Identifier: MIT */
/*
 * Foreign code as a command: a call of CLBlast, which takes no wait lists, or the user's own enqueues. Both enqueue on
 * the stream's companion, an in-order queue: a marker first makes it wait for all that is ahead, and one event marks the
 * end. The command runs on a worker, because a library compiles its kernels at the first call, which takes long. Where
 * the stream's own queue is in order, a library call with its kernels compiled needs neither companion nor worker.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "command/foreign.h"
#include "command/kernel.h"
#include "command/op.h"
#include "command/user_code.h"
#include "driver/event.h"
#include "driver/queue.h"
#include "driver/status.h"
#include "memory/buffer.h"
#include "stream/abandoned.h"
#include "stream/context.h"
#include "stream/event_ref.h"
#include "stream/flush.h"
#include "stream/handover.h"
#include "stream/submit.h"
#include "stream/worker.h"
#include "stream/worker_commands.h"

/* Under the lock: the stream's companion, made on first need, and replaced by a profiled one when the stream
 * has become so. */
static cls_status find_companion(struct stream *stream) {
    struct queue_traits traits = {.out_of_order = false,
                                  .profiled = stream->queue->traits.profiled,
                                  .priority = stream->queue->traits.priority};
    if (stream->companion && (stream->companion->traits.profiled || !traits.profiled))
        return CLS_SUCCESS;
    struct queue *queue;
    cls_status status = queue_acquire(stream->context, &traits, &queue);
    if (status)
        return status;
    struct queue *before = stream->companion;
    stream->companion = queue;
    if (before)
        handover_leave_queue(stream, before);
    return CLS_SUCCESS;
}

/* Makes the companion wait for all that is ahead, by one merged wait. */
static cls_status enter(struct stream *stream, struct command *command) {
    cls_status status = handover_choose_queue(stream, command);
    if (!status)
        status = find_companion(stream);
    if (!status)
        status = handover_cover(stream);
    if (status)
        return status;
    stream_flush_locked(stream);
    cl_event *events = malloc((command->deps.count + 1) * sizeof *events), entered;
    if (!events)
        return error_no_memory("for a wait list");
    cl_uint count = 0;
    cl_event tail = handover_tail(stream, stream->companion);
    if (tail)
        events[count++] = tail;
    for (unsigned i = 0; i < command->deps.count; i++)
        if (deps_items(&command->deps)[i].event_ref)
            events[count++] = deps_items(&command->deps)[i].event_ref->event;
    if (count)
        status = enqueue_marker(stream->context->device, stream->companion->cl,
                                (struct wait_list){count, events}, &entered);
    free(events);
    if (!count || status)
        return status;
    /* Kept until the command is retired, as a flight's event is. */
    struct dep keep = {.event_ref = event_ref_new(stream->context->device, entered)};
    if (keep.event_ref) {
        status = deps_add(&command->deps, &keep);
    } else {
        event_release(stream->context->device, entered);
        status = error_no_memory("for an event");
    }
    if (status)
        dep_release(&keep);
    return status;
}

/* Ends the enqueued work with a marker, whose event says when it is done. If the driver refuses the marker, the end
 * cannot be known and the command is abandoned. */
static cls_status leave(struct stream *stream, struct command *command, cl_event *event) {
    const struct device *device = stream->context->device;
    struct queue *queue = stream->companion; /* only this worker, now, would change it */
    cls_status status = enqueue_marker(device, queue->cl, (struct wait_list){0, NULL}, event);
    if (!status) {
        queue_flush(device, queue->cl);
        return CLS_SUCCESS;
    }
    *event = NULL;
    pthread_mutex_lock(&stream->lock); /* others look at what the head uses */
    abandon_command(stream->context, queue, command);
    pthread_mutex_unlock(&stream->lock);
    return status;
}

/* The foreign function, called between entering and leaving the companion; returns a cl_int. */
typedef int (*body)(struct stream *stream, cl_command_queue queue, const struct command *command);

static struct run_result run_on_companion(struct stream *stream, struct command *command,
                                          body call) {
    struct run_result result = {.companion = true};
    pthread_mutex_lock(&stream->lock);
    result.status = enter(stream, command);
    cl_command_queue queue = stream->companion ? stream->companion->cl : NULL;
    pthread_mutex_unlock(&stream->lock);
    if (result.status) {
        result.code = cls_last_error_code();
        return result;
    }
    user_code_enter(stream, command);
    result.code = call(stream, queue, command);
    result.message = user_code_leave();
    result.status = result.code || result.message ? CLS_ERROR_COMMAND_FAILED : CLS_SUCCESS;
    cls_status left = leave(stream, command, &result.event);
    if (!left && !caps_trusts(stream->context->caps, TRUST_EVENTS_ACROSS_QUEUES))
        event_verdict(stream->context->device, 1, &result.event);
    if (!result.status && left) {
        result.status = left;
        result.code = cls_last_error_code();
    }
    return result;
}

static int call_user(struct stream *stream, cl_command_queue queue, const struct command *command) {
    (void)stream;
    return command->u.host.foreign(queue, command->u.host.arg);
}

static struct run_result run_foreign(struct stream *stream, struct command *command,
                                     cls_status so_far) {
    (void)so_far;
    return run_on_companion(stream, command, call_user);
}

const struct command_type type_foreign = {.kind = CLS_COMMAND_FOREIGN,
                                          .capture = CAPTURE_CODE,
                                          .label = "foreign call",
                                          .run = run_foreign,
                                          .user_code = true};

/* --- calls of a foreign library by an operation --- */

static int call_library(struct stream *stream, cl_command_queue queue,
                        const struct command *command) {
    return command->u.library.of->call(stream->context->device, queue, command->u.library.arguments,
                                       NULL);
}

static struct run_result run_library(struct stream *stream, struct command *command,
                                     cls_status so_far) {
    (void)so_far;
    return run_on_companion(stream, command, call_library);
}

/* For in-order queues only, where a marker holds back the commands behind it. */
static cls_status enqueue_library(struct target target, const struct command *command,
                                  struct wait_list waits, cl_event *event) {
    cls_status status =
        waits.count ? enqueue_marker(target.device, target.queue, waits, NULL) : CLS_SUCCESS;
    if (status)
        return status;
    const int code = command->u.library.of->call(target.device, target.queue,
                                                 command->u.library.arguments, event);
    return code ? driver_status(code, command_label(command)) : CLS_SUCCESS;
}

static void discard_library(struct command *command) {
    free(command->u.library.arguments);
    command->u.library.arguments = NULL;
}

const struct command_type type_library = {.kind = CLS_COMMAND_FOREIGN,
                                          .capture = CAPTURE_LIBRARY,
                                          .label = "library call",
                                          .run = run_library,
                                          .touch = touch_args,
                                          .discard = discard_library};
const struct command_type type_library_inline = {.kind = CLS_COMMAND_FOREIGN,
                                                 .capture = CAPTURE_LIBRARY,
                                                 .label = "library call",
                                                 .enqueue = enqueue_library,
                                                 .in_parts = true,
                                                 .touch = touch_args,
                                                 .discard = discard_library};

/* Whether the submitting thread may enqueue the call itself: nothing is left to compile, and the stream's own queue
 * is in order, so that the library needs no wait lists. */
static bool may_go_inline(struct stream *stream, const struct op_library_call *call) {
    if (!call->library->is_compiled(call->arguments))
        return false;
    pthread_mutex_lock(&stream->lock);
    const bool in_order = !stream->queue->traits.out_of_order;
    pthread_mutex_unlock(&stream->lock);
    return in_order;
}

/* The command keeps every buffer of the call. */
static cls_status keep_buffers(const struct op_call *call, struct command *command) {
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i <= call->n_views && !status; i++) {
        struct buffer *buffer = i < call->n_views ? call->views[i].buffer : call->scratch;
        if (!buffer)
            continue;
        object_retain(&buffer->object);
        status = command_keep(command, &buffer->object);
        if (status)
            buffer_put(buffer);
    }
    return status;
}

/* The views, the last of which is the output, and the scratch, as arguments. */
static unsigned library_args(const struct op_call *call, const struct byte_span *spans,
                             struct op_arg *args) {
    unsigned n = 0;
    for (; n < call->n_views; n++)
        args[n] = op_arg_span(call->views[n].buffer, n + 1 == call->n_views, &spans[n]);
    if (call->scratch)
        args[n++] = op_arg_out(call->scratch);
    return n;
}

cls_status op_library(struct op_call *call, const struct op_library_call *library) {
    struct command command;
    const bool in_place = may_go_inline(call->stream, library);
    command_init(&command, in_place ? &type_library_inline : &type_library, library->label);
    command.u.library.of = library->library;
    command.u.library.bytes = library->bytes;
    command.u.library.arguments = malloc(library->bytes);
    if (!command.u.library.arguments)
        return error_no_memory("for a library's call");
    memcpy(command.u.library.arguments, library->arguments, library->bytes);
    cls_status status = keep_buffers(call, &command);
    struct op_arg args[OP_MAX_VIEWS + 1];
    const struct launch_args known = {.op_args = args,
                                      .count = library_args(call, library->spans, args)};
    if (!status) {
        pthread_mutex_lock(&call->stream->lock);
        return stream_submit_entered(call->stream, &command, &known, &call->last_position);
    }
    command_drop(&command);
    return status;
}

cls_status op_any_queue(const struct op_call *call, cl_command_queue *out) {
    return context_host_queue(call->context, out);
}
