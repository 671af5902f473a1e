/* SPDX-License-Identifier: MIT */
/*
 * What follows a product in its kernel: bias by row or by column and an activation, on products of every way to compute
 * them, of matrices, batches and vectors, against sums in double precision.
 */
#include "blas_values.h"

struct layer {
    cls_dtype type;
    size_t m, n, k, batches;
    enum { NO_BIAS, FOR_COLUMNS, FOR_ROWS } bias;
    size_t step; /* of the bias */
    cls_unary_op activation;
    double alpha, beta;
};

static double activated(cls_unary_op op, double x) {
    switch ((int)op) {
    case 0:
        return x;
    case CLS_UNARY_RELU:
        return x < 0 ? 0 : x;
    case CLS_UNARY_SILU:
        return x / (1 + exp(-x));
    case CLS_UNARY_GELU:
        return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    }
    fail_msg("no reference for %s", cls_unary_op_name(op));
    return 0;
}

/* No slope of these functions is above 1.2, and inputs are up to 2. */
static double slack(const struct layer *l) {
    const double unit = l->type == CLS_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    return 1.2 * unit * (4 * (double)l->k + 64);
}

static void expect(const struct layer *l, const cls_matrix m[3], const struct values v[4]) {
    for (size_t batch = 0; batch < l->batches; batch++)
        for (size_t i = 0; i < l->m; i++)
            for (size_t j = 0; j < l->n; j++) {
                double sum = 0;
                for (size_t x = 0; x < l->k && l->alpha != 0; x++)
                    sum += v[0].x[batch * m[0].stride + i * l->k + x] *
                           v[1].x[batch * m[1].stride + x * l->n + j];
                double *const c = &v[2].x[m[2].offset + batch * m[2].stride + i * m[2].ld + j];
                sum = l->alpha * sum + (l->beta != 0 ? l->beta * *c : 0);
                if (l->bias)
                    sum += v[3].x[1 + (l->bias == FOR_ROWS ? i : j) * l->step];
                *c = activated(l->activation, sum);
            }
    check_values("layer", &v[2], slack(l));
}

static void check(struct layer l) {
    l.batches = l.batches ? l.batches : 1;
    l.step = l.step ? l.step : 1;
    const size_t count = l.bias == FOR_ROWS ? l.m : l.n, ld = l.n + l.batches;
    struct values v[4] = {values_make(l.type, l.batches * l.m * l.k + 1, 1),
                          values_make(l.type, l.batches * l.k * l.n + 1, 2),
                          values_make(l.type, l.batches * l.m * ld + 3, 3),
                          values_make(l.type, 1 + count * l.step, 4)};
    cls_matrix m[3] = {cls_matrix_of(v[0].buffer, l.type, l.m, l.k),
                       cls_matrix_of(v[1].buffer, l.type, l.k, l.n),
                       cls_matrix_at(v[2].buffer, l.type, 3, l.m, l.n)};
    m[2].ld = ld;
    m[2].stride = l.m * ld;
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.alpha = l.alpha;
    config.beta = l.beta;
    config.batches = l.batches;
    config.activation = l.activation;
    config.bias_by_row = l.bias == FOR_ROWS;
    if (l.bias)
        config.bias = (cls_vector){v[3].buffer, l.type, 1, count, l.step};
    OK(cls_gemm(m[0], m[1], m[2], &config, NULL));
    expect(&l, m, v);
    for (int i = 0; i < 4; i++)
        values_free(&v[i]);
}

static void small_layers(void **state) {
    (void)state;
    NEED_PRODUCTS(CLS_F32);
    check((struct layer){CLS_F32, 33, 17, 50, 1, FOR_COLUMNS, 1, CLS_UNARY_RELU, 1, 0});
    check((struct layer){CLS_F32, 33, 17, 50, 1, FOR_ROWS, 2, CLS_UNARY_RELU, -1, 0.5});
    check((struct layer){CLS_F32, 20, 40, 300, 3, FOR_COLUMNS, 3, CLS_UNARY_RELU, 1, 1});
    check((struct layer){CLS_F32, 1, 1, 1, 1, FOR_ROWS, 1, (cls_unary_op)0, 1, 0});
}

