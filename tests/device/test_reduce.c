/* SPDX-License-Identifier: MIT */
/* Reductions against the host reference: every operation and type, sizes around every boundary. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrays.h"
#include "last_op.h"

enum { DOT = LAST_REDUCE + 1 };

struct work {
    char name[40];
    int op; /* DOT, or a cls_reduce_op */
    cls_dtype type;
    cls_dtype result;
};

struct inputs {
    const void *a;
    const void *b; /* of a dot */
    size_t count;
};

static double as_double(cls_dtype type, const void *element) {
    double x = 0;
    reference_cast(type, CLS_F64, element, &x, 1);
    return x;
}

static void check_result(const struct work *work, const void *got, const void *expected,
                         double slack, size_t count) {
    const double x = as_double(work->result, got), y = as_double(work->result, expected);
    if (memcmp(got, expected, cls_dtype_size(work->result)) == 0 || (isnan(x) && isnan(y)) ||
        fabs(x - y) <= slack)
        return;
    fail_msg("%s of %zu elements is %.17g, not %.17g, slack %g", work->name, count, x, y, slack);
}

static bool reference(const struct work *work, const struct inputs *in, void *result,
                      double *slack) {
    if (work->op == DOT)
        return reference_dot(work->type, in->a, in->b, in->count, result, slack);
    return reference_reduce((cls_reduce_op)work->op, work->type, in->a, in->count, result, slack);
}

static cls_status run(const struct work *work, cls_array a, cls_array b, void *result) {
    return work->op == DOT ? cls_dot(a, b, result, NULL)
                           : cls_reduce((cls_reduce_op)work->op, a, result, NULL);
}

static cls_status run_async(const struct work *work, cls_array a, cls_array b, cls_array out) {
    return work->op == DOT ? cls_dot_async(a, b, out, NULL)
                           : cls_reduce_async((cls_reduce_op)work->op, a, out, NULL);
}

/* Blocking, twice, and asynchronous: right, and all the same bits. */
static void check_once(const struct work *work, const struct inputs *in, size_t offset) {
    uint64_t expected[1] = {0}, got[1] = {0}, again[1] = {0};
    const size_t size = cls_dtype_size(work->result);
    double slack = 0;
    const bool defined = reference(work, in, expected, &slack);
    cls_array a = view_make(work->type, offset, in->count, in->a);
    cls_array b = view_make(work->type, offset, in->count, in->b);
    cls_array out = view_make(work->result, offset, 1, NULL);
    if (!defined) {
        EXPECT(CLS_ERROR_INVALID_VALUE, run(work, a, b, got));
        EXPECT(CLS_ERROR_INVALID_VALUE, run_async(work, a, b, out));
        view_destroy(out);
    } else {
        OK(run(work, a, b, got));
        check_result(work, got, expected, slack, in->count);
        OK(run(work, a, b, again));
        assert_memory_equal(got, again, size);
        OK(run_async(work, a, b, out));
        OK(cls_stream_synchronize(NULL));
        void *late = view_take(out);
        assert_memory_equal(late, got, size);
        free(late);
    }
    view_destroy(a);
    view_destroy(b);
}

/* Sizes about a vector's, a group's, and past what one group of a CPU takes. */
static const size_t counts[] = {0, 1, 2, 5, 16, 33, 255, 257, 4095, 16384, 16385, 70001};

static void check(void **state) {
    const struct work *work = *state;
    NEED_TYPE(work->type);
    NEED_TYPE(work->result);
    const size_t n = sizeof counts / sizeof counts[0], most = counts[n - 1];
    void *a = hard_values(work->type, most, 3), *b = hard_values(work->type, most + 9, 4);
    const void *shifted = (const unsigned char *)b + 9 * cls_dtype_size(work->type);
    void *b_tame = malloc(most * cls_dtype_size(work->type));
    assert_non_null(b_tame);
    memcpy(b_tame, shifted, most * cls_dtype_size(work->type));
    tame(work->type, a, most, 1e4);
    tame(work->type, b_tame, most, 1e4);
    for (size_t i = 0; i < n; i++)
        check_once(work, &(struct inputs){a, b_tame, counts[i]}, i % 3);
    free(a);
    free(b);
    free(b_tame);
}

/* ---- what a sum is to be good at */

