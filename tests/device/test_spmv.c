/* SPDX-License-Identifier: MIT */
/*
 * Sparse matrices by vectors, against sums of doubles on the host: rows of no, few and very many entries, every type of
 * numbers, vectors with steps, columns and rows that do not exist, factors of 0, NaN and infinities.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "arrays.h"

/* A matrix whose rows have `mean` entries on average, but row `long_row`, which has `longest`. */
struct shape {
    size_t rows, columns, mean, long_row, longest, x_step, y_step, offset;
};

static const struct shape shapes[] = {
    {1, 1, 1, 0, 0, 1, 1, 0},     {7, 5, 2, 0, 0, 1, 1, 1},         {300, 200, 1, 0, 0, 2, 3, 0},
    {500, 90, 5, 0, 0, 1, 1, 2},  {41, 1000, 70, 0, 0, 1, 2, 0},    {9, 3000, 900, 0, 0, 3, 1, 0},
    {130, 64, 3, 77, 0, 1, 1, 0}, {60, 400, 4, 31, 70000, 1, 1, 0}, {0, 4, 1, 0, 0, 1, 1, 0},
    {4, 0, 3, 0, 0, 1, 1, 0},     {6, 3, 0, 0, 0, 1, 1, 0}};

static const double factors[][2] = {{1, 0}, {-0.5, 1}, {0.75, 2.5}, {0, 2}, {0, 0}, {0, 1}};

struct kinds {
    char name[32];
    cls_dtype value, offset, index;
};

/* The matrix as numbers, and what the device gets of it. */
struct matrix {
    size_t entries;
    long long *offsets, *indices;
    double *values;
    unsigned missed;
    cls_csr csr;
};

static unsigned draw(unsigned n) {
    static unsigned state = 12345;
    state = state * 1664525u + 1013904223u;
    return n ? (state >> 8) % n : 0;
}

static double draw_real(cls_dtype type) {
    const double x = ((double)draw(20001) - 10000) / 777;
    return type == CLS_F32 ? (double)(float)x : x;
}

static void *of_type(cls_dtype from, cls_dtype to, const void *numbers, size_t n) {
    void *made = calloc(n + 1, cls_dtype_size(to));
    assert_non_null(made);
    reference_cast(from, to, numbers, made, n);
    return made;
}

static cls_array upload(cls_dtype from, cls_dtype to, size_t offset, const void *numbers,
                        size_t n) {
    void *made = of_type(from, to, numbers, n);
    const cls_array view = view_make(to, offset, n, made);
    free(made);
    return view;
}

/* Every eleventh column does not exist, if `some_are_missing`. */
static long long draw_column(size_t columns, bool some_are_missing) {
    if (some_are_missing && draw(11) == 3)
        return draw(2) ? -1 - (long long)draw(5) : (long long)(columns + draw(3));
    return (long long)draw((unsigned)columns);
}

static void draw_rows(const struct shape *shape, struct matrix *made) {
    made->offsets = calloc(shape->rows + 1, sizeof *made->offsets);
    assert_non_null(made->offsets);
    for (size_t i = 0; i < shape->rows; i++) {
        const bool is_long = shape->longest && i == shape->long_row;
        made->entries += is_long ? shape->longest : draw((unsigned)(2 * shape->mean + 1));
        made->offsets[i + 1] = (long long)made->entries;
    }
}

static struct matrix draw_matrix(const struct kinds *kinds, const struct shape *shape,
                                 bool some_are_missing) {
    struct matrix made = {0};
    draw_rows(shape, &made);
    made.indices = calloc(made.entries + 1, sizeof *made.indices);
    made.values = calloc(made.entries + 1, sizeof *made.values);
    assert_non_null(made.indices);
    assert_non_null(made.values);
    for (size_t i = 0; i < made.entries; i++) {
        made.indices[i] = draw_column(shape->columns, some_are_missing);
        made.values[i] = draw_real(kinds->value);
    }
    return made;
}

static void upload_matrix(const struct kinds *kinds, const struct shape *shape,
                          struct matrix *made) {
    made->csr = (cls_csr){
        upload(CLS_I64, kinds->offset, shape->offset, made->offsets, shape->rows + 1),
        upload(CLS_I64, kinds->index, shape->offset, made->indices, made->entries),
        upload(CLS_F64, kinds->value, shape->offset, made->values, made->entries), shape->columns};
}

