/* SPDX-License-Identifier: MIT */
#include "command/op.h"

#include <string.h>

#include "base/error.h"
#include "base/setting.h"
#include "command/copy_call.h"
#include "command/kernel.h"
#include "command/kernel_slots.h"
#include "command/named_kernels.h"
#include "command/op_kernel.h"
#include "command/parameters.h"
#include "command/pointed.h"
#include "memory/buffer.h"
#include "memory/mempool.h"
#include "stream/context.h"
#include "stream/failure.h"
#include "stream/submit.h"
#include "stream/wait.h"

static void release_views(struct op_call *call) {
    for (unsigned i = 0; i < call->n_views; i++)
        buffer_put(call->views[i].buffer);
    call->n_views = 0;
}

static cls_status keep_buffer(struct buffer *kept, struct buffer **out) {
    cls_status status = buffer_check(kept);
    if (status)
        return status;
    object_retain(&kept->object);
    *out = kept;
    return CLS_SUCCESS;
}

cls_status op_check_range(const cls_array *array, const struct buffer *buffer) {
    const size_t size = cls_dtype_size(array->dtype);
    size_t end;
    if (!__builtin_add_overflow(array->offset, array->count, &end) &&
        !__builtin_mul_overflow(end, size, &end) && end <= buffer->bytes)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_OUT_OF_RANGE,
                     "%zu elements of %s from element %zu pass the end of a buffer of %zu bytes",
                     array->count, cls_dtype_name(array->dtype), array->offset, buffer->bytes);
}

/* Resolves one view; the buffer's reference is the call's. `kept` NULL: the buffer is the handle's. */
static cls_status get_view(const cls_array *array, struct buffer *kept, struct op_view *view) {
    size_t size = cls_dtype_size(array->dtype);
    struct buffer *buffer;
    if (!size)
        return error_set(CLS_ERROR_INVALID_VALUE, "%d is no cls_dtype", (int)array->dtype);
    cls_status status = kept ? keep_buffer(kept, &buffer) : buffer_get(array->buffer, &buffer);
    if (status)
        return status;
    status = op_check_range(array, buffer);
    if (status) {
        buffer_put(buffer);
        return status;
    }
    *view =
        (struct op_view){buffer, array->dtype, array->offset, array->count, array->offset * size};
    return CLS_SUCCESS;
}

static cls_status op_get_stream(struct op_call *call, cls_stream handle) {
    struct context *context = call->n_views ? call->views[0].buffer->context : NULL;
    for (unsigned i = 1; i < call->n_views; i++)
        if (call->views[i].buffer->context != context)
            return error_set(CLS_ERROR_WRONG_CONTEXT, "the arrays are of different contexts");
    cls_status status = stream_get(handle, context, &call->stream);
    if (status)
        return status;
    if (context && call->stream->context != context) {
        stream_put(call->stream);
        return error_set(CLS_ERROR_WRONG_CONTEXT, "arrays and stream are of different contexts");
    }
    call->context = call->stream->context;
    call->device = call->context->device;
    call->caps = call->context->caps;
    return CLS_SUCCESS;
}

cls_status op_begin(struct op_call *call, cls_stream stream, const cls_array *const *views,
                    unsigned n_views, bool blocking) {
    return op_begin_kept(call, stream, views, NULL, n_views, blocking);
}

cls_status op_begin_kept(struct op_call *call, cls_stream stream, const cls_array *const *views,
                         struct buffer *const *buffers, unsigned n_views, bool blocking) {
    cls_status status = blocking ? check_may_block() : CLS_SUCCESS;
    call->n_views = 0;
    call->last_position = 0;
    call->copies = 0;
    call->scratch = NULL;
    call->registered = NULL;
    call->row = NULL;
    call->parameter = NULL;
    for (unsigned i = 0; i < n_views && !status; i++) {
        status = get_view(views[i], buffers ? buffers[i] : NULL, &call->views[i]);
        call->n_views += !status;
    }
    if (!status)
        status = op_get_stream(call, stream);
    if (status)
        release_views(call);
    return status;
}

cls_status op_view_get(const struct op_call *call, const cls_array *array, struct op_view *view) {
    cls_status status = get_view(array, NULL, view);
    if (status || view->buffer->context == call->context)
        return status;
    buffer_put(view->buffer);
    return error_set(CLS_ERROR_WRONG_CONTEXT, "the arrays are of different contexts");
}

