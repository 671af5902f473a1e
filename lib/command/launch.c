/* SPDX-License-Identifier: MIT */
/* Launching the caller's kernels: arguments are checked and set, and the launch submitted. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "command/copy_call.h"
#include "command/kernel.h"
#include "command/kernel_slots.h"
#include "command/launch_groups.h"
#include "command/parameters.h"
#include "command/pointed.h"
#include "command/pointer_arg.h"
#include "driver/quirk.h"
#include "memory/address.h"
#include "memory/buffer.h"
#include "memory/image.h"
#include "memory/part.h"
#include "stream/context.h"
#include "stream/submit.h"
#include "stream/wait.h"

void kernel_command(struct kernel_slot *slot, struct command *out) {
    command_init(out, &type_launch, slot->kernel->label);
    out->u.launch.slot = slot;
    out->u.launch.instance = slot->instance;
}

/* --- shape --- */

/* Group sizes are mostly powers of two, which need no division. */
static bool is_multiple(size_t n, size_t of) {
    return (of & (of - 1)) == 0 ? (n & (of - 1)) == 0 : n % of == 0;
}

/* What a driver states of a kernel is a hint (launch_command.c); the device's own limits hold. */
static cls_status check_local(const struct kernel *kernel, const struct launch_shape *shape) {
    const struct device *device = kernel->context->device;
    const size_t *most = device->max_local, most_group = device->info.max_work_group;
    size_t group = 1;
    for (unsigned i = 0; i < shape->dims; i++) {
        size_t local = shape->local[i];
        if (!local || !is_multiple(shape->global[i], local))
            return error_set(CLS_ERROR_INVALID_VALUE,
                             "'%s': local size %zu does not divide global size %zu in dimension %u",
                             kernel->label, local, shape->global[i], i);
        if (local > most[i])
            return error_set(
                CLS_ERROR_INVALID_VALUE,
                "'%s': a group of %zu work-items in dimension %u; the device allows %zu",
                kernel->label, local, i, most[i]);
        if (__builtin_mul_overflow(group, local, &group) || group > most_group)
            return error_set(CLS_ERROR_INVALID_VALUE,
                             "'%s': a group of more than %zu work-items, which the device allows",
                             kernel->label, most_group);
    }
    return CLS_SUCCESS;
}

/* Drivers do not agree whether they choose by themselves the only group that the source allows. */
COLD static cls_status take_group(const struct kernel *kernel, struct launch_shape *shape) {
    const size_t *group = kernel->group;
    bool fits = true;
    for (unsigned i = 0; i < 3; i++) {
        const size_t local = i >= shape->dims ? 1 : shape->has_local ? shape->local[i] : group[i];
        fits &= local == group[i];
        if (i < shape->dims)
            shape->local[i] = group[i];
    }
    shape->has_local = true;
    if (fits)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_INVALID_VALUE, "'%s' is for groups of %zu x %zu x %zu",
                     kernel->label, group[0], group[1], group[2]);
}

COLD static cls_status take_offset(const struct kernel *kernel, const cls_launch *launch,
                                   struct launch_shape *out) {
    const struct device *device = kernel->context->device;
    for (unsigned i = 0; i < launch->dims; i++) {
        const size_t offset = launch->offset[i], global = launch->global[i];
        if (offset > device->most_items || global > device->most_items - offset)
            return error_set(CLS_ERROR_INVALID_VALUE,
                             "'%s': offset %zu and global size %zu in dimension %u are together "
                             "more than the device counts to (%zu)",
                             kernel->label, offset, global, i, device->most_items);
    }
    if (!caps_trusts(kernel->context->caps, TRUST_LAUNCH_OFFSETS))
        return trust_refuse(device, TRUST_LAUNCH_OFFSETS);
    out->has_offset = true;
    memcpy(out->offset, launch->offset, sizeof out->offset);
    return CLS_SUCCESS;
}

