/* SPDX-License-Identifier: MIT */
/*
 * CLBlast's matrix products in graphs: they leave in memory what the calls do. All numbers are small integers and halves,
 * whose sums are exact in any order.
 */
#include "../support/effort.h"
#include "../support/rig.h"

#include <math.h>
#include <string.h>

#include <clstream/blas.h>
#include <clstream/mempool.h>
#include <clstream/unary.h>

enum { MOST = 4096, BATCH = 2, LONG = 512 };

static cls_stream stream, elsewhere;
static bool has_f64;

static int begin(void **state) {
    cls_buffer probe = rig_cells(4);
    (void)state;
    stream = rig_named("main");
    elsewhere = rig_stream();
    const cls_array f64 = cls_array_of(probe, CLS_F64, 2);
    has_f64 = !cls_unary(CLS_UNARY_NEG, f64, f64, stream);
    OK(cls_buffer_destroy(probe));
    return 0;
}

static int end(void **state) {
    (void)state;
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(elsewhere));
    return 0;
}

#define NEED_BLAS()                                                           \
    do {                                                                      \
        if (!cls_blas_available())                                            \
            SKIP_BECAUSE("this library was built without CLBlast");           \
        if (rig_platform_is("Oclgrind"))                                      \
            SKIP_BECAUSE("CLBlast's kernels take minutes in an interpreter"); \
    } while (0)

/* --- graphs --- */

static cls_graph end_capture(void) {
    cls_graph graph;
    OK(cls_stream_end_capture(stream, &graph));
    return graph;
}

static cls_graph_exec instantiate(cls_graph graph) {
    cls_graph_exec exec;
    OK(cls_graph_instantiate(graph, NULL, &exec));
    return exec;
}

static void expect_nodes(cls_graph_exec exec, uint64_t nodes) {
    assert_int_equal(rig_graph_statistics(exec).nodes, nodes);
}

/* --- numbers --- */

static double value_at(unsigned seed, size_t i) { return (double)((i * 7 + seed * 5) % 11) - 5; }

/* Elements in a buffer, and what they are to be. */
struct numbers {
    cls_dtype type;
    size_t count;
    double x[MOST];
    cls_buffer buffer;
};

static void upload(const struct numbers *numbers) {
    static double f64[MOST];
    static float f32[MOST];
    for (size_t i = 0; i < numbers->count; i++) {
        f64[i] = numbers->x[i];
        f32[i] = (float)numbers->x[i];
    }
    const bool single = numbers->type == CLS_F32;
    OK(cls_copy_h2d(numbers->buffer, 0, single ? (void *)f32 : (void *)f64,
                    numbers->count * cls_dtype_size(numbers->type), stream));
}

static void make(struct numbers *numbers, cls_dtype type, size_t count, unsigned seed) {
    assert_true(count <= MOST);
    numbers->type = type;
    numbers->count = count;
    for (size_t i = 0; i < count; i++)
        numbers->x[i] = value_at(seed, i);
    OK(cls_buffer_create(rig.context, count * cls_dtype_size(type), &numbers->buffer));
    upload(numbers);
}

static void expect(const struct numbers *numbers, const char *what) {
    static double f64[MOST];
    static float f32[MOST];
    const bool single = numbers->type == CLS_F32;
    OK(cls_copy_d2h(single ? (void *)f32 : (void *)f64, numbers->buffer, 0,
                    numbers->count * cls_dtype_size(numbers->type), stream));
    for (size_t i = 0; i < numbers->count; i++) {
        const double got = single ? (double)f32[i] : f64[i], want = numbers->x[i];
        if (got != want && !(isnan(got) && isnan(want)))
            fail_msg("%s: element %zu is %g, not %g", what, i, got, want);
    }
}

/* --- products --- */

struct product {
    cls_dtype type;
    size_t m, n, k, pad, offset;
    bool ta, tb;
    double alpha, beta;
};

/* a, b and c. */
struct operands {
    struct numbers of[3];
    cls_matrix matrices[3];
};

static cls_matrix matrix(const struct product *p, unsigned i) {
    const bool turned = (i == 0 && p->ta) || (i == 1 && p->tb);
    const size_t rows = i == 1 ? p->k : p->m, columns = i == 0 ? p->k : p->n;
    cls_matrix view = cls_matrix_at(NULL, p->type, p->offset + i, turned ? columns : rows,
                                    turned ? rows : columns);
    view.ld += p->pad + i;
    return view;
}

