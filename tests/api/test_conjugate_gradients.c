/* SPDX-License-Identifier: MIT */
/* Conjugate gradients with all factors on the device, the step as a graph: the residual is that of the host's steps. */
#include "../support/rig.h"

#include <math.h>

#include <clstream.h>

enum { SIDE = 20, POINTS = SIDE * SIDE, STEPS = 40, LOOK = 5 };

/* Laplace's operator on a square, whose entries are 4 and, for neighbours, -1. */
static int32_t rows[POINTS + 1], column[5 * POINTS];
static float values[5 * POINTS];
static float charges[POINTS];

static void add_entry(int32_t *n, bool is_there, int32_t at, float value) {
    if (!is_there)
        return;
    column[*n] = at;
    values[(*n)++] = value;
}

static void fill_matrix(void) {
    int32_t n = 0;
    for (int32_t at = 0; at < POINTS; at++) {
        add_entry(&n, at >= SIDE, at - SIDE, -1);
        add_entry(&n, at % SIDE > 0, at - 1, -1);
        add_entry(&n, true, at, 4);
        add_entry(&n, at % SIDE < SIDE - 1, at + 1, -1);
        add_entry(&n, at < POINTS - SIDE, at + SIDE, -1);
        rows[at + 1] = n;
        charges[at] = (float)(at * 7919 % 13) - 6;
    }
}

/* --- the host's --- */

static struct { double x[POINTS], r[POINTS], p[POINTS], ap[POINTS], rr; } host;

static double dot(const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < POINTS; i++)
        sum += a[i] * b[i];
    return sum;
}

static void host_step(void) {
    for (int i = 0; i < POINTS; i++) {
        host.ap[i] = 0;
        for (int32_t k = rows[i]; k < rows[i + 1]; k++)
            host.ap[i] += (double)values[k] * host.p[column[k]];
    }
    const double alpha = host.rr / dot(host.p, host.ap), before = host.rr;
    for (int i = 0; i < POINTS; i++) {
        host.x[i] += alpha * host.p[i];
        host.r[i] -= alpha * host.ap[i];
    }
    host.rr = dot(host.r, host.r);
    for (int i = 0; i < POINTS; i++)
        host.p[i] = host.r[i] + host.rr / before * host.p[i];
}

static void host_begin(void) {
    for (int i = 0; i < POINTS; i++)
        host.p[i] = host.r[i] = (double)charges[i];
    host.rr = dot(host.r, host.r);
}

/* --- the device's --- */

enum { X, R, P, AP, VECTORS };
enum { RR, BEFORE, PAP, ALPHA, MINUS_ALPHA, BETA, NUMBERS };

static cls_stream stream;
static cls_array vectors[VECTORS], numbers[NUMBERS];
static cls_csr matrix;

static cls_array uploaded(cls_dtype dtype, size_t count, const void *from) {
    cls_buffer buffer = rig_cells(count);
    if (from)
        OK(cls_copy_h2d(buffer, 0, from, count * 4, stream));
    return cls_array_of(buffer, dtype, count);
}

static void device_begin(void) {
    stream = rig_stream();
    matrix = (cls_csr){uploaded(CLS_I32, POINTS + 1, rows),
                       uploaded(CLS_I32, (size_t)rows[POINTS], column),
                       uploaded(CLS_F32, (size_t)rows[POINTS], values), POINTS};
    for (int i = 0; i < VECTORS; i++)
        vectors[i] = uploaded(CLS_F32, POINTS, i == R || i == P ? charges : NULL);
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = uploaded(CLS_F32, 1, NULL);
    OK(cls_dot_async(vectors[R], vectors[R], numbers[RR], stream));
}

static void device_end(void) {
    OK(cls_buffer_destroy(matrix.offsets.buffer));
    OK(cls_buffer_destroy(matrix.indices.buffer));
    OK(cls_buffer_destroy(matrix.values.buffer));
    for (int i = 0; i < VECTORS; i++)
        OK(cls_buffer_destroy(vectors[i].buffer));
    for (int i = 0; i < NUMBERS; i++)
        OK(cls_buffer_destroy(numbers[i].buffer));
    OK(cls_stream_destroy(stream));
}

static void add(int number, int from, cls_factor beta, int to) {
    const cls_factor factor = number < 0 ? cls_factor_of(1) : cls_factor_at(numbers[number]);
    OK(cls_axpby_async(factor, cls_vector_from(vectors[from]), beta, cls_vector_from(vectors[to]),
                       stream));
}

static void submit_step(void) {
    const cls_factor one = cls_factor_of(1);
    OK(cls_spmv_async(matrix, cls_vector_from(vectors[P]), cls_vector_from(vectors[AP]), NULL,
                      (cls_array){0}, stream));
    OK(cls_dot_async(vectors[P], vectors[AP], numbers[PAP], stream));
    OK(cls_binary_async(CLS_BINARY_DIV, numbers[RR], numbers[PAP], numbers[ALPHA], stream));
    OK(cls_unary_async(CLS_UNARY_NEG, numbers[ALPHA], numbers[MINUS_ALPHA], stream));
    add(ALPHA, P, one, X);
    add(MINUS_ALPHA, AP, one, R);
    OK(cls_unary_async(CLS_UNARY_COPY, numbers[RR], numbers[BEFORE], stream));
    OK(cls_dot_async(vectors[R], vectors[R], numbers[RR], stream));
    OK(cls_binary_async(CLS_BINARY_DIV, numbers[RR], numbers[BEFORE], numbers[BETA], stream));
    add(-1, R, cls_factor_at(numbers[BETA]), P);
}

static cls_graph_exec captured_step(void) {
    cls_graph graph;
    cls_graph_exec exec;
    OK(cls_stream_begin_capture(stream, "step"));
    submit_step();
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    OK(cls_graph_destroy(graph));
    return exec;
}

/* The steps of f32 lose digits on the way: their residuals are compared while they are above the rounding. */
static void expect_residual(double first, int steps) {
    float got;
    OK(cls_copy_d2h(&got, numbers[RR].buffer, 0, sizeof got, stream));
    const double ratio = sqrt((double)got / host.rr);
    if (host.rr > 1e-6 * first && !(fabs(ratio - 1) < 0.02))
        fail_msg("after %d steps the residual is %g, not %g", steps, sqrt((double)got),
                 sqrt(host.rr));
}

static void test_residual_falls_as_the_host_has_it(void **state) {
    float x[POINTS];
    (void)state;
    rig_need("rounding");
    fill_matrix();
    host_begin();
    device_begin();
    cls_graph_exec exec = captured_step();
    const double first = host.rr;
    for (int i = 1; i <= STEPS; i++) {
        OK(cls_graph_launch_async(exec, stream));
        host_step();
        if (i % LOOK == 0)
            expect_residual(first, i);
    }
    assert_true(host.rr < 1e-6 * first);
    OK(cls_copy_d2h(x, vectors[X].buffer, 0, sizeof x, stream));
    for (int i = 0; i < POINTS; i++)
        assert_true(fabs((double)x[i] - host.x[i]) < 1e-2);
    OK(cls_graph_exec_destroy(exec));
    device_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_residual_falls_as_the_host_has_it)};
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