/* A launch with 0 items in one dimension is empty, whatever the others are. */
static cls_status read_shape(const struct kernel *kernel, const cls_launch *launch,
                             struct launch_shape *out) {
    bool empty = false, overflows = false;
    size_t offsets = 0;
    if (RARELY(!launch))
        return error_set(CLS_ERROR_INVALID_VALUE, "'%s': the launch is null", kernel->label);
    if (RARELY(launch->dims < 1 || launch->dims > 3))
        return error_set(CLS_ERROR_INVALID_VALUE, "'%s': a launch has 1 to 3 dimensions, not %u",
                         kernel->label, launch->dims);
    out->dims = launch->dims;
    out->has_local = out->has_offset = false;
    out->cut = CUT_NONE;
    out->items = 1;
    memcpy(out->global, launch->global, sizeof out->global);
    memcpy(out->local, launch->local, sizeof out->local);
    for (unsigned i = 0; i < launch->dims; i++) {
        out->has_local |= launch->local[i] != 0;
        offsets |= launch->offset[i];
        empty |= !launch->global[i];
        overflows |= __builtin_mul_overflow(out->items, launch->global[i], &out->items);
    }
    if (!empty && overflows)
        return error_set(CLS_ERROR_INVALID_VALUE, "'%s': the number of work-items overflows",
                         kernel->label);
    if (empty)
        return CLS_SUCCESS;
    cls_status status = RARELY(offsets) ? take_offset(kernel, launch, out) : CLS_SUCCESS;
    if (!status && RARELY(kernel->has_group))
        status = take_group(kernel, out);
    if (!status && out->has_local)
        return check_local(kernel, out);
    if (!status)
        launch_groups_choose(kernel, out);
    return status;
}

cls_status cls_kernel_suggest_local(cls_kernel handle, const cls_launch *launch, size_t *local) {
    struct launch_shape shape;
    struct kernel *kernel;
    if (!local)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_kernel_suggest_local: local is null");
    cls_status status = kernel_get(handle, &kernel);
    if (status)
        return status;
    status = read_shape(kernel, launch, &shape);
    object_release(&kernel->object);
    const bool has_local = !status && shape.items && shape.has_local;
    for (unsigned i = 0; i < 3 && !status; i++)
        local[i] = !has_local ? 0 : i < shape.dims ? shape.local[i] : 1;
    return status;
}

/* --- arguments --- */

/* Returns the buffer if the stream's newest flight holds it and can lend its reference to the command; else NULL. */
static struct buffer *borrow(const struct refs *lender, const cls_arg *arg,
                             struct command *command) {
    const struct object_pool *pool = arg->kind == CLS_ARG_IMAGE ? &image_pool : &buffer_pool;
    for (unsigned i = 0; lender && i < lender->count; i++)
        if (object_is_at(lender->here[i], arg->u.buffer) && lender->here[i]->pool == pool) {
            command->lent |= 1u << i;
            return (struct buffer *)(void *)lender->here[i];
        }
    return NULL;
}

/* Finds an argument's buffer, or its image's: borrowed from the newest flight, or with a reference that goes into the command. */
static inline cls_status get_buffer(const struct kernel *kernel, unsigned i, const cls_arg *arg,
                                    const struct refs *lender, struct command *command,
                                    struct buffer **out) {
    struct buffer *buffer = borrow(lender, arg, command);
    if (buffer) {
        *out = buffer;
        return buffer_check(buffer);
    }
    cls_status status = RARELY(arg->kind == CLS_ARG_IMAGE) ? image_get_memory(arg->u.image, &buffer)
                                                           : buffer_get(arg->u.buffer, &buffer);
    if (RARELY(status))
        return status;
    if (RARELY(buffer->context != kernel->context))
        status = error_set(CLS_ERROR_WRONG_CONTEXT, "argument %u is %s of another context", i,
                           arg->kind == CLS_ARG_IMAGE ? "an image" : "a buffer");
    if (!RARELY(status))
        status = command_keep(command, &buffer->object);
    if (RARELY(status))
        buffer_put(buffer);
    else
        *out = buffer;
    return status;
}

static cls_status set_buffer(struct kernel_slot *slot, unsigned i, const cls_arg *arg, bool known,
                             const struct refs *lender, struct command *command) {
    struct buffer *buffer = NULL;
    cls_status status = CLS_SUCCESS;
    if (arg->u.buffer)
        status = get_buffer(slot->kernel, i, arg, lender, command, &buffer);
    if (!status && buffer && RARELY(arg->access))
        status = copy_check_range(buffer, arg->u.part.offset, arg->size);
    if (!arg->u.buffer && RARELY(slot->kernel->context->device->quirks & QUIRK_NULL_BUFFER_HANGS))
        return quirk_refuse(slot->kernel->context->device, QUIRK_NULL_BUFFER_HANGS);
    const cl_mem memory = buffer ? buffer->memory : NULL;
    if (RARELY(status) || (known && kernel_slot_has(slot, i, memory)))
        return status;
    if (RARELY(kernel_is_pointed(slot->kernel, i)))
        return kernel_slot_point(slot, i, arg, buffer, 0);
    return kernel_slot_tell(slot, i, arg, memory);
}

