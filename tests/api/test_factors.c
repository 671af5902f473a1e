/* SPDX-License-Identifier: MIT */
/* Factors of the host's and on the device: sums of vectors, and products of dense and sparse matrices by vectors. */
#include "../support/rig.h"

#include <math.h>

#include <clstream.h>

enum { N = 9, STEP = 2 };

static cls_stream stream;
static cls_buffer x, y, numbers, offsets;
static cls_array alpha, beta;
static const float inputs[N] = {1, -2, 3, 4, -5, 6, 7, -8, 9};

static cls_vector vector(cls_buffer buffer) { return cls_vector_of(buffer, CLS_F32, N); }

static void put_factors(float a, float b) {
    OK(cls_copy_h2d(numbers, 0, &a, sizeof a, stream));
    OK(cls_copy_h2d(numbers, sizeof a, &b, sizeof b, stream));
}

static void put_vectors(float each_y) {
    OK(cls_copy_h2d(x, 0, inputs, sizeof inputs, stream));
    OK(cls_fill(y, 0, N * sizeof(float), &each_y, sizeof each_y, stream));
}

/* y is factor x + add. */
static void expect_y(float factor, float add) {
    float got[N];
    OK(cls_copy_d2h(got, y, 0, sizeof got, stream));
    for (int i = 0; i < N; i++)
        if (got[i] != factor * inputs[i] + add)
            fail_msg("element %d is %g, not %g", i, (double)got[i],
                     (double)(factor * inputs[i] + add));
}

static int begin(void **state) {
    (void)state;
    stream = rig_stream();
    x = rig_cells(2 * N);
    y = rig_cells(2 * N);
    numbers = rig_cells(4);
    offsets = rig_cells(N + 1);
    alpha = cls_array_at(numbers, CLS_F32, 0, 1);
    beta = cls_array_at(numbers, CLS_F32, 1, 1);
    return 0;
}

static int end(void **state) {
    (void)state;
    OK(cls_buffer_destroy(x));
    OK(cls_buffer_destroy(y));
    OK(cls_buffer_destroy(numbers));
    OK(cls_buffer_destroy(offsets));
    OK(cls_stream_destroy(stream));
    return 0;
}

static void test_sums(void **state) {
    (void)state;
    put_factors(2, 0.5f);
    put_vectors(8);
    OK(cls_axpby(cls_factor_of(3), vector(x), cls_factor_of(0.25), vector(y), stream));
    expect_y(3, 2);
    put_vectors(8);
    OK(cls_axpby_async(cls_factor_at(alpha), vector(x), cls_factor_of(1), vector(y), stream));
    expect_y(2, 8);
    put_vectors(8);
    OK(cls_axpby_async(cls_factor_of(-1), vector(x), cls_factor_at(beta), vector(y), stream));
    expect_y(-1, 4);
    put_vectors(8);
    OK(cls_axpby_async(cls_factor_at(alpha), vector(x), cls_factor_at(beta), vector(y), stream));
    expect_y(2, 4);
}

/* A factor of 0 leaves NaN unread, wherever it is. */
static void test_zeros(void **state) {
    (void)state;
    put_factors(0, 0);
    put_vectors(NAN);
    OK(cls_axpby(cls_factor_of(1), vector(x), cls_factor_at(beta), vector(y), stream));
    expect_y(1, 0);
    OK(cls_fill(y, 0, N * sizeof(float), &(float){NAN}, sizeof(float), stream));
    OK(cls_axpby(cls_factor_of(2), vector(x), cls_factor_of(0), vector(y), stream));
    expect_y(2, 0);
    OK(cls_fill(x, 0, N * sizeof(float), &(float){INFINITY}, sizeof(float), stream));
    OK(cls_axpby(cls_factor_at(alpha), vector(x), cls_factor_of(1), vector(y), stream));
    expect_y(2, 0);
    OK(cls_axpby(cls_factor_of(0), vector(x), cls_factor_of(1), vector(y), stream));
    expect_y(2, 0);
}

