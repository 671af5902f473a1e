/* SPDX-License-Identifier: MIT */
/*
 * Matrix products that are large enough for every way to compute them (packed panels on CPUs, matrix units), against sums
 * in double precision: each kind of math, transposes, offsets, leading dimensions, factors and batches; numbers that
 * cancel, tiny and huge ones, infinities and NaN.
 */
#include <stdio.h>
#include <string.h>

#include "blas_values.h"

struct shape {
    size_t m, n, k;
};

struct product {
    cls_dtype type, out; /* of the inputs, and of the output; 0: the same */
    cls_gemm_math math;
    struct shape shape;
    bool ta, tb;
    size_t pad, gap, offset, batches; /* gap: elements between matrices; 0: 3 of them */
    bool shared_b;
    double alpha, beta;
    double (*value)(unsigned operand, size_t row, size_t column); /* NULL: values_make's */
};

static const char *const maths[] = {"f32", "tf32", "pedantic"};

/* An error, relative to the sum of the magnitudes of all terms. */
static double bound_of(const struct product *p) {
    const double terms = (double)p->shape.k;
    if (p->type == CLS_F64)
        return DBL_EPSILON * terms;
    if (p->type != CLS_F32)
        return 0x1p-22 * (terms + 8);
    return p->math == CLS_GEMM_TF32 ? 0x1p-10 + 0x1p-24 * terms : 0x1p-24 * (terms + 8);
}

static size_t index_of(const cls_matrix *m, size_t batch, size_t i, size_t j, bool transposed) {
    return m->offset + batch * m->stride + (transposed ? j : i) * m->ld + (transposed ? i : j);
}