static cls_status set_image(struct kernel_slot *slot, unsigned i, const cls_arg *arg, bool known,
                            const struct refs *lender, struct command *command) {
    struct buffer *buffer;
    cls_status status = get_buffer(slot->kernel, i, arg, lender, command, &buffer);
    if (!status)
        status = parameter_check_image(slot, i, image_of(buffer));
    if (status || (known && kernel_slot_has(slot, i, buffer->memory)))
        return status;
    return kernel_slot_tell(slot, i, arg, buffer->memory);
}

static cls_status set_sampler(struct kernel_slot *slot, unsigned i, const cls_arg *arg) {
    cl_sampler sampler;
    cls_status status = image_sampler(slot->kernel->context, arg, &sampler);
    return status ? status : kernel_slot_tell(slot, i, arg, sampler);
}

/* A part that begins anywhere, where the device takes addresses. */
static bool is_passed_by_address(const struct kernel *kernel, unsigned i,
                                 const struct buffer *buffer, size_t offset) {
    return kernel_is_pointed(kernel, i) ||
           (!buffer_part_is_aligned(buffer, offset) && kernel_may_point(kernel));
}

static cls_status point_at_part(struct kernel_slot *slot, unsigned i, const cls_arg *arg,
                                struct buffer *buffer) {
    cls_status status = buffer_part_check(buffer, arg->u.part.offset, arg->size);
    if (status)
        return status;
    kernel_point(slot->kernel, i);
    return kernel_slot_point(slot, i, arg, buffer, arg->u.part.offset);
}

/* The command keeps the buffer, which those look for who ask who uses it, and the part. */
COLD static cls_status set_part(struct kernel_slot *slot, unsigned i, const cls_arg *arg,
                                struct command *command) {
    struct buffer *buffer;
    struct buffer_part *part;
    cls_status status = get_buffer(slot->kernel, i, arg, NULL, command, &buffer);
    if (!status && is_passed_by_address(slot->kernel, i, buffer, arg->u.part.offset))
        return point_at_part(slot, i, arg, buffer);
    if (!status)
        status = buffer_part_new(buffer, arg->u.part.offset, arg->size, &part);
    if (status)
        return status;
    status = command_keep(command, &part->object);
    if (status)
        object_release(&part->object);
    return status ? status : kernel_slot_tell(slot, i, arg, part->memory);
}

/* Passes the address by value, and keeps the buffer. */
COLD static cls_status set_address(struct kernel_slot *slot, unsigned i, const cls_arg *arg,
                                   struct command *command) {
    struct buffer *buffer;
    uint64_t address;
    cls_status status = get_buffer(slot->kernel, i, arg, NULL, command, &buffer);
    if (!status && arg->u.part.offset > buffer->bytes)
        status = error_set(CLS_ERROR_OUT_OF_RANGE,
                           "argument %u is the address of byte %zu of a buffer of %zu bytes", i,
                           arg->u.part.offset, buffer->bytes);
    if (!status)
        status = buffer_address(buffer, &address);
    if (status)
        return status;
    address += arg->u.part.offset;
    const cls_arg value = cls_arg_u64(address);
    return kernel_slot_tell(slot, i, &value, NULL);
}

static cls_status set_one(struct kernel_slot *slot, unsigned i, const cls_arg *arg,
                          const struct refs *lender, struct command *command) {
    const bool known = kernel_slot_knows(slot, i, arg);
    cls_status status = known && !arg->access ? CLS_SUCCESS : parameter_check(slot, i, arg);
    if (!status && arg->kind == CLS_ARG_BUFFER)
        return set_buffer(slot, i, arg, known, lender, command);
    if (!status && RARELY(arg->kind == CLS_ARG_BUFFER_PART))
        return set_part(slot, i, arg, command);
    if (!status && RARELY(arg->kind == CLS_ARG_ADDRESS))
        return set_address(slot, i, arg, command);
    if (!status && arg->kind == CLS_ARG_IMAGE)
        return set_image(slot, i, arg, known, lender, command);
    if (!status && !known && RARELY(arg->kind == CLS_ARG_SAMPLER))
        return set_sampler(slot, i, arg);
    if (!status && RARELY(arg->kind == CLS_ARG_LOCAL) &&
        !caps_trusts(slot->kernel->context->caps, TRUST_LOCAL_ARGUMENTS))
        return trust_refuse(slot->kernel->context->device, TRUST_LOCAL_ARGUMENTS);
    return status || known ? status : kernel_slot_tell(slot, i, arg, NULL);
}

