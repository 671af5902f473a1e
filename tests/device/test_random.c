/* SPDX-License-Identifier: MIT */
/* Draws of random numbers, element by element against Philox on the host, and what they are distributed like. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../support/effort.h"
#include "arrays.h"

enum kind { INTEGERS, UNIFORM, NORMAL, BERNOULLI };

struct draw {
    const char *name;
    enum kind kind;
    cls_dtype type;
    double a, b; /* range, moments, or a probability */
    uint64_t n;
};

static const cls_random_state usual = {0x0123456789abcdef, 0, 41};

static cls_random random_new(const cls_random_state *state) {
    cls_random random = NULL;
    OK(cls_random_create(NULL, state->seed, &random));
    OK(cls_random_set_state(random, state, NULL));
    return random;
}

/* --- the host's --- */

static void philox(const cls_random_state *state, uint64_t counter, uint32_t x[4]) {
    uint32_t key0 = (uint32_t)state->seed, key1 = (uint32_t)(state->seed >> 32);
    x[0] = (uint32_t)counter;
    x[1] = (uint32_t)(counter >> 32);
    x[2] = (uint32_t)state->sequence;
    x[3] = (uint32_t)(state->sequence >> 32);
    for (int round = 0; round < 10; round++, key0 += 0x9e3779b9, key1 += 0xbb67ae85) {
        const uint64_t first = (uint64_t)x[0] * 0xd2511f53, second = (uint64_t)x[2] * 0xcd9e8d57;
        x[0] = (uint32_t)(second >> 32) ^ x[1] ^ key0;
        x[1] = (uint32_t)second;
        x[2] = (uint32_t)(first >> 32) ^ x[3] ^ key1;
        x[3] = (uint32_t)first;
    }
}

static uint64_t two_words(const uint32_t *x) { return x[0] | (uint64_t)x[1] << 32; }

static unsigned per_counter(const struct draw *draw) {
    const unsigned words = cls_dtype_size(draw->type) / 4 == 2 ? 2 : 1;
    return 4 / (draw->kind == INTEGERS && draw->n ? 2 * words : words);
}

/* The upper 64 bits of x n. */
static uint64_t times(uint64_t x, uint64_t n, uint64_t *low) {
    const uint64_t a = (x & UINT32_MAX) * (n & UINT32_MAX), b = (x >> 32) * (n & UINT32_MAX);
    const uint64_t c = (x & UINT32_MAX) * (n >> 32), d = (x >> 32) * (n >> 32);
    const uint64_t middle = (a >> 32) + (b & UINT32_MAX) + (c & UINT32_MAX);
    *low = x * n;
    return d + (b >> 32) + (c >> 32) + (middle >> 32);
}

static uint64_t integer(const struct draw *draw, const uint32_t *x, unsigned j) {
    uint64_t low, rest;
    if (!draw->n)
        return draw->type == CLS_I64 ? two_words(x + 2 * j) : x[j];
    if (draw->type != CLS_I64)
        return times(two_words(x + 2 * j), draw->n, &low);
    const uint64_t high = times(two_words(x + 2), draw->n, &low);
    return high + (low + times(two_words(x), draw->n, &rest) < low);
}

static double largest_below(cls_dtype type, double value) {
    const int digits = type == CLS_F64   ? DBL_MANT_DIG
                       : type == CLS_F32 ? FLT_MANT_DIG
                       : type == CLS_F16 ? 11
                                         : 8;
    int exponent;
    const double fraction = frexp(value, &exponent);
    return value - ldexp(1, exponent - digits - (fraction == 0.5));
}

static double uniform(const struct draw *draw, const uint32_t *x, unsigned j) {
    const double last = largest_below(draw->type, draw->b);
    if (draw->type == CLS_F64) {
        const volatile double part =
            (double)(two_words(x + 2 * j) >> 11) * 0x1p-53 * (draw->b - draw->a);
        return fmin(draw->a + part, last);
    }
    const volatile float part = (float)(x[j] >> 8) * 0x1p-24f * (float)(draw->b - draw->a);
    const volatile float sum = (float)draw->a + part;
    return fmin(sum, last);
}

