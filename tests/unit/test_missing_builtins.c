/* SPDX-License-Identifier: MIT */
/* A compiler that lacks some functions: operations that call them are unsupported, in its words, and no others. */
#include "../support/trust.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clstream.h>
#include <clstream/opencl.h>

static const char some[] = "#define sin no_such_sin\n#define exp no_such_exp\n"
                           "#define pow no_such_pow\n#define fma no_such_fma\n";
/* All of OpenCL C. */
static const char *const math_functions[] = {
    "acos",    "acosh",  "acospi",    "asin",   "asinh",    "asinpi",   "atan",      "atan2",
    "atan2pi", "atanh",  "atanpi",    "cbrt",   "ceil",     "copysign", "cos",       "cosh",
    "cospi",   "erf",    "erfc",      "exp",    "exp10",    "exp2",     "expm1",     "fabs",
    "fdim",    "floor",  "fma",       "fmax",   "fmin",     "fmod",     "fract",     "frexp",
    "hypot",   "ilogb",  "ldexp",     "lgamma", "lgamma_r", "log",      "log10",     "log1p",
    "log2",    "logb",   "mad",       "maxmag", "minmag",   "modf",     "nextafter", "pow",
    "pown",    "powr",   "remainder", "remquo", "rint",     "rootn",    "round",     "rsqrt",
    "sin",     "sincos", "sinh",      "sinpi",  "sqrt",     "tan",      "tanh",      "tanpi",
    "tgamma",  "trunc"};
static const char *missing = some;

cl_program __real_clCreateProgramWithSource(cl_context context, cl_uint count, const char **texts,
                                            const size_t *lengths, cl_int *code);
cl_program __wrap_clCreateProgramWithSource(cl_context context, cl_uint count, const char **texts,
                                            const size_t *lengths, cl_int *code);

cl_program __wrap_clCreateProgramWithSource(cl_context context, cl_uint count, const char **texts,
                                            const size_t *lengths, cl_int *code) {
    const char *all[] = {missing, texts[0]};
    assert_int_equal(count, 1);
    (void)lengths;
    return __real_clCreateProgramWithSource(context, 2, all, NULL, code);
}

enum { N = 1000 };

static cls_buffer a, b, out;

static cls_array view(cls_buffer buffer) { return cls_array_of(buffer, CLS_F32, N); }

static void check(cls_status status, const char *lacks, const char *name) {
    if (status != (lacks ? CLS_ERROR_UNSUPPORTED : CLS_SUCCESS))
        fail_msg("%s is %s: %s", name, cls_status_string(status), cls_last_error_detail());
    if (lacks && !strstr(cls_last_error_detail(), lacks))
        fail_msg("%s: \"%s\" has no \"%s\"", name, cls_last_error_detail(), lacks);
}

/* Of a GPU's functions, which are the compiler's own (CLSTREAM_OP_SHAPE). */
static const char *lacks_unary(const char *name) {
    static const char *const of_exp[] = {"exp",     "sigmoid",  "silu", "gelu",
                                         "normcdf", "gelu_erf", "erf"};
    for (size_t i = 0; i < sizeof of_exp / sizeof *of_exp; i++)
        if (!strcmp(name, of_exp[i]))
            return "no_such_exp";
    return strcmp(name, "sin") ? NULL : "no_such_sin";
}

static void test_unary_operations(void **state) {
    (void)state;
    trust_need(NULL, "rounding");
    for (int op = CLS_UNARY_COPY; *cls_unary_op_name((cls_unary_op)op) != '?'; op++) {
        const char *name = cls_unary_op_name((cls_unary_op)op);
        if (strcmp(name, "tanh") != 0) /* by exp or by tanh, as the shape is */
            check(cls_unary((cls_unary_op)op, view(a), view(out), NULL), lacks_unary(name), name);
    }
    for (int op = CLS_UNARY_ELU; *cls_unary_param_op_name((cls_unary_param_op)op) != '?'; op++) {
        const char *name = cls_unary_param_op_name((cls_unary_param_op)op);
        const char *lacks = !strcmp(name, "elu")    ? "no_such_exp"
                            : !strcmp(name, "powf") ? "no_such_pow"
                                                    : NULL;
        check(cls_unary_param((cls_unary_param_op)op, view(a), view(out), 2, NULL), lacks, name);
    }
}

