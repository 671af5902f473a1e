/* SPDX-License-Identifier: MIT */
/* The state of optimizers: the count of steps, the rate, the arrays (clstream/optimizer.h). */
#include "ops/optimizer.h"

#include <string.h>

#include "base/error.h"
#include "memory/buffer.h"
#include "stream/blocking.h"
#include "stream/context.h"

cls_status optimizer_begin(cls_optimizer handle, struct optimizer **out, struct op_call *call,
                           cls_stream stream, bool blocking) {
    struct optimizer *optimizer = object_acquire(&optimizer_pool, handle);
    if (!optimizer)
        return object_invalid(&optimizer_pool, handle);
    const cls_array state = cls_array_of(optimizer->state.handle, CLS_U8, optimizer->state.bytes);
    const cls_array *const views[] = {&state};
    cls_status status = op_begin(call, stream, views, 1, blocking);
    if (status)
        object_release(&optimizer->object);
    else
        *out = optimizer;
    return status;
}

cls_status optimizer_end(struct optimizer *optimizer, struct op_call *call, cls_status status,
                         bool blocking) {
    status = op_end(call, status, blocking);
    object_release(&optimizer->object);
    return status;
}

/* --- steps and rate --- */

cls_status cls_optimizer_get_state(cls_optimizer handle, cls_optimizer_state *out,
                                   cls_stream stream) {
    struct optimizer *optimizer;
    struct op_call call;
    struct optimizer_numbers numbers;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_optimizer_get_state: state is null");
    cls_status status = optimizer_begin(handle, &optimizer, &call, stream, true);
    if (status)
        return status;
    status = op_read_back(&call, call.views[0].buffer, 0, &numbers, sizeof numbers);
    if (!status) {
        out->steps = numbers.steps;
        out->rate = numbers.doubles[NUMBER_RATE];
        out->norm = optimizer->has_doubles ? numbers.doubles[NUMBER_NORM]
                                           : (double)numbers.singles[NUMBER_NORM];
    }
    return optimizer_end(optimizer, &call, status, false);
}

/* `steps` NULL: the rate alone. */
static cls_status launch_set(struct op_call *call, const uint64_t *steps, double rate) {
    static const struct op_kernel_spec of_state = {"optimizer.cl", "set_state", "-DSTATE",
                                                   "optimizer_set_state"};
    static const struct op_kernel_spec of_rate = {"optimizer.cl", "set_rate", "-DSTATE",
                                                  "optimizer_set_rate"};
    const float single = (float)rate;
    struct kernel *kernel;
    struct op_arg args[4] = {op_arg_view(&call->views[0], true)};
    unsigned n = 1;
    if (steps)
        args[n++] = op_arg_u64(*steps);
    args[n++] = op_arg_value(&rate, sizeof rate);
    args[n++] = op_arg_value(&single, sizeof single);
    cls_status status = op_kernel(call, steps ? &of_state : &of_rate, &kernel);
    return status ? status : op_launch(call, kernel, args, n, 1, 1);
}

static cls_status optimizer_set(cls_optimizer handle, const uint64_t *steps, double rate,
                                cls_stream stream, bool blocking) {
    struct optimizer *optimizer;
    struct op_call call;
    cls_status status = optimizer_check_rate(rate);
    if (!status)
        status = optimizer_begin(handle, &optimizer, &call, stream, blocking);
    if (status)
        return status;
    blocking_lock(&optimizer->lock);
    status = blocking_unlock(&optimizer->lock, launch_set(&call, steps, rate));
    return optimizer_end(optimizer, &call, status, blocking);
}

cls_status cls_optimizer_set_rate(cls_optimizer optimizer, double rate, cls_stream stream) {
    return optimizer_set(optimizer, NULL, rate, stream, true);
}

cls_status cls_optimizer_set_rate_async(cls_optimizer optimizer, double rate, cls_stream stream) {
    return optimizer_set(optimizer, NULL, rate, stream, false);
}

static cls_status optimizer_set_state(cls_optimizer optimizer, const cls_optimizer_state *state,
                                      cls_stream stream, bool blocking) {
    if (!state)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_optimizer_set_state: state is null");
    return optimizer_set(optimizer, &state->steps, state->rate, stream, blocking);
}

cls_status cls_optimizer_set_state(cls_optimizer optimizer, const cls_optimizer_state *state,
                                   cls_stream stream) {
    return optimizer_set_state(optimizer, state, stream, true);
}

cls_status cls_optimizer_set_state_async(cls_optimizer optimizer, const cls_optimizer_state *state,
                                         cls_stream stream) {
    return optimizer_set_state(optimizer, state, stream, false);
}

/* --- arrays --- */

static cls_array norm_array(const struct optimizer *optimizer) {
    const size_t singles = offsetof(struct optimizer_numbers, singles) / sizeof(float);
    const size_t doubles = offsetof(struct optimizer_numbers, doubles) / sizeof(double);
    const bool wide = optimizer->has_doubles;
    return cls_array_at(optimizer->state.handle, wide ? CLS_F64 : CLS_F32,
                        (wide ? doubles : singles) + NUMBER_NORM, 1);
}

static bool has_master(cls_dtype dtype) { return cls_dtype_size(dtype) == 2; }

static cls_status parameter_array(const struct optimizer *optimizer, cls_optimizer_array which,
                                  size_t index, cls_array *out) {
    const struct optimizer_memory *const memories[] = {
        [CLS_OPTIMIZER_FIRST_MOMENT] = &optimizer->first,
        [CLS_OPTIMIZER_SECOND_MOMENT] = &optimizer->second,
        [CLS_OPTIMIZER_MASTER] = &optimizer->master};
    if (index >= optimizer->n)
        return error_set(CLS_ERROR_OUT_OF_RANGE, "optimizer: no parameter %zu of %zu", index,
                         optimizer->n);
    const struct op_view *parameter = &optimizer->parameters[index];
    const cls_dtype dtype = parameter->dtype == CLS_F64 ? CLS_F64 : CLS_F32;
    const bool lacks_it = which == CLS_OPTIMIZER_MASTER && !has_master(parameter->dtype);
    if (!memories[which]->bytes || !parameter->count || lacks_it)
        return error_set(CLS_ERROR_NOT_FOUND, "optimizer: parameter %zu has no such array", index);
    *out = cls_array_at(memories[which]->handle, dtype,
                        optimizer->places[index] / cls_dtype_size(dtype), parameter->count);
    return CLS_SUCCESS;
}

static cls_status find_array(const struct optimizer *optimizer, cls_optimizer_array which,
                             size_t index, cls_array *out) {
    if (which != CLS_OPTIMIZER_NORM)
        return parameter_array(optimizer, which, index, out);
    *out = norm_array(optimizer);
    return CLS_SUCCESS;
}

cls_status cls_optimizer_get_array(cls_optimizer handle, cls_optimizer_array which,
                                   size_t parameter, cls_array *out) {
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_optimizer_get_array: out is null");
    if ((int)which < CLS_OPTIMIZER_FIRST_MOMENT || which > CLS_OPTIMIZER_NORM)
        return error_set(CLS_ERROR_INVALID_VALUE, "%d is no cls_optimizer_array", (int)which);
    struct optimizer *optimizer = object_acquire(&optimizer_pool, handle);
    if (!optimizer)
        return object_invalid(&optimizer_pool, handle);
    cls_status status = context_check(optimizer->state.buffer->context);
    if (!status)
        status = find_array(optimizer, which, parameter, out);
    object_release(&optimizer->object);
    return status;
}
