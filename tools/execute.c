/* SPDX-License-Identifier: MIT */
#include "execute.h"

#include <stdio.h>

#include <clstream/binary.h>
#include <clstream/buffer.h>
#include <clstream/cast.h>
#include <clstream/unary.h>
#include <clstream/where.h>

bool constants_create(struct constants *constants, const struct program *program,
                      struct failure *failure) {
    const struct plan *plan = program->plan;
    *constants = (struct constants){.n = 0};
    for (unsigned i = 0; i < plan->n_constants; i++) {
        const struct plan_constant *constant = &plan->constants[i];
        const size_t bytes = program->capacity * constant->size;
        cls_status status = cls_buffer_create(program->context, bytes, &constants->arrays[i]);
        if (status == CLS_SUCCESS) {
            constants->n++;
            status =
                cls_fill(constants->arrays[i], 0, bytes, constant->bytes, constant->size, NULL);
        }
        if (status != CLS_SUCCESS) {
            fail_status(failure, status, "cannot make a constant");
            constants_destroy(constants);
            return false;
        }
    }
    return true;
}

void constants_destroy(struct constants *constants) {
    for (unsigned i = 0; i < constants->n; i++)
        cls_buffer_destroy(constants->arrays[i]);
    constants->n = 0;
}

/* What a step is submitted with. */
struct operands {
    const struct program *program;
    const struct constants *constants;
    const struct plan_step *step;
};

static cls_array constant_view(const struct operands *of, unsigned which, size_t count) {
    const unsigned i = of->step->constants[which];
    return cls_array_of(of->constants->arrays[i], of->program->plan->constants[i].dtype, count);
}

static cls_status submit(const struct operands *of, cls_array in, cls_array out,
                         cls_stream stream) {
    const struct stage *stage = of->step->stage;
    const int code = stage->operation->code;
    switch (stage->operation->kind) {
    case OPERATION_CAST:
        return cls_cast_async(in, out, stream);
    case OPERATION_UNARY:
        return cls_unary_async((cls_unary_op)code, in, out, stream);
    case OPERATION_PARAM:
        return cls_unary_param_async((cls_unary_param_op)code, in, out, stage->numbers[0], stream);
    case OPERATION_BINARY:
        return cls_binary_async((cls_binary_op)code, in, constant_view(of, 0, in.count), out,
                                stream);
    case OPERATION_WHERE:
        return cls_where_async(in, constant_view(of, 0, in.count), constant_view(of, 1, in.count),
                               out, stream);
    }
    return CLS_ERROR_INVALID_VALUE;
}

bool program_submit_step(const struct program *program, const struct constants *constants,
                         unsigned i, const cls_buffer *buffers, size_t count, cls_stream stream,
                         struct failure *failure) {
    const struct plan_step *step = &program->plan->steps[i];
    const cls_array in = cls_array_of(buffers[step->source], step->from, count);
    const cls_array out = cls_array_of(buffers[step->target], step->to, count);
    const cls_status status = submit(&(struct operands){program, constants, step}, in, out, stream);
    return status == CLS_SUCCESS || fail_status(failure, status, step->stage->operation->name);
}

uint64_t constants_bytes(const struct plan *plan, size_t capacity) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < plan->n_constants; i++)
        bytes += (uint64_t)capacity * plan->constants[i].size;
    return bytes;
}