static void test_other_operations(void **state) {
    (void)state;
    trust_need(NULL, "rounding");
    float result;
    for (int op = 0; *cls_binary_op_name((cls_binary_op)op) != '?'; op++) {
        const char *name = cls_binary_op_name((cls_binary_op)op);
        cls_array to = view(out);
        if (op >= CLS_BINARY_EQ && op <= CLS_BINARY_GE)
            to.dtype = CLS_U8;
        const char *lacks = op > CLS_BINARY_RELU_GRADIENT ? "no_such_exp"
                            : op == CLS_BINARY_POW        ? "no_such_pow"
                                                          : NULL;
        check(cls_binary((cls_binary_op)op, view(a), view(b), to, NULL), lacks, name);
    }
    check(cls_reduce(CLS_REDUCE_SUM, view(a), &result, NULL), NULL, "sum");
    check(cls_reduce(CLS_REDUCE_MAX, view(a), &result, NULL), NULL, "max");
    check(cls_dot(view(a), view(b), &result, NULL), "no_such_fma", "dot");
    check(cls_cast(view(a), cls_array_of(out, CLS_I32, N), NULL), NULL, "cast");
}

static const char *lacks_math(void) {
    static char text[4096];
    size_t end = 0;
    for (size_t i = 0; i < sizeof math_functions / sizeof *math_functions; i++)
        end += (size_t)snprintf(text + end, sizeof text - end, "#define %s no_such_%s\n",
                                math_functions[i], math_functions[i]);
    assert_true(end < sizeof text);
    return text;
}

/* What an operation calls is asked for by that operation only. */
static void test_operations_that_call_nothing(void **state) {
    static const cls_unary_op ops[] = {CLS_UNARY_COPY,  CLS_UNARY_NEG,  CLS_UNARY_SQR,
                                       CLS_UNARY_RECIP, CLS_UNARY_RELU, CLS_UNARY_SIGN};
    cls_context context;
    cls_buffer x, y;
    (void)state;
    trust_need(NULL, "rounding");
    missing = lacks_math();
    assert_int_equal(cls_context_create(NULL, &context), CLS_SUCCESS);
    assert_int_equal(cls_buffer_create(context, N * 4, &x), CLS_SUCCESS);
    assert_int_equal(cls_buffer_create(context, N * 4, &y), CLS_SUCCESS);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        check(cls_unary(ops[i], view(x), view(y), NULL), NULL, cls_unary_op_name(ops[i]));
    check(cls_unary_param(CLS_UNARY_SCALE, view(x), view(y), 2, NULL), NULL, "scale");
    check(cls_binary(CLS_BINARY_ADD, view(x), view(x), view(y), NULL), NULL, "add");
    missing = some;
    assert_int_equal(cls_buffer_destroy(x), CLS_SUCCESS);
    assert_int_equal(cls_buffer_destroy(y), CLS_SUCCESS);
    assert_int_equal(cls_context_destroy(context), CLS_SUCCESS);
}

static int open_all(void **state) {
    (void)state;
    return cls_buffer_create(NULL, N * 4, &a) || cls_buffer_create(NULL, N * 4, &b) ||
           cls_buffer_create(NULL, N * 4, &out);
}

static int close_all(void **state) {
    (void)state;
    return cls_buffer_destroy(a) || cls_buffer_destroy(b) || cls_buffer_destroy(out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unary_operations),
        cmocka_unit_test(test_other_operations),
        cmocka_unit_test(test_operations_that_call_nothing),
    };
    /* A cached program would know nothing of what is missing. */
    setenv("CLSTREAM_CACHE", "off", 1);
    setenv("CLSTREAM_OP_SHAPE", "vectors", 1);
    return cmocka_run_group_tests_name("missing builtins", tests, open_all, close_all);
}
