/* SPDX-License-Identifier: MIT */
/*
 * BLAS calls of random shapes, offsets, leading dimensions, strides, transposes and factors against sums on the host.
 * What a call does not read is NaN: what lies between the elements of an input, an input whose factor is 0, and the
 * output where beta is 0. BLAS_SEED= draws other calls.
 */
#include <stdio.h>
#include <string.h>

#include "../support/effort.h"
#include "blas_values.h"

enum { CALLS = 60, CALLS_LONG = 1500, UNTOUCHED = 77 };

/* --- draws --- */

static uint64_t state_of_draws;

static size_t draw(size_t n) {
    state_of_draws = state_of_draws * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(state_of_draws >> 33) % n;
}

/* A number below n, or half of the time 0. */
static size_t draw_gap(size_t n) { return draw(2) ? draw(n) : 0; }

static size_t draw_length(void) {
    static const size_t lengths[] = {0, 1, 2, 3, 7, 8, 16, 31, 32, 33, 64, 65, 100, 129};
    return lengths[draw(sizeof lengths / sizeof *lengths)];
}

static double draw_factor(void) {
    static const double factors[] = {0, 1, -1, 0.5, 2};
    return factors[draw(sizeof factors / sizeof *factors)];
}

static cls_stream in_order;

static cls_stream draw_stream(void) { return draw(2) ? in_order : NULL; }

/* --- operands: matrices, and vectors as matrices of one column --- */

struct operand {
    struct values v;
    cls_matrix m;
};

struct role {
    bool output; /* what lies between its elements stays as it was */
    bool unread;
};

static double *element(const struct operand *o, size_t batch, size_t row, size_t column) {
    return &o->v.x[o->m.offset + batch * o->m.stride + row * o->m.ld + column];
}

static struct operand operand_make(cls_dtype type, size_t rows, size_t columns, size_t batches,
                                   struct role role) {
    struct operand o = {.m = {.dtype = type, .rows = rows, .columns = columns}};
    o.m.offset = draw_gap(20);
    o.m.ld = columns + draw_gap(9);
    o.m.stride = !role.output && !draw(4) ? 0 : rows * o.m.ld + draw_gap(7);
    const size_t count = o.m.offset + (batches - 1) * o.m.stride + rows * o.m.ld + 1 + draw(4);
    o.v = values_make(type, count, 1);
    o.m.buffer = o.v.buffer;
    for (size_t i = 0; i < count; i++)
        o.v.x[i] = role.output ? UNTOUCHED : NAN;
    for (size_t batch = 0; batch < batches; batch++)
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < columns; j++)
                *element(&o, batch, i, j) = role.unread ? NAN : ((double)draw(17) - 8) / 8;
    upload(&o.v);
    return o;
}

static cls_vector vector_of(const struct operand *o) {
    return (cls_vector){o->m.buffer, o->m.dtype, o->m.offset, o->m.rows, o->m.ld};
}

/* --- products --- */

static double at(const struct operand *o, size_t batch, size_t row, size_t column, int transposed) {
    return *element(o, batch, transposed ? column : row, transposed ? row : column);
}

/* The values are multiples of 1/64 and small, so that all sums are exact. */
static void expect_product(const struct operand o[3], size_t inner, const cls_gemm_config *config) {
    const struct operand *c = &o[2];
    for (size_t batch = 0; batch < config->batches; batch++)
        for (size_t i = 0; i < c->m.rows; i++)
            for (size_t j = 0; j < c->m.columns; j++) {
                double sum = 0, *out = element(c, batch, i, j);
                for (size_t k = 0; k < inner && config->alpha != 0; k++)
                    sum += at(&o[0], batch, i, k, config->transpose_a) *
                           at(&o[1], batch, k, j, config->transpose_b);
                *out = config->alpha * sum + (config->beta != 0 ? config->beta * *out : 0);
            }
}

static cls_gemm_config draw_config(void) {
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.transpose_a = (int)draw(2);
    config.alpha = draw_factor();
    config.beta = draw_factor();
    return config;
}

static void check(const char *name, struct operand *o, unsigned n, const size_t sizes[3],
                  const cls_gemm_config *config) {
    char what[200];
    snprintf(what, sizeof what, "%s of %s, %zu x %zu x %zu%s%s, %zu of them, alpha %g, beta %g",
             name, cls_dtype_name(o[0].m.dtype), sizes[0], sizes[1], sizes[2],
             config->transpose_a ? ", a transposed" : "", config->transpose_b ? ", b too" : "",
             config->batches, config->alpha, config->beta);
    check_values(what, &o[n - 1].v, 0);
    for (unsigned i = 0; i < n; i++)
        values_free(&o[i].v);
}