/* With one the command keeps more than its arguments are, and there is no room for what it borrows. */
static bool has_part(const cls_arg *args, unsigned n_args) {
    bool found = false;
    for (unsigned i = 0; i < n_args; i++)
        found |= args[i].kind == CLS_ARG_BUFFER_PART;
    return found;
}

/* --- buffers that the kernel reaches through addresses --- */

static cls_status keep_reached(const struct kernel *kernel, unsigned i, const cls_arg *arg,
                               struct command *command) {
    struct buffer *buffer;
    if (arg->kind != CLS_ARG_BUFFER || (unsigned)arg->access > CLS_ACCESS_READ_WRITE)
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "'%s': what it reaches are buffers, made by cls_arg_buffer and its kind; "
                         "number %u is something else",
                         kernel->label, i);
    cls_status status = buffer_get(arg->u.buffer, &buffer);
    if (status)
        return status;
    if (buffer->context != kernel->context)
        status = error_set(CLS_ERROR_WRONG_CONTEXT,
                           "'%s': number %u that it reaches is a buffer of another context",
                           kernel->label, i);
    if (!status && arg->access)
        status = copy_check_range(buffer, arg->u.part.offset, arg->size);
    if (!status)
        status = buffer_check_address(buffer);
    if (!status)
        status = command_keep(command, &buffer->object);
    if (status)
        buffer_put(buffer);
    return status;
}

COLD static cls_status keep_all_reached(const struct kernel *kernel, const cls_launch *how,
                                        struct command *command) {
    cls_status status = CLS_SUCCESS;
    if (!how->reaches)
        return error_set(CLS_ERROR_INVALID_VALUE, "'%s': the list of %u buffers reached is null",
                         kernel->label, how->n_reaches);
    for (unsigned i = 0; i < how->n_reaches && !status; i++)
        status = keep_reached(kernel, i, &how->reaches[i], command);
    return status;
}

static cls_status set_all(struct stream *stream, struct kernel_slot *slot, const cls_launch *how,
                          const cls_arg *args, unsigned n_args, struct command *command) {
    const bool keeps_more =
        command->u.launch.shape.cut == CUT_IN_TWO || how->n_reaches || has_part(args, n_args);
    const struct refs *lender = n_args <= COMMAND_REFS && !keeps_more
                                    ? flights_lender(&stream->flights, stream->max_in_flight)
                                    : NULL;
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < n_args && !status; i++)
        status = set_one(slot, i, &args[i], lender, command);
    if (RARELY(how->n_reaches) && !status)
        status = keep_all_reached(slot->kernel, how, command);
    return status;
}

/* Only of the arguments, unless the driver ends the process for want of the rest: some run kernels whose own memory is
 * more than the device is said to have. */
COLD static cls_status check_local_memory(const struct kernel *kernel, const cls_arg *args,
                                          unsigned n_args) {
    const struct device *device = kernel->context->device;
    const uint64_t most = device->info.local_memory;
    size_t bytes = device->quirks & QUIRK_LOCAL_MEMORY_ABORTS ? kernel->local_bytes : 0;
    for (unsigned i = 0; i < n_args; i++)
        if (args[i].kind == CLS_ARG_LOCAL && __builtin_add_overflow(bytes, args[i].size, &bytes))
            bytes = SIZE_MAX;
    if (bytes <= most)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_INVALID_VALUE,
                     "'%s': %zu bytes of __local memory are more than the device has (%llu)",
                     kernel->label, bytes, (unsigned long long)most);
}

static cls_status check_call(const struct kernel *kernel, const cls_launch *launch,
                             const cls_arg *args, unsigned n_args, struct launch_shape *shape) {
    if (RARELY(n_args != kernel->n_parameters))
        return error_set(CLS_ERROR_INVALID_VALUE, "'%s' has %u parameters, not %u", kernel->label,
                         kernel->n_parameters, n_args);
    if (RARELY(n_args && !args))
        return error_set(CLS_ERROR_INVALID_VALUE, "'%s': the list of %u arguments is null",
                         kernel->label, n_args);
    cls_status status =
        RARELY(kernel->takes_local) ? check_local_memory(kernel, args, n_args) : CLS_SUCCESS;
    return status ? status : read_shape(kernel, launch, shape);
}