/* x may be y, which is then scaled; vectors with steps leave what lies between. */
static void test_places(void **state) {
    float got[N];
    (void)state;
    put_factors(2, 0.5f);
    OK(cls_copy_h2d(y, 0, inputs, sizeof inputs, stream));
    OK(cls_axpby(cls_factor_at(alpha), vector(y), cls_factor_at(beta), vector(y), stream));
    expect_y(2.5f, 0);
    put_vectors(8);
    const cls_vector every_other = {x, CLS_F32, 1, 4, STEP}, last = {y, CLS_F32, 0, 4, STEP};
    OK(cls_axpby(cls_factor_at(alpha), every_other, cls_factor_of(1), last, stream));
    OK(cls_copy_d2h(got, y, 0, sizeof got, stream));
    for (int i = 0; i < N; i++)
        assert_true(got[i] == (i % 2 || i == 8 ? 8 : 8 + 2 * inputs[i + 1]));
}

/* Ends a capture, whose graph takes the factors that each launch finds. */
static void replay(void) {
    cls_graph graph;
    cls_graph_exec exec;
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    for (int i = 1; i <= 3; i++) {
        put_factors((float)i, 0.5f);
        put_vectors(8);
        OK(cls_graph_launch(exec, stream));
        expect_y((float)i, 4);
    }
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
}

static void test_captured(void **state) {
    (void)state;
    OK(cls_stream_begin_capture(stream, "sum"));
    OK(cls_axpby_async(cls_factor_at(alpha), vector(x), cls_factor_at(beta), vector(y), stream));
    replay();
}

/* The identity as a sparse matrix. */
static void test_sparse(void **state) {
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    cls_buffer ones = rig_cells(N);
    int32_t counted[N + 1];
    (void)state;
    for (int i = 0; i <= N; i++)
        counted[i] = i;
    OK(cls_copy_h2d(offsets, 0, counted, sizeof counted, stream));
    OK(cls_fill(ones, 0, N * sizeof(float), &(float){1}, sizeof(float), stream));
    const cls_csr a = {cls_array_of(offsets, CLS_I32, N + 1), cls_array_of(offsets, CLS_I32, N),
                       cls_array_of(ones, CLS_F32, N), N};
    put_factors(3, 0.5f);
    put_vectors(8);
    config.alpha_view = alpha;
    config.beta = 1;
    OK(cls_spmv(a, vector(x), vector(y), &config, (cls_array){0}, stream));
    expect_y(3, 8);
    put_vectors(8);
    config.beta_view = beta;
    OK(cls_spmv_async(a, vector(x), vector(y), &config, (cls_array){0}, stream));
    expect_y(3, 4);
    config.beta_view.count = 2;
    EXPECT(CLS_ERROR_SIZE_MISMATCH,
           cls_spmv(a, vector(x), vector(y), &config, (cls_array){0}, stream));
    config.beta_view = cls_array_at(y, CLS_F32, 3, 1);
    EXPECT(CLS_ERROR_OVERLAP, cls_spmv(a, vector(x), vector(y), &config, (cls_array){0}, stream));
    expect_y(3, 4);
    OK(cls_buffer_destroy(ones));
}

static cls_matrix identity(cls_buffer cells) {
    const float one = 1, zero = 0;
    OK(cls_fill(cells, 0, N * N * sizeof one, &zero, sizeof zero, stream));
    for (size_t i = 0; i < N; i++)
        OK(cls_fill(cells, i * (N + 1) * sizeof one, sizeof one, &one, sizeof one, stream));
    return cls_matrix_of(cells, CLS_F32, N, N);
}

static void test_dense(void **state) {
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    cls_buffer cells = rig_cells(N * N);
    const cls_matrix a = identity(cells);
    (void)state;
    put_factors(3, 0.5f);
    put_vectors(8);
    config.alpha_view = alpha;
    config.beta = 1;
    OK(cls_gemv(a, vector(x), vector(y), &config, stream));
    expect_y(3, 8);
    put_vectors(8);
    config.beta_view = beta;
    OK(cls_gemv_async(a, vector(x), vector(y), &config, stream));
    expect_y(3, 4);
    OK(cls_stream_begin_capture(stream, "product")); /* with its temporary memory */
    OK(cls_gemv_async(a, vector(x), vector(y), &config, stream));
    replay();
    put_factors(3, 0.5f);
    put_vectors(8);
    OK(cls_gemv(a, vector(x), vector(y), &config, stream));
    EXPECT(CLS_ERROR_OVERLAP, cls_gemv(a, vector(y), vector(y), &config, stream));
    config.activation = CLS_UNARY_RELU;
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_gemv(a, vector(x), vector(y), &config, stream));
    expect_detail("factors on the device");
    expect_y(3, 4);
    OK(cls_buffer_destroy(cells));
}