static void gemm(cls_dtype type) {
    cls_gemm_config config = draw_config();
    const size_t m = draw_length(), n = draw_length(), k = draw_length();
    config.transpose_b = (int)draw(2);
    config.batches = effort_is_long() && !draw(3) ? 1 + draw(4) : 1;
    const size_t sizes[] = {m, n, k}, batches = config.batches;
    const int ta = config.transpose_a, tb = config.transpose_b;
    const struct role in = {.unread = config.alpha == 0};
    const struct role out = {.output = true, .unread = config.beta == 0};
    struct operand o[] = {operand_make(type, ta ? k : m, ta ? m : k, batches, in),
                          operand_make(type, tb ? n : k, tb ? k : n, batches, in),
                          operand_make(type, m, n, batches, out)};
    OK(cls_gemm(o[0].m, o[1].m, o[2].m, &config, draw_stream()));
    expect_product(o, k, &config);
    check("gemm", o, 3, sizes, &config);
}

static void gemv(cls_dtype type) {
    const cls_gemm_config config = draw_config();
    const size_t out = draw_length(), inner = draw_length(), sizes[] = {out, 1, inner};
    const bool t = config.transpose_a;
    const struct role in = {.unread = config.alpha == 0};
    struct operand o[] = {
        operand_make(type, t ? inner : out, t ? out : inner, 1, in),
        operand_make(type, inner, 1, 1, in),
        operand_make(type, out, 1, 1, (struct role){.output = true, .unread = config.beta == 0})};
    OK(cls_gemv(o[0].m, vector_of(&o[1]), vector_of(&o[2]), &config, draw_stream()));
    expect_product(o, inner, &config);
    check("gemv", o, 3, sizes, &config);
}

/* --- vectors --- */

static void axpy(cls_dtype type) {
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    const size_t n = draw_length(), sizes[] = {n, 1, 1};
    config.alpha = draw_factor();
    struct operand o[] = {operand_make(type, n, 1, 1, (struct role){.unread = config.alpha == 0}),
                          operand_make(type, n, 1, 1, (struct role){.output = true})};
    OK(cls_axpy(config.alpha, vector_of(&o[0]), vector_of(&o[1]), draw_stream()));
    for (size_t i = 0; i < n && config.alpha != 0; i++)
        *element(&o[1], 0, i, 0) += config.alpha * *element(&o[0], 0, i, 0);
    check("axpy", o, 2, sizes, &config);
}

static void scal(cls_dtype type) {
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    const size_t n = draw_length(), sizes[] = {n, 1, 1};
    config.alpha = draw_factor();
    struct operand o[] = {
        operand_make(type, n, 1, 1, (struct role){.output = true, .unread = config.alpha == 0})};
    OK(cls_scal(config.alpha, vector_of(&o[0]), draw_stream()));
    for (size_t i = 0; i < n; i++)
        *element(&o[0], 0, i, 0) = config.alpha != 0 ? config.alpha * *element(&o[0], 0, i, 0) : 0;
    check("scal", o, 1, sizes, &config);
}

/* Into elements of a vector, beside others. */
static void dot(cls_dtype type) {
    const cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    const size_t n = draw_length(), sizes[] = {1, 1, n};
    struct operand o[] = {
        operand_make(type, n, 1, 1, (struct role){0}),
        operand_make(type, n, 1, 1, (struct role){0}),
        operand_make(type, 1, 1, 1, (struct role){.output = true, .unread = true})};
    double *sum = element(&o[2], 0, 0, 0);
    OK(cls_blas_dot_async(vector_of(&o[0]), vector_of(&o[1]),
                          cls_array_at(o[2].m.buffer, type, o[2].m.offset, 1), NULL));
    *sum = 0;
    for (size_t i = 0; i < n; i++)
        *sum += *element(&o[0], 0, i, 0) * *element(&o[1], 0, i, 0);
    check("dot", o, 3, sizes, &config);
}

/* --- */

static void calls(cls_dtype type, void (*const routines[])(cls_dtype type), size_t n) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    NEED_BLAS(type);
    config.order = CLS_ORDER_IN_ORDER;
    OK(cls_stream_create(NULL, &config, &in_order));
    for (int i = 0; i < (effort_is_long() ? CALLS_LONG : CALLS); i++)
        routines[draw(n)](type);
    OK(cls_stream_destroy(in_order));
}

