/* SPDX-License-Identifier: MIT */
/* Launching the caller's kernels: arguments are checked and set, and the launch submitted. */
#include "base/error.h"
#include "core/buffer.h"
#include "core/context.h"
#include "core/kernel.h"
#include "core/kernel_slots.h"
#include "core/race.h"
#include "core/stream.h"
#include "core/transfer.h"

void kernel_command(struct kernel_slot *slot, unsigned dims, const size_t *global,
                    const size_t *local, struct command *out) {
    command_init(out, &type_launch, slot->kernel->label);
    out->u.launch.slot = slot;
    out->u.launch.instance = slot->instance;
    out->u.launch.dims = dims;
    out->u.launch.has_local = local != NULL;
    for (unsigned i = 0; i < dims; i++) {
        out->u.launch.global[i] = global[i];
        out->u.launch.local[i] = local ? local[i] : 0;
    }
}

/* --- shape --- */

static bool has_local(const cls_launch *launch) {
    bool any = false;
    for (unsigned i = 0; i < launch->dims; i++)
        any = any || launch->local[i];
    return any;
}

static cls_status check_local(const struct kernel *kernel, const cls_launch *launch) {
    size_t group = 1;
    for (unsigned i = 0; i < launch->dims; i++) {
        size_t local = launch->local[i];
        if (!local || launch->global[i] % local)
            return error_set(CLS_ERROR_INVALID_VALUE,
                             "local size %zu does not divide global size %zu in dimension %u",
                             local, launch->global[i], i);
        if (__builtin_mul_overflow(group, local, &group) || group > kernel->max_group)
            return error_set(CLS_ERROR_INVALID_VALUE,
                             "'%s' takes at most %zu work-items in a group", kernel->label,
                             kernel->max_group);
    }
    return CLS_SUCCESS;
}

static cls_status check_shape(const struct kernel *kernel, const cls_launch *launch, bool *empty) {
    size_t items = 1;
    if (!launch || launch->dims < 1 || launch->dims > 3)
        return error_set(CLS_ERROR_INVALID_VALUE, "a launch has 1 to 3 dimensions, not %u",
                         launch ? launch->dims : 0);
    *empty = false;
    for (unsigned i = 0; i < launch->dims; i++)
        *empty = *empty || !launch->global[i];
    for (unsigned i = 0; i < launch->dims && !*empty; i++)
        if (__builtin_mul_overflow(items, launch->global[i], &items))
            return error_set(CLS_ERROR_INVALID_VALUE, "the number of work-items overflows");
    if (*empty || !has_local(launch))
        return CLS_SUCCESS;
    return check_local(kernel, launch);
}

/* --- arguments --- */

static cls_status check_kind(const struct kernel *kernel, unsigned i, const cls_arg *arg) {
    static const char *const names[] = {"", "a value", "a buffer", "__local memory"};
    static const enum parameter_kind wanted[] = {[CLS_ARG_BUFFER] = PARAMETER_BUFFER,
                                                 [CLS_ARG_VALUE] = PARAMETER_VALUE,
                                                 [CLS_ARG_LOCAL] = PARAMETER_LOCAL};
    enum parameter_kind has = kernel->parameters[i];
    if ((unsigned)arg->kind > CLS_ARG_LOCAL)
        return error_set(CLS_ERROR_INVALID_VALUE, "argument %u is of no kind", i);
    if ((unsigned)arg->access > CLS_ACCESS_READ_WRITE)
        return error_set(CLS_ERROR_INVALID_VALUE, "argument %u: no cls_access", i);
    if (has != PARAMETER_UNKNOWN && has != wanted[arg->kind])
        return error_set(CLS_ERROR_INVALID_VALUE, "'%s': parameter %u is %s", kernel->label, i,
                         names[has]);
    if (arg->kind == CLS_ARG_BUFFER)
        return CLS_SUCCESS;
    if (!arg->size)
        return error_set(CLS_ERROR_INVALID_VALUE, "argument %u has 0 bytes", i);
    if (arg->kind == CLS_ARG_VALUE && arg->size > sizeof arg->u.bytes && !arg->u.pointer)
        return error_set(CLS_ERROR_INVALID_VALUE, "argument %u is a null pointer to a value", i);
    return CLS_SUCCESS;
}

