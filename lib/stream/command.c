/* SPDX-License-Identifier: MIT */
#include "stream/command.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "check/race.h"
#include "command/kernel.h"
#include "command/kernel_slots.h"
#include "memory/buffer.h"
#include "stream/stream.h"

cls_status command_keep(struct command *command, struct object *object) {
    return refs_keep(&command->refs, object);
}

cls_status refs_keep(struct refs *refs, struct object *object) {
    if (refs->count < COMMAND_REFS) {
        refs->here[refs->count++] = object;
        return CLS_SUCCESS;
    }
    struct object **more = refs->more_count ? refs->more : NULL;
    more = realloc(more, (refs->more_count + 1) * sizeof(struct object *));
    if (!more)
        return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for a command of many arguments");
    refs->more = more;
    refs->more[refs->more_count++] = object;
    return CLS_SUCCESS;
}

void refs_release_all(struct refs *refs) {
    for (unsigned i = 0; i < refs->count; i++)
        object_release(refs->here[i]);
    for (unsigned i = 0; i < refs->more_count; i++)
        object_release(refs->more[i]);
    if (RARELY(refs->more_count))
        free(refs->more);
    refs->count = refs->more_count = 0;
}

void command_drop(struct command *command) {
    if (command->type->discard)
        command->type->discard(command);
    refs_release(&command->refs);
    deps_clear(&command->deps);
}

static cls_status launch(struct target target, const struct command *command,
                         struct wait_list waits, cl_event *event) {
    const struct launch_shape *shape = &command->u.launch.shape;
    return enqueue_kernel(target.device, target.queue, command->u.launch.instance, shape->dims,
                          shape->global, shape->has_local ? shape->local : NULL, waits, event);
}

static void launch_discard(struct command *command) {
    if (!command->u.launch.slot)
        kernel_give_instance(command->u.launch.kernel, command->u.launch.instance);
}

/* With references of its own to what the stream's newest flight lends it, for which it has room: nothing is
 * lent to a launch of more arguments. */
static void own_lent(struct stream *stream, struct command *command) {
    const struct flight *lender = flight_last(&stream->flights);
    for (unsigned i = 0; command->lent >> i; i++)
        if (command->lent >> i & 1) {
            object_retain(lender->refs.here[i]);
            command_keep(command, lender->refs.here[i]);
        }
    command->lent = 0;
}

static cls_status launch_own(struct stream *stream, struct command *command) {
    struct kernel_slot *slot = command->u.launch.slot;
    own_lent(stream, command);
    cls_status status = slot ? kernel_slot_give(slot, command) : CLS_SUCCESS;
    if (!status)
        command->u.launch.slot = NULL;
    return status;
}

static cls_status write(struct target target, const struct command *command, struct wait_list waits,
                        cl_event *event) {
    return enqueue_write(target.device, target.queue, command->u.copy.to, command->u.copy.range,
                         command->u.copy.host, waits, event);
}

static cls_status read(struct target target, const struct command *command, struct wait_list waits,
                       cl_event *event) {
    return enqueue_read(target.device, target.queue, command->u.copy.from, command->u.copy.range,
                        command->u.copy.host, waits, event);
}

static cls_status copy(struct target target, const struct command *command, struct wait_list waits,
                       cl_event *event) {
    return enqueue_copy(target.device, target.queue, command->u.copy.to, command->u.copy.to_offset,
                        command->u.copy.from, command->u.copy.range, waits, event);
}

static cls_status write_rect(struct target target, const struct command *command,
                             struct wait_list waits, cl_event *event) {
    return enqueue_write_rect(target.device, target.queue, command->u.rect.to,
                              &command->u.rect.rect, command->u.rect.host, waits, event);
}

static cls_status read_rect(struct target target, const struct command *command,
                            struct wait_list waits, cl_event *event) {
    return enqueue_read_rect(target.device, target.queue, command->u.rect.from,
                             &command->u.rect.rect, command->u.rect.host, waits, event);
}

static cls_status copy_rect(struct target target, const struct command *command,
                            struct wait_list waits, cl_event *event) {
    return enqueue_copy_rect(target.device, target.queue, command->u.rect.to, command->u.rect.from,
                             &command->u.rect.rect, waits, event);
}

