/* SPDX-License-Identifier: MIT */
/*
 * Gradients of activations against their closed formulas in double, within the bounds of clstream/binary.h: all values
 * of f16, values about 0 and about the zeros of the derivatives, the ends where a derivative counts as 0 or 1, infinities
 * and NaN, in place, and types that have none. vectors.sh runs it in the launches of GPUs, too.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "arrays.h"

enum { FIRST = CLS_BINARY_RELU_GRADIENT, LAST = CLS_BINARY_TANH_GRADIENT, OPS = LAST - FIRST + 1 };

static const cls_dtype types[] = {CLS_F32, CLS_F64, CLS_F16, CLS_BF16};

enum { FLOATS = sizeof types / sizeof *types, F16_VALUES = 0x7c00 * 2, COUNT = F16_VALUES };

/* --- the formulas --- */

/* A derivative, and the sum of the sizes of its terms. */
struct slope {
    double value, size;
};

static struct slope sum_of(double a, double b) { return (struct slope){a + b, a + fabs(b)}; }

static double logistic(double t) { return t < 0 ? exp(t) / (1 + exp(t)) : 1 / (1 + exp(-t)); }

/* The derivative of x g(x) where g is the logistic function of t(x): g + x g' = g + w g (1 - g), w = x t'. */
static struct slope gated(double t, double w) {
    return sum_of(logistic(t), w * logistic(t) * logistic(-t));
}

static double gelu_u(double x) { return sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x); }

static struct slope slope_of(cls_binary_op op, double x) {
    const double root_2_pi = sqrt(2 * acos(-1));
    double value = NAN;
    if (op == CLS_BINARY_GELU_GRADIENT)
        return gated(2 * gelu_u(x), 2 * sqrt(2 / acos(-1)) * (x + 3 * 0.044715 * x * x * x));
    if (op == CLS_BINARY_GELU_ERF_GRADIENT)
        return sum_of(0.5 * erfc(-x / sqrt(2)), x * exp(-0.5 * x * x) / root_2_pi);
    if (op == CLS_BINARY_SILU_GRADIENT)
        return gated(x, x);
    if (op == CLS_BINARY_SIGMOID_GRADIENT)
        value = logistic(x) * logistic(-x);
    if (op == CLS_BINARY_TANH_GRADIENT)
        value = 1 / (cosh(x) * cosh(x));
    if (op == CLS_BINARY_RELU_GRADIENT)
        value = x > 0;
    return (struct slope){value, fabs(value)};
}

/* ULP of the terms that the header states. */
static double ulp_of(cls_binary_op op, double x) {
    static const double ulp[OPS] = {0, 24, 24, 24, 16, 16};
    const double more = op == CLS_BINARY_GELU_GRADIENT       ? 8 * fabs(gelu_u(x))
                        : op == CLS_BINARY_GELU_ERF_GRADIENT ? 2 * x * x
                                                             : 0;
    return ulp[op - FIRST] + more;
}

/* --- one operation on one type --- */

struct work {
    char name[48];
    cls_binary_op op;
    cls_dtype type;
};

static void put(cls_dtype type, void *array, size_t i, double x) {
    reference_put_float(type, array, i, x);
}

/* Nearer to 0 than any end: derivatives are normal numbers there. f16 has no value beyond that is not 0 or 1 there. */
static double x_of(cls_dtype type, size_t i) {
    static const double zeros[] = {0, -0.75, -1.278, 1};
    const double part = ((double)i + 0.5) / COUNT * 2 - 1;
    if (type == CLS_F16) {
        const uint16_t bits = (uint16_t)(i < 0x7c00 ? i : i - 0x7c00 + 0x8000);
        return reference_float(type, &bits, 0);
    }
    return i % 2 ? 9 * part : zeros[i / 2 % 4] + part * part * part / 100;
}

static void *inputs(cls_dtype type, double (*of)(cls_dtype type, size_t i)) {
    void *array = malloc(COUNT * cls_dtype_size(type));
    assert_non_null(array);
    for (size_t i = 0; i < COUNT; i++)
        put(type, array, i, of(type, i));
    return array;
}

static double d_of(cls_dtype type, size_t i) {
    static const double values[] = {1, -1, 3.25, -0.001, 60000, 1e-3, -7};
    (void)type;
    return values[i % 7];
}