static void large_layers(void **state) {
    (void)state;
    NEED_PRODUCTS(CLS_F32);
    check((struct layer){CLS_F32, 300, 270, 515, 1, FOR_COLUMNS, 1, CLS_UNARY_GELU, 1, 0});
    check((struct layer){CLS_F32, 270, 301, 256, 1, FOR_ROWS, 1, CLS_UNARY_GELU, 0.125, 2});
    check((struct layer){CLS_F32, 257, 300, 280, 1, NO_BIAS, 1, CLS_UNARY_SILU, 1, 0});
    check((struct layer){CLS_F32, 260, 300, 256, 2, FOR_COLUMNS, 2, (cls_unary_op)0, 1, 1});
}

static void layers_of_f64(void **state) {
    (void)state;
    NEED_PRODUCTS(CLS_F64);
    check((struct layer){CLS_F64, 33, 17, 50, 1, FOR_COLUMNS, 1, CLS_UNARY_RELU, 1, 0});
    check((struct layer){CLS_F64, 300, 200, 270, 1, FOR_ROWS, 1, CLS_UNARY_RELU, 1, 1});
}

/* With `alpha` 0 or without terms the inputs are not read; bias and activation stay. */
static void layers_without_a_product(void **state) {
    (void)state;
    NEED_PRODUCTS(CLS_F32);
    check((struct layer){CLS_F32, 9, 12, 20, 2, FOR_COLUMNS, 1, CLS_UNARY_RELU, 0, 0.5});
    check((struct layer){CLS_F32, 9, 12, 0, 1, FOR_ROWS, 1, CLS_UNARY_RELU, 1, 1});
    check((struct layer){CLS_F32, 9, 12, 0, 1, NO_BIAS, 1, CLS_UNARY_RELU, 1, 0});
}

static void vectors(void **state) {
    (void)state;
    NEED_PRODUCTS(CLS_F32);
    for (int transposed = 0; transposed < 2; transposed++) {
        struct values a = values_make(CLS_F32, 70 * 45, 1), x = values_make(CLS_F32, 70, 2),
                      y = values_make(CLS_F32, 140, 3), bias = values_make(CLS_F32, 70, 4);
        const size_t rows = transposed ? 45 : 70, columns = transposed ? 70 : 45;
        cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
        config.transpose_a = transposed;
        config.beta = 2;
        config.bias = (cls_vector){bias.buffer, CLS_F32, 0, 70, 1};
        config.activation = CLS_UNARY_RELU;
        OK(cls_gemv(cls_matrix_of(a.buffer, CLS_F32, rows, columns),
                    (cls_vector){x.buffer, CLS_F32, 0, 45, 1},
                    (cls_vector){y.buffer, CLS_F32, 1, 70, 2}, &config, NULL));
        for (size_t i = 0; i < 70; i++) {
            double sum = 2 * y.x[1 + 2 * i] + bias.x[i];
            for (size_t l = 0; l < 45; l++)
                sum += a.x[transposed ? l * 70 + i : i * 45 + l] * x.x[l];
            y.x[1 + 2 * i] = activated(CLS_UNARY_RELU, sum);
        }
        check_values("gemv", &y, 1e-4);
        values_free(&a);
        values_free(&x);
        values_free(&y);
        values_free(&bias);
    }
}