size_t op_view_start(const struct op_view *view) { return view->buffer->origin + view->address; }

size_t op_view_end(const struct op_view *view) {
    return op_view_start(view) + view->count * cls_dtype_size(view->dtype);
}

bool op_views_overlap(const struct op_view *a, const struct op_view *b) {
    return a->count && b->count && buffer_is_same_memory(a->buffer, b->buffer) &&
           op_view_start(a) < op_view_end(b) && op_view_start(b) < op_view_end(a);
}

cls_status op_check_overlap(const struct op_call *call, unsigned a, unsigned b, bool in_place) {
    const struct op_view *x = &call->views[a], *y = &call->views[b];
    const size_t x_size = cls_dtype_size(x->dtype), y_size = cls_dtype_size(y->dtype);
    const bool same =
        op_view_start(x) == op_view_start(y) && x_size == y_size && x->count == y->count;
    if (!op_views_overlap(x, y) || (in_place && same))
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_OVERLAP, "%s",
                     in_place ? "arrays overlap without being the same"
                              : "the output overlaps an input, and this does not work in place");
}

cls_status op_check_dtype(const struct op_call *call, cls_dtype dtype) {
    if (dtype == CLS_F64 && !call->caps->fp64)
        return error_set(CLS_ERROR_UNSUPPORTED, "%s has no double precision: no f64",
                         call->device->info.name);
    return CLS_SUCCESS;
}

cls_status op_check_length(const struct op_call *call, const char *name, unsigned view) {
    const struct op_view *length = &call->views[view];
    if (length->dtype != CLS_I64)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "%s: a length of %s", name,
                         cls_dtype_name(length->dtype));
    if (length->count != 1)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "%s: a length of %zu elements", name,
                         length->count);
    return CLS_SUCCESS;
}

cls_status op_kernel(struct op_call *call, const struct op_kernel_spec *spec, struct kernel **out) {
    return op_kernel_find(call->context, spec, out);
}

struct kernel *op_registered(struct op_call *call, const char *name) {
    if (!call->registered)
        call->registered = named_kernel_find(call->context, name);
    return call->registered;
}

bool op_takes_runs(const struct device *device) {
    enum { VECTORS, RUNS, BY_TYPE };
    static const struct setting setting = {
        "CLSTREAM_OP_SHAPE", {{"runs", RUNS}, {"vectors", VECTORS}}, BY_TYPE};
    static _Atomic int known = -1;
    const int shape = setting_read(&setting, &known);
    return shape == RUNS || (shape == BY_TYPE && device->info.type == CLS_DEVICE_CPU);
}

size_t op_max_group(const struct op_call *call, struct kernel *kernel) {
    (void)call;
    return kernel->max_line;
}

cls_status op_fixed_group(const struct kernel *kernel, size_t *out) {
    const size_t *group = kernel->group;
    if (group[0] && (group[1] != 1 || group[2] != 1))
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "'%s' is for groups of %zu x %zu x %zu, not for a launch in one dimension",
                         kernel->label, group[0], group[1], group[2]);
    *out = group[0];
    return CLS_SUCCESS;
}

cls_status op_scratch(struct op_call *call, size_t bytes, struct buffer **out) {
    struct mempool *pool;
    struct buffer *scratch;
    cls_status status = context_default_mempool(call->context, &pool);
    if (status)
        return status;
    status = stream_malloc(call->stream, pool, bytes, NULL, &scratch);
    mempool_put(pool);
    if (status)
        return status;
    if (call->scratch)
        stream_free(call->stream, call->scratch);
    call->scratch = scratch;
    *out = scratch;
    return CLS_SUCCESS;
}

/* --- launches --- */

struct op_arg op_arg_part(struct buffer *buffer, bool writes, size_t offset, size_t bytes) {
    return (struct op_arg){
        .kind = OP_ARG_BUFFER, .writes = writes, .size = bytes, .u.part = {buffer, offset, NULL}};
}

struct op_arg op_arg_span(struct buffer *buffer, bool writes, const struct byte_span *span) {
    return (struct op_arg){.kind = OP_ARG_BUFFER, .writes = writes, .u.part = {buffer, 0, span}};
}

