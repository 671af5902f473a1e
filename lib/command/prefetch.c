/* SPDX-License-Identifier: MIT */
/* Prefetches: a hint to the driver, except for coarse-grained unified memory, whose owner they change. */
#include "base/error.h"
#include "command/copy_call.h"
#include "driver/quirk.h"
#include "stream/context.h"
#include "stream/handover.h"
#include "stream/touch.h"
#include "stream/wait.h"

static cls_status command_migrate(struct target target, const struct migration *migration,
                                  struct wait_list waits, cl_event *event) {
    struct buffer *buffer = migration->by_turns;
    if (!buffer)
        return enqueue_migrate(target.device, target.queue, migration->memory, migration->to_host,
                               waits, event);
    const struct shared *mapping = &buffer->svm_owner->mapping;
    if (atomic_load(&buffer->svm_owner->is_mapped) == migration->to_host)
        return enqueue_marker(target.device, target.queue, waits, event);
    cls_status status = migration->to_host
                            ? enqueue_map(target.device, target.queue, mapping, waits, event)
                            : enqueue_unmap(target.device, target.queue, mapping, waits, event);
    if (!status)
        atomic_store(&buffer->svm_owner->is_mapped, migration->to_host);
    return status;
}

static void discard_migrate(struct command *command) {
    if (command->u.migrate.prefetch)
        pending_prefetch_end(command->u.migrate.prefetch);
}

static cls_status migrate(struct target target, const struct command *command,
                          struct wait_list waits, cl_event *event) {
    return command_migrate(target, &command->u.migrate, waits, event);
}

/* Runs on a worker, for drivers whose enqueue of a migration blocks until the work ahead is done. */
static struct run_result run_migrate(struct stream *stream, struct command *command,
                                     cls_status so_far) {
    struct run_result result = {.status = CLS_SUCCESS};
    (void)so_far;
    pthread_mutex_lock(&stream->lock);
    result.status = handover_choose_queue(stream, command);
    struct target target = {stream->context->device, stream->queue->cl, false};
    pthread_mutex_unlock(&stream->lock);
    if (result.status) {
        result.code = cls_last_error_code();
        return result;
    }
    result.status =
        command_migrate(target, &command->u.migrate, (struct wait_list){0, NULL}, &result.event);
    if (result.status)
        result.event = NULL;
    result.code = result.status ? cls_last_error_code() : CL_SUCCESS;
    return result;
}

static const struct command_type type_late_migrate = {.kind = CLS_COMMAND_MIGRATE,
                                                      .capture = CAPTURE_MIGRATE,
                                                      .label = "prefetch",
                                                      .run = run_migrate,
                                                      .touch = touch_migrate,
                                                      .discard = discard_migrate,
                                                      .after_completion = true,
                                                      .leaves_event = true};

static const struct command_type type_migrate = {.kind = CLS_COMMAND_MIGRATE,
                                                 .capture = CAPTURE_MIGRATE,
                                                 .label = "prefetch",
                                                 .enqueue = migrate,
                                                 .touch = touch_migrate,
                                                 .discard = discard_migrate};

static bool can_migrate_to_host(const struct copy_call *t) {
    return !(t->stream->context->device->quirks & QUIRK_HOST_MIGRATION_CORRUPTS);
}

static cls_status prepare(struct copy_call *t, bool to_host) {
    struct buffer *buffer = t->to;
    if (to_host && !buffer->svm_owner && !can_migrate_to_host(t)) {
        command_init(&t->command, &type_marker, "prefetch");
        return CLS_SUCCESS;
    }
    t->command.type = t->stream->context->caps->migrate_blocks ? &type_late_migrate : &type_migrate;
    t->command.u.migrate = (struct migration){.memory = &buffer->memory, .to_host = to_host};
    if (!buffer->svm_owner)
        return CLS_SUCCESS;
    t->command.u.migrate.by_turns = buffer;
    return svm_owner_pass(buffer->svm_owner, t->stream, to_host, &t->command.u.migrate.prefetch);
}

/* A refused command drops its reference to the buffer; svm_owner_submitted still needs it. */
static cls_status submit(struct copy_call *t, uint64_t *position) {
    struct svm_owner *svm_owner = t->to->svm_owner;
    if (!svm_owner)
        return copy_call_hand_in(t, position);
    struct buffer *buffer = t->to;
    object_retain(&buffer->object);
    cls_status status = copy_call_hand_in(t, position);
    status = svm_owner_submitted(svm_owner, t->stream, *position, status);
    buffer_put(buffer);
    return status;
}

static cls_status prefetch(cls_buffer handle, cls_location where, cls_stream stream,
                           bool blocking) {
    struct copy_call t;
    uint64_t position = 0;
    if (where != CLS_TO_DEVICE && where != CLS_TO_HOST)
        return error_set(CLS_ERROR_INVALID_VALUE, "%d is no cls_location", (int)where);
    cls_status status = copy_call_begin_moving(&t, stream, handle);
    if (status)
        return status;
    if (blocking)
        status = check_may_block();
    if (!status)
        status = prepare(&t, where == CLS_TO_HOST);
    if (!status)
        status = submit(&t, &position);
    if (!status && blocking)
        status = stream_wait(t.stream, position, WAIT_FOREVER);
    return copy_call_end(&t, status);
}

cls_status cls_prefetch_async(cls_buffer buffer, cls_location where, cls_stream stream) {
    return prefetch(buffer, where, stream, false);
}

cls_status cls_prefetch(cls_buffer buffer, cls_location where, cls_stream stream) {
    return prefetch(buffer, where, stream, true);
}
