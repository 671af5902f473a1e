/* SPDX-License-Identifier: MIT */
#include "operation.h"

#include <string.h>

#include <clstream/binary.h>
#include <clstream/unary.h>

#define UNARY(name, takes, code) \
    { name, OPERATION_UNARY, takes, false, code, false, 0 }
#define PARAM(name, takes, code) \
    { name, OPERATION_PARAM, takes, false, code, false, 1 }
#define BINARY(name, takes, code) \
    { name, OPERATION_BINARY, takes, false, code, false, 1 }
#define COMPARISON(name, code) \
    { name, OPERATION_BINARY, TAKES_ALL, true, code, false, 1 }

/* In the order in which the help shows them. */
static const struct operation operations[] = {
    {"cast", OPERATION_CAST, TAKES_ALL, false, 0, true, 0},
    {"where", OPERATION_WHERE, TAKES_MASKS, false, 0, true, 2},
    UNARY("copy", TAKES_ALL, CLS_UNARY_COPY),
    UNARY("neg", TAKES_ALL, CLS_UNARY_NEG),
    UNARY("abs", TAKES_ALL, CLS_UNARY_ABS),
    UNARY("sign", TAKES_ALL, CLS_UNARY_SIGN),
    UNARY("sqr", TAKES_ALL, CLS_UNARY_SQR),
    UNARY("relu", TAKES_ALL, CLS_UNARY_RELU),
    UNARY("recip", TAKES_FLOATS, CLS_UNARY_RECIP),
    UNARY("exp", TAKES_FLOATS, CLS_UNARY_EXP),
    UNARY("log", TAKES_FLOATS, CLS_UNARY_LOG),
    UNARY("sin", TAKES_FLOATS, CLS_UNARY_SIN),
    UNARY("cos", TAKES_FLOATS, CLS_UNARY_COS),
    UNARY("tanh", TAKES_FLOATS, CLS_UNARY_TANH),
    UNARY("erf", TAKES_FLOATS, CLS_UNARY_ERF),
    UNARY("normcdf", TAKES_FLOATS, CLS_UNARY_NORMCDF),
    UNARY("ceil", TAKES_ALL, CLS_UNARY_CEIL),
    UNARY("floor", TAKES_ALL, CLS_UNARY_FLOOR),
    UNARY("round", TAKES_ALL, CLS_UNARY_ROUND),
    UNARY("sqrt", TAKES_FLOATS, CLS_UNARY_SQRT),
    UNARY("gelu", TAKES_FLOATS, CLS_UNARY_GELU),
    UNARY("gelu_erf", TAKES_FLOATS, CLS_UNARY_GELU_ERF),
    UNARY("silu", TAKES_FLOATS, CLS_UNARY_SILU),
    UNARY("sigmoid", TAKES_FLOATS, CLS_UNARY_SIGMOID),
    PARAM("scale", TAKES_ALL, CLS_UNARY_SCALE),
    PARAM("add_scalar", TAKES_ALL, CLS_UNARY_ADD_SCALAR),
    PARAM("clamp_min", TAKES_ALL, CLS_UNARY_CLAMP_MIN),
    PARAM("clamp_max", TAKES_ALL, CLS_UNARY_CLAMP_MAX),
    PARAM("powf", TAKES_FLOATS, CLS_UNARY_POWF),
    PARAM("elu", TAKES_FLOATS, CLS_UNARY_ELU),
    PARAM("leaky_relu", TAKES_FLOATS, CLS_UNARY_LEAKY_RELU),
    BINARY("add", TAKES_ALL, CLS_BINARY_ADD),
    BINARY("sub", TAKES_ALL, CLS_BINARY_SUB),
    BINARY("mul", TAKES_ALL, CLS_BINARY_MUL),
    BINARY("div", TAKES_ALL, CLS_BINARY_DIV),
    BINARY("min", TAKES_ALL, CLS_BINARY_MIN),
    BINARY("max", TAKES_ALL, CLS_BINARY_MAX),
    BINARY("pow", TAKES_FLOATS, CLS_BINARY_POW),
    COMPARISON("eq", CLS_BINARY_EQ),
    COMPARISON("ne", CLS_BINARY_NE),
    COMPARISON("lt", CLS_BINARY_LT),
    COMPARISON("le", CLS_BINARY_LE),
    COMPARISON("gt", CLS_BINARY_GT),
    COMPARISON("ge", CLS_BINARY_GE),
    BINARY("relu_gradient", TAKES_FLOATS, CLS_BINARY_RELU_GRADIENT),
    BINARY("gelu_gradient", TAKES_FLOATS, CLS_BINARY_GELU_GRADIENT),
    BINARY("gelu_erf_gradient", TAKES_FLOATS, CLS_BINARY_GELU_ERF_GRADIENT),
    BINARY("silu_gradient", TAKES_FLOATS, CLS_BINARY_SILU_GRADIENT),
    BINARY("sigmoid_gradient", TAKES_FLOATS, CLS_BINARY_SIGMOID_GRADIENT),
    BINARY("tanh_gradient", TAKES_FLOATS, CLS_BINARY_TANH_GRADIENT),
};

enum { N_OPERATIONS = sizeof operations / sizeof operations[0], MAX_NAME = 20 };

const struct operation *operation_at(size_t i) { return i < N_OPERATIONS ? &operations[i] : NULL; }

const struct operation *operation_find(const char *name, size_t length) {
    for (size_t i = 0; i < N_OPERATIONS; i++)
        if (strlen(operations[i].name) == length && memcmp(operations[i].name, name, length) == 0)
            return &operations[i];
    return NULL;
}

static unsigned least(unsigned a, unsigned b, unsigned c) {
    const unsigned ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Levenshtein's distance: letters to insert, drop or replace. Both words are at most MAX_NAME
 * long. */
static unsigned edits(const char *a, size_t a_length, const char *b, size_t b_length) {
    unsigned row[MAX_NAME + 1];
    for (unsigned j = 0; j <= b_length; j++)
        row[j] = j;
    for (unsigned i = 1; i <= a_length; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= b_length; j++) {
            const unsigned replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = least(row[j] + 1, row[j - 1] + 1, replaced);
        }
    }
    return row[b_length];
}

const struct operation *operation_suggest(const char *name, size_t length) {
    const struct operation *best = NULL;
    unsigned fewest = length > 3 ? 3 : 2; /* that many edits make another word of it */
    if (length > MAX_NAME)
        return NULL;
    for (size_t i = 0; i < N_OPERATIONS; i++) {
        const char *other = operations[i].name;
        const unsigned n = edits(name, length, other, strlen(other));
        if (n < fewest) {
            fewest = n;
            best = &operations[i];
        }
    }
    return best;
}

bool operation_result(const struct operation *operation, cls_dtype from, cls_dtype wanted,
                      cls_dtype *result, const char **needs) {
    static const struct {
        const char *names;
        unsigned bits; /* a bit for each dtype */
    } taken[] = {
        [TAKES_ALL] = {"any type", ~0u},
        [TAKES_FLOATS] = {"f32, f64, f16 or bf16",
                          1u << CLS_F32 | 1u << CLS_F64 | 1u << CLS_F16 | 1u << CLS_BF16},
        [TAKES_MASKS] = {"u8, i32 or i64", 1u << CLS_U8 | 1u << CLS_I32 | 1u << CLS_I64},
    };
    if (!(taken[operation->takes].bits >> from & 1u)) {
        *needs = taken[operation->takes].names;
        return false;
    }
    *result = operation->takes_type ? wanted : operation->gives_mask ? CLS_U8 : from;
    return true;
}