/* Batches of 2 x 3 in rows of 4, with gaps between them. */
enum { BATCHES = 2, ROWS = 2, COLUMNS = 3, INNER = 4, LD = 4, STRIDE = 11, C_CELLS = 2 * STRIDE };

static float product_of(const float *a, const float *b, int batch, int row, int column) {
    float sum = 0;
    for (int k = 0; k < INNER; k++) /* a is transposed */
        sum += a[batch * ROWS * INNER + k * ROWS + row] *
               b[batch * INNER * COLUMNS + k * COLUMNS + column];
    return sum;
}

static void expect_c(const float *a, const float *b, cls_buffer c, float factor, float add) {
    float got[C_CELLS];
    OK(cls_copy_d2h(got, c, 0, sizeof got, stream));
    for (int i = 0; i < C_CELLS; i++) {
        const int batch = i / STRIDE, row = i % STRIDE / LD, column = i % STRIDE % LD;
        const bool is_in = row < ROWS && column < COLUMNS;
        const float wanted = is_in ? factor * product_of(a, b, batch, row, column) + add : 8;
        if (got[i] != wanted)
            fail_msg("element %d is %g, not %g", i, (double)got[i], (double)wanted);
    }
}

static void put_c(cls_buffer c, float each) {
    OK(cls_fill(c, 0, C_CELLS * sizeof each, &each, sizeof each, stream));
}

/* A refused product adds no node to a capture. */
static void expect_refused_in_capture(cls_matrix left, cls_matrix right, cls_matrix out,
                                      const cls_gemm_config *config, cls_status status) {
    cls_gemm_explanation told = CLS_GEMM_EXPLANATION_INIT;
    cls_graph graph;
    uint64_t nodes;
    OK(cls_stream_begin_capture(stream, "refused"));
    EXPECT(status, cls_gemm_async(left, right, out, config, stream));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_get_nodes(graph, &nodes));
    assert_int_equal(nodes, 0);
    OK(cls_graph_destroy(graph));
    EXPECT(status, cls_gemm_explain(left, right, out, config, stream, &told));
}