/* As it is defined. */
static long double normal_exactly(const struct draw *draw, const uint32_t *x, unsigned j) {
    const long double half_pi = 1.57079632679489661923132169163975144L;
    const bool wide = draw->type == CLS_F64;
    const uint32_t *own = wide ? x : x + j / 2 * 2;
    if (wide) {
        const long double u = (long double)(two_words(own) >> 11 | 1) * 0x1p-53L;
        const long double a = (long double)(int64_t)(two_words(own + 2) << 2) * 0x1p-64L * half_pi;
        const long double r = sqrtl(-2 * logl(u)), c = r * cosl(a), s = r * sinl(a);
        const long double parts[2][4] = {{c, -s, -c, s}, {s, c, -s, -c}};
        return parts[j % 2][own[3] >> 30];
    }
    const long double r = sqrtl(-2 * logl((long double)(float)(own[0] | 1) * 0x1p-32L));
    const long double a = (long double)(float)(int32_t)(own[1] << 1) * 0x1p-31L;
    const long double c = r * sinl((1 - fabsl(a)) * half_pi); /* 0 where the angle is a quarter */
    return j % 2 ? r * sinl(a * half_pi) : own[1] >> 31 ? -c : c;
}

/* The kernel's own way, with fma() rounding once. */
static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* By Horner's rule, from the highest term on. */
static float polynomial(const float *terms, size_t n, float x) {
    float sum = terms[0];
    for (size_t i = 1; i < n; i++)
        sum = fmaf(sum, x, terms[i]);
    return sum;
}
#define POLYNOMIAL(x, ...) \
    polynomial((const float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}) / sizeof(float), x)

static float root_of(float x) {
    const float estimate = float_of(0x5f1ffff9 - (bits_of(x) >> 1)), near = x * estimate;
    const float step = fmaf(-near, estimate, 2.38924456f);
    const float s = near * step, d = s * (estimate * step);
    return s * POLYNOMIAL(d, 0.0648257583f, -0.436053693f, 1.319911f);
}

static float minus_two_logarithms(float x) {
    const uint32_t exponent = (bits_of(x) - 0x4f3504f3) & 0xff800000;
    const float f = fmaf(x, float_of(0x2f800000 - exponent), -1);
    const float p = POLYNOMIAL(f, 0.20164745f, -0.323610008f, 0.344864517f, -0.398137659f,
                               0.499424577f, -0.666694283f, 1.00000644f, -2);
    return fmaf(p, f, (float)(int32_t)exponent * (-2 * 0.693147182f * 0x1p-23f));
}

static float normal_as_computed(const struct draw *draw, const uint32_t *x, unsigned j) {
    const uint32_t *own = x + j / 2 * 2;
    const float r = root_of(minus_two_logarithms((float)(own[0] | 1))) * (float)draw->b;
    const float a = (float)(int32_t)(own[1] << 1) * 0x1p-31f, a2 = a * a;
    const float s = POLYNOMIAL(a2, 0.000151485132f, -0.00467376644f, 0.0796896815f, -0.645963728f,
                               1.57079637f) *
                    a;
    const float c =
        POLYNOMIAL(a2, 2.3907973e-05f, -0.000894163910f, 0.019969007f, -0.233700588f, 1) *
        fmaf(-a, a, 1);
    return fmaf(r, j % 2 ? s : own[1] >> 31 ? -c : c, (float)draw->a);
}

/* That of MinGW-w64 does not. */
static bool fmaf_rounds_once(void) {
    const volatile float x = 0x1.8cadbap-1f, y = 0x1.1cc4bep-1f, z = -0x1.0e398p-6f;
    return fmaf(x, y, z) == 0x1.a85dfep-2f;
}