static double epsilon_of(cls_dtype type) { return type == CLS_F64 ? DBL_EPSILON : FLT_EPSILON; }

/* f64 has no wider type to be compared with: as much again for the formula's own error. */
static bool is_within(const struct work *work, double x, double d, double got) {
    const struct slope slope = slope_of(work->op, x);
    const double ulp = ulp_of(work->op, x) * (work->type == CLS_F64 ? 2 : 1);
    return fabs(got - d * slope.value) <= ulp * epsilon_of(work->type) * fabs(d) * slope.size;
}

static void check_wide(const struct work *work, const void *x, const void *d, const void *got) {
    for (size_t i = 0; i < COUNT; i++) {
        const double at = reference_float(work->type, x, i), by = reference_float(work->type, d, i);
        const double value = reference_float(work->type, got, i);
        if (!is_within(work, at, by, value))
            fail_msg("%s of %.17g and %g: %.17g, not %.17g", work->name, at, by, value,
                     by * slope_of(work->op, at).value);
    }
}

static bool are_zeros(cls_dtype type, const void *a, const void *b, size_t i) {
    return reference_float(type, a, i) == 0 && reference_float(type, b, i) == 0;
}

/* One rounding, and 1 ULP for that of f32 before. The formulas do not know from where on a zero has the sign of d:
 * check_ends does. */
static void check_narrow(const struct work *work, const void *x, const void *d, const void *got) {
    uint16_t *expected = malloc(COUNT * sizeof *expected);
    double *bounds = malloc(COUNT * sizeof *bounds);
    assert_true(expected && bounds);
    for (size_t i = 0; i < COUNT; i++) {
        const double at = reference_float(work->type, x, i), by = reference_float(work->type, d, i);
        put(work->type, expected, i,
            work->op == CLS_BINARY_RELU_GRADIENT ? (at > 0 ? by : 0)
                                                 : by * slope_of(work->op, at).value);
        bounds[i] = work->op == CLS_BINARY_RELU_GRADIENT ? 0 : 1;
        if (bounds[i] > 0 && are_zeros(work->type, expected, got, i))
            put(work->type, expected, i, reference_float(work->type, got, i));
    }
    check_array(work->name, work->type, got, expected, bounds, COUNT, work->type, x);
    free(expected);
    free(bounds);
}

static void check_values(void **state) {
    const struct work *work = *state;
    NEED_TYPE(work->type);
    NEED_ROUNDING(work->type);
    void *x = inputs(work->type, x_of), *d = inputs(work->type, d_of);
    const cls_array a = view_make(work->type, 0, COUNT, x), b = view_make(work->type, 3, COUNT, d);
    OK(cls_binary(work->op, a, b, b, NULL)); /* in place */
    void *got = view_take(b);
    (is_narrow(work->type) ? check_narrow : check_wide)(work, x, d, got);
    view_destroy(a);
    free(x);
    free(d);
    free(got);
}

/* --- the ends --- */

/* The greatest finite value is the same for all but f16. */
static double greatest(cls_dtype type) {
    return type == CLS_F64 ? DBL_MAX : type == CLS_F16 ? 65504 : 0x1.fep127;
}

static bool goes_to_1(cls_binary_op op) {
    return op != CLS_BINARY_SIGMOID_GRADIENT && op != CLS_BINARY_TANH_GRADIENT;
}

/* What binary.h says of x far from 0 and of NaN. */
static double at_end(cls_binary_op op, double x, double d) {
    if (op == CLS_BINARY_RELU_GRADIENT)
        return x < 0 ? 0 : d;
    return isnan(x) ? x : x > 0 && goes_to_1(op) ? d : d * 0;
}