static void make_operands(const struct product *p, unsigned seed, struct operands *out) {
    for (unsigned i = 0; i < 3; i++) {
        cls_matrix *view = &out->matrices[i];
        *view = matrix(p, i);
        make(&out->of[i], p->type, view->offset + view->rows * view->ld + 1, seed + i);
        view->buffer = out->of[i].buffer;
    }
}

static void drop_operands(const struct operands *operands) {
    for (unsigned i = 0; i < 3; i++)
        OK(cls_buffer_destroy(operands->of[i].buffer));
}

static cls_status submit(const struct product *p, const struct operands *x, cls_stream on) {
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.transpose_a = p->ta;
    config.transpose_b = p->tb;
    config.alpha = p->alpha;
    config.beta = p->beta;
    return cls_gemm_async(x->matrices[0], x->matrices[1], x->matrices[2], &config, on);
}

static double at(const struct numbers *x, const cls_matrix *m, size_t i, size_t j, bool turned) {
    return x->x[m->offset + (turned ? j : i) * m->ld + (turned ? i : j)];
}

/* c of `to` becomes what the product of `a` and `b` leaves there. */
static void compute(const struct product *p, const struct operands *a, const struct operands *b,
                    struct operands *to) {
    const cls_matrix *c = &to->matrices[2];
    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++) {
            double *out = &to->of[2].x[c->offset + i * c->ld + j], sum = 0;
            for (size_t k = 0; k < p->k; k++)
                sum += at(&a->of[0], &a->matrices[0], i, k, p->ta) *
                       at(&b->of[1], &b->matrices[1], k, j, p->tb);
            *out = p->alpha * sum + (p->beta != 0 ? p->beta * *out : 0);
        }
}

static cls_graph capture(const struct product *p, const struct operands *x) {
    OK(cls_stream_begin_capture(stream, "product"));
    OK(submit(p, x, stream));
    return end_capture();
}

static cls_graph_exec capture_exec(const struct product *p, const struct operands *x) {
    cls_graph graph = capture(p, x);
    cls_graph_exec exec = instantiate(graph);
    OK(cls_graph_destroy(graph));
    return exec;
}

/* --- what is computed --- */

/* With NaN in the output where nothing is to be read, and between its rows. */
static void poison(const struct product *p, struct operands *x) {
    const cls_matrix *c = &x->matrices[2];
    for (size_t i = 0; i < x->of[2].count; i++) {
        const bool is_out = i >= c->offset && (i - c->offset) % c->ld < c->columns;
        if (p->beta == 0 || !is_out)
            x->of[2].x[i] = NAN;
    }
    upload(&x->of[2]);
}

/* By the graph twice, whose first launch may have CLBlast compile, and by a call. */
static void check(const struct product *p) {
    static struct operands x;
    char what[128];
    snprintf(what, sizeof what, "%zu x %zu x %zu %c%c of %s, %g and %g", p->m, p->n, p->k,
             p->ta ? 'T' : 'N', p->tb ? 'T' : 'N', cls_dtype_name(p->type), p->alpha, p->beta);
    make_operands(p, 3, &x);
    poison(p, &x);
    cls_graph_exec exec = capture_exec(p, &x);
    expect_nodes(exec, 1);
    for (int i = 0; i < 3; i++) {
        OK(i < 2 ? cls_graph_launch(exec, stream) : submit(p, &x, stream));
        compute(p, &x, &x, &x);
        expect(&x.of[2], what);
    }
    OK(cls_graph_exec_destroy(exec));
    drop_operands(&x);
}