static void matrix_free(struct matrix *made) {
    free(made->offsets);
    free(made->indices);
    free(made->values);
    view_destroy(made->csr.offsets);
    view_destroy(made->csr.indices);
    view_destroy(made->csr.values);
}

/* Row i of a x, its bound, and what it misses. */
static double row_sum(const struct kinds *kinds, const struct shape *shape, struct matrix *a,
                      const double *x, size_t i, double *bound) {
    const long long begin = a->offsets[i], end = a->offsets[i + 1];
    const double u = kinds->value == CLS_F32 ? 0x1p-24 : 0x1p-53;
    double sum = 0, sizes = 0;
    *bound = 0;
    if (begin < 0 || begin > end || end > (long long)a->entries) {
        a->missed++;
        return 0;
    }
    for (long long k = begin; k < end; k++) {
        const long long column = a->indices[k];
        if (column < 0 || column >= (long long)shape->columns) {
            a->missed++;
            continue;
        }
        sum += a->values[k] * x[(size_t)column * shape->x_step];
        sizes += fabs(a->values[k] * x[(size_t)column * shape->x_step]);
    }
    *bound = ((double)(end - begin) + 2) * u * sizes;
    return sum;
}

static void expect_row(const struct kinds *kinds, double got, double wanted, double bound) {
    const double u = kinds->value == CLS_F32 ? 0x1p-23 : 0x1p-52;
    if (!(isnan(wanted) && isnan(got)) && got != wanted &&
        !(fabs(got - wanted) <= bound + 2 * u * fabs(wanted)))
        fail_msg("%s: %.17g is not %.17g within %g", kinds->name, got, wanted, bound);
}

static cls_vector vector_in(cls_array view, size_t count, size_t step) {
    return (cls_vector){view.buffer, view.dtype, view.offset, count, step};
}

/* The elements of y that lie between its own stay. */
static void check_result(const struct kinds *kinds, const struct shape *shape, struct matrix *a,
                         const double *x, const double *y, const double *got,
                         const double factor[2]) {
    for (size_t i = 0; i < shape->rows * shape->y_step; i++) {
        const double old = factor[1] != 0 ? factor[1] * y[i] : 0;
        double bound = 0, sum = 0;
        if (i % shape->y_step) {
            assert_true(got[i] == y[i]);
            continue;
        }
        if (factor[0] != 0)
            sum = row_sum(kinds, shape, a, x, i / shape->y_step, &bound);
        expect_row(kinds, got[i], factor[0] * sum + old,
                   bound * fabs(factor[0]) + 0x1p-22 * fabs(old));
    }
}

static double *draw_vector(const struct kinds *kinds, size_t n) {
    double *made = calloc(n + 1, sizeof *made);
    assert_non_null(made);
    for (size_t i = 0; i < n; i++)
        made[i] = draw_real(kinds->value);
    return made;
}

/* y = factor[0] a x + factor[1] y, of vectors given. */
static void multiply(const struct kinds *kinds, const struct shape *shape, struct matrix *a,
                     const double *x, const double *y, const double factor[2], bool counted) {
    const size_t n_x = shape->columns * shape->x_step, n_y = shape->rows * shape->y_step;
    const uint32_t five = 5;
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    cls_array in = upload(CLS_F64, kinds->value, shape->offset, x, n_x);
    cls_array out = upload(CLS_F64, kinds->value, shape->offset, y, n_y);
    cls_array missed = view_make(CLS_U32, 1, 1, &five);
    config.alpha = factor[0];
    config.beta = factor[1];
    OK((counted ? cls_spmv : cls_spmv_async)(a->csr, vector_in(in, shape->columns, shape->x_step),
                                             vector_in(out, shape->rows, shape->y_step), &config,
                                             counted ? missed : (cls_array){0}, NULL));
    OK(cls_stream_synchronize(NULL));
    void *bytes = view_take(out);
    uint32_t *count = view_take(missed);
    double *got = of_type(kinds->value, CLS_F64, bytes, n_y);
    a->missed = 0;
    check_result(kinds, shape, a, x, y, got, factor);
    assert_int_equal(*count, five + (counted ? a->missed : 0));
    free(bytes);
    free(count);
    free(got);
    view_destroy(in);
}

