/* SPDX-License-Identifier: MIT */
/* Steps of optimizers: sums of squares of the gradients, what begins a step, and the change of the parameters. */
#include <stdlib.h>

#include "base/error.h"
#include "memory/buffer.h"
#include "ops/map.h"
#include "ops/optimizer.h"
#include "ops/reduction_cut.h"
#include "ops/spec.h"
#include "stream/blocking.h"

/* Pointers to parameter and gradient, offsets two by two, and ten others. */
enum { MAX_STEP_ARGS = OPTIMIZER_SLOTS * 5 / 2 + 10, PARTIAL_SINGLE = 8, PARTIAL_TWOFOLD = 16 };

struct optimizer_step {
    struct optimizer *optimizer;
    struct op_view *gradients; /* retained: the first n_held */
    size_t n_held;
    struct op_call call;
};

/* --- gradients --- */

static cls_status check_gradient(const struct optimizer_step *step, size_t i) {
    const struct op_view *gradient = &step->gradients[i];
    const struct op_view *parameter = &step->optimizer->parameters[i];
    if (gradient->dtype != parameter->dtype)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "gradient %zu is %s and its parameter %s", i,
                         cls_dtype_name(gradient->dtype), cls_dtype_name(parameter->dtype));
    if (gradient->count != parameter->count)
        return error_set(CLS_ERROR_SIZE_MISMATCH,
                         "gradient %zu has %zu elements and its parameter %zu", i, gradient->count,
                         parameter->count);
    if (optimizer_overlaps(step->optimizer, gradient))
        return error_set(CLS_ERROR_OVERLAP, "gradient %zu overlaps a parameter or the state", i);
    return buffer_check(parameter->buffer);
}

static cls_status take_gradients(struct optimizer_step *step, const cls_array *gradients,
                                 size_t n) {
    cls_status status = CLS_SUCCESS;
    if (n != step->optimizer->n)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "%zu gradients for %zu parameters", n,
                         step->optimizer->n);
    step->gradients = calloc(n, sizeof *step->gradients);
    if (!step->gradients)
        return error_no_memory("for a step of %zu parameters", n);
    for (size_t i = 0; i < n && !status; i++) {
        status = op_view_get(&step->call, &gradients[i], &step->gradients[i]);
        step->n_held += !status;
        if (!status)
            status = check_gradient(step, i);
    }
    return status;
}

static void release_gradients(struct optimizer_step *step) {
    for (size_t i = 0; i < step->n_held; i++)
        buffer_put(step->gradients[i].buffer);
    free(step->gradients);
}

/* --- arguments --- */

static bool is_many(const struct optimizer_launch *launch) {
    return launch->count > OPTIMIZER_FEW_SLOTS;
}

/* Of a slot that the launch has no array for, that of the last one. */
static size_t slot_index(const struct optimizer_step *step, const struct optimizer_launch *launch,
                         unsigned slot) {
    const unsigned last = launch->count - 1;
    return step->optimizer->order[launch->first + (slot < last ? slot : last)];
}

static unsigned array_args(const struct optimizer_step *step, const struct optimizer_launch *launch,
                           bool has_weights, struct op_arg *args) {
    const unsigned slots = is_many(launch) ? OPTIMIZER_SLOTS : OPTIMIZER_FEW_SLOTS;
    unsigned n = 0;
    for (unsigned i = 0; i < slots; i += 2) {
        const size_t pair[] = {slot_index(step, launch, i), slot_index(step, launch, i + 1)};
        for (unsigned k = 0; k < 2; k++) {
            if (has_weights)
                args[n++] = op_arg_view(&step->optimizer->parameters[pair[k]], true);
            args[n++] = op_arg_view(&step->gradients[pair[k]], false);
        }
        args[n++] = op_arg_pair(step->gradients[pair[0]].offset, step->gradients[pair[1]].offset);
    }
    return n;
}

static struct op_arg table_arg(const struct optimizer_step *step,
                               const struct optimizer_launch *launch) {
    const size_t row = 4 * sizeof(uint64_t);
    return op_arg_part(step->optimizer->table.buffer, false, launch->first * row,
                       launch->count * row);
}

static bool are_aligned(const struct optimizer_step *step, const struct optimizer_launch *launch) {
    bool aligned = launch->is_aligned;
    for (unsigned i = 0; i < launch->count; i++)
        aligned = aligned && step->gradients[slot_index(step, launch, i)].address % 16 == 0;
    return aligned;
}

static cls_status step_kernel(struct optimizer_step *step, const struct optimizer_launch *launch,
                              enum optimizer_kernel which, const struct spec **spec,
                              struct kernel **kernel) {
    const enum shape shape = map_shape_of(&step->call, are_aligned(step, launch));
    cls_status status = spec_of_optimizer(which, launch->dtype, shape, is_many(launch), spec);
    return status ? status : op_kernel(&step->call, &(*spec)->kernel, kernel);
}

/* --- the norm --- */

static cls_status launch_squares(struct optimizer_step *step,
                                 const struct optimizer_launch *launch) {
    const struct spec *spec;
    struct kernel *kernel;
    struct op_arg args[MAX_STEP_ARGS];
    const size_t size = launch->dtype == CLS_F64 ? PARTIAL_TWOFOLD : PARTIAL_SINGLE;
    cls_status status = step_kernel(step, launch, OPTIMIZER_SQUARES, &spec, &kernel);
    if (status)
        return status;
    const size_t local = reduction_local(&step->call, kernel, spec->local);
    args[0] = table_arg(step, launch);
    unsigned n = 1 + array_args(step, launch, false, args + 1);
    args[n++] = op_arg_part(step->optimizer->partials.buffer, true, launch->first_partial * size,
                            launch->groups * size);
    args[n++] = op_arg_u64(launch->first_partial);
    args[n++] = op_arg_local(local * size);
    args[n++] = op_arg_pair(launch->chunks, launch->each);
    args[n++] = op_arg_pair(launch->first, launch->count);
    return op_launch(&step->call, kernel, args, n, launch->groups * local, local);
}