static const struct product shapes[] = {
    {.m = 1, .n = 1, .k = 1, .alpha = 1},
    {.m = 5, .n = 3, .k = 7, .pad = 2, .offset = 3, .alpha = 1},
    {.m = 16, .n = 8, .k = 64, .alpha = 0.5, .beta = 2},
    {.m = 1, .n = 65, .k = 9, .pad = 1, .alpha = -1, .beta = 1},
    {.m = 33, .n = 2, .k = 100, .offset = 1, .alpha = 2, .beta = -0.5},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void check_shapes(cls_dtype type) {
    for (unsigned i = 0; i < SHAPES; i++)
        for (unsigned turned = 0; turned < 4; turned++) {
            struct product p = shapes[i];
            p.type = type;
            p.ta = turned & 1;
            p.tb = turned & 2;
            check(&p);
        }
}

static void test_f32(void **state) {
    (void)state;
    NEED_BLAS();
    check_shapes(CLS_F32);
}

static void test_f64(void **state) {
    (void)state;
    NEED_BLAS();
    if (!has_f64)
        SKIP_BECAUSE("the device has no double precision");
    check_shapes(CLS_F64);
}

/* Many terms, and nothing to multiply: then a kernel scales. */
static void test_other_products(void **state) {
    (void)state;
    NEED_BLAS();
    check(&(struct product){.type = CLS_F32, .m = 4, .n = 6, .k = LONG, .alpha = 1});
    check(&(struct product){.type = CLS_F32, .m = 4, .n = 6, .k = 2, .alpha = 0, .beta = 2});
    check(&(struct product){.type = CLS_F32, .m = 4, .n = 6, .k = 0, .alpha = 1, .beta = 2});
}

static void test_batches(void **state) {
    (void)state;
    NEED_BLAS();
    enum { ROWS = 2, EACH = ROWS * ROWS, ALL = BATCH * EACH };
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    static struct numbers x;
    make(&x, CLS_F32, 3L * ALL, 1);
    config.batches = BATCH;
    const cls_matrix a = cls_matrix_at(x.buffer, CLS_F32, 0, ROWS, ROWS),
                     b = cls_matrix_at(x.buffer, CLS_F32, ALL, ROWS, ROWS),
                     c = cls_matrix_at(x.buffer, CLS_F32, 2L * ALL, ROWS, ROWS);
    OK(cls_stream_begin_capture(stream, "batches"));
    OK(cls_gemm_async(a, b, c, &config, stream));
    cls_graph_exec exec = rig_end_capture(stream);
    expect_nodes(exec, 1);
    if (effort_is_long()) /* CLBlast's programs of batches take 20 s to compile on a CPU */
        OK(cls_graph_launch(exec, stream));
    for (unsigned i = 0; i < ALL && effort_is_long(); i++) {
        const unsigned row = i / ROWS * ROWS, column = i / EACH * EACH + i % ROWS;
        x.x[2 * ALL + i] = x.x[row] * x.x[ALL + column] + x.x[row + 1] * x.x[ALL + column + ROWS];
    }
    expect(&x, "batches");
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(x.buffer));
}

/* --- changes --- */

static const struct product plain = {
    .type = CLS_F32, .m = 6, .n = 10, .k = 20, .pad = 1, .offset = 2, .alpha = 1, .beta = 1};

static void test_other_buffers(void **state) {
    (void)state;
    NEED_BLAS();
    static struct operands x, y;
    make_operands(&plain, 1, &x);
    make_operands(&plain, 7, &y);
    cls_graph_exec exec = capture_exec(&plain, &x);
    const struct operands *in[2] = {&x, &x};
    struct operands *out = &x;
    for (unsigned i = 0; i < 4; i++) {
        OK(cls_graph_launch(exec, stream));
        compute(&plain, in[0], in[1], out);
        expect(&out->of[2], "other buffers");
        if (i == 3)
            break;
        OK(cls_graph_bind(exec, x.of[i].buffer, y.of[i].buffer));
        if (i < 2)
            in[i] = &y;
        else
            out = &y;
    }
    expect(&x.of[2], "the buffer that was captured");
    OK(cls_graph_exec_destroy(exec));
    drop_operands(&x);
    drop_operands(&y);
}

static void test_update(void **state) {
    (void)state;
    NEED_BLAS();
    static struct operands x, y;
    struct product other = plain;
    other.ta = true;
    other.k = 9;
    other.beta = 0;
    make_operands(&plain, 1, &x);
    make_operands(&other, 7, &y);
    cls_graph_exec exec = capture_exec(&plain, &x);
    cls_graph graph = capture(&other, &y);
    OK(cls_graph_launch(exec, stream));
    OK(cls_graph_update(exec, graph));
    expect_nodes(exec, 1);
    OK(cls_graph_launch(exec, stream));
    compute(&plain, &x, &x, &x);
    compute(&other, &y, &y, &y);
    expect(&x.of[2], "before the update");
    expect(&y.of[2], "the update");
    OK(cls_graph_destroy(graph));
    OK(cls_graph_exec_destroy(exec));
    drop_operands(&x);
    drop_operands(&y);
}

/* c = c a b by a product, behind a kernel that takes long to make a[0]; a host function has a worker run it. */
static cls_graph capture_late(const struct product *p, const struct operands *x) {
    OK(cls_stream_begin_capture(stream, "late"));
    OK(cls_stream_launch_host_async(stream, rig_do_nothing, NULL));
    OK(rig_step(stream, x->of[0].buffer, (uint32_t)p->offset, 1, 0, 20));
    OK(rig_step(stream, x->of[0].buffer, (uint32_t)p->offset, 0, 0x40400000 /* 3.0F */, 20));
    OK(submit(p, x, stream));
    return end_capture();
}

static void launch_late(cls_graph_exec exec, const struct product *p, struct operands *x) {
    OK(cls_graph_launch(exec, stream));
    x->of[0].x[p->offset] = 3;
    compute(p, x, x, x);
    expect(&x->of[2], "a late operand");
}