static bool are_same(double a, double b) {
    return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

static void check_ends(void **state) {
    const struct work *work = *state;
    const double most = greatest(work->type);
    const double far[] = {INFINITY, -INFINITY, most, -most, 1500, -1500, NAN};
    const double by[] = {1, -2.5, 0, -0.0, INFINITY, -INFINITY, NAN, most};
    enum { FAR = sizeof far / sizeof *far, BY = sizeof by / sizeof *by, ENDS = FAR * BY };
    double x[ENDS], d[ENDS];
    NEED_TYPE(work->type);
    NEED_ROUNDING(work->type);
    for (size_t i = 0; i < ENDS; i++) {
        put(work->type, x, i, far[i / BY]);
        put(work->type, d, i, by[i % BY]);
    }
    const cls_array a = view_make(work->type, 1, ENDS, x), b = view_make(work->type, 0, ENDS, d);
    const cls_array out = view_make(work->type, 2, ENDS, NULL);
    OK(cls_binary(work->op, a, b, out, NULL));
    void *got = view_take(out);
    for (size_t i = 0; i < ENDS; i++) {
        const double value = reference_float(work->type, got, i);
        const double expected = at_end(work->op, far[i / BY], reference_float(work->type, d, i));
        if (!are_same(value, expected))
            fail_msg("%s of %g and %g: %g, not %g", work->name, far[i / BY], by[i % BY], value,
                     expected);
    }
    view_destroy(a);
    view_destroy(b);
    free(got);
}

/* On either side of the end that binary.h says. */
static void counts_as_0_from_the_end_on(void **state) {
    static const struct {
        cls_binary_op op;
        float kept, zero;
    } ends[] = {
        {CLS_BINARY_GELU_GRADIENT, -9.9f, -10},     {CLS_BINARY_GELU_ERF_GRADIENT, -12.8f, -13},
        {CLS_BINARY_SILU_GRADIENT, -85.9f, -86.1f}, {CLS_BINARY_SIGMOID_GRADIENT, -85.9f, -86.1f},
        {CLS_BINARY_SIGMOID_GRADIENT, 85.9f, 87},   {CLS_BINARY_TANH_GRADIENT, 42.9f, -43.1f},
    };
    (void)state;
    NEED_ROUNDING(CLS_F32);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const float x[2] = {ends[i].kept, ends[i].zero}, d[2] = {0x1p100f, 0x1p100f};
        const cls_array a = view_make(CLS_F32, 0, 2, x), b = view_make(CLS_F32, 0, 2, d);
        OK(cls_binary(ends[i].op, a, b, a, NULL));
        float *got = view_take(a);
        if (got[0] == 0 || got[1] != 0)
            fail_msg("%s of %g is %g and of %g %g", cls_binary_op_name(ends[i].op), (double)x[0],
                     (double)got[0], (double)x[1], (double)got[1]);
        free(got);
        view_destroy(b);
    }
}

/* The gradient of relu is 0 where x is not above 0, even if dy is infinite or NaN, and dy where x is NaN. */
static void relu_at_0(void **state) {
    const float x[6] = {0, -0.0f, 0, -1, FLT_MIN, NAN};
    const float d[6] = {5, 5, NAN, INFINITY, 5, -5}, expected[6] = {0, 0, 0, 0, 5, -5};
    (void)state;
    NEED_ROUNDING(CLS_F32);
    const cls_array a = view_make(CLS_F32, 0, 6, x), b = view_make(CLS_F32, 0, 6, d);
    OK(cls_binary(CLS_BINARY_RELU_GRADIENT, a, b, b, NULL));
    float *got = view_take(b);
    check_array("relu_gradient", CLS_F32, got, expected, NULL, 6, CLS_F32, x);
    view_destroy(a);
    free(got);
}

static void integers_have_none(void **state) {
    (void)state;
    for (unsigned t = 0; t < TYPES; t++) {
        if (is_float(all_types[t]))
            continue;
        const cls_array a = view_make(all_types[t], 0, 8, NULL);
        for (int op = FIRST; op <= LAST; op++)
            EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_binary((cls_binary_op)op, a, a, a, NULL));
        view_destroy(a);
    }
}

static struct work works[OPS * FLOATS];
static struct CMUnitTest tests[2 * OPS * FLOATS + 3];

int main(void) {
    unsigned n = 0, n_works = 0;
    prepare_tests();
    for (int op = FIRST; op <= LAST; op++)
        for (unsigned t = 0; t < FLOATS; t++) {
            struct work *work = &works[n_works++];
            work->op = (cls_binary_op)op;
            work->type = types[t];
            snprintf(work->name, sizeof work->name, "%s_%s", cls_binary_op_name(work->op),
                     cls_dtype_name(types[t]));
            tests[n++] = (struct CMUnitTest){work->name, check_values, NULL, NULL, work};
            tests[n++] = (struct CMUnitTest){work->name, check_ends, NULL, NULL, work};
        }
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(counts_as_0_from_the_end_on);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(relu_at_0);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(integers_have_none);
    return _cmocka_run_group_tests("gradients", tests, n, NULL, NULL);
}