/* In a batch of operations, and captured: a launch reads the bias that is there then. */
static void batches_and_graphs(void **state) {
    (void)state;
    NEED_PRODUCTS(CLS_F32);
    struct values v[4] = {values_make(CLS_F32, 30 * 20, 1), values_make(CLS_F32, 20 * 10, 2),
                          values_make(CLS_F32, 30 * 10, 3), values_make(CLS_F32, 10, 4)};
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.activation = CLS_UNARY_RELU;
    cls_batch batch;
    cls_value in[2], out;
    OK(cls_batch_create(NULL, NULL, &batch));
    OK(cls_batch_array(batch, cls_array_of(v[0].buffer, CLS_F32, 600), &in[0]));
    OK(cls_batch_array(batch, cls_array_of(v[1].buffer, CLS_F32, 200), &in[1]));
    OK(cls_batch_gemm(batch, in[0], in[1], 30, 10, 20, &config, &out));
    OK(cls_batch_store(batch, out, cls_array_of(v[2].buffer, CLS_F32, 300)));
    config.bias = (cls_vector){v[3].buffer, CLS_F32, 0, 10, 1};
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_batch_gemm(batch, in[0], in[1], 30, 10, 20, &config, &out));
    OK(cls_batch_execute(batch, NULL));
    for (size_t i = 0; i < 300; i++)
        v[2].x[i] = 0;
    for (size_t i = 0; i < 300; i++)
        for (size_t l = 0; l < 20; l++)
            v[2].x[i] += v[0].x[i / 10 * 20 + l] * v[1].x[l * 10 + i % 10];
    double sums[300];
    for (size_t i = 0; i < 300; i++) {
        sums[i] = v[2].x[i];
        v[2].x[i] = activated(CLS_UNARY_RELU, sums[i]);
    }
    check_values("batch", &v[2], 1e-4);
    OK(cls_batch_destroy(batch));

    cls_stream stream;
    cls_graph graph;
    cls_graph_exec exec;
    OK(cls_stream_create(NULL, NULL, &stream));
    OK(cls_stream_begin_capture(stream, "layer"));
    OK(cls_gemm_async(cls_matrix_of(v[0].buffer, CLS_F32, 30, 20),
                      cls_matrix_of(v[1].buffer, CLS_F32, 20, 10),
                      cls_matrix_of(v[2].buffer, CLS_F32, 30, 10), &config, stream));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    for (size_t i = 0; i < 10; i++)
        v[3].x[i] += 1;
    upload(&v[3]);
    OK(cls_graph_launch(exec, stream));
    OK(cls_stream_synchronize(stream));
    for (size_t i = 0; i < 300; i++)
        v[2].x[i] = activated(CLS_UNARY_RELU, sums[i] + v[3].x[i % 10]);
    check_values("graph", &v[2], 1e-4);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    OK(cls_stream_destroy(stream));
    for (int i = 0; i < 4; i++)
        values_free(&v[i]);
}

/* A reason for each way, and the statuses of the call itself. */
static void ways_are_told(void **state) {
    (void)state;
    struct values v = values_make(CLS_F32, 64, 1);
    const cls_matrix a = cls_matrix_of(v.buffer, CLS_F32, 4, 4),
                     c = cls_matrix_at(v.buffer, CLS_F32, 32, 4, 4);
    cls_gemm_explanation told = CLS_GEMM_EXPLANATION_INIT;
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    OK(cls_gemm_explain(a, a, c, NULL, NULL, &told));
    assert_true(told.way != CLS_GEMM_WAY_NONE && told.fused && told.reason);
    config.alpha = 0;
    OK(cls_gemm_explain(a, a, c, &config, NULL, &told));
    assert_int_equal(told.way, CLS_GEMM_WAY_NONE);
    EXPECT(CLS_ERROR_OVERLAP, cls_gemm_explain(a, a, a, NULL, NULL, &told));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_gemm_explain(a, a, c, NULL, NULL, NULL));
    check_values("left alone", &v, 0);
    values_free(&v);
}

static void malformed_epilogues(void **state) {
    (void)state;
    struct values v = values_make(CLS_F32, 3 * 64, 1);
    const cls_matrix a = cls_matrix_of(v.buffer, CLS_F32, 8, 4),
                     b = cls_matrix_at(v.buffer, CLS_F32, 64, 4, 8),
                     c = cls_matrix_at(v.buffer, CLS_F32, 128, 8, 8);
    const cls_vector bias = {v.buffer, CLS_F32, 100, 8, 1};
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.activation = (cls_unary_op)99;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_gemm(a, b, c, &config, NULL));
    config.activation = (cls_unary_op)0;
    config.bias = bias;
    config.bias.count = 7;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_gemm(a, b, c, &config, NULL));
    config.bias = bias;
    config.bias.step = 0;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_gemm(a, b, c, &config, NULL));
    config.bias = bias;
    config.bias.offset = 190;
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_gemm(a, b, c, &config, NULL));
    config.bias = bias;
    config.bias.offset = 130;
    EXPECT(CLS_ERROR_OVERLAP, cls_gemm(a, b, c, &config, NULL));
    config.bias = bias;
    config.bias.dtype = CLS_I32;
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_gemm(a, b, c, &config, NULL));
    check_values("left alone", &v, 0);
    values_free(&v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_layers),  cmocka_unit_test(large_layers),
        cmocka_unit_test(layers_of_f64), cmocka_unit_test(layers_without_a_product),
        cmocka_unit_test(vectors),       cmocka_unit_test(batches_and_graphs),
        cmocka_unit_test(ways_are_told), cmocka_unit_test(malformed_epilogues),
    };
    return cmocka_run_group_tests_name("epilogues", tests, NULL, NULL);
}
