/* SPDX-License-Identifier: MIT */
#include "plan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "low_bytes.h"
#include "reference.h"

/* The integer types' bounds; `over` is the first whole number past the type, exact as a double. */
static const struct {
    cls_dtype dtype;
    double low;
    double over;
} ranges[] = {
    {CLS_I8, -128, 128},
    {CLS_U8, 0, 256},
    {CLS_I16, -32768, 32768},
    {CLS_U16, 0, 65536},
    {CLS_I32, -2147483648.0, 2147483648.0},
    {CLS_U32, 0, 4294967296.0},
    {CLS_I64, -9223372036854775808.0, 9223372036854775808.0},
};

static bool whole_and_within(double number, cls_dtype dtype) {
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (ranges[i].dtype == dtype)
            return number >= ranges[i].low && number < ranges[i].over && number == trunc(number);
    return false;
}

bool element_of(double number, cls_dtype dtype, unsigned char bytes[8]) {
    const float single = (float)number;
    if (dtype == CLS_F64) {
        memcpy(bytes, &number, sizeof number);
        return true;
    }
    if (dtype == CLS_F32) {
        memcpy(bytes, &single, sizeof single);
        return !isinf(single) || isinf(number);
    }
    if (reference_is_float(dtype)) {
        uint16_t element;
        reference_put_float(dtype, &element, 0, number);
        memcpy(bytes, &element, sizeof element);
        return !isinf(reference_float(dtype, &element, 0)) || isinf(number);
    }
    if (!whole_and_within(number, dtype))
        return false;
    /* Two's complement: the low bytes of the wide value are the narrow one. */
    low_bytes_write(bytes, cls_dtype_size(dtype), (uint64_t)(int64_t)number);
    return true;
}

static void number_word(const struct expression *expression, const struct stage *stage,
                        unsigned which, size_t *at, size_t *length) {
    unsigned skip = 1u + stage->operation->takes_type + which;
    size_t from = stage->at;
    const size_t end = stage->at + stage->length;
    for (;;) {
        size_t to = from + strcspn(expression->text + from, " \t\r\n|");
        to = to < end ? to : end;
        if (skip-- == 0) {
            *at = from;
            *length = to - from;
            return;
        }
        from = to + strspn(expression->text + to, " \t\r\n");
    }
}

static bool is_hexadecimal(const char *word) {
    word += *word == '-' || *word == '+';
    return word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
}

/* A constant operand: `number`, as which `word` was read. A whole number is read once more for an i64, which
 * holds more of them than a double. */
static bool constant_of(const char *word, size_t length, double number, cls_dtype dtype,
                        unsigned char bytes[8]) {
    char *end;
    errno = 0;
    const int64_t whole = strtoll(word, &end, is_hexadecimal(word) ? 16 : 10);
    if (dtype != CLS_I64 || end != word + length)
        return element_of(number, dtype, bytes);
    memcpy(bytes, &whole, sizeof whole);
    return errno != ERANGE;
}

static bool add_constants(const struct expression *expression, struct plan *plan,
                          struct plan_step *step, cls_dtype dtype, struct expression_error *error) {
    for (unsigned i = 0; i < step->stage->operation->n_numbers; i++) {
        struct plan_constant *constant = &plan->constants[plan->n_constants];
        size_t at, length;
        number_word(expression, step->stage, i, &at, &length);
        if (!constant_of(expression->text + at, length, step->stage->numbers[i], dtype,
                         constant->bytes))
            return expression_fail(error, at, length, "%.*s is no %s", (int)length,
                                   expression->text + at, cls_dtype_name(dtype));
        constant->dtype = dtype;
        constant->size = cls_dtype_size(dtype);
        step->constants[i] = plan->n_constants++;
    }
    return true;
}

/* Whether a stage may write where it reads: elements of one size, and no cast, whose vector width
 * differs between its two sides. */
static bool works_in_place(const struct plan_step *step) {
    const enum operation_kind kind = step->stage->operation->kind;
    return step->from == step->to && kind != OPERATION_CAST && kind != OPERATION_WHERE;
}

static bool is_nothing(const struct stage *stage, cls_dtype from) {
    return stage->operation->kind == OPERATION_CAST && stage->dtype == from;
}

static bool add_step(const struct expression *expression, const struct stage *stage, cls_dtype from,
                     unsigned source, struct plan *plan, struct expression_error *error) {
    const struct operation *operation = stage->operation;
    struct plan_step *step = &plan->steps[plan->n_steps];
    const char *needs;

    step->stage = stage;
    step->from = from;
    if (!operation_result(operation, from, stage->dtype, &step->to, &needs))
        return expression_fail(error, stage->at, stage->length, "'%s' takes %s, and gets %s here",
                               operation->name, needs, cls_dtype_name(from));
    if (operation->kind == OPERATION_BINARY && !add_constants(expression, plan, step, from, error))
        return false;
    if (operation->kind == OPERATION_WHERE &&
        !add_constants(expression, plan, step, step->to, error))
        return false;
    step->source = source;
    step->target = works_in_place(step) ? source : 1 - source;
    if (step->target != source)
        plan->n_buffers = 2;
    if (cls_dtype_size(step->to) > plan->widest)
        plan->widest = cls_dtype_size(step->to);
    plan->n_steps++;
    return true;
}

bool plan_make(const struct expression *expression, cls_dtype from, struct plan *plan,
               struct expression_error *error) {
    struct plan made = {.n_buffers = 1, .widest = cls_dtype_size(from), .from = from, .to = from};
    unsigned source = 0;
    for (unsigned i = 0; i < expression->n_stages; i++) {
        const struct stage *stage = &expression->stages[i];
        if (is_nothing(stage, made.to))
            continue;
        if (!add_step(expression, stage, made.to, source, &made, error))
            return false;
        made.to = made.steps[made.n_steps - 1].to;
        source = made.steps[made.n_steps - 1].target;
    }
    *plan = made;
    return true;
}