static void (*const routines[])(cls_dtype type) = {gemm, gemv, axpy, scal, dot};

static void in_f32(void **state) {
    (void)state;
    calls(CLS_F32, routines, sizeof routines / sizeof *routines);
}

/* A CPU driver's compiler takes long for the products. */
static void in_f64(void **state) {
    (void)state;
    const size_t first = effort_is_long() ? 0 : 2;
    calls(CLS_F64, routines + first, sizeof routines / sizeof *routines - first);
}

/* --- operands in one buffer --- */

enum { ROOM = 4096 };

static cls_matrix draw_view(cls_buffer buffer, size_t rows, size_t columns, size_t batches) {
    cls_matrix m = {buffer, CLS_F32, draw(40), rows, columns, columns + draw_gap(12), 0};
    if (draw(3))
        m.stride = rows * m.ld + draw_gap(12);
    else if (draw(2))
        m.stride = columns + draw_gap(4), m.ld = batches * m.stride + draw_gap(4);
    else
        m.stride = draw(40);
    return m;
}

/* Whether one matrix begins between the rows of another and does not end there: all from the first element to the last
 * is the operand's then. */
static bool is_irregular(const cls_matrix *m, size_t batches) {
    const size_t reach = (m->rows - 1) * m->ld + m->columns;
    return batches > 1 && m->stride < reach && (batches - 1) * m->stride + m->columns > m->ld;
}

/* Marks the operand's elements with `mark`; whether one had another mark, and, of an operand without elements in common,
 * whether one had this. */
static bool mark(unsigned char *marks, const cls_matrix *m, size_t batches, unsigned char with,
                 bool own) {
    const size_t first = m->offset,
                 last = first + (batches - 1) * m->stride + (m->rows - 1) * m->ld + m->columns - 1;
    bool met = false;
    for (size_t i = first; !own && is_irregular(m, batches) && i <= last; i++)
        met = met || marks[i];
    for (size_t b = 0; b < batches; b++)
        for (size_t i = 0; i < m->rows; i++)
            for (size_t k = 0; k < m->columns; k++) {
                unsigned char *at = &marks[first + b * m->stride + i * m->ld + k];
                met = met || (own ? *at == with : *at != 0);
                if (own)
                    *at = with;
            }
    if (own && is_irregular(m, batches))
        memset(&marks[first], with, last - first + 1);
    return met;
}

/* The product changes nothing, so that only the views matter. */
static void views_overlap_where_they_share_an_element(void **state) {
    unsigned refused = 0, taken = 0;
    cls_buffer buffer;
    (void)state;
    NEED_BLAS(CLS_F32);
    OK(cls_buffer_create(NULL, ROOM * sizeof(float), &buffer));
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.alpha = 0;
    config.beta = 1;
    for (int i = 0; i < 20000; i++) {
        unsigned char marks[2 * ROOM] = {0};
        const size_t m = 1 + draw(5), n = 1 + draw(5), k = 1 + draw(5);
        config.batches = 1 + draw(4);
        const cls_matrix a = draw_view(buffer, m, k, config.batches),
                         b = draw_view(buffer, k, n, config.batches),
                         c = draw_view(buffer, m, n, config.batches);
        const bool wrong = mark(marks, &c, config.batches, 1, true),
                   shared = mark(marks, &a, config.batches, 0, false) ||
                            mark(marks, &b, config.batches, 0, false);
        const cls_status status = cls_gemm_async(a, b, c, &config, NULL);
        if (status != (wrong || shared ? CLS_ERROR_OVERLAP : CLS_SUCCESS))
            fail_msg("call %d is %s: %s", i, cls_status_string(status), cls_last_error_detail());
        refused += status != CLS_SUCCESS;
        taken += status == CLS_SUCCESS;
    }
    assert_true(refused > 1000 && taken > 1000);
    OK(cls_buffer_destroy(buffer));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(in_f32), cmocka_unit_test(in_f64),
                                       cmocka_unit_test(views_overlap_where_they_share_an_element)};
    const char *seed = getenv("BLAS_SEED");
    state_of_draws = seed ? strtoull(seed, NULL, 10) : 1;
    prepare_tests();
    return cmocka_run_group_tests_name("random blas calls", tests, NULL, NULL);
}