/* --- what begins a step --- */

static const struct op_kernel_spec *begin_spec(bool clips, bool has_doubles) {
    static const struct op_kernel_spec specs[2][2] = {
        {{"optimizer.cl", "begin_step", "-w -DSTATE", "optimizer_begin"},
         {"optimizer.cl", "begin_step", "-w -DSTATE -DDOUBLES", "optimizer_begin_f64"}},
        {{"optimizer.cl", "begin_step", "-w -DSTATE -DCLIP", "optimizer_clip"},
         {"optimizer.cl", "begin_step", "-w -DSTATE -DCLIP -DDOUBLES", "optimizer_clip_f64"}}};
    return &specs[clips][has_doubles];
}

static cls_status launch_begin(struct optimizer_step *step) {
    const struct optimizer *optimizer = step->optimizer;
    const bool clips = optimizer->partials.bytes > 0;
    const size_t wanted = clips && !op_takes_runs(step->call.device) ? 256 : 1;
    struct kernel *kernel;
    struct op_arg args[4] = {op_arg_view(&step->call.views[0], true)};
    cls_status status = op_kernel(&step->call, begin_spec(clips, optimizer->has_doubles), &kernel);
    if (status)
        return status;
    const size_t local = reduction_local(&step->call, kernel, wanted);
    if (clips) {
        args[1] = op_arg_in(optimizer->partials.buffer);
        args[2] = op_arg_pair(optimizer->twofolds, optimizer->singles);
        args[3] = op_arg_local(local * (optimizer->has_doubles ? PARTIAL_TWOFOLD : PARTIAL_SINGLE));
    }
    return op_launch(&step->call, kernel, args, clips ? 4 : 1, local, local);
}

/* --- the change of the parameters --- */

static enum optimizer_kernel update_kernel(const struct optimizer *optimizer) {
    if (optimizer->config.kind == CLS_ADAMW)
        return OPTIMIZER_ADAMW;
    return optimizer->first.bytes ? OPTIMIZER_MOMENTUM : OPTIMIZER_SGD;
}

static unsigned moment_args(const struct optimizer *optimizer,
                            const struct optimizer_launch *launch, struct op_arg *args) {
    const bool has_master = cls_dtype_size(launch->dtype) == 2;
    const struct optimizer_memory *const memories[] = {&optimizer->first, &optimizer->second,
                                                       has_master ? &optimizer->master : NULL};
    unsigned n = 0;
    for (size_t i = 0; i < sizeof memories / sizeof *memories; i++)
        if (memories[i] && memories[i]->bytes)
            args[n++] = op_arg_part(memories[i]->buffer, true, launch->start, launch->bytes);
    return n;
}

static cls_status launch_update(struct optimizer_step *step,
                                const struct optimizer_launch *launch) {
    const struct spec *spec;
    struct kernel *kernel;
    struct op_arg args[MAX_STEP_ARGS];
    cls_status status = step_kernel(step, launch, update_kernel(step->optimizer), &spec, &kernel);
    if (status)
        return status;
    const size_t local = lesser(op_max_group(&step->call, kernel), spec->local);
    args[0] = op_arg_part(step->call.views[0].buffer, false, 0, sizeof(struct optimizer_numbers));
    args[1] = table_arg(step, launch);
    unsigned n = 2 + array_args(step, launch, true, args + 2);
    n += moment_args(step->optimizer, launch, args + n);
    args[n++] = op_arg_pair(launch->first, launch->count);
    return op_launch(&step->call, kernel, args, n, launch->chunks * local, local);
}

/* --- the step --- */

static cls_status launch_step(struct optimizer_step *step) {
    const struct optimizer *optimizer = step->optimizer;
    cls_status status = CLS_SUCCESS;
    for (size_t i = 0; i < optimizer->n_launches && optimizer->partials.bytes && !status; i++)
        status = launch_squares(step, &optimizer->launches[i]);
    if (!status)
        status = launch_begin(step);
    for (size_t i = 0; i < optimizer->n_launches && !status; i++)
        status = launch_update(step, &optimizer->launches[i]);
    return status;
}

static cls_status optimizer_step(cls_optimizer handle, const cls_array *gradients, size_t n,
                                 cls_stream stream, bool blocking) {
    struct optimizer_step step = {.n_held = 0};
    if (!gradients)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_optimizer_step: gradients is null");
    cls_status status = optimizer_begin(handle, &step.optimizer, &step.call, stream, blocking);
    if (status)
        return status;
    status = take_gradients(&step, gradients, n);
    if (!status) {
        blocking_lock(&step.optimizer->lock);
        status = blocking_unlock(&step.optimizer->lock, launch_step(&step));
    }
    release_gradients(&step);
    return optimizer_end(step.optimizer, &step.call, status, blocking);
}

cls_status cls_optimizer_step(cls_optimizer optimizer, const cls_array *gradients, size_t n,
                              cls_stream stream) {
    return optimizer_step(optimizer, gradients, n, stream, true);
}

cls_status cls_optimizer_step_async(cls_optimizer optimizer, const cls_array *gradients, size_t n,
                                    cls_stream stream) {
    return optimizer_step(optimizer, gradients, n, stream, false);
}