static void check(void **state) {
    const struct kinds *kinds = *state;
    NEED_TYPE(kinds->value);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct shape *shape = &shapes[i];
        struct matrix a = draw_matrix(kinds, shape, i % 2 || !shape->columns);
        double *x = draw_vector(kinds, shape->columns * shape->x_step);
        double *y = draw_vector(kinds, shape->rows * shape->y_step);
        upload_matrix(kinds, shape, &a);
        for (size_t k = 0; k < sizeof factors / sizeof *factors; k++)
            multiply(kinds, shape, &a, x, y, factors[k], k % 2 == 0);
        free(x);
        free(y);
        matrix_free(&a);
    }
}

static const struct kinds f32_i32 = {"f32_i32", CLS_F32, CLS_I32, CLS_I32};

/* Rows whose offsets are negative, fall, or leave the entries; the others are computed. */
static void wrong_offsets(void **state) {
    static const struct shape shape = {8, 6, 3, 0, 0, 1, 1, 0};
    static const double factor[] = {2, 0};
    double x[6] = {1, 2, 3, 4, 5, 6}, y[8] = {0};
    (void)state;
    struct matrix a = draw_matrix(&f32_i32, &shape, false);
    const long long wrong[] = {0, -3, 2, 1, 2, 1LL << 30, 2, (long long)a.entries};
    memcpy(a.offsets, wrong, sizeof wrong);
    upload_matrix(&f32_i32, &shape, &a);
    multiply(&f32_i32, &shape, &a, x, y, factor, true);
    assert_int_equal(a.missed, 5);
    matrix_free(&a);
}

/* NaN and infinities reach the rows that name them, and no others; nor does what a factor of 0 leaves out. */
static void hard_numbers(void **state) {
    static const struct shape shape = {4, 4, 1, 0, 0, 1, 1, 0};
    static const double plain[] = {1, 0}, nothing[] = {0, 0}, old[] = {0, 3};
    double x[4] = {NAN, INFINITY, 1, -INFINITY}, y[4] = {NAN, INFINITY, NAN, NAN},
           finite[4] = {1, 2, 3, 4};
    (void)state;
    struct matrix a = draw_matrix(&f32_i32, &shape, false);
    free(a.indices);
    free(a.values);
    a.indices = calloc(5, sizeof *a.indices);
    a.values = calloc(5, sizeof *a.values);
    assert_non_null(a.indices);
    assert_non_null(a.values);
    a.entries = 5;
    for (int i = 0; i < 5; i++) {
        a.offsets[i] = i < 4 ? i : 5;
        a.indices[i] = i < 4 ? i : 1;
        a.values[i] = 2;
    }
    upload_matrix(&f32_i32, &shape, &a);
    multiply(&f32_i32, &shape, &a, x, y, plain, true);
    multiply(&f32_i32, &shape, &a, x, y, nothing, true);
    multiply(&f32_i32, &shape, &a, x, finite, old, true);
    matrix_free(&a);
}

/* The same call gives the same bits. */
static void same_bits(void **state) {
    static const struct shape shape = {60, 400, 300, 5, 9000, 1, 1, 0};
    (void)state;
    struct matrix a = draw_matrix(&f32_i32, &shape, false);
    double *x = draw_vector(&f32_i32, shape.columns);
    void *first = NULL;
    upload_matrix(&f32_i32, &shape, &a);
    cls_array in = upload(CLS_F64, CLS_F32, 0, x, shape.columns);
    for (int i = 0; i < 4; i++) {
        cls_array out = view_make(CLS_F32, 0, shape.rows, NULL);
        OK(cls_spmv(a.csr, cls_vector_from(in), cls_vector_from(out), NULL, (cls_array){0}, NULL));
        void *got = view_take(out);
        if (first)
            assert_memory_equal(got, first, shape.rows * sizeof(float));
        free(first);
        first = got;
    }
    free(first);
    free(x);
    view_destroy(in);
    matrix_free(&a);
}

