/* SPDX-License-Identifier: MIT */
/* Functions of OpenCL C, each in a program of its own, and the library's operations against the host reference. */
#include "check_part.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include <clstream/binary.h>
#include <clstream/buffer.h>
#include <clstream/cast.h>
#include <clstream/kernel.h>
#include <clstream/reduce.h>
#include <clstream/unary.h>

#include "reference.h"

enum { N = 64, NAMES = 512 };

struct arrays {
    cls_buffer a, b, out;
    float x[N], y[N];
};

static cls_status open_arrays(cls_context context, struct arrays *arrays) {
    for (int i = 0; i < N; i++) {
        arrays->x[i] = 0.07f + 0.03f * (float)i;
        arrays->y[i] = 1.9f - 0.02f * (float)i;
    }
    cls_status status = cls_buffer_from_host(context, arrays->x, sizeof arrays->x, &arrays->a);
    if (!status)
        status = cls_buffer_from_host(context, arrays->y, sizeof arrays->y, &arrays->b);
    return status ? status : cls_buffer_create(context, sizeof arrays->x, &arrays->out);
}

/* --- functions --- */

static float f_fma(float x) { return fmaf(x, x, 1.0f); }
static float f_pow(float x) { return powf(x, 1.5f); }
static float f_copysign(float x) { return copysignf(x, -1.0f); }
static float f_min(float x) { return x < 0.5f ? x : 0.5f; }
static float f_max(float x) { return x > 0.5f ? x : 0.5f; }

static const struct function {
    const char *name;
    const char *expression;
    float (*on_host)(float x);
} functions[] = {
    {"fma", "fma(x, x, 1.0f)", f_fma}, {"sin", "sin(x)", sinf},
    {"cos", "cos(x)", cosf},           {"tanh", "tanh(x)", tanhf},
    {"exp", "exp(x)", expf},           {"expm1", "expm1(x)", expm1f},
    {"log", "log(x)", logf},           {"log2", "log2(x)", log2f},
    {"pow", "pow(x, 1.5f)", f_pow},    {"erf", "erf(x)", erff},
    {"erfc", "erfc(x)", erfcf},        {"sqrt", "sqrt(x)", sqrtf},
    {"floor", "floor(x)", floorf},     {"ceil", "ceil(x)", ceilf},
    {"trunc", "trunc(x)", truncf},     {"copysign", "copysign(x, -1.0f)", f_copysign},
    {"fabs", "fabs(-x)", fabsf},       {"min", "min(x, 0.5f)", f_min},
    {"max", "max(x, 0.5f)", f_max},
};

enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

/* Drivers' functions are within 16 ULP of the result. */
static bool is_near(double seen, double wanted, double ulp) {
    return fabs(seen - wanted) <= (ulp + 1) * FLT_EPSILON * fabs(wanted) + FLT_MIN;
}

static cls_status run_function(cls_context context, const struct function *function,
                               const struct arrays *arrays, float *seen) {
    char text[256];
    cls_program program;
    cls_kernel kernel;
    const cls_launch shape = cls_launch_1d(N);
    const cls_arg args[] = {cls_arg_buffer(arrays->a), cls_arg_buffer(arrays->out)};
    snprintf(text, sizeof text,
             "kernel void one(global const float *in, global float *out) {\n"
             "    const float x = in[get_global_id(0)];\n"
             "    out[get_global_id(0)] = %s;\n"
             "}\n",
             function->expression);
    cls_status status = cls_program_from_source(context, text, function->name, NULL, &program);
    if (status)
        return status;
    status = cls_kernel_create(program, "one", &kernel);
    if (!status)
        status = cls_kernel_launch(kernel, &shape, args, 2, NULL);
    return status ? status : cls_buffer_to_host(arrays->out, seen, N * sizeof *seen);
}

static void try_function(const struct check *check, const struct function *function,
                         const struct arrays *arrays) {
    float seen[N];
    cls_status status = run_function(check->context, function, arrays, seen);
    if (status) {
        check_say_status(check, function->name, "does not build or run", status);
        return;
    }
    for (int i = 0; i < N; i++)
        if (!is_near(seen[i], function->on_host(arrays->x[i]), 16)) {
            check_say(check, CHECK_FAILED, function->name, "%s is %.9g for x = %.9g, not %.9g",
                      function->expression, (double)seen[i], (double)arrays->x[i],
                      (double)function->on_host(arrays->x[i]));
            return;
        }
    check_say(check, CHECK_PASSED, function->name, "%s", "");
}

int check_functions(struct check *check) {
    struct arrays arrays;
    cls_status status = open_arrays(check->context, &arrays);
    if (status)
        check_say_status(check, "functions", "cannot begin", status);
    for (unsigned i = 0; i < FUNCTIONS && !status; i++)
        try_function(check, &functions[i], &arrays);
    return TOOL_OK;
}

/* --- operations --- */

/* Those of a family that passed are one line; each that did not is a line of its own. */
struct family {
    const struct check *check;
    const struct arrays *arrays;
    const char *name;
    char passed[NAMES];
};

static void end_family(const struct family *family) {
    if (family->passed[0])
        check_say(family->check, CHECK_PASSED, family->name, "%s", family->passed);
}