static struct values operand(const struct product *p, unsigned which, size_t rows, size_t columns,
                             bool transposed, bool shared, cls_matrix *matrix) {
    const size_t r = transposed ? columns : rows, c = transposed ? rows : columns;
    const size_t stride = r * (c + p->pad) + (p->gap ? p->gap : 3);
    const cls_dtype type = which < 2 ? p->type : p->out;
    struct values v = values_make(type, p->offset + p->batches * stride, which + 1);
    *matrix = cls_matrix_at(v.buffer, type, p->offset, r, c);
    matrix->ld = c + p->pad;
    matrix->stride = shared ? 0 : stride;
    for (size_t i = 0; p->value && which < 2 && i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            v.x[index_of(matrix, 0, i, j, transposed)] = p->value(which, i, j);
    upload(&v);
    return v;
}

/* `wanted` is the sum, `size` that of the magnitudes, `inputs` that of the inputs' magnitudes. */
static bool agrees(const struct product *p, double got, double wanted, double size, double inputs) {
    if (isnan(wanted) || isinf(wanted) || fabs(wanted) > (double)FLT_MAX)
        return isnan(wanted) ? isnan(got) : isinf(got) && (got > 0) == (wanted > 0);
    const double unit = p->out == CLS_F16 ? 0x1p-11 : p->out == CLS_BF16 ? 0x1p-8 : 0;
    return fabs(got - wanted) <=
           bound_of(p) * size + 1.01 * unit * fabs(wanted) + 0x1p-126 * inputs + 1e-44;
}

static void expect(const struct product *p, const cls_matrix m[3], const struct values v[3],
                   const double *got) {
    double *const sums = calloc(3 * p->shape.n, sizeof *sums);
    double *const sizes = sums + p->shape.n, *const inputs = sizes + p->shape.n;
    assert_non_null(sums);
    for (size_t batch = 0; batch < p->batches; batch++)
        for (size_t i = 0; i < p->shape.m; i++) {
            memset(sums, 0, 3 * p->shape.n * sizeof *sums);
            for (size_t l = 0; l < p->shape.k; l++) {
                const double x = p->alpha * v[0].x[index_of(&m[0], batch, i, l, p->ta)];
                for (size_t j = 0; j < p->shape.n; j++) {
                    const double y = v[1].x[index_of(&m[1], batch, l, j, p->tb)];
                    sums[j] += x * y;
                    sizes[j] += fabs(x * y);
                    inputs[j] += fabs(x) + fabs(p->alpha * y);
                }
            }
            for (size_t j = 0; j < p->shape.n; j++) {
                const size_t at = index_of(&m[2], batch, i, j, false);
                const double old = p->beta != 0 ? p->beta * v[2].x[at] : 0;
                if (!agrees(p, got[at], sums[j] + old, sizes[j] + fabs(old), inputs[j]))
                    fail_msg(
                        "%s %s %zux%zux%zu%s%s: (%zu, %zu) of %zu is %.9g, not %.9g (%.3g of %.3g)",
                        cls_dtype_name(p->type), maths[p->math], p->shape.m, p->shape.n, p->shape.k,
                        p->ta ? " T" : "", p->tb ? " .T" : "", i, j, batch, got[at], sums[j] + old,
                        fabs(got[at] - sums[j] - old), sizes[j]);
            }
        }
    free(sums);
}

/* What lies beside the elements of the output stays as it was. */
static void expect_untouched(const struct product *p, const cls_matrix *m, const struct values *v,
                             double *got) {
    for (size_t batch = 0; batch < p->batches; batch++)
        for (size_t i = 0; i < p->shape.m; i++)
            for (size_t j = 0; j < p->shape.n; j++) {
                const size_t at = index_of(m, batch, i, j, false);
                got[at] = v->x[at];
            }
    for (size_t i = 0; i < v->count; i++)
        assert_true(got[i] == v->x[i]);
}

static void check(const struct product *given) {
    struct product own = *given, *const p = &own;
    const struct shape s = p->shape;
    p->out = p->out ? p->out : p->type;
    cls_matrix m[3];
    struct values v[3] = {operand(p, 0, s.m, s.k, p->ta, false, &m[0]),
                          operand(p, 1, s.k, s.n, p->tb, p->shared_b, &m[1]),
                          operand(p, 2, s.m, s.n, false, false, &m[2])};
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.transpose_a = p->ta;
    config.transpose_b = p->tb;
    config.alpha = p->alpha;
    config.beta = p->beta;
    config.batches = p->batches;
    config.math = p->math;
    OK(cls_gemm(m[0], m[1], m[2], &config, NULL));
    double *got = download(&v[2]);
    expect(p, m, v, got);
    expect_untouched(p, &m[2], &v[2], got);
    free(got);
    for (int i = 0; i < 3; i++)
        values_free(&v[i]);
}

static const struct shape shapes[] = {{300, 270, 515}, {257, 400, 193}, {1031, 129, 256}};

static void shapes_and_layouts(cls_dtype type, cls_dtype out, cls_gemm_math math) {
    NEED_PRODUCTS(type);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int t = 0; t < 4; t++)
            check(&(struct product){.type = type,
                                    .out = out,
                                    .math = math,
                                    .shape = shapes[i],
                                    .ta = t & 1,
                                    .tb = t & 2,
                                    .pad = i ? (size_t)t : 0,
                                    .offset = i ? i + 4 : 0,
                                    .batches = 1,
                                    .alpha = i ? -0.5 : 1,
                                    .beta = i == 1 ? 2 : 0});
    check(&(struct product){.type = type,
                            .out = out,
                            .math = math,
                            .shape = {260, 300, 256},
                            .batches = 3,
                            .alpha = 1,
                            .beta = 1});
    check(&(struct product){.type = type,
                            .out = out,
                            .math = math,
                            .shape = {256, 258, 300},
                            .pad = 1,
                            .batches = 2,
                            .shared_b = true,
                            .alpha = 2});
}

static void f32_products(void **state) {
    (void)state;
    shapes_and_layouts(CLS_F32, CLS_F32, CLS_GEMM_F32);
}
static void tf32_products(void **state) {
    (void)state;
    shapes_and_layouts(CLS_F32, CLS_F32, CLS_GEMM_TF32);
}
static void pedantic_products(void **state) {
    (void)state;
    shapes_and_layouts(CLS_F32, CLS_F32, CLS_GEMM_PEDANTIC);
}
static void f64_products(void **state) {
    (void)state;
    shapes_and_layouts(CLS_F64, CLS_F64, CLS_GEMM_F32);
}