/* Sets a buffer argument; the reference goes into the command. */
static cls_status set_buffer(const struct kernel *kernel, cl_kernel instance, unsigned i,
                             const cls_arg *arg, struct command *command) {
    const struct device *device = kernel->context->device;
    cl_mem none = NULL;
    struct buffer *buffer;
    if (!arg->u.buffer)
        return kernel_set_arg(device, instance, i, sizeof none, &none);
    cls_status status = buffer_get(arg->u.buffer, &buffer);
    if (status)
        return status;
    if (buffer->context != kernel->context)
        status =
            error_set(CLS_ERROR_WRONG_CONTEXT, "argument %u is a buffer of another context", i);
    if (!status && arg->access)
        status = transfer_check_range(buffer, arg->u.part.offset, arg->size);
    if (!status)
        status = kernel_set_arg(device, instance, i, sizeof buffer->memory, &buffer->memory);
    if (!status)
        status = command_keep(command, &buffer->object);
    if (status)
        buffer_put(buffer);
    return status;
}

static cls_status set_one(const struct kernel *kernel, cl_kernel instance, unsigned i,
                          const cls_arg *arg, struct command *command) {
    const struct device *device = kernel->context->device;
    cls_status status = check_kind(kernel, i, arg);
    if (status)
        return status;
    if (arg->kind == CLS_ARG_BUFFER)
        return set_buffer(kernel, instance, i, arg, command);
    if (arg->kind == CLS_ARG_LOCAL)
        return kernel_set_arg(device, instance, i, arg->size, NULL);
    const void *value = arg->size <= sizeof arg->u.bytes ? arg->u.bytes : arg->u.pointer;
    return kernel_set_arg(device, instance, i, arg->size, value);
}

static cls_status set_all(const struct kernel *kernel, cl_kernel instance, const cls_arg *args,
                          unsigned n_args, struct command *command) {
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < n_args && !status; i++)
        status = set_one(kernel, instance, i, &args[i], command);
    return status;
}

static cls_status check_call(const struct kernel *kernel, const cls_launch *shape,
                             const cls_arg *args, unsigned n_args, bool *empty) {
    if (n_args != kernel->n_parameters || (n_args && !args))
        return error_set(CLS_ERROR_INVALID_VALUE, "'%s' has %u parameters, not %u", kernel->label,
                         kernel->n_parameters, args ? n_args : 0);
    return check_shape(kernel, shape, empty);
}

/* With the stream entered; leaves it. */
static cls_status launch(struct stream *stream, cls_kernel kernel, const cls_launch *shape,
                         const cls_arg *args, unsigned n_args, uint64_t *position) {
    struct command command;
    struct kernel_slot *slot;
    bool empty = false;
    cls_status status = kernel_slots_get(stream, kernel, &slot);
    if (!status)
        status = check_call(slot->kernel, shape, args, n_args, &empty);
    if (status || empty) {
        pthread_mutex_unlock(&stream->lock);
        return status;
    }
    kernel_command(slot, shape->dims, shape->global, has_local(shape) ? shape->local : NULL,
                   &command);
    status = set_all(slot->kernel, slot->instance, args, n_args, &command);
    const struct race_args known = {.args = args, .count = n_args};
    if (!status)
        return stream_submit_entered(stream, &command, &known, position);
    pthread_mutex_unlock(&stream->lock);
    command_drop(&command);
    return status;
}

/* The stream, retained; for NULL the default stream of the kernel's context. */
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
        return launch(stream, kernel, shape, args, n_args, NULL);
    pthread_mutex_lock(&stream->lock);
    status = launch(stream, kernel, shape, args, n_args, NULL);
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
    status = launch(stream, kernel, shape, args, n_args, &position);
    if (!status && position)
        status = stream_wait(stream, position, WAIT_FOREVER);
    stream_put(stream);
    return status;
}
