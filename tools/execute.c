/* SPDX-License-Identifier: MIT */
#include "execute.h"

#include <stdio.h>

#include <clstream/binary.h>
#include <clstream/buffer.h>
#include <clstream/cast.h>
#include <clstream/unary.h>
#include <clstream/where.h>

bool program_create(struct program *program, cls_context context, const struct plan *plan,
                    size_t capacity, struct failure *failure) {
    *program = (struct program){.plan = plan, .context = context, .capacity = capacity};
    for (unsigned i = 0; i < plan->n_constants; i++) {
        const struct plan_constant *constant = &plan->constants[i];
        const size_t bytes = capacity * constant->size;
        cls_status status = cls_buffer_create(context, bytes, &program->constants[i]);
        if (status == CLS_SUCCESS) {
            program->n_constants++;
            status =
                cls_fill(program->constants[i], 0, bytes, constant->bytes, constant->size, NULL);
        }
        if (status != CLS_SUCCESS) {
            fail_status(failure, status, "cannot make a constant");
            program_destroy(program);
            return false;
        }
    }
    return true;
}

void program_destroy(struct program *program) {
    for (unsigned i = 0; i < program->n_constants; i++)
        cls_buffer_destroy(program->constants[i]);
    program->n_constants = 0;
}

static cls_array constant_view(const struct program *program, const struct plan_step *step,
                               unsigned which, size_t count) {
    const unsigned i = step->constants[which];
    return cls_array_of(program->constants[i], program->plan->constants[i].dtype, count);
}

static cls_status submit(const struct program *program, const struct plan_step *step, cls_array in,
                         cls_array out, cls_stream stream) {
    const struct stage *stage = step->stage;
    const int code = stage->operation->code;
    switch (stage->operation->kind) {
    case OPERATION_CAST:
        return cls_cast_async(in, out, stream);
    case OPERATION_UNARY:
        return cls_unary_async((cls_unary_op)code, in, out, stream);
    case OPERATION_PARAM:
        return cls_unary_param_async((cls_unary_param_op)code, in, out, stage->numbers[0], stream);
    case OPERATION_BINARY:
        return cls_binary_async((cls_binary_op)code, in, constant_view(program, step, 0, in.count),
                                out, stream);
    case OPERATION_WHERE:
        return cls_where_async(in, constant_view(program, step, 0, in.count),
                               constant_view(program, step, 1, in.count), out, stream);
    }
    return CLS_ERROR_INVALID_VALUE;
}

bool program_submit_step(const struct program *program, unsigned i, const cls_buffer *buffers,
                         size_t count, cls_stream stream, struct failure *failure) {
    const struct plan_step *step = &program->plan->steps[i];
    const cls_array in = cls_array_of(buffers[step->source], step->from, count);
    const cls_array out = cls_array_of(buffers[step->target], step->to, count);
    const cls_status status = submit(program, step, in, out, stream);
    return status == CLS_SUCCESS || fail_status(failure, status, step->stage->operation->name);
}

bool program_submit(const struct program *program, const cls_buffer *buffers, size_t count,
                    cls_stream stream, struct failure *failure) {
    for (unsigned i = 0; i < program->plan->n_steps; i++)
        if (!program_submit_step(program, i, buffers, count, stream, failure))
            return false;
    return true;
}

uint64_t program_constant_bytes(const struct plan *plan, size_t capacity) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < plan->n_constants; i++)
        bytes += (uint64_t)capacity * plan->constants[i].size;
    return bytes;
}

uint64_t program_chunk_bytes(const struct plan *plan, size_t capacity) {
    return (uint64_t)capacity * plan->widest * plan->n_buffers;
}
