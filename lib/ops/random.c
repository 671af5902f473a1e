/* SPDX-License-Identifier: MIT */
/* Generators of random numbers and their state; ops/draw.c draws. */
#include "ops/random.h"

#include <clstream/buffer.h>

#include "base/error.h"
#include "base/process.h"
#include "memory/buffer.h"
#include "stream/blocking.h"
#include "stream/wait.h"

static void random_finalize(struct object *object) {
    struct random *random = (struct random *)(void *)object;
    if (random->state)
        buffer_destroy_owned(random->state);
}

static struct object_pool random_pool =
    OBJECT_POOL_LOCKED(10, sizeof(struct random), "random generator", random_finalize);

cls_status cls_random_create(cls_context context, uint64_t seed, cls_random *out) {
    const cls_random_state state = {seed, 0, 0};
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_random_create: out is null");
    cls_status status = process_enter();
    if (!status)
        status = check_may_block();
    if (status)
        return status;
    struct random *random = object_create(&random_pool);
    if (!random)
        return object_none(&random_pool, "a random generator");
    status = buffer_create_owned(context, sizeof state, "a random generator", &random->state);
    if (!status)
        status = cls_copy_h2d(random->state, 0, &state, sizeof state, NULL);
    if (status)
        object_release(&random->object);
    else
        *out = object_handle(&random->object);
    return status;
}

cls_status cls_random_destroy(cls_random handle) {
    return object_destroy(&random_pool, handle) ? CLS_SUCCESS
                                                : object_invalid(&random_pool, handle);
}

cls_status random_begin(cls_random handle, struct random **out, struct op_call *call,
                        cls_stream stream, const cls_array *const *views, unsigned n_views,
                        bool blocking) {
    struct random *random = object_acquire(&random_pool, handle);
    if (!random)
        return object_invalid(&random_pool, handle);
    const cls_array state = cls_array_of(random->state, CLS_U8, sizeof(cls_random_state));
    const cls_array *all[OP_MAX_VIEWS] = {&state};
    for (unsigned i = 0; i < n_views; i++)
        all[1 + i] = views[i];
    cls_status status = op_begin(call, stream, all, 1 + n_views, blocking);
    if (status)
        object_release(&random->object);
    else
        *out = random;
    return status;
}

cls_status random_end(struct random *random, struct op_call *call, cls_status status,
                      bool blocking) {
    status = op_end(call, status, blocking);
    object_release(&random->object);
    return status;
}

static cls_status launch_on_state(struct op_call *call, const struct op_kernel_spec *spec,
                                  const uint64_t *values, unsigned n_values) {
    struct op_arg args[4] = {op_arg_view(&call->views[0], true)};
    struct kernel *kernel;
    for (unsigned i = 0; i < n_values; i++)
        args[1 + i] = op_arg_u64(values[i]);
    cls_status status = op_kernel(call, spec, &kernel);
    return status ? status : op_launch(call, kernel, args, 1 + n_values, 1, 1);
}

cls_status random_advance(struct op_call *call, uint64_t counters) {
    static const struct op_kernel_spec spec = {"random.cl", "advance", "-DSTATE", "random_advance"};
    return launch_on_state(call, &spec, &counters, 1);
}

cls_status random_get(cls_random handle, const struct context *context, struct random **out) {
    struct buffer *state;
    struct random *random = object_acquire(&random_pool, handle);
    if (!random)
        return object_invalid(&random_pool, handle);
    cls_status status = buffer_find(random->state, &state);
    if (!status) {
        if (state->context != context)
            status = error_set(CLS_ERROR_WRONG_CONTEXT, "the generator is of another context");
        buffer_put(state);
    }
    if (status)
        object_release(&random->object);
    else
        *out = random;
    return status;
}

static cls_status take_state(struct random *random, const cls_array *const *views,
                             struct buffer *const *buffers, uint64_t counters, cls_stream stream) {
    static const struct op_kernel_spec spec = {"random.cl", "take", "-DSTATE", "random_take"};
    struct op_call call;
    struct kernel *kernel;
    cls_status status = op_begin_kept(&call, stream, views, buffers, 2, false);
    if (status)
        return status;
    const struct op_arg args[] = {op_arg_view(&call.views[0], true), op_arg_u64(counters),
                                  op_arg_view(&call.views[1], true),
                                  op_arg_u64(call.views[1].offset)};
    status = op_kernel(&call, &spec, &kernel);
    if (!status) {
        blocking_lock(&random->lock);
        status = blocking_unlock(&random->lock, op_launch(&call, kernel, args, 4, 1, 1));
    }
    return op_end(&call, status, false);
}

cls_status random_take(struct random *random, const cls_array *to, struct buffer *buffer,
                       uint64_t counters, cls_stream stream) {
    const cls_array state = cls_array_of(random->state, CLS_U8, sizeof(cls_random_state));
    const cls_array *const views[] = {&state, to};
    struct buffer *buffers[] = {NULL, buffer};
    cls_status status = buffer_find(random->state, &buffers[0]);
    if (status)
        return status;
    status = take_state(random, views, buffers, counters, stream);
    buffer_put(buffers[0]);
    return status;
}

cls_status random_threshold(double probability, uint64_t *out) {
    if (!(probability >= 0 && probability <= 1))
        return error_set(CLS_ERROR_INVALID_VALUE, "%g is no probability", probability);
    *out = (uint64_t)(probability * 0x1p32 + 0.5);
    return CLS_SUCCESS;
}

cls_status cls_random_get_state(cls_random handle, cls_random_state *out, cls_stream stream) {
    struct random *random;
    struct op_call call;
    cls_random_state state;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_random_get_state: state is null");
    cls_status status = random_begin(handle, &random, &call, stream, NULL, 0, true);
    if (status)
        return status;
    status = op_read_back(&call, call.views[0].buffer, 0, &state, sizeof state);
    if (!status)
        *out = state;
    return random_end(random, &call, status, false);
}

static cls_status random_set(cls_random handle, const cls_random_state *state, cls_stream stream,
                             bool blocking) {
    static const struct op_kernel_spec spec = {"random.cl", "set", "-DSTATE", "random_set"};
    struct random *random;
    struct op_call call;
    if (!state)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_random_set_state: state is null");
    const uint64_t values[] = {state->seed, state->sequence, state->offset};
    cls_status status = random_begin(handle, &random, &call, stream, NULL, 0, blocking);
    if (status)
        return status;
    blocking_lock(&random->lock);
    status = blocking_unlock(&random->lock, launch_on_state(&call, &spec, values, 3));
    return random_end(random, &call, status, blocking);
}

cls_status cls_random_set_state(cls_random handle, const cls_random_state *state,
                                cls_stream stream) {
    return random_set(handle, state, stream, true);
}

cls_status cls_random_set_state_async(cls_random handle, const cls_random_state *state,
                                      cls_stream stream) {
    return random_set(handle, state, stream, false);
}
