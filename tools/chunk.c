/* SPDX-License-Identifier: MIT */
#include "chunk.h"

static bool in_place(const struct plan *plan) {
    return cls_dtype_size(plan->from) == cls_dtype_size(plan->to);
}

unsigned chunk_result(const struct plan *plan) { return in_place(plan) ? 0 : 1; }

uint64_t chunk_bytes(const struct plan *plan, size_t capacity) {
    const size_t out = in_place(plan) ? 0 : cls_dtype_size(plan->to);
    return (uint64_t)capacity * (cls_dtype_size(plan->from) + out);
}

void chunk_destroy(struct chunk *chunk) {
    if (chunk->batch)
        cls_batch_destroy(chunk->batch);
    *chunk = (struct chunk){0};
}

static cls_status constant(cls_batch batch, const struct plan *plan, const struct plan_step *step,
                           unsigned which, cls_value *out) {
    const struct plan_constant *of = &plan->constants[step->constants[which]];
    return cls_batch_scalar(batch, of->dtype, of->bytes, out);
}

static cls_status record_step(cls_batch batch, const struct plan *plan,
                              const struct plan_step *step, cls_value in, cls_value *out) {
    const struct stage *stage = step->stage;
    const int code = stage->operation->code;
    cls_value a = 0, b = 0;
    cls_status status = CLS_SUCCESS;
    switch (stage->operation->kind) {
    case OPERATION_CAST:
        return cls_batch_cast(batch, in, step->to, out);
    case OPERATION_UNARY:
        return cls_batch_unary(batch, (cls_unary_op)code, in, out);
    case OPERATION_PARAM:
        return cls_batch_unary_param(batch, (cls_unary_param_op)code, in, stage->numbers[0], out);
    case OPERATION_BINARY:
        status = constant(batch, plan, step, 0, &a);
        return status ? status : cls_batch_binary(batch, (cls_binary_op)code, in, a, out);
    case OPERATION_WHERE:
        status = constant(batch, plan, step, 0, &a);
        if (!status)
            status = constant(batch, plan, step, 1, &b);
        return status ? status : cls_batch_where(batch, in, a, b, out);
    }
    return CLS_ERROR_INVALID_VALUE;
}

static cls_status record_all(cls_batch batch, const struct plan *plan, const cls_buffer *buffers,
                             size_t count) {
    const cls_array out = cls_array_of(buffers[chunk_result(plan)], plan->to, count);
    cls_value value;
    cls_status status = cls_batch_array(batch, cls_array_of(buffers[0], plan->from, count), &value);
    for (unsigned i = 0; i < plan->n_steps && !status; i++)
        status = record_step(batch, plan, &plan->steps[i], value, &value);
    return status ? status : cls_batch_store(batch, value, out);
}

static cls_status record(struct chunk *chunk, const struct program *program,
                         const cls_buffer *buffers, size_t count) {
    cls_batch_config config = CLS_BATCH_CONFIG_INIT;
    config.streams = 1;
    chunk_destroy(chunk);
    cls_status status = cls_batch_create(program->context, &config, &chunk->batch);
    if (!status)
        status = record_all(chunk->batch, program->plan, buffers, count);
    chunk->count = count;
    return status;
}

bool chunk_submit(struct chunk *chunk, const struct program *program, const cls_buffer *buffers,
                  size_t count, cls_stream stream, struct failure *failure) {
    cls_status status = CLS_SUCCESS;
    if (program->plan->n_steps == 0)
        return true;
    if (!chunk->batch || chunk->count != count)
        status = record(chunk, program, buffers, count);
    if (!status)
        status = cls_batch_execute_async(chunk->batch, stream);
    return status == CLS_SUCCESS || fail_status(failure, status, "compute");
}