struct op_arg op_arg_view(const struct op_view *view, bool writes) {
    return op_arg_part(view->buffer, writes, view->address,
                       view->count * cls_dtype_size(view->dtype));
}

struct op_arg op_arg_in(struct buffer *buffer) {
    return op_arg_part(buffer, false, 0, buffer->bytes);
}

struct op_arg op_arg_out(struct buffer *buffer) {
    return op_arg_part(buffer, true, 0, buffer->bytes);
}

struct op_arg op_arg_value(const void *value, size_t size) {
    struct op_arg arg = {.kind = OP_ARG_VALUE, .size = size};
    memcpy(arg.u.bytes, value, size);
    return arg;
}

struct op_arg op_arg_u64(uint64_t value) {
    return op_arg_value(&value, sizeof value);
}

struct op_arg op_arg_pair(uint64_t a, uint64_t b) {
    const uint64_t numbers[] = {a, b};
    return op_arg_value(numbers, sizeof numbers);
}

struct op_arg op_arg_local(size_t bytes) {
    return (struct op_arg){.kind = OP_ARG_LOCAL, .size = bytes};
}

static cls_status set_arg(const struct kernel *kernel, cl_kernel instance, unsigned i,
                          const struct op_arg *arg) {
    const struct device *device = kernel->context->device;
    if (arg->kind == OP_ARG_LOCAL)
        return kernel_set_arg(device, instance, i, arg->size, NULL);
    if (arg->kind == OP_ARG_VALUE)
        return kernel_set_arg(device, instance, i, arg->size, arg->u.bytes);
    cl_mem memory = arg->u.part.buffer->memory;
    if (RARELY(kernel_is_pointed(kernel, i)))
        return kernel_set_pointed(kernel, instance, i, arg->u.part.buffer, 0);
    return kernel_set_arg(device, instance, i, sizeof memory, &memory);
}

/* Of a kernel that the user registered. */
static cls_status check_parameter(const struct kernel_slot *slot, unsigned i,
                                  const struct op_arg *arg) {
    static const cls_arg_kind kinds[] = {[OP_ARG_BUFFER] = CLS_ARG_BUFFER,
                                         [OP_ARG_VALUE] = CLS_ARG_VALUE,
                                         [OP_ARG_LOCAL] = CLS_ARG_LOCAL};
    const cls_arg given = {.kind = kinds[arg->kind], .size = arg->size};
    return parameter_check(slot, i, &given);
}

static cls_status set_args(const struct kernel_slot *slot, const struct op_arg *args,
                           unsigned n_args) {
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < n_args && !status; i++) {
        if (slot->kernel->program)
            status = check_parameter(slot, i, &args[i]);
        if (!status)
            status = set_arg(slot->kernel, slot->instance, i, &args[i]);
    }
    return status;
}

/* The command keeps the buffers among its arguments. */
static cls_status keep_buffers(struct command *command, const struct op_arg *args,
                               unsigned n_args) {
    for (unsigned i = 0; i < n_args; i++) {
        if (args[i].kind != OP_ARG_BUFFER)
            continue;
        object_retain(&args[i].u.part.buffer->object);
        cls_status status = command_keep(command, &args[i].u.part.buffer->object);
        if (status) {
            buffer_put(args[i].u.part.buffer);
            return status;
        }
    }
    return CLS_SUCCESS;
}

static cls_status check_count(const struct kernel *kernel, unsigned n_args) {
    if (n_args == kernel->n_parameters)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_INVALID_VALUE, "kernel '%s' has %u parameters, not %u",
                     kernel->label, kernel->n_parameters, n_args);
}

/* Called with the stream entered; leaves it. */
static cls_status submit(struct stream *stream, cls_status status, struct command *command,
                         const struct launch_args *known, uint64_t *position) {
    if (!status)
        return stream_submit_entered(stream, command, known, position);
    pthread_mutex_unlock(&stream->lock);
    command_drop(command);
    return status;
}