static void say(struct family *family, const char *name, cls_status status, bool right) {
    char subject[64];
    const size_t used = strlen(family->passed);
    snprintf(subject, sizeof subject, "%s %s", family->name, name);
    if (status == CLS_ERROR_UNSUPPORTED && check_verdict(family->check->device, "rounding") == 0)
        check_say(family->check, CHECK_WORKED_AROUND, subject, "refused: %s",
                  cls_last_error_detail());
    else if (status)
        check_say_status(family->check, subject, "unsupported here", status);
    else if (!right)
        check_say(family->check, CHECK_FAILED, subject, "%s", "wrong data");
    else
        snprintf(family->passed + used, sizeof family->passed - used, "%s%s", used ? " " : "",
                 name);
}

/* Judges what is in the array `out`: bytes, or floats with an error of `ulp`. */
static void judge(struct family *family, const char *name, cls_status status, const void *wanted,
                  bool bytes, const double *ulp) {
    float seen[N];
    bool right = true;
    if (!status)
        status = cls_buffer_to_host(family->arrays->out, seen, bytes ? N : sizeof seen);
    for (int i = 0; i < N && !status && !bytes; i++)
        right &= is_near(seen[i], ((const float *)wanted)[i], ulp[i]);
    if (!status && bytes)
        right = !memcmp(seen, wanted, N);
    say(family, name, status, right);
}

/* Past the last operation the names are "?". */
static bool is_name(const char *name) { return name && strcmp(name, "?") != 0; }

static cls_array view(cls_buffer buffer) { return cls_array_of(buffer, CLS_F32, N); }

static void try_unary(struct family *family) {
    const struct arrays *at = family->arrays;
    const char *name;
    float wanted[N];
    double ulp[N];
    for (cls_unary_op op = 1; is_name(name = cls_unary_op_name(op)); op++) {
        reference_unary(op, CLS_F32, at->x, wanted, N);
        for (int i = 0; i < N; i++)
            ulp[i] = reference_unary_bound(op, CLS_F32, at->x[i]);
        judge(family, name, cls_unary(op, view(at->a), view(at->out), NULL), wanted, false, ulp);
    }
}

static void try_parameter(struct family *family) {
    const struct arrays *at = family->arrays;
    const float parameter = 1.25f;
    const char *name;
    float wanted[N];
    double ulp[N];
    for (cls_unary_param_op op = 1; is_name(name = cls_unary_param_op_name(op)); op++) {
        reference_unary_param(op, CLS_F32, at->x, &parameter, wanted, N);
        for (int i = 0; i < N; i++)
            ulp[i] = reference_unary_param_bound(op, CLS_F32);
        judge(family, name,
              cls_unary_param(op, view(at->a), view(at->out), (double)parameter, NULL), wanted,
              false, ulp);
    }
}

static void try_binary(struct family *family) {
    const struct arrays *at = family->arrays;
    const char *name;
    float wanted[N];
    double ulp[N];
    for (cls_binary_op op = 1; is_name(name = cls_binary_op_name(op)); op++) {
        const bool mask = reference_compares(op);
        const cls_array out = cls_array_of(at->out, mask ? CLS_U8 : CLS_F32, N);
        reference_binary(op, CLS_F32, at->x, at->y, wanted, N);
        for (int i = 0; i < N; i++)
            ulp[i] = reference_binary_bound(op, CLS_F32, (double)at->x[i]);
        judge(family, name, cls_binary(op, view(at->a), view(at->b), out, NULL), wanted, mask, ulp);
    }
}

static void try_casts(struct family *family) {
    const struct arrays *at = family->arrays;
    unsigned char wanted[N];
    reference_cast(CLS_F32, CLS_U8, at->x, wanted, N);
    judge(family, "u8", cls_cast(view(at->a), cls_array_of(at->out, CLS_U8, N), NULL), wanted, true,
          NULL);
}

static void try_reduce(struct family *family) {
    const struct arrays *at = family->arrays;
    const char *name;
    for (cls_reduce_op op = 1; is_name(name = cls_reduce_op_name(op)); op++) {
        union {
            float number;
            int64_t index;
            uint8_t truth;
        } seen = {.index = 0}, wanted = {.index = 0};
        cls_dtype result = CLS_F32;
        double slack = 0;
        cls_reduce_result_dtype(op, CLS_F32, &result);
        cls_status status = cls_reduce(op, view(at->a), &seen, NULL);
        reference_reduce(op, CLS_F32, at->x, N, &wanted, &slack);
        say(family, name, status,
            result != CLS_F32 ? seen.index == wanted.index
                              : fabs((double)seen.number - (double)wanted.number) <=
                                    slack + 2 * FLT_EPSILON * fabs((double)wanted.number));
    }
}

int check_operations(struct check *check) {
    static const struct {
        const char *name;
        void (*run)(struct family *family);
    } families[] = {{"unary", try_unary},
                    {"unary_param", try_parameter},
                    {"binary", try_binary},
                    {"cast", try_casts},
                    {"reduce", try_reduce}};
    struct arrays arrays;
    cls_status status = open_arrays(check->context, &arrays);
    if (status)
        check_say_status(check, "operations", "cannot begin", status);
    for (unsigned i = 0; i < sizeof families / sizeof families[0] && !status; i++) {
        struct family family = {check, &arrays, families[i].name, ""};
        families[i].run(&family);
        end_family(&family);
    }
    return TOOL_OK;
}
