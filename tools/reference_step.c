/* SPDX-License-Identifier: MIT */
#include "reference_step.h"

#include <stdlib.h>
#include <string.h>

#include "reference.h"

/* `count` times the same element, as the device has it. NULL when there is no memory. */
static void *repeat(const struct plan_constant *constant, size_t count) {
    unsigned char *array = malloc(count * constant->size);
    if (array)
        for (size_t i = 0; i < count; i++)
            memcpy(array + i * constant->size, constant->bytes, constant->size);
    return array;
}

static void same_bounds(double bound, float *bounds, size_t count) {
    for (size_t i = 0; i < count; i++)
        bounds[i] = (float)bound;
}

static bool unary(const struct plan_step *step, const void *in, void *out, float *bounds,
                  size_t count) {
    const cls_unary_op op = (cls_unary_op)step->stage->operation->code;
    for (size_t i = 0; i < count && reference_is_float(step->from); i++)
        bounds[i] =
            (float)reference_unary_bound(op, step->from, reference_float(step->from, in, i));
    return reference_unary(op, step->from, in, out, count);
}

static bool parametrised(const struct plan_step *step, const void *in, void *out, float *bounds,
                         size_t count) {
    const cls_unary_param_op op = (cls_unary_param_op)step->stage->operation->code;
    uint64_t param = 0; /* room for an element of any type */
    same_bounds(reference_unary_param_bound(op, step->from), bounds, count);
    return reference_cast(CLS_F64, step->from, &step->stage->numbers[0], &param, 1) &&
           reference_unary_param(op, step->from, in, &param, out, count);
}

static bool binary(const struct plan *plan, const struct plan_step *step, const void *in, void *out,
                   float *bounds, size_t count) {
    const cls_binary_op op = (cls_binary_op)step->stage->operation->code;
    void *second = repeat(&plan->constants[step->constants[0]], count);
    const bool good = second && reference_binary(op, step->from, in, second, out, count);
    for (size_t i = 0; i < count && reference_is_float(step->from); i++)
        bounds[i] =
            (float)reference_binary_bound(op, step->from, reference_float(step->from, in, i));
    free(second);
    return good;
}

static bool where(const struct plan *plan, const struct plan_step *step, const void *in, void *out,
                  size_t count) {
    void *a = repeat(&plan->constants[step->constants[0]], count);
    void *b = repeat(&plan->constants[step->constants[1]], count);
    const bool good = a && b && reference_where(step->from, step->to, in, a, b, out, count);
    free(a);
    free(b);
    return good;
}

bool step_reference(const struct plan *plan, unsigned i, const void *in, void *out, float *bounds,
                    size_t count) {
    const struct plan_step *step = &plan->steps[i];
    same_bounds(0, bounds, count);
    switch (step->stage->operation->kind) {
    case OPERATION_CAST:
        return reference_cast(step->from, step->to, in, out, count);
    case OPERATION_UNARY:
        return unary(step, in, out, bounds, count);
    case OPERATION_PARAM:
        return parametrised(step, in, out, bounds, count);
    case OPERATION_BINARY:
        return binary(plan, step, in, out, bounds, count);
    case OPERATION_WHERE:
        return where(plan, step, in, out, count);
    }
    return false;
}