static void test_matrices(void **state) {
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    float a[BATCHES * ROWS * INNER], b[BATCHES * INNER * COLUMNS];
    cls_buffer as = rig_cells(sizeof a / 4), bs = rig_cells(sizeof b / 4), c = rig_cells(C_CELLS);
    const cls_matrix left = cls_matrix_of(as, CLS_F32, INNER, ROWS),
                     right = cls_matrix_of(bs, CLS_F32, INNER, COLUMNS),
                     out = {c, CLS_F32, 0, ROWS, COLUMNS, LD, STRIDE};
    cls_gemm_explanation told = CLS_GEMM_EXPLANATION_INIT;
    cls_graph graph;
    cls_graph_exec exec;
    (void)state;
    for (int i = 0; i < BATCHES * ROWS * INNER; i++)
        a[i] = (float)(i % 5 - 2);
    for (int i = 0; i < BATCHES * INNER * COLUMNS; i++)
        b[i] = (float)(i % 7 - 3);
    OK(cls_copy_h2d(as, 0, a, sizeof a, stream));
    OK(cls_copy_h2d(bs, 0, b, sizeof b, stream));
    config.transpose_a = 1;
    config.batches = BATCHES;
    config.alpha_view = alpha;
    config.beta_view = beta;
    put_factors(3, 0.5f);
    put_c(c, 8);
    OK(cls_gemm(left, right, out, &config, stream));
    expect_c(a, b, c, 3, 4);
    OK(cls_gemm_explain(left, right, out, &config, stream, &told));
    assert_int_not_equal(told.way, CLS_GEMM_WAY_NONE);

    OK(cls_stream_begin_capture(stream, "products"));
    OK(cls_gemm_async(left, right, out, &config, stream));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    for (int i = 1; i <= 3; i++) {
        put_factors((float)i, 0.5f);
        put_c(c, 8);
        OK(cls_graph_launch(exec, stream));
        expect_c(a, b, c, (float)i, 4);
    }
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));

    config.alpha_view = cls_array_at(c, CLS_F32, 0, 1);
    EXPECT(CLS_ERROR_OVERLAP, cls_gemm(left, right, out, &config, stream));
    expect_refused_in_capture(left, right, out, &config, CLS_ERROR_OVERLAP);
    config.alpha_view = cls_array_at(numbers, CLS_I32, 0, 1);
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_gemm(left, right, out, &config, stream));
    expect_refused_in_capture(left, right, out, &config, CLS_ERROR_TYPE_MISMATCH);
    config.alpha_view = alpha;
    config.activation = CLS_UNARY_RELU;
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_gemm(left, right, out, &config, stream));
    expect_detail("factors on the device");
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_gemm_explain(left, right, out, &config, stream, &told));
    expect_c(a, b, c, 3, 4);
    OK(cls_buffer_destroy(as));
    OK(cls_buffer_destroy(bs));
    OK(cls_buffer_destroy(c));
}

/* A factor of 0 reads no NaN, on the device too. */
static void test_matrices_of_nan(void **state) {
    const float nan = NAN;
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    cls_buffer cells = rig_cells(N * N), c = rig_cells(N * N);
    const cls_matrix a = identity(cells), out = cls_matrix_of(c, CLS_F32, N, N);
    float got[N * N];
    (void)state;
    put_factors(2, 0);
    OK(cls_fill(c, 0, sizeof got, &nan, sizeof nan, stream));
    config.alpha_view = alpha;
    config.beta_view = beta;
    OK(cls_gemm(a, a, out, &config, stream));
    OK(cls_copy_d2h(got, c, 0, sizeof got, stream));
    for (int i = 0; i < N * N; i++)
        assert_float_equal(got[i], (i % (N + 1) ? 0.0f : 2.0f), 0);
    OK(cls_buffer_destroy(cells));
    OK(cls_buffer_destroy(c));
}

static void test_refusals(void **state) {
    const cls_factor one = cls_factor_of(1);
    cls_array wrong = alpha;
    cls_vector shifted = vector(y);
    (void)state;
    wrong.dtype = CLS_I32;
    EXPECT(CLS_ERROR_TYPE_MISMATCH,
           cls_axpby(cls_factor_at(wrong), vector(x), one, vector(y), stream));
    wrong = cls_array_at(numbers, CLS_F32, 4, 1);
    EXPECT(CLS_ERROR_OUT_OF_RANGE,
           cls_axpby(one, vector(x), cls_factor_at(wrong), vector(y), stream));
    wrong = cls_array_at(y, CLS_F32, 0, 1);
    EXPECT(CLS_ERROR_OVERLAP, cls_axpby(cls_factor_at(wrong), vector(x), one, vector(y), stream));
    shifted.offset = 1;
    EXPECT(CLS_ERROR_OVERLAP, cls_axpby(one, vector(y), one, shifted, stream));
    shifted.count = N - 1;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_axpby(one, vector(x), one, shifted, stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sums, begin, end),
        cmocka_unit_test_setup_teardown(test_zeros, begin, end),
        cmocka_unit_test_setup_teardown(test_places, begin, end),
        cmocka_unit_test_setup_teardown(test_captured, begin, end),
        cmocka_unit_test_setup_teardown(test_sparse, begin, end),
        cmocka_unit_test_setup_teardown(test_dense, begin, end),
        cmocka_unit_test_setup_teardown(test_matrices, begin, end),
        cmocka_unit_test_setup_teardown(test_matrices_of_nan, begin, end),
        cmocka_unit_test_setup_teardown(test_refusals, begin, end),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