static cls_status fill(struct target target, const struct command *command, struct wait_list waits,
                       cl_event *event) {
    return enqueue_fill(target.device, target.queue, command->u.fill.to, command->u.fill.range,
                        command->u.fill.pattern, command->u.fill.pattern_bytes, waits, event);
}

cls_status command_migrate(struct target target, const struct migration *migration,
                           struct wait_list waits, cl_event *event) {
    struct buffer *buffer = migration->by_turns;
    if (!buffer)
        return enqueue_migrate(target.device, target.queue, migration->memory, migration->to_host,
                               waits, event);
    if (atomic_load(&buffer->svm_owner->is_mapped) == migration->to_host)
        return enqueue_marker(target.device, target.queue, waits, event);
    cls_status status =
        migration->to_host
            ? enqueue_map(target.device, target.queue, buffer->memory, buffer->bytes, waits, event)
            : enqueue_unmap(target.device, target.queue, buffer->memory, buffer->host, waits,
                            event);
    if (!status)
        atomic_store(&buffer->svm_owner->is_mapped, migration->to_host);
    return status;
}

void discard_migrate(struct command *command) {
    if (command->u.migrate.prefetch)
        pending_prefetch_end(command->u.migrate.prefetch);
}

static cls_status migrate(struct target target, const struct command *command,
                          struct wait_list waits, cl_event *event) {
    return command_migrate(target, &command->u.migrate, waits, event);
}

/* A marker that waits has no times on some drivers (NVIDIA says 0). Where it is to be timed, a second one
 * without waits follows it, which the order of the queue puts behind. */
static cls_status marker(struct target target, const struct command *command,
                         struct wait_list waits, cl_event *event) {
    bool twice = command->u.marker.event && target.in_order && waits.count;
    if (!twice)
        return enqueue_marker(target.device, target.queue, waits, event);
    cls_status status = enqueue_marker(target.device, target.queue, waits, NULL);
    return status ? status
                  : enqueue_marker(target.device, target.queue, (struct wait_list){0, NULL}, event);
}

const struct command_type type_launch = {.kind = CLS_COMMAND_KERNEL,
                                         .label = "kernel",
                                         .enqueue = launch,
                                         .touch = race_touch_args,
                                         .discard = launch_discard,
                                         .own = launch_own};
const struct command_type type_write = {
    .kind = CLS_COMMAND_COPY_H2D, .label = "copy_h2d", .enqueue = write, .touch = race_touch_copy};
const struct command_type type_read = {
    .kind = CLS_COMMAND_COPY_D2H, .label = "copy_d2h", .enqueue = read, .touch = race_touch_copy};
const struct command_type type_copy = {
    .kind = CLS_COMMAND_COPY_D2D, .label = "copy_d2d", .enqueue = copy, .touch = race_touch_copy};
const struct command_type type_write_rect = {.kind = CLS_COMMAND_COPY_H2D,
                                             .label = "copy_rect_h2d",
                                             .enqueue = write_rect,
                                             .touch = race_touch_rect};
const struct command_type type_read_rect = {.kind = CLS_COMMAND_COPY_D2H,
                                            .label = "copy_rect_d2h",
                                            .enqueue = read_rect,
                                            .touch = race_touch_rect};
const struct command_type type_copy_rect = {.kind = CLS_COMMAND_COPY_D2D,
                                            .label = "copy_rect_d2d",
                                            .enqueue = copy_rect,
                                            .touch = race_touch_rect};
const struct command_type type_fill = {
    .kind = CLS_COMMAND_FILL, .label = "fill", .enqueue = fill, .touch = race_touch_fill};
const struct command_type type_migrate = {.kind = CLS_COMMAND_MIGRATE,
                                          .label = "prefetch",
                                          .enqueue = migrate,
                                          .touch = race_touch_migrate,
                                          .discard = discard_migrate};
const struct command_type type_marker = {
    .kind = CLS_COMMAND_MARKER, .label = "marker", .enqueue = marker};