/* To a product of another size, and back. */
static void test_late_operands(void **state) {
    (void)state;
    NEED_BLAS();
    static struct operands x, y;
    struct product large = plain;
    large.k = LONG - 100;
    large.m = 4;
    large.n = 6;
    make_operands(&plain, 1, &x);
    make_operands(&large, 7, &y);
    cls_graph small_graph = capture_late(&plain, &x), large_graph = capture_late(&large, &y);
    cls_graph_exec exec = instantiate(small_graph);
    expect_nodes(exec, 4);
    launch_late(exec, &plain, &x);
    OK(cls_graph_update(exec, large_graph));
    for (int i = 0; i < 2; i++) {
        y.of[0].x[large.offset] = 1;
        upload(&y.of[0]);
        launch_late(exec, &large, &y);
    }
    OK(cls_graph_update(exec, small_graph));
    launch_late(exec, &plain, &x);
    OK(cls_graph_destroy(small_graph));
    OK(cls_graph_destroy(large_graph));
    OK(cls_graph_exec_destroy(exec));
    drop_operands(&x);
    drop_operands(&y);
}

static void test_left_out(void **state) {
    (void)state;
    NEED_BLAS();
    static struct operands x;
    make_operands(&plain, 1, &x);
    cls_graph_exec exec = capture_exec(&plain, &x);
    OK(cls_graph_set_enabled(exec, 0, 0));
    OK(cls_graph_launch(exec, stream));
    expect(&x.of[2], "left out");
    OK(cls_graph_set_enabled(exec, 0, 1));
    OK(cls_graph_launch(exec, stream));
    compute(&plain, &x, &x, &x);
    expect(&x.of[2], "taken in again");
    OK(cls_graph_exec_destroy(exec));
    drop_operands(&x);
}

static void test_no_launch_of_the_program(void **state) {
    (void)state;
    NEED_BLAS();
    static struct operands x;
    const cls_launch one = cls_launch_1d(1);
    make_operands(&plain, 1, &x);
    cls_graph_exec exec = capture_exec(&plain, &x);
    assert_int_equal(cls_graph_set_args(exec, 0, &one, NULL, 0), CLS_ERROR_INVALID_VALUE);
    assert_non_null(strstr(cls_last_error_detail(), "'gemm_f32'"));
    OK(cls_graph_exec_destroy(exec));
    drop_operands(&x);
}

/* --- beside other nodes --- */

enum { SIDE = 8, CELLS = SIDE * SIDE };

static cls_matrix square(cls_buffer buffer) { return cls_matrix_of(buffer, CLS_F32, SIDE, SIDE); }

static cls_array row(cls_buffer buffer) { return cls_array_of(buffer, CLS_F32, CELLS); }

static void multiply(cls_buffer a, cls_buffer b, cls_buffer c) {
    OK(cls_gemm_async(square(a), square(b), square(c), NULL, stream));
}

static void compute_square(const double *a, const double *b, double *c) {
    for (unsigned i = 0; i < CELLS; i++) {
        c[i] = 0;
        for (unsigned k = 0; k < SIDE; k++)
            c[i] += a[i / SIDE * SIDE + k] * b[k * SIDE + i % SIDE];
    }
}

/* y = (2 relu(x w)) v by way of memory of the capture. */
static void capture_layers(cls_buffer x, cls_buffer w, cls_buffer v, cls_buffer y) {
    cls_buffer hidden, active;
    OK(cls_stream_begin_capture(stream, "layers"));
    OK(cls_malloc_async(stream, CELLS * 4L, &hidden));
    OK(cls_malloc_async(stream, CELLS * 4L, &active));
    multiply(x, w, hidden);
    OK(cls_unary_async(CLS_UNARY_RELU, row(hidden), row(active), stream));
    OK(cls_unary_param_async(CLS_UNARY_SCALE, row(active), row(active), 2, stream));
    multiply(active, v, y);
    OK(cls_free_async(hidden, stream));
    OK(cls_free_async(active, stream));
}

static void compute_layers(const struct numbers *x, const struct numbers *w,
                           const struct numbers *v, struct numbers *y) {
    double hidden[CELLS];
    compute_square(x->x, w->x, hidden);
    for (unsigned i = 0; i < CELLS; i++)
        hidden[i] = hidden[i] > 0 ? 2 * hidden[i] : 0;
    compute_square(hidden, v->x, y->x);
}

static void make_squares(struct numbers *squares, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        make(&squares[i], CLS_F32, CELLS, i + 1);
}