static void sum_beats_naive_summation(void **state) {
    (void)state;
    enum { N = 1000000 };
    float *x = malloc(N * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < N; i++)
        x[i] = 0.1f;
    cls_array view = view_make(CLS_F32, 0, N, x);
    float sum = 0, mean = 0, naive = 0;
    for (size_t i = 0; i < N; i++)
        naive += x[i];
    OK(cls_reduce(CLS_REDUCE_SUM, view, &sum, NULL));
    OK(cls_reduce(CLS_REDUCE_MEAN, view, &mean, NULL));
    const double exact = (double)0.1f * N;
    assert_true(fabs((double)naive - exact) > 100);
    assert_true(fabs((double)sum - exact) <= 0.0079); /* an ULP of 1e5 */
    assert_true(fabs((double)mean - (double)0.1f) <= 0x1p-27 * 3);
    view_destroy(view);
    free(x);
}

/* The sum of these two, rounded up, passes the range when it is taken apart again. They meet in one lane of a
 * vector, in one work-item and at the end. */
static void sum_beside_the_largest_number(void **state) {
    static const size_t places[] = {1, 16, 70000};
    enum { N = 70001 };
    const float least = -0x1.8p104f;
    float *x = calloc(N, sizeof *x), *ones = malloc(N * sizeof *ones), sum = 0, dot = 0;
    (void)state;
    assert_non_null(x);
    assert_non_null(ones);
    for (size_t i = 0; i < N; i++)
        ones[i] = 1;
    x[0] = least;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        x[places[i]] = FLT_MAX;
        cls_array view = view_make(CLS_F32, 0, N, x), one = view_make(CLS_F32, 0, N, ones);
        OK(cls_reduce(CLS_REDUCE_SUM, view, &sum, NULL));
        OK(cls_dot(view, one, &dot, NULL));
        assert_true(fabs((double)sum - ((double)FLT_MAX + (double)least)) <= 0x1p104);
        assert_true(dot == sum);
        view_destroy(view);
        view_destroy(one);
        x[places[i]] = 0;
    }
    free(x);
    free(ones);
}

/* 1 + 1e8 - 1e8, many times over: every one of the small numbers is lost without care. */
static void sum_survives_cancellation(void **state) {
    (void)state;
    enum { N = 3 * 20000 };
    float *x = malloc(N * sizeof *x), sum = 0;
    assert_non_null(x);
    for (size_t i = 0; i < N; i++)
        x[i] = i % 3 == 0 ? 1.0f : i % 3 == 1 ? 1e8f : -1e8f;
    cls_array view = view_make(CLS_F32, 0, N, x);
    OK(cls_reduce(CLS_REDUCE_SUM, view, &sum, NULL));
    assert_true(sum == 20000.0f);
    view_destroy(view);
    free(x);
}

/* ---- NaN, infinities and ties, in numbers that both types have */

static const cls_dtype f32 = CLS_F32, f64 = CLS_F64;

static cls_array view_of(cls_dtype type, const double *x, size_t count) {
    if (type == CLS_F64)
        return view_make(type, 0, count, x);
    float *singles = malloc(count * sizeof *singles);
    assert_non_null(singles);
    for (size_t i = 0; i < count; i++)
        singles[i] = (float)x[i];
    cls_array view = view_make(type, 0, count, singles);
    free(singles);
    return view;
}

static double reduced(cls_dtype type, cls_reduce_op op, const double *x, size_t count) {
    union {
        float f32;
        double f64;
    } result = {0};
    cls_array view = view_of(type, x, count);
    OK(cls_reduce(op, view, &result, NULL));
    view_destroy(view);
    return type == CLS_F32 ? (double)result.f32 : result.f64;
}

static int64_t argmax(cls_dtype type, const double *x, size_t count) {
    int64_t result = -1;
    cls_array view = view_of(type, x, count);
    OK(cls_reduce(CLS_REDUCE_ARGMAX, view, &result, NULL));
    view_destroy(view);
    return result;
}