cls_status op_launch_grid(struct op_call *call, struct kernel *kernel, const struct op_arg *args,
                          unsigned n_args, const struct launch_shape *shape) {
    struct command command;
    struct kernel_slot *slot;
    cls_status status = check_count(kernel, n_args);
    if (status)
        return status;
    pthread_mutex_lock(&call->stream->lock);
    status = kernel_slots_of(call->stream, kernel, &slot);
    if (status) {
        pthread_mutex_unlock(&call->stream->lock);
        return status;
    }
    kernel_command(slot, &command);
    command.u.launch.shape = *shape;
    command.bytes = call->copies;
    status = set_args(slot, args, n_args);
    if (!status)
        status = keep_buffers(&command, args, n_args);
    const struct launch_args known = {
        .op_args = args, .count = n_args, .call = call->row ? call : NULL};
    return submit(call->stream, status, &command, &known, &call->last_position);
}

cls_status op_launch(struct op_call *call, struct kernel *kernel, const struct op_arg *args,
                     unsigned n_args, size_t global, size_t local) {
    const struct launch_shape shape = launch_shape_1d(global, local);
    return op_launch_grid(call, kernel, args, n_args, &shape);
}

/* --- repeated launches --- */

/* Sets the arguments of an instance: all for a new instance, else the fresh ones only. */
static cls_status set_repeat(struct op_repeat *repeat, cl_kernel instance, struct buffer *fresh) {
    const bool all = repeat->instance != instance ||
                     !caps_trusts(repeat->kernel->context->caps, TRUST_ARGUMENTS_SET_AGAIN);
    cls_status status = CLS_SUCCESS;
    repeat->instance = NULL;
    for (unsigned i = 0; i < repeat->n_args && !status; i++) {
        struct op_arg *arg = &repeat->args[i];
        if (arg->fresh)
            arg->u.part.buffer = fresh;
        if (all || arg->fresh)
            status = set_arg(repeat->kernel, instance, i, arg);
    }
    repeat->instance = status ? NULL : instance;
    return status;
}

/* A command without references has room for these two. */
static void keep_repeat(struct command *command, const struct op_repeat *repeat,
                        struct buffer *fresh) {
    object_retain(repeat->keeper);
    command_keep(command, repeat->keeper);
    if (!repeat->n_fresh)
        return;
    object_retain(&fresh->object);
    command_keep(command, &fresh->object);
}

cls_status op_launch_repeat(struct stream *stream, struct op_repeat *repeat, struct buffer *fresh,
                            uint64_t *position) {
    struct command command;
    struct kernel_slot *slot;
    pthread_mutex_lock(&stream->lock);
    cls_status status = kernel_slots_of(stream, repeat->kernel, &slot);
    if (status) {
        pthread_mutex_unlock(&stream->lock);
        return status;
    }
    kernel_command(slot, &command);
    command.u.launch.shape = launch_shape_1d(repeat->global, repeat->local);
    if (repeat->n_fresh || repeat->instance != slot->instance ||
        !caps_trusts(repeat->kernel->context->caps, TRUST_ARGUMENTS_SET_AGAIN))
        status = set_repeat(repeat, slot->instance, fresh);
    if (!status)
        keep_repeat(&command, repeat, fresh);
    const struct launch_args known = {.op_args = repeat->args, .count = repeat->n_args};
    return submit(stream, status, &command, &known, position);
}

cls_status op_read_back(struct op_call *call, struct buffer *from, size_t offset, void *to,
                        size_t bytes) {
    struct command command = {.type = &type_read, .bytes = bytes};
    uint64_t position;
    cls_status status = check_may_block();
    if (status)
        return status;
    command.u.copy.from = from->memory;
    command.u.copy.host = to;
    command.u.copy.range = (struct range_1d){offset, bytes};
    object_retain(&from->object);
    command_keep(&command, &from->object);
    status = stream_submit(call->stream, &command, &position);
    return status ? status : stream_wait(call->stream, position, WAIT_FOREVER);
}

cls_status op_check_stream(const struct op_call *call) {
    const struct failure *failure = stream_poison(call->stream);
    return failure ? failure_report(call->stream, failure) : CLS_SUCCESS;
}

cls_status op_end(struct op_call *call, cls_status status, bool blocking) {
    if (!status && blocking && call->last_position)
        status = stream_wait(call->stream, call->last_position, WAIT_FOREVER);
    if (call->scratch)
        stream_free(call->stream, call->scratch);
    if (call->registered)
        object_release(&call->registered->object);
    release_views(call);
    stream_put(call->stream);
    return status;
}