static void f16_products(void **state) {
    (void)state;
    shapes_and_layouts(CLS_F16, CLS_F16, CLS_GEMM_F32);
}
static void bf16_products(void **state) {
    (void)state;
    shapes_and_layouts(CLS_BF16, CLS_BF16, CLS_GEMM_F32);
}
static void bf16_products_in_f32(void **state) {
    (void)state;
    shapes_and_layouts(CLS_BF16, CLS_F32, CLS_GEMM_PEDANTIC);
}

/* Rows, matrices and arrays begin at multiples of 16 bytes; tiles of 64 steps, 128 rows and 256 columns end inside. */
static void aligned_products(cls_dtype type, cls_dtype out) {
    static const struct shape aligned[] = {{256, 512, 136}, {264, 272, 264}, {1032, 136, 136}};
    NEED_PRODUCTS(type);
    for (size_t i = 0; i < sizeof aligned / sizeof *aligned; i++)
        for (int t = 0; t < 4; t++)
            check(&(struct product){.type = type,
                                    .out = out,
                                    .shape = aligned[i],
                                    .ta = t & 1,
                                    .tb = t & 2,
                                    .pad = 8 * i,
                                    .gap = 8,
                                    .offset = 16 * i,
                                    .batches = 1 + i % 2,
                                    .shared_b = t == 2,
                                    .alpha = i ? -0.5 : 1,
                                    .beta = i == 1 ? 2 : 0});
}

static void aligned_f16_products(void **state) {
    (void)state;
    aligned_products(CLS_F16, CLS_F16);
}
static void aligned_bf16_products(void **state) {
    (void)state;
    aligned_products(CLS_BF16, CLS_F32);
}

/* Sizes at which there is one tile, one row, one column, one term. */
static void small_f16_products(void **state) {
    (void)state;
    NEED_PRODUCTS(CLS_F16);
    for (size_t i = 0; i < 4; i++) {
        static const struct shape small[] = {{1, 1, 1}, {7, 33, 65}, {1, 40, 300}, {50, 1, 17}};
        check(&(struct product){.type = CLS_F16,
                                .out = i == 2 ? CLS_F32 : CLS_F16,
                                .shape = small[i],
                                .ta = i == 1,
                                .tb = i == 2,
                                .batches = 1 + i,
                                .alpha = 1,
                                .beta = i == 3});
    }
}

static void f16_vectors(void **state) {
    (void)state;
    struct values a = values_make(CLS_F16, 300 * 40, 1), x = values_make(CLS_F16, 300, 2),
                  y = values_make(CLS_F16, 40, 3);
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.transpose_a = 1;
    OK(cls_gemv(cls_matrix_of(a.buffer, CLS_F16, 300, 40), cls_vector_of(x.buffer, CLS_F16, 300),
                cls_vector_of(y.buffer, CLS_F16, 40), &config, NULL));
    for (size_t i = 0; i < 40; i++) {
        y.x[i] = 0;
        for (size_t l = 0; l < 300; l++)
            y.x[i] += a.x[l * 40 + i] * x.x[l];
    }
    check_values("gemv", &y, 0x1p-10);
    OK(cls_blas_warmup(CLS_F16, 0, 0, 0, NULL));
    values_free(&a);
    values_free(&x);
    values_free(&y);
}

