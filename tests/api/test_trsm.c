/* SPDX-License-Identifier: MIT */
/* Triangular systems against substitution on the host: from both sides, lower, upper, transposed, with a unit diagonal, in
 * blocks and batches. */
#include "../support/rig.h"

#include <math.h>

#include <clstream.h>

enum { MOST = 70, BATCHES = 2 };

/* op(a), `n` x `n`, and b, with gaps between rows and matrices, in f64. What is not read is NaN. */
struct system {
    unsigned triangle;
    bool transposed;
    cls_dtype dtype;
    size_t n, others, batches; /* unknowns, and systems of a matrix */
    size_t a_ld, a_stride, b_rows, b_columns, b_ld, b_stride;
    double *a, *b;
    cls_matrix of_a, of_b;
};

static bool is_read(const struct system *s, size_t row, size_t column) {
    if (row == column)
        return !(s->triangle & CLS_TRIANGLE_UNIT);
    return s->triangle & CLS_TRIANGLE_UPPER ? column > row : column < row;
}

/* Small off the diagonal, so that solutions stay near the right-hand sides. */
static double factor_at(size_t row, size_t column) {
    return row == column ? 1.5 + (double)(row % 3) / 2
                         : (double)((row * 7 + column * 5) % 11) / 64 - 5.0 / 64;
}

/* Element (i, j) of op(a). */
static double op_a(const struct system *s, size_t i, size_t j) {
    const size_t row = s->transposed ? j : i, column = s->transposed ? i : j;
    if (is_read(s, row, column))
        return factor_at(row, column);
    return row == column ? 1 : 0;
}

static cls_buffer upload(cls_dtype dtype, const double *values, size_t count) {
    const size_t size = cls_dtype_size(dtype);
    char *cells = malloc(count * size);
    cls_buffer buffer;
    assert_non_null(cells);
    for (size_t i = 0; i < count; i++)
        if (dtype == CLS_F64)
            ((double *)(void *)cells)[i] = values[i];
        else
            ((float *)(void *)cells)[i] = (float)values[i];
    OK(cls_buffer_create(rig.context, count * size, &buffer));
    OK(cls_copy_h2d(buffer, 0, cells, count * size, NULL));
    free(cells);
    return buffer;
}

static size_t a_cells(const struct system *s) { return s->batches * s->a_stride; }
static size_t b_cells(const struct system *s) { return s->batches * s->b_stride; }

static void make_system(struct system *s) {
    const bool right = s->triangle & CLS_TRIANGLE_RIGHT;
    s->b_rows = right ? s->others : s->n;
    s->b_columns = right ? s->n : s->others;
    s->a_ld = s->n + 2;
    s->a_stride = s->n * s->a_ld + 1;
    s->b_ld = s->b_columns + 1;
    s->b_stride = s->b_rows * s->b_ld + 3;
    s->a = malloc(a_cells(s) * sizeof(double));
    s->b = malloc(b_cells(s) * sizeof(double));
    assert_true(s->a && s->b);
    for (size_t i = 0; i < a_cells(s); i++) {
        const size_t row = i % s->a_stride / s->a_ld, column = i % s->a_stride % s->a_ld;
        const bool is_in = row < s->n && column < s->n && is_read(s, row, column);
        s->a[i] = is_in ? factor_at(row, column) : NAN;
    }
    for (size_t i = 0; i < b_cells(s); i++)
        s->b[i] = (double)((i * 13) % 17) / 8 - 1;
    s->of_a = (cls_matrix){
        upload(s->dtype, s->a, a_cells(s)), s->dtype, 0, s->n, s->n, s->a_ld, s->a_stride};
    s->of_b = (cls_matrix){upload(s->dtype, s->b, b_cells(s)),
                           s->dtype,
                           0,
                           s->b_rows,
                           s->b_columns,
                           s->b_ld,
                           s->b_stride};
}

static void end_system(struct system *s) {
    OK(cls_buffer_destroy(s->of_a.buffer));
    OK(cls_buffer_destroy(s->of_b.buffer));
    free(s->a);
    free(s->b);
}

/* Where unknown i of a system is. */
static size_t place(const struct system *s, size_t batch, size_t system, size_t i) {
    const bool right = s->triangle & CLS_TRIANGLE_RIGHT;
    return batch * s->b_stride + (right ? system * s->b_ld + i : i * s->b_ld + system);
}

/* Solves on the host, in the place of s->b: m x = alpha b, where m is op(a), or from the right its transpose. */
static void solve(const struct system *s, double alpha, size_t batch, size_t system) {
    const bool right = s->triangle & CLS_TRIANGLE_RIGHT;
    const bool a_upper = s->triangle & CLS_TRIANGLE_UPPER;
    const bool from_last = (a_upper != s->transposed) != right;
    for (size_t k = 0; k < s->n; k++) {
        const size_t i = from_last ? s->n - 1 - k : k;
        double sum = alpha * s->b[place(s, batch, system, i)];
        for (size_t l = 0; l < k; l++) {
            const size_t j = from_last ? s->n - 1 - l : l;
            sum -= (right ? op_a(s, j, i) : op_a(s, i, j)) * s->b[place(s, batch, system, j)];
        }
        s->b[place(s, batch, system, i)] = sum / op_a(s, i, i);
    }
}