/* Of a checked call, none of whose arguments is a pointer. Leaves the stream. */
static cls_status launch_by_handles(struct stream *stream, struct kernel_slot *slot,
                                    struct command *command, const cls_launch *how,
                                    const cls_arg *args, unsigned n_args, uint64_t *position) {
    cls_status status = set_all(stream, slot, how, args, n_args, command);
    if (!status && RARELY(command->u.launch.shape.cut == CUT_IN_TWO)) {
        command->type = &type_launch_in_two;
        status = launch_rest_keep(slot->kernel, command);
    }
    const struct launch_args known = {
        .args = args, .count = n_args, .reaches = how->reaches, .n_reaches = how->n_reaches};
    if (!RARELY(status))
        return stream_submit_entered(stream, command, &known, position);
    pthread_mutex_unlock(&stream->lock);
    command_drop(command);
    return status;
}

enum { MOST_ARGS_HERE = 16 };

/* The same of any arguments. */
static cls_status launch_by_pointers(struct stream *stream, struct kernel_slot *slot,
                                     struct command *command, const cls_launch *how,
                                     const cls_arg *args, unsigned n_args, uint64_t *position) {
    cls_arg here[MOST_ARGS_HERE];
    cls_launch launch = *how;
    const size_t n = (size_t)n_args + (how->reaches ? how->n_reaches : 0);
    cls_arg *found = n <= MOST_ARGS_HERE ? here : malloc(n * sizeof *found);
    cls_status status =
        found ? pointer_args_find(args, n_args, found) : error_no_memory("for %zu arguments", n);
    if (!status && how->reaches) {
        launch.reaches = found + n_args;
        status = pointer_reaches_find(how->reaches, how->n_reaches, found + n_args);
    }
    if (!status)
        status = launch_by_handles(stream, slot, command, &launch, found, n_args, position);
    else
        pthread_mutex_unlock(&stream->lock);
    if (found != here)
        free(found);
    return status;
}

cls_status launch_entered(struct stream *stream, cls_kernel kernel, const cls_launch *how,
                          const cls_arg *args, unsigned n_args, uint64_t *position) {
    struct command command;
    struct kernel_slot *slot;
    cls_status status = kernel_slots_get(stream, kernel, &slot);
    if (!RARELY(status)) {
        kernel_command(slot, &command);
        status = check_call(slot->kernel, how, args, n_args, &command.u.launch.shape);
    }
    if (RARELY(status || !command.u.launch.shape.items)) {
        pthread_mutex_unlock(&stream->lock);
        return status;
    }
    return RARELY(args_have_pointer(args, n_args) ||
                  args_have_pointer(how->reaches, how->n_reaches))
               ? launch_by_pointers(stream, slot, &command, how, args, n_args, position)
               : launch_by_handles(stream, slot, &command, how, args, n_args, position);
}

/* Finds the stream, retained; for NULL the default stream of the kernel's context. */
static cls_status stream_for(cls_kernel kernel_handle, cls_stream handle, struct stream **out) {
    struct kernel *kernel;
    if (handle)
        return stream_get(handle, NULL, out);
    cls_status status = kernel_get(kernel_handle, &kernel);
    if (status)
        return status;
    status = stream_get(NULL, kernel->context, out);
    object_release(&kernel->object);
    return status;
}

cls_status cls_kernel_launch_async(cls_kernel kernel, const cls_launch *shape, const cls_arg *args,
                                   unsigned n_args, cls_stream handle) {
    struct stream *stream;
    cls_status status = handle ? stream_enter(handle, &stream) : stream_for(kernel, NULL, &stream);
    if (status)
        return status;
    if (handle)
        return launch_entered(stream, kernel, shape, args, n_args, NULL);
    pthread_mutex_lock(&stream->lock);
    status = launch_entered(stream, kernel, shape, args, n_args, NULL);
    stream_put(stream);
    return status;
}

cls_status cls_kernel_launch(cls_kernel kernel, const cls_launch *shape, const cls_arg *args,
                             unsigned n_args, cls_stream handle) {
    struct stream *stream;
    uint64_t position = 0;
    cls_status status = check_may_block();
    if (!status)
        status = stream_for(kernel, handle, &stream);
    if (status)
        return status;
    pthread_mutex_lock(&stream->lock);
    status = launch_entered(stream, kernel, shape, args, n_args, &position);
    if (!status && position)
        status = stream_wait(stream, position, WAIT_FOREVER);
    stream_put(stream);
    return status;
}