static void types_that_do_not_fit_are_refused(void **state) {
    (void)state;
    struct values v = values_make(CLS_F32, 3 * 64, 1);
    static const cls_dtype types[][3] = {{CLS_F32, CLS_F32, CLS_F16},
                                         {CLS_F16, CLS_BF16, CLS_F32},
                                         {CLS_F16, CLS_F16, CLS_BF16},
                                         {CLS_F16, CLS_F16, CLS_F64},
                                         {CLS_I32, CLS_I32, CLS_I32}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        EXPECT(CLS_ERROR_TYPE_MISMATCH,
               cls_gemm(cls_matrix_of(v.buffer, types[i][0], 4, 4),
                        cls_matrix_at(v.buffer, types[i][1], 32, 4, 4),
                        cls_matrix_at(v.buffer, types[i][2], 64, 4, 4), NULL, NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_scal(2, cls_vector_of(v.buffer, CLS_F16, 4), NULL));
    values_free(&v);
}

/* --- numbers of f32 that are hard to split or to add --- */

/* A fraction of 24 bits. */
static double draw(unsigned operand, size_t row, size_t column) {
    uint32_t x = (uint32_t)(row * 2654435761u + column * 40503u + operand * 97u + 12345u);
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return (double)((int32_t)(x >> 7) - (1 << 24)) * 0x1p-24;
}

static double full(unsigned operand, size_t row, size_t column) {
    return (double)(float)draw(operand, row, column);
}

/* Terms l and l + 1 differ by little, with opposite signs. */
static double cancelling(unsigned operand, size_t row, size_t column) {
    const size_t l = operand ? row : column, other = operand ? column : row;
    const double x = draw(operand, other, l / 2);
    return (double)(float)(operand ? x : l % 2 ? -x * (1 + 0x1p-20) : x);
}

/* Rows from 2^-139, below the normal numbers, to 1, by 2^100 at most. */
static double tiny(unsigned operand, size_t row, size_t column) {
    const int scale = operand ? 100 : -(int)(row % 140);
    return (double)(float)ldexp(draw(operand, row, column), scale);
}

/* As large as f32 has them, by as much less. */
static double huge_values(unsigned operand, size_t row, size_t column) {
    const double x = draw(operand, row, column);
    return operand ? (double)(float)ldexp(x, -20)
                   : (x < 0 ? -1 : 1) * (double)FLT_MAX * (1 - fabs(x) * 0x1p-22);
}

static double special(unsigned operand, size_t row, size_t column) {
    const double x = draw(operand, row, column);
    if (!operand && row == 5 && column == 9)
        return NAN;
    if (!operand && row == 7 && column == 200)
        return INFINITY;
    if (!operand && row == 130)
        return column == 3 ? INFINITY : 0;
    if (operand && column == 11 && row == 77)
        return -INFINITY;
    return operand && column == 12 ? 0 : (double)(float)x;
}

static void hard_numbers(double (*value)(unsigned, size_t, size_t)) {
    static const cls_gemm_math both[] = {CLS_GEMM_F32, CLS_GEMM_PEDANTIC};
    NEED_PRODUCTS(CLS_F32);
    for (int i = 0; i < 2; i++)
        for (int t = 0; t < 4; t += 3)
            check(&(struct product){.type = CLS_F32,
                                    .math = both[i],
                                    .shape = {260, 261, 390},
                                    .ta = t & 1,
                                    .tb = t & 2,
                                    .batches = 1,
                                    .alpha = 1,
                                    .value = value});
}

static void full_fractions(void **state) {
    (void)state;
    hard_numbers(full);
}
static void sums_that_cancel(void **state) {
    (void)state;
    hard_numbers(cancelling);
}
static void tiny_numbers(void **state) {
    (void)state;
    hard_numbers(tiny);
}
static void huge_numbers(void **state) {
    (void)state;
    hard_numbers(huge_values);
}
static void infinities_and_nan(void **state) {
    (void)state;
    hard_numbers(special);
}

static void unknown_math_is_refused(void **state) {
    (void)state;
    struct values v = values_make(CLS_F32, 3 * 64, 1);
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.math = (cls_gemm_math)3;
    assert_int_equal(cls_gemm(cls_matrix_of(v.buffer, CLS_F32, 8, 8),
                              cls_matrix_at(v.buffer, CLS_F32, 64, 8, 8),
                              cls_matrix_at(v.buffer, CLS_F32, 128, 8, 8), &config, NULL),
                     CLS_ERROR_INVALID_VALUE);
    values_free(&v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_products),
        cmocka_unit_test(tf32_products),
        cmocka_unit_test(pedantic_products),
        cmocka_unit_test(f64_products),
        cmocka_unit_test(full_fractions),
        cmocka_unit_test(sums_that_cancel),
        cmocka_unit_test(tiny_numbers),
        cmocka_unit_test(huge_numbers),
        cmocka_unit_test(infinities_and_nan),
        cmocka_unit_test(unknown_math_is_refused),
        cmocka_unit_test(f16_products),
        cmocka_unit_test(bf16_products),
        cmocka_unit_test(bf16_products_in_f32),
        cmocka_unit_test(aligned_f16_products),
        cmocka_unit_test(aligned_bf16_products),
        cmocka_unit_test(small_f16_products),
        cmocka_unit_test(f16_vectors),
        cmocka_unit_test(types_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests_name("products", tests, NULL, NULL);
}