static void nan_wins_wherever_it_is(void **state) {
    const cls_dtype type = *(const cls_dtype *)*state;
    enum { N = 20000 };
    static const size_t places[] = {0, 3, 4097, 16384, N - 1};
    NEED_TYPE(type);
    double *x = calloc(N, sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < N; i++)
        x[i] = (double)(i % 1000);
    for (size_t p = 0; p < sizeof places / sizeof places[0]; p++) {
        const double before = x[places[p]];
        x[places[p]] = NAN;
        assert_true(isnan(reduced(type, CLS_REDUCE_MIN, x, N)));
        assert_true(isnan(reduced(type, CLS_REDUCE_MAX, x, N)));
        assert_true(isnan(reduced(type, CLS_REDUCE_SUM, x, N)));
        assert_true(isnan(reduced(type, CLS_REDUCE_MEAN, x, N)));
        assert_int_equal(argmax(type, x, N), places[p]);
        x[places[p]] = before;
    }
    free(x);
}

static void argmax_takes_the_first_of_equals(void **state) {
    const cls_dtype type = *(const cls_dtype *)*state;
    enum { N = 50000 };
    NEED_TYPE(type);
    double *x = calloc(N, sizeof *x);
    assert_non_null(x);
    assert_int_equal(argmax(type, x, N), 0);
    x[40000] = x[20011] = x[49999] = 2;
    assert_int_equal(argmax(type, x, N), 20011);
    x[20010] = -INFINITY;
    x[30000] = INFINITY;
    assert_int_equal(argmax(type, x, N), 30000);
    x[45000] = NAN;
    x[45001] = NAN;
    assert_int_equal(argmax(type, x, N), 45000);
    for (size_t i = 0; i < N; i++)
        x[i] = -INFINITY;
    assert_int_equal(argmax(type, x, N), 0);
    free(x);
}

static int64_t argmin(cls_dtype type, const double *x, size_t count) {
    int64_t result = -1;
    cls_array view = view_of(type, x, count);
    OK(cls_reduce(CLS_REDUCE_ARGMIN, view, &result, NULL));
    view_destroy(view);
    return result;
}

static void argmin_takes_the_first_of_equals(void **state) {
    const cls_dtype type = *(const cls_dtype *)*state;
    enum { N = 50000 };
    NEED_TYPE(type);
    double *x = calloc(N, sizeof *x);
    assert_non_null(x);
    x[40000] = x[20011] = x[49999] = -2;
    assert_int_equal(argmin(type, x, N), 20011);
    x[20010] = INFINITY;
    x[30000] = -INFINITY;
    assert_int_equal(argmin(type, x, N), 30000);
    x[45000] = x[45001] = NAN;
    assert_int_equal(argmin(type, x, N), 45000);
    free(x);
}

static bool holds(cls_reduce_op op, cls_dtype type, const double *x, size_t count) {
    uint8_t result = 9;
    cls_array view = view_of(type, x, count);
    OK(cls_reduce(op, view, &result, NULL));
    view_destroy(view);
    assert_true(result <= 1);
    return result;
}

/* One element decides, wherever it is. */
static void any_and_all(void **state) {
    static const size_t places[] = {0, 7, 16, 33, 20000, 49999};
    const cls_dtype type = *(const cls_dtype *)*state;
    enum { N = 50000 };
    NEED_TYPE(type);
    double *zeros = calloc(N, sizeof *zeros), *ones = malloc(N * sizeof *ones);
    assert_non_null(zeros);
    assert_non_null(ones);
    for (size_t i = 0; i < N; i++) {
        zeros[i] = i % 2 ? -0.0 : 0.0;
        ones[i] = i % 2 ? NAN : -3;
    }
    assert_false(holds(CLS_REDUCE_ANY, type, zeros, N));
    assert_true(holds(CLS_REDUCE_ALL, type, ones, N));
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const double one = ones[places[i]];
        zeros[places[i]] = i % 2 ? NAN : 2;
        ones[places[i]] = -0.0;
        assert_true(holds(CLS_REDUCE_ANY, type, zeros, N));
        assert_false(holds(CLS_REDUCE_ALL, type, zeros, N));
        assert_true(holds(CLS_REDUCE_ANY, type, ones, N));
        assert_false(holds(CLS_REDUCE_ALL, type, ones, N));
        zeros[places[i]] = 0;
        ones[places[i]] = one;
    }
    assert_false(holds(CLS_REDUCE_ANY, type, zeros, 0));
    assert_true(holds(CLS_REDUCE_ALL, type, zeros, 0));
    free(zeros);
    free(ones);
}