/* Whether the numbers of f32 are those of fmaf(). */
static bool fma_rounds_once(void) {
    static int known = -1;
    static const char source[] =
        "kernel void f(global float *x) { x[0] = fma(x[1], x[1], x[2]); }\n";
    const float x[] = {0, 1 + 0x1p-12f, -1 - 0x1p-11f};
    if (known >= 0)
        return known;
    const cls_launch once = cls_launch_1d(1);
    cls_array view = view_make(CLS_F32, 0, 3, x);
    cls_program program;
    cls_kernel kernel;
    OK(cls_program_from_source(NULL, source, NULL, NULL, &program));
    OK(cls_kernel_create(program, "f", &kernel));
    const cls_arg args[] = {cls_arg_buffer_at(view.buffer, view.offset * 4, 12)};
    OK(cls_kernel_launch(kernel, &once, args, 1, NULL));
    float *got = view_read(view);
    known = got[0] == 0x1p-24f && fmaf_rounds_once();
    free(got);
    view_destroy(view);
    OK(cls_kernel_destroy(kernel));
    OK(cls_program_destroy(program));
    return known;
}

static void *expected(const struct draw *draw, const cls_random_state *state, size_t count) {
    const size_t size = cls_dtype_size(draw->type);
    const unsigned per = per_counter(draw);
    unsigned char *out = malloc(count * size + 8);
    uint32_t x[4];
    assert_non_null(out);
    for (size_t i = 0; i < count; i++) {
        philox(state, state->offset + i / per, x);
        const unsigned j = (unsigned)(i % per);
        const uint64_t whole = draw->kind == INTEGERS    ? integer(draw, x, j)
                               : draw->kind == BERNOULLI ? x[j] < draw->a * 0x1p32
                                                         : 0;
        double real = draw->kind == UNIFORM ? uniform(draw, x, j) : 0;
        if (draw->kind == NORMAL && draw->type == CLS_F64)
            real = draw->a + draw->b * (double)normal_exactly(draw, x, j);
        else if (draw->kind == NORMAL)
            real = (double)normal_as_computed(draw, x, j);
        if (is_float(draw->type))
            reference_cast(CLS_F64, draw->type, &real, out + i * size, 1);
        else
            memcpy(out + i * size, &whole,
                   size); /* of little-endian hosts, as all with OpenCL are */
    }
    return out;
}

/* --- draws --- */

static cls_status run(const struct draw *draw, cls_random random, cls_array out) {
    switch (draw->kind) {
    case INTEGERS:
        return cls_random_integers(random, out, draw->n, NULL);
    case UNIFORM:
        return cls_random_uniform(random, out, draw->a, draw->b, NULL);
    case NORMAL:
        return cls_random_normal(random, out, draw->a, draw->b, NULL);
    case BERNOULLI:
        return cls_random_bernoulli(random, out, draw->a, NULL);
    }
    return CLS_ERROR_INVALID_VALUE;
}

/* f64's normal numbers are by the driver's functions, those of f32 by its fma(). */
static double bound_of(const struct draw *draw) {
    if (draw->kind != NORMAL)
        return 0;
    if (draw->type == CLS_F64)
        return 64; /* with a mean that cancels */
    return fma_rounds_once() ? 0 : draw->type == CLS_F32 ? 64 : 1;
}

static void check_one(const struct draw *draw, const cls_random_state *state, size_t offset,
                      size_t count) {
    double *bounds = malloc(count * sizeof *bounds + 1);
    void *wanted = expected(draw, state, count);
    const double bound = bound_of(draw);
    for (size_t i = 0; i < count; i++)
        bounds[i] = bound;
    cls_array view = view_make(draw->type, offset, count, NULL);
    cls_random random = random_new(state);
    cls_random_state after;
    OK(run(draw, random, view));
    OK(cls_random_get_state(random, &after, NULL));
    assert_true(after.seed == state->seed && after.sequence == state->sequence);
    const unsigned per = per_counter(draw);
    assert_true(after.offset == state->offset + (count + per - 1) / per);
    void *got = view_take(view);
    check_array(draw->name, draw->type, got, wanted, bounds, count, draw->type, NULL);
    free(got);
    free(wanted);
    free(bounds);
    OK(cls_random_destroy(random));
}