static void drop_squares(const struct numbers *squares, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        OK(cls_buffer_destroy(squares[i].buffer));
}

static void test_beside_chains(void **state) {
    (void)state;
    NEED_BLAS();
    static struct numbers x[5];
    make_squares(x, 5);
    capture_layers(x[0].buffer, x[1].buffer, x[2].buffer, x[3].buffer);
    cls_graph_exec exec = rig_end_fused(stream);
    rig_expect_fused(exec, 3, 2, 1);
    assert_true(rig_graph_statistics(exec).one_command);
    OK(cls_graph_launch(exec, stream));
    compute_layers(&x[0], &x[1], &x[2], &x[3]);
    expect(&x[3], "layers");
    OK(cls_graph_bind(exec, x[0].buffer, x[4].buffer));
    OK(cls_graph_launch(exec, stream));
    compute_layers(&x[4], &x[1], &x[2], &x[3]);
    expect(&x[3], "layers of another buffer");
    assert_int_equal(cls_graph_set_enabled(exec, 1, 0), CLS_ERROR_UNSUPPORTED);
    OK(cls_graph_set_enabled(exec, 3, 0)); /* the second product */
    OK(cls_graph_bind(exec, x[0].buffer, x[1].buffer));
    OK(cls_graph_launch(exec, stream));
    expect(&x[3], "layers without the last");
    OK(cls_graph_exec_destroy(exec));
    drop_squares(x, 5);
}

/* Products of the halves of a matrix's columns, on two branches. */
static void test_branches(void **state) {
    (void)state;
    NEED_BLAS();
    static struct numbers x[4];
    cls_event forked = rig_event(), joined = rig_event();
    make_squares(x, 4);
    cls_matrix b[2], c[2];
    for (unsigned i = 0; i < 2; i++) {
        b[i] = square(x[1].buffer);
        c[i] = square(x[2].buffer);
        b[i].offset = c[i].offset = i * (SIDE / 2);
        b[i].columns = c[i].columns = SIDE / 2;
    }
    OK(cls_stream_begin_capture(stream, "branches"));
    OK(cls_copy_d2d_async(x[0].buffer, 0, x[3].buffer, 0, CELLS * 4L, stream));
    OK(cls_event_record(forked, stream));
    OK(cls_stream_wait_event(elsewhere, forked));
    OK(cls_gemm_async(square(x[0].buffer), b[0], c[0], NULL, elsewhere));
    OK(cls_gemm_async(square(x[0].buffer), b[1], c[1], NULL, stream));
    OK(cls_event_record(joined, elsewhere));
    OK(cls_stream_wait_event(stream, joined));
    multiply(x[2].buffer, x[2].buffer, x[0].buffer);
    cls_graph_exec exec = rig_end_capture(stream);
    expect_nodes(exec, 4);
    for (int i = 0; i < 2; i++)
        OK(cls_graph_launch(exec, stream));
    compute_square(x[3].x, x[1].x, x[2].x);
    compute_square(x[2].x, x[2].x, x[0].x);
    expect(&x[2], "halves");
    expect(&x[0], "their square");
    OK(cls_event_destroy(forked));
    OK(cls_event_destroy(joined));
    OK(cls_graph_exec_destroy(exec));
    drop_squares(x, 4);
}

/* What another graph's launch adds to a capture. */
static void test_graphs_in_graphs(void **state) {
    (void)state;
    NEED_BLAS();
    static struct numbers x[3];
    make_squares(x, 3);
    OK(cls_stream_begin_capture(stream, "inner"));
    multiply(x[0].buffer, x[0].buffer, x[1].buffer);
    cls_graph_exec inner = rig_end_capture(stream);
    OK(cls_graph_bind(inner, x[0].buffer, x[2].buffer));
    OK(cls_stream_begin_capture(stream, "outer"));
    OK(cls_graph_launch_async(inner, stream));
    cls_graph_exec outer = rig_end_capture(stream);
    OK(cls_graph_exec_destroy(inner));
    expect_nodes(outer, 1);
    OK(cls_graph_launch(outer, stream));
    compute_square(x[2].x, x[2].x, x[1].x);
    expect(&x[1], "a graph in a graph");
    OK(cls_graph_exec_destroy(outer));
    drop_squares(x, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(f32),           TEST(f64),           TEST(other_products),
        TEST(batches),       TEST(other_buffers), TEST(update),
        TEST(late_operands), TEST(left_out),      TEST(no_launch_of_the_program),
        TEST(beside_chains), TEST(branches),      TEST(graphs_in_graphs),
    };
    setenv("CLSTREAM_GEMM", "clblast", 1);
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