static void infinite_sums(void **state) {
    const cls_dtype type = *(const cls_dtype *)*state;
    double x[100];
    NEED_TYPE(type);
    for (size_t i = 0; i < 100; i++)
        x[i] = type == CLS_F32 ? 3e38 : 1.7e308;
    assert_true(reduced(type, CLS_REDUCE_SUM, x, 100) == INFINITY);
    x[7] = -INFINITY;
    assert_true(isnan(reduced(type, CLS_REDUCE_SUM, x, 100)) ||
                reduced(type, CLS_REDUCE_SUM, x, 100) == -INFINITY);
    for (size_t i = 0; i < 100; i++)
        x[i] = i == 50 ? INFINITY : 1;
    assert_true(reduced(type, CLS_REDUCE_SUM, x, 100) == INFINITY);
    assert_true(reduced(type, CLS_REDUCE_MEAN, x, 100) == INFINITY);
    x[51] = -INFINITY;
    assert_true(isnan(reduced(type, CLS_REDUCE_SUM, x, 100)));
}

static void result_types(void **state) {
    (void)state;
    cls_dtype type = CLS_F32;
    OK(cls_reduce_result_dtype(CLS_REDUCE_SUM, CLS_U8, &type));
    assert_int_equal(type, CLS_I64);
    OK(cls_reduce_result_dtype(CLS_REDUCE_MEAN, CLS_I32, &type));
    assert_int_equal(type, CLS_F64);
    OK(cls_reduce_result_dtype(CLS_REDUCE_MAX, CLS_U32, &type));
    assert_int_equal(type, CLS_U32);
    OK(cls_reduce_result_dtype(CLS_REDUCE_ARGMAX, CLS_F32, &type));
    assert_int_equal(type, CLS_I64);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_reduce_result_dtype((cls_reduce_op)99, CLS_F32, &type));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_reduce_result_dtype(CLS_REDUCE_SUM, (cls_dtype)99, &type));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_reduce_result_dtype(CLS_REDUCE_SUM, CLS_F32, NULL));
    assert_int_equal(type, CLS_I64);
}

#define OF(test, type) \
    { #test "_" #type, test, NULL, NULL, (void *)(uintptr_t)&type }

static const struct CMUnitTest others[] = {
    cmocka_unit_test(sum_beats_naive_summation),
    cmocka_unit_test(sum_beside_the_largest_number),
    cmocka_unit_test(sum_survives_cancellation),
    OF(nan_wins_wherever_it_is, f32),
    OF(nan_wins_wherever_it_is, f64),
    OF(argmax_takes_the_first_of_equals, f32),
    OF(argmax_takes_the_first_of_equals, f64),
    OF(argmin_takes_the_first_of_equals, f32),
    OF(argmin_takes_the_first_of_equals, f64),
    OF(any_and_all, f32),
    OF(any_and_all, f64),
    OF(infinite_sums, f32),
    OF(infinite_sums, f64),
    cmocka_unit_test(result_types),
};

enum { OTHERS = sizeof others / sizeof others[0], MOST = DOT * TYPES + OTHERS };

static struct work works[DOT * TYPES];

int main(void) {
    prepare_tests();
    static struct CMUnitTest tests[MOST];
    unsigned n = 0;
    for (unsigned i = 0; i < DOT * TYPES; i++) {
        struct work *work = &works[i];
        work->op = 1 + (int)(i / TYPES);
        work->type = all_types[i % TYPES];
        if (work->op == DOT)
            work->result = is_float(work->type) ? work->type : CLS_I64;
        else if (cls_reduce_result_dtype((cls_reduce_op)work->op, work->type, &work->result))
            return 1;
        snprintf(work->name, sizeof work->name, "%s_%s",
                 work->op == DOT ? "dot" : cls_reduce_op_name((cls_reduce_op)work->op),
                 cls_dtype_name(work->type));
        if (pair_is_chosen(work->op, work->type))
            tests[n++] = (struct CMUnitTest){work->name, check, NULL, NULL, work};
    }
    memcpy(&tests[n], others, sizeof others);
    return _cmocka_run_group_tests("reduce", tests, n + OTHERS, NULL, NULL);
}