/* A captured product takes what its buffers hold at each launch. */
static void captured(void **state) {
    static const struct shape shape = {50, 50, 4, 0, 0, 1, 1, 0};
    (void)state;
    struct matrix a = draw_matrix(&f32_i32, &shape, false);
    double *x = draw_vector(&f32_i32, shape.columns), bound;
    cls_stream stream;
    cls_graph graph;
    cls_graph_exec exec;
    upload_matrix(&f32_i32, &shape, &a);
    cls_array in = upload(CLS_F64, CLS_F32, 0, x, shape.columns),
              out = view_make(CLS_F32, 0, shape.rows, NULL);
    OK(cls_stream_create(NULL, NULL, &stream));
    OK(cls_stream_begin_capture(stream, "product"));
    OK(cls_spmv_async(a.csr, cls_vector_from(in), cls_vector_from(out), NULL, (cls_array){0},
                      stream));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    OK(cls_unary_param(CLS_UNARY_SCALE, in, in, 2, stream));
    OK(cls_graph_launch(exec, stream));
    OK(cls_stream_synchronize(stream));
    float *got = view_take(out);
    for (size_t i = 0; i < shape.rows; i++) {
        const double sum = row_sum(&f32_i32, &shape, &a, x, i, &bound);
        expect_row(&f32_i32, (double)got[i], 2 * sum, 2 * bound);
    }
    free(got);
    free(x);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    OK(cls_stream_destroy(stream));
    view_destroy(in);
    matrix_free(&a);
}

static void refusals(void **state) {
    (void)state;
    cls_array numbers = view_make(CLS_I32, 0, 20, NULL), reals = view_make(CLS_F32, 0, 20, NULL),
              result = view_make(CLS_F32, 0, 4, NULL);
    const cls_csr a = {cls_array_at(numbers.buffer, CLS_I32, numbers.offset, 5),
                       cls_array_at(numbers.buffer, CLS_I32, numbers.offset + 5, 8),
                       cls_array_at(reals.buffer, CLS_F32, reals.offset, 8), 4};
    const cls_vector x = vector_in(reals, 4, 1), y = vector_in(result, 4, 1);
    const cls_array none = {0};
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    cls_csr wrong = a;
    wrong.indices.dtype = CLS_U32;
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_spmv(wrong, x, y, NULL, none, NULL));
    wrong = a;
    wrong.values.count = 7;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_spmv(wrong, x, y, NULL, none, NULL));
    wrong = a;
    wrong.offsets.count = 0;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_spmv(wrong, x, y, NULL, none, NULL));
    EXPECT(CLS_ERROR_OVERLAP, cls_spmv(a, x, x, NULL, none, NULL));
    EXPECT(CLS_ERROR_OVERLAP,
           cls_spmv(a, x, y, NULL, cls_array_at(numbers.buffer, CLS_U32, numbers.offset, 1), NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH,
           cls_spmv(a, x, y, NULL, cls_array_at(numbers.buffer, CLS_U32, numbers.offset + 14, 2),
                    NULL));
    config.transpose_a = 1;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_spmv(a, x, y, &config, none, NULL));
    config = (cls_gemm_config)CLS_GEMM_CONFIG_INIT;
    config.activation = CLS_UNARY_RELU;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_spmv(a, x, y, &config, none, NULL));
    expect_detail("alpha and beta");
    view_destroy(numbers);
    view_destroy(reals);
    view_destroy(result);
}

int main(void) {
    static struct kinds kinds[] = {{"f32 by i32", CLS_F32, CLS_I32, CLS_I32},
                                   {"f32 by i64", CLS_F32, CLS_I64, CLS_I64},
                                   {"f64 by i32", CLS_F64, CLS_I32, CLS_I32},
                                   {"f64 by i64 and i32", CLS_F64, CLS_I64, CLS_I32}};
    const struct CMUnitTest tests[] = {
        {kinds[0].name, check, NULL, NULL, &kinds[0]},
        {kinds[1].name, check, NULL, NULL, &kinds[1]},
        {kinds[2].name, check, NULL, NULL, &kinds[2]},
        {kinds[3].name, check, NULL, NULL, &kinds[3]},
        cmocka_unit_test(wrong_offsets),
        cmocka_unit_test(hard_numbers),
        cmocka_unit_test(same_bits),
        cmocka_unit_test(captured),
        cmocka_unit_test(refusals),
    };
    prepare_tests();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