/* Uniform and normal numbers are made of several steps. */
#define NEED_DRAW(draw)                                    \
    NEED_TYPE((draw)->type);                               \
    if ((draw)->kind == UNIFORM || (draw)->kind == NORMAL) \
    NEED_ROUNDING((draw)->type)

/* Ends of vectors, groups and runs; starts where no vector could. */
static void is_philox(void **state) {
    static const size_t counts[] = {0, 1, 2, 3, 4, 5, 15, 17, 33, 1000, 8191, 16389};
    const struct draw *draw = *state;
    NEED_DRAW(draw);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t offset = 0; offset < 4; offset += 1 + (i > 4))
            check_one(draw, &usual, offset, counts[i]);
}

/* Words of the counter carry, and the offset begins anew at 2^64. */
static void counters_carry(void **state) {
    const struct draw *draw = *state;
    const cls_random_state near[] = {{7, 0, UINT32_MAX - 3},
                                     {7, 0x1234567800000009, UINT64_MAX - 3},
                                     {UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    NEED_DRAW(draw);
    for (size_t i = 0; i < sizeof near / sizeof *near; i++)
        check_one(draw, &near[i], 1, 77);
}

static void known_answers(void **state) {
    static const struct {
        cls_random_state state;
        uint32_t words[4];
    } known[] = {
        {{0, 0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{UINT64_MAX, UINT64_MAX, UINT64_MAX}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        cls_random random = random_new(&known[i].state);
        cls_array view = view_make(CLS_U32, 0, 4, NULL);
        OK(cls_random_integers(random, view, 0, NULL));
        uint32_t *got = view_take(view);
        assert_memory_equal(got, known[i].words, sizeof known[i].words);
        free(got);
        OK(cls_random_destroy(random));
    }
}

/* z itself, within what random.h states. */
static void normal_error(void **state) {
    enum { COUNT = 200000 };
    const struct draw *draw = *state;
    const cls_random_state start = {99, 0, 5};
    const double allowed = draw->type == CLS_F32 ? 8 : 16;
    const int digits = draw->type == CLS_F32 ? FLT_MANT_DIG : DBL_MANT_DIG;
    double worst = 0;
    NEED_DRAW(draw);
    cls_random random = random_new(&start);
    cls_array view = view_make(draw->type, 0, COUNT, NULL);
    const unsigned per = per_counter(draw);
    uint32_t x[4];
    OK(cls_random_normal(random, view, 0, 1, NULL));
    void *got = view_take(view);
    for (size_t i = 0; i < COUNT; i++) {
        philox(&start, start.offset + i / per, x);
        const long double exact = normal_exactly(draw, x, (unsigned)(i % per));
        const double is = draw->type == CLS_F32 ? (double)((float *)got)[i] : ((double *)got)[i];
        int exponent;
        frexpl(exact, &exponent);
        worst = fmax(worst, (double)fabsl(ldexpl((long double)is - exact, digits - exponent)));
    }
    print_message("%s: at most %.2f ULP\n", draw->name, worst);
    assert_true(worst <= allowed);
    free(got);
    OK(cls_random_destroy(random));
}

/* Two draws are the parts of one. */
static void draws_continue(void **state) {
    enum { FIRST = 400, COUNT = 1003 };
    const struct draw *draw = *state;
    NEED_DRAW(draw);
    cls_random random = random_new(&usual);
    cls_array whole = view_make(draw->type, 1, COUNT, NULL);
    cls_array parts = view_make(draw->type, 1, COUNT, NULL);
    OK(run(draw, random, whole));
    OK(cls_random_set_state(random, &usual, NULL));
    OK(run(draw, random, cls_array_at(parts.buffer, draw->type, parts.offset, FIRST)));
    OK(run(draw, random,
           cls_array_at(parts.buffer, draw->type, parts.offset + FIRST, COUNT - FIRST)));
    void *a = view_take(whole), *b = view_take(parts);
    assert_memory_equal(a, b, COUNT * cls_dtype_size(draw->type));
    free(a);
    free(b);
    OK(cls_random_destroy(random));
}

/* --- distributions: with fixed seeds, so that they pass or fail for good --- */

enum { SAMPLE = 1 << 18 };

/* Far in the tails of chi-square with bins - 1 degrees of freedom: six standard deviations. */
static void check_bins(const char *name, const unsigned *bins, unsigned n, double total) {
    double sum = 0;
    for (unsigned i = 0; i < n; i++)
        sum += (bins[i] - total / n) * (bins[i] - total / n) / (total / n);
    print_message("%s: chi-square %.1f of %u bins\n", name, sum, n);
    assert_true(fabs(sum - (n - 1)) < 6 * sqrt(2.0 * (n - 1)));
}

static void *sample(const struct draw *draw) {
    cls_random random = random_new(&usual);
    cls_array view = view_make(draw->type, 0, SAMPLE, NULL);
    OK(run(draw, random, view));
    OK(cls_random_destroy(random));
    return view_take(view);
}

static void uniform_distribution(void **state) {
    const struct draw draw = {"uniform", UNIFORM, CLS_F32, 0, 1, 0};
    unsigned bins[256] = {0}, pairs[256] = {0};
    double sum = 0;
    (void)state;
    NEED_ROUNDING(CLS_F32);
    float *x = sample(&draw);
    for (size_t i = 0; i < SAMPLE; i++) {
        assert_true(x[i] >= 0 && x[i] < 1);
        sum += (double)x[i];
        bins[(unsigned)(x[i] * 256)]++;
        if (i % 2)
            pairs[(unsigned)(x[i] * 16) * 16 + (unsigned)(x[i - 1] * 16)]++;
    }
    assert_true(fabs(sum / SAMPLE - 0.5) < 5 * sqrt(1.0 / 12 / SAMPLE));
    check_bins("uniform", bins, 256, SAMPLE);
    check_bins("pairs of uniform", pairs, 256, SAMPLE / 2);
    free(x);
}

static void normal_distribution(void **state) {
    const struct draw draw = {"normal", NORMAL, CLS_F32, 3, 2, 0};
    unsigned bins[128] = {0};
    double sum = 0, squares = 0, fourth = 0, products = 0;
    (void)state;
    NEED_ROUNDING(CLS_F32);
    float *x = sample(&draw);
    for (size_t i = 0; i < SAMPLE; i++) {
        const double z = ((double)x[i] - 3) / 2;
        sum += z;
        squares += z * z;
        fourth += z * z * z * z;
        products += i % 2 ? z * ((double)x[i - 1] - 3) / 2 : 0;
        bins[(unsigned)(0.5 * erfc(-z * 0.70710678118654752440) * 128)]++;
    }
    assert_true(fabs(sum / SAMPLE) < 5 / sqrt(SAMPLE));
    assert_true(fabs(squares / SAMPLE - 1) < 5 * sqrt(2.0 / SAMPLE));
    assert_true(fabs(fourth / SAMPLE - 3) < 5 * sqrt(96.0 / SAMPLE));
    assert_true(fabs(products / (SAMPLE / 2)) < 5 / sqrt(SAMPLE / 2));
    check_bins("normal", bins, 128, SAMPLE);
    free(x);
}

static void integer_distribution(void **state) {
    const struct draw draw = {"integers", INTEGERS, CLS_I32, 0, 0, 1000};
    unsigned bins[1000] = {0};
    (void)state;
    int32_t *x = sample(&draw);
    for (size_t i = 0; i < SAMPLE; i++) {
        assert_true(x[i] >= 0 && x[i] < 1000);
        bins[x[i]]++;
    }
    check_bins("integers", bins, 1000, SAMPLE);
    free(x);
}

static void bernoulli_distribution(void **state) {
    const struct draw draw = {"bernoulli", BERNOULLI, CLS_U8, 0.3, 0, 0};
    double ones = 0;
    (void)state;
    uint8_t *x = sample(&draw);
    for (size_t i = 0; i < SAMPLE; i++)
        ones += x[i];
    assert_true(fabs(ones / SAMPLE - 0.3) < 5 * sqrt(0.21 / SAMPLE));
    free(x);
}

/* --- ends of what parameters may be --- */

static void uniform_ends(void **state) {
    static const cls_dtype types[] = {CLS_F32, CLS_F64, CLS_F16, CLS_BF16};
    static const double ranges[][2] = {{-1, 0}, {1, 1.0078125}, {60000, 65504}, {-3, -2}};
    (void)state;
    NEED_ROUNDING(CLS_F32);
    for (unsigned t = 0; t < 4; t++)
        for (unsigned r = 0; r < 4 && (types[t] != CLS_F64 || device_has_f64()); r++) {
            enum { COUNT = 4096 };
            cls_random random = random_new(&usual);
            cls_array view = view_make(types[t], 0, COUNT, NULL);
            double x[COUNT], low, high;
            uint64_t element[1];
            OK(cls_random_uniform(random, view, ranges[r][0], ranges[r][1], NULL));
            void *got = view_take(view);
            reference_cast(types[t], CLS_F64, got, x, COUNT);
            reference_cast(CLS_F64, types[t], &ranges[r][0], element, 1);
            reference_cast(types[t], CLS_F64, element, &low, 1);
            reference_cast(CLS_F64, types[t], &ranges[r][1], element, 1);
            reference_cast(types[t], CLS_F64, element, &high, 1);
            for (size_t i = 0; i < COUNT; i++)
                assert_true(x[i] >= low && x[i] < high);
            free(got);
            OK(cls_random_destroy(random));
        }
}

static void certain_masks(void **state) {
    enum { COUNT = 999 };
    (void)state;
    for (int p = 0; p <= 1; p++) {
        cls_random random = random_new(&usual);
        cls_array view = view_make(CLS_U8, 3, COUNT, NULL);
        OK(cls_random_bernoulli(random, view, p, NULL));
        uint8_t *got = view_take(view);
        for (size_t i = 0; i < COUNT; i++)
            assert_int_equal(got[i], p);
        free(got);
        OK(cls_random_destroy(random));
    }
}

static void limits_of_integers(void **state) {
    static const struct {
        cls_dtype type;
        uint64_t n;
    } most[] = {{CLS_U8, 256},
                {CLS_I8, 128},
                {CLS_I16, 32768},
                {CLS_U16, 65536},
                {CLS_I32, UINT64_C(1) << 31},
                {CLS_U32, UINT64_C(1) << 32},
                {CLS_I64, UINT64_C(1) << 63},
                {CLS_U32, 1},
                {CLS_I64, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
        const struct draw draw = {"limit", INTEGERS, most[i].type, 0, 0, most[i].n};
        check_one(&draw, &usual, 1, 501);
        if (most[i].n == 1)
            continue;
        cls_random random = random_new(&usual);
        cls_array view = view_make(most[i].type, 0, 4, NULL);
        EXPECT(CLS_ERROR_INVALID_VALUE, cls_random_integers(random, view, most[i].n + 1, NULL));
        view_destroy(view);
        OK(cls_random_destroy(random));
    }
}

/* --- dropout --- */

/* With the mask, without, and in place: the same elements. */
static void dropout(void **state) {
    enum { COUNT = 5003 };
    const cls_dtype type = ((const struct draw *)*state)->type;
    const double p = 0.25;
    const size_t size = cls_dtype_size(type);
    NEED_TYPE(type);
    unsigned char *from = hard_values(type, COUNT, 3), *wanted = malloc(COUNT * size);
    const double scale = 1 / (1 - p);
    uint64_t element[1] = {0};
    reference_cast(CLS_F64, type == CLS_F64 ? type : CLS_F32, &scale, element, 1);
    if (device_flushes())
        tame(type, from, COUNT, 1e30);
    cls_random random = random_new(&usual);
    cls_array in = view_make(type, 1, COUNT, from), out = view_make(type, 3, COUNT, NULL);
    cls_array mask = view_make(CLS_U8, 2, COUNT, NULL), none = {0};
    OK(cls_dropout(random, in, mask, out, p, NULL));
    uint8_t *kept = view_take(mask);
    size_t zeros = 0;
    for (size_t i = 0; i < COUNT; i++) {
        uint32_t x[4];
        double value, product;
        philox(&usual, usual.offset + i / 4, x);
        assert_int_equal(kept[i], x[i % 4] >= p * 0x1p32);
        reference_cast(type, CLS_F64, from + i * size, &value, 1);
        product = type == CLS_F64 ? value * scale : (double)((float)value * (float)scale);
        product = kept[i] ? product : 0;
        reference_cast(CLS_F64, type, &product, wanted + i * size, 1);
        zeros += !kept[i];
    }
    assert_true(fabs((double)zeros / COUNT - p) < 5 * sqrt(p * (1 - p) / COUNT));
    void *got = view_take(out);
    check_array("dropout", type, got, wanted, NULL, COUNT, type, from);
    OK(cls_random_set_state(random, &usual, NULL));
    OK(cls_dropout(random, in, none, in, p, NULL));
    free(got);
    got = view_take(in);
    check_array("dropout in place", type, got, wanted, NULL, COUNT, type, from);
    free(got);
    free(kept);
    free(from);
    free(wanted);
    OK(cls_random_destroy(random));
}

static void dropout_of_everything(void **state) {
    enum { COUNT = 100 };
    const float from[COUNT] = {INFINITY, NAN, -1};
    (void)state;
    cls_random random = random_new(&usual);
    cls_array in = view_make(CLS_F32, 0, COUNT, from), none = {0};
    OK(cls_dropout(random, in, none, in, 1, NULL));
    float *got = view_take(in);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(got[i] == 0 && !signbit(got[i]));
    free(got);
    OK(cls_random_destroy(random));
}

/* More elements than 32 bits count. */
static void more_than_32_bits(void **state) {
    const size_t count = ((size_t)1 << 32) + 4099;
    const struct draw draw = {"many", INTEGERS, CLS_U8, 0, 0, 0};
    enum { LAST = 6000 };
    size_t index;
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    (void)state;
    OK(cls_context_get_device(NULL, &index));
    OK(cls_device_get_info(index, &info));
    if (!effort_is_long() || info.max_allocation < count)
        SKIP_BECAUSE("4 GiB: only with TEST_EFFORT=long, on a device that allows them");
    static uint8_t got[LAST];
    cls_buffer buffer;
    cls_random random = random_new(&usual);
    OK(cls_buffer_create(NULL, count, &buffer));
    OK(cls_random_integers(random, cls_array_of(buffer, CLS_U8, count), 0, NULL));
    OK(cls_copy_d2h(got, buffer, count - LAST, LAST, NULL));
    const size_t aligned = (count - LAST + 3) / 4 * 4, skipped = aligned - (count - LAST);
    const cls_random_state there = {usual.seed, usual.sequence, usual.offset + aligned / 4};
    void *wanted = expected(&draw, &there, LAST - skipped);
    assert_memory_equal(got + skipped, wanted, LAST - skipped);
    free(wanted);
    OK(cls_buffer_destroy(buffer));
    OK(cls_random_destroy(random));
}

/* --- the list --- */

static struct draw draws[] = {{"bits", INTEGERS, CLS_U8, 0, 0, 0},
                              {"bits", INTEGERS, CLS_U32, 0, 0, 0},
                              {"bits", INTEGERS, CLS_I32, 0, 0, 0},
                              {"bits", INTEGERS, CLS_I64, 0, 0, 0},
                              {"bits", INTEGERS, CLS_I8, 0, 0, 0},
                              {"bits", INTEGERS, CLS_I16, 0, 0, 0},
                              {"bits", INTEGERS, CLS_U16, 0, 0, 0},
                              {"below", INTEGERS, CLS_U8, 0, 0, 7},
                              {"below", INTEGERS, CLS_U32, 0, 0, 3000000000},
                              {"below", INTEGERS, CLS_I32, 0, 0, 100},
                              {"below", INTEGERS, CLS_I64, 0, 0, 0x7123456789abcdef},
                              {"below", INTEGERS, CLS_I8, 0, 0, 100},
                              {"below", INTEGERS, CLS_I16, 0, 0, 30000},
                              {"below", INTEGERS, CLS_U16, 0, 0, 60000},
                              {"uniform", UNIFORM, CLS_F32, -1.5, 2.25, 0},
                              {"uniform", UNIFORM, CLS_F64, -1.5, 2.25, 0},
                              {"uniform", UNIFORM, CLS_F16, -1.5, 2.25, 0},
                              {"uniform", UNIFORM, CLS_BF16, 0, 1, 0},
                              {"normal", NORMAL, CLS_F32, 0, 1, 0},
                              {"normal", NORMAL, CLS_F64, 0, 1, 0},
                              {"normal", NORMAL, CLS_F16, 0.5, 3, 0},
                              {"normal", NORMAL, CLS_BF16, 0, 1, 0},
                              {"bernoulli", BERNOULLI, CLS_U8, 0.3, 0, 0}};
static struct draw floats[] = {{"dropout", NORMAL, CLS_F32, 0, 1, 0},
                               {"dropout", NORMAL, CLS_F64, 0, 1, 0},
                               {"dropout", NORMAL, CLS_F16, 0, 1, 0},
                               {"dropout", NORMAL, CLS_BF16, 0, 1, 0}};

static const struct CMUnitTest others[] = {
    cmocka_unit_test(known_answers),          cmocka_unit_test(uniform_distribution),
    cmocka_unit_test(normal_distribution),    cmocka_unit_test(integer_distribution),
    cmocka_unit_test(bernoulli_distribution), cmocka_unit_test(uniform_ends),
    cmocka_unit_test(certain_masks),          cmocka_unit_test(limits_of_integers),
    cmocka_unit_test(dropout_of_everything),  cmocka_unit_test(more_than_32_bits)};

enum { DRAWS = sizeof draws / sizeof *draws, FLOATS = 4, OTHERS = sizeof others / sizeof *others };

static struct CMUnitTest tests[3 * DRAWS + 2 + FLOATS + OTHERS];
static unsigned n_tests;

static void add(CMUnitTestFunction test, const char *what, struct draw *draw) {
    static char names[3 * DRAWS + 2 + FLOATS][80];
    char *name = names[n_tests];
    snprintf(name, sizeof *names, "%s_%s %s", draw->name, cls_dtype_name(draw->type), what);
    tests[n_tests] = (struct CMUnitTest){name, test, NULL, NULL, draw};
    n_tests++;
}

int main(void) {
    prepare_tests();
    for (unsigned i = 0; i < DRAWS; i++) {
        add(is_philox, "is Philox's", &draws[i]);
        add(counters_carry, "counters carry", &draws[i]);
        add(draws_continue, "draws continue", &draws[i]);
        if (draws[i].kind == NORMAL && cls_dtype_size(draws[i].type) >= 4)
            add(normal_error, "error", &draws[i]);
    }
    for (unsigned i = 0; i < FLOATS; i++)
        add(dropout, "", &floats[i]);
    memcpy(&tests[n_tests], others, sizeof others);
    return _cmocka_run_group_tests("random", tests, n_tests + OTHERS, NULL, NULL);
}