static void expect_solved(const struct system *s, double alpha) {
    const size_t size = cls_dtype_size(s->dtype);
    char *got = malloc(b_cells(s) * size);
    assert_non_null(got);
    for (size_t batch = 0; batch < s->batches; batch++)
        for (size_t system = 0; system < s->others; system++)
            solve(s, alpha, batch, system);
    OK(cls_copy_d2h(got, s->of_b.buffer, 0, b_cells(s) * size, NULL));
    for (size_t i = 0; i < b_cells(s); i++) {
        const bool wide = s->dtype == CLS_F64;
        const double is = wide ? ((double *)(void *)got)[i] : (double)((float *)(void *)got)[i];
        if (!(fabs(is - s->b[i]) <= (wide ? 1e-12 : 1e-4) * (1 + fabs(s->b[i]))))
            fail_msg("triangle %u, transposed %d, %zu unknowns of %zu: element %zu is %g, not %g",
                     s->triangle, s->transposed, s->n, s->others, i, is, s->b[i]);
    }
    free(got);
}

static cls_gemm_config options(const struct system *s, double alpha) {
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.transpose_a = s->transposed;
    config.alpha = alpha;
    config.batches = s->batches;
    return config;
}

static void try_all(cls_dtype dtype) {
    static const size_t sizes[][3] = {{1, 1, 1}, {5, 7, BATCHES}, {32, 3, 1}, {MOST, 5, BATCHES}};
    for (unsigned way = 0; way < 16; way++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            struct system s = {.triangle = way & 7,
                               .transposed = way & 8,
                               .dtype = dtype,
                               .n = sizes[i][0],
                               .others = sizes[i][1],
                               .batches = sizes[i][2]};
            make_system(&s);
            const cls_gemm_config config = options(&s, 0.5);
            OK(cls_trsm(s.of_a, s.of_b, s.triangle, &config, NULL));
            expect_solved(&s, 0.5);
            end_system(&s);
        }
}

static void test_f32(void **state) {
    (void)state;
    try_all(CLS_F32);
}

static void test_f64(void **state) {
    struct system s = {.dtype = CLS_F64, .n = 2, .others = 1, .batches = 1};
    (void)state;
    make_system(&s);
    const cls_status status = cls_trsm(s.of_a, s.of_b, 0, NULL, NULL);
    end_system(&s);
    if (status == CLS_ERROR_UNSUPPORTED)
        SKIP_BECAUSE("the device has no f64");
    try_all(CLS_F64);
}

static void test_captured(void **state) {
    struct system s = {.dtype = CLS_F32, .n = MOST, .others = 4, .batches = 1};
    cls_stream stream = rig_stream();
    cls_graph graph;
    cls_graph_exec exec;
    (void)state;
    make_system(&s);
    OK(cls_stream_begin_capture(stream, "systems"));
    OK(cls_trsm_async(s.of_a, s.of_b, 0, NULL, stream));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    OK(cls_graph_launch(exec, stream));
    OK(cls_stream_synchronize(stream));
    expect_solved(&s, 1);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    OK(cls_stream_destroy(stream));
    end_system(&s);
}

/* Neither a nor what b held is read. */
static void test_alpha_of_zero(void **state) {
    struct system s = {.dtype = CLS_F32, .n = 40, .others = 3, .batches = BATCHES};
    (void)state;
    make_system(&s);
    const cls_gemm_config config = options(&s, 0);
    const float nan = NAN;
    OK(cls_fill(s.of_a.buffer, 0, a_cells(&s) * sizeof nan, &nan, sizeof nan, NULL));
    OK(cls_fill(s.of_b.buffer, 0, b_cells(&s) * sizeof nan, &nan, sizeof nan, NULL));
    OK(cls_trsm(s.of_a, s.of_b, 0, &config, NULL));
    float *got = malloc(b_cells(&s) * sizeof *got);
    assert_non_null(got);
    OK(cls_copy_d2h(got, s.of_b.buffer, 0, b_cells(&s) * sizeof *got, NULL));
    for (size_t i = 0; i < b_cells(&s); i++) {
        const bool is_in =
            i % s.b_stride / s.b_ld < s.b_rows && i % s.b_stride % s.b_ld < s.b_columns;
        assert_true(is_in ? got[i] == 0 : isnan(got[i]));
    }
    free(got);
    end_system(&s);
}

static void test_refusals(void **state) {
    struct system s = {.dtype = CLS_F32, .n = 4, .others = 4, .batches = 1};
    (void)state;
    make_system(&s);
    cls_gemm_config config = options(&s, 1);
    cls_matrix other = s.of_a;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_trsm(s.of_a, s.of_b, 8, NULL, NULL));
    config.beta = 1;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_trsm(s.of_a, s.of_b, 0, &config, NULL));
    EXPECT(CLS_ERROR_OVERLAP, cls_trsm(s.of_a, s.of_a, 0, NULL, NULL));
    other.rows = 3;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_trsm(other, s.of_b, 0, NULL, NULL));
    other = s.of_a;
    other.dtype = CLS_F16;
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_trsm(other, s.of_b, 0, NULL, NULL));
    other = s.of_b;
    other.stride = 1;
    config = options(&s, 1);
    config.batches = 2;
    EXPECT(CLS_ERROR_OVERLAP, cls_trsm(s.of_a, other, 0, &config, NULL));
    other = s.of_b;
    other.columns = 0;
    OK(cls_trsm(s.of_a, other, 0, NULL, NULL));
    OK(cls_trsm(s.of_a, s.of_b, 0, NULL, NULL));
    expect_solved(&s, 1);
    end_system(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f32),      cmocka_unit_test(test_f64),
        cmocka_unit_test(test_captured), cmocka_unit_test(test_alpha_of_zero),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
