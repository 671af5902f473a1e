/* SPDX-License-Identifier: MIT */
/* A launch as a command: how it is enqueued, deferred and dropped, and which bytes its arguments touch. */
#include "base/error.h"
#include "command/kernel.h"
#include "command/kernel_slots.h"
#include "command/launch_groups.h"
#include "command/op.h"
#include "command/pointer_arg.h"
#include "memory/buffer.h"
#include "stream/flight.h"
#include "stream/stream.h"
#include "stream/touch.h"

static cls_status launch(struct target target, const struct command *command,
                         struct wait_list waits, cl_event *event) {
    const struct grid grid = launch_grid(&command->u.launch.shape);
    return enqueue_kernel(target.device, target.queue, command->u.launch.instance, &grid, waits,
                          event);
}

/* A captured one has no instance. */
static void launch_discard(struct command *command) {
    if (!command->u.launch.slot && command->u.launch.instance)
        kernel_give_instance(command->u.launch.kernel, command->u.launch.instance);
}

/* Gives a launch its own references to the buffers that the stream's newest flight lends it. There is room: a launch of
 * more arguments borrows nothing. */
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

/* Adds what an argument's buffer is used for; nothing where another thread has destroyed the handle meanwhile. */
static void add_arg(struct touches *touches, const struct device *device, const cls_arg *arg,
                    bool writable) {
    struct object_pool *pool = arg->kind == CLS_ARG_IMAGE ? &image_pool : &buffer_pool;
    struct buffer *buffer = object_acquire(pool, arg->u.buffer);
    if (!buffer)
        return;
    const struct byte_span span = byte_span_1d(arg->u.part.offset, arg->size);
    const bool unknown = arg->access == CLS_ACCESS_UNKNOWN;
    const bool writes = unknown ? writable : arg->access != CLS_ACCESS_READ;
    if (arg->kind == CLS_ARG_ADDRESS || arg_uses_all(arg) ||
        (unknown && arg->kind != CLS_ARG_BUFFER_PART))
        touches_add_whole(touches, device, buffer->memory, writes, unknown);
    else
        touches_add_buffer(touches, device, buffer->memory, &span, writes, unknown);
    buffer_put(buffer);
}

void touch_args(struct touches *touches, const struct device *device, const struct command *command,
                const struct launch_args *args) {
    for (unsigned i = 0; args && i < args->count; i++) {
        const struct op_arg *own = args->op_args ? &args->op_args[i] : NULL;
        const cls_arg *arg = args->args ? &args->args[i] : NULL;
        if (own && own->kind == OP_ARG_BUFFER) {
            const struct byte_span part = byte_span_1d(own->u.part.offset, own->size);
            touches_add_buffer(touches, device, own->u.part.buffer->memory,
                               own->u.part.span ? own->u.part.span : &part, own->writes, false);
        }
        if (arg && arg_names_memory(arg->kind) && arg->u.buffer)
            add_arg(touches, device, arg,
                    !kernel_parameter_is_const(device, command->u.launch.instance, i));
    }
    for (unsigned i = 0; args && i < args->n_reaches; i++)
        add_arg(touches, device, &args->reaches[i], true);
}

const struct command_type type_launch = {.kind = CLS_COMMAND_KERNEL,
                                         .capture = CAPTURE_LAUNCH,
                                         .label = "kernel",
                                         .enqueue = launch,
                                         .touch = touch_args,
                                         .discard = launch_discard,
                                         .own = launch_own};
const struct command_type type_launch_in_two = {.kind = CLS_COMMAND_KERNEL,
                                                .capture = CAPTURE_LAUNCH,
                                                .label = "kernel",
                                                .enqueue = launch_enqueue_in_two,
                                                .in_parts = true,
                                                .touch = touch_args,
                                                .discard = launch_discard,
                                                .own = launch_own};
