/* SPDX-License-Identifier: MIT */
/* The gradients of layer_norm and rms_norm against sums in long double, within the bounds of clstream/rows.h. */
#include "../support/effort.h"
#include "blas_values.h"

static const double EPSILON = 0x1p-17;

enum in_place { APART, IN_INPUT, IN_GRADIENT };

struct norm {
    bool by_mean; /* layer_norm */
    cls_dtype type;
    size_t rows, columns, gap, offset, step; /* the last of the vectors */
    enum in_place where;
    double middle; /* of the elements */
    double odd;    /* of `in`, in the last row, unless it is 0 */
    double odd_gradient;
    struct values in, gradient, out, gain, gain_gradient, shift_gradient;
};

static size_t place(const struct norm *n, size_t i, size_t j) {
    return n->offset + i * (n->columns + n->gap) + j;
}

static size_t place_of_column(const struct norm *n, size_t j) { return 1 + j * n->step; }

static cls_matrix view_of(const struct norm *n, const struct values *v) {
    cls_matrix m = cls_matrix_at(v->buffer, n->type, n->offset, n->rows, n->columns);
    m.ld += n->gap;
    return m;
}

static cls_vector vector_of(const struct norm *n, const struct values *v) {
    return (cls_vector){v->buffer, n->type, 1, n->columns, n->step};
}

static void open_norm(struct norm *n) {
    NEED_ROUNDING(n->type);
    const size_t count = place(n, n->rows, 0) + 1, weights = place_of_column(n, n->columns);
    n->in = values_make(n->type, count, 1);
    n->gradient = values_make(n->type, count, 2);
    n->out = values_make(n->type, count, 3);
    n->gain = values_make(n->type, weights, 4);
    n->gain_gradient = values_make(n->type, weights, 5);
    n->shift_gradient = values_make(n->type, weights, 6);
    for (size_t i = 0; i < count; i++)
        n->in.x[i] += n->middle;
    if (n->odd != 0)
        n->in.x[place(n, n->rows - 1, n->columns / 2)] = n->odd;
    if (n->odd_gradient != 0)
        n->gradient.x[place(n, n->rows - 1, n->columns / 3)] = n->odd_gradient;
    values_round(&n->in);
    upload(&n->in);
    upload(&n->gradient);
}

static void close_norm(struct norm *n) {
    values_free(&n->in);
    values_free(&n->gradient);
    values_free(&n->out);
    values_free(&n->gain);
    values_free(&n->gain_gradient);
    values_free(&n->shift_gradient);
}

static const struct values *output_of(const struct norm *n) {
    return n->where == IN_INPUT ? &n->in : n->where == IN_GRADIENT ? &n->gradient : &n->out;
}

static cls_status submit(const struct norm *n, cls_stream stream) {
    const cls_matrix in = view_of(n, &n->in), gradient = view_of(n, &n->gradient),
                     out = view_of(n, output_of(n));
    const cls_vector gain = vector_of(n, &n->gain), of_gain = vector_of(n, &n->gain_gradient),
                     of_shift = vector_of(n, &n->shift_gradient);
    return n->by_mean
               ? cls_layer_norm_gradient_async(in, gain, EPSILON, gradient, out, of_gain, of_shift,
                                               stream)
               : cls_rms_norm_gradient_async(in, gain, EPSILON, gradient, out, of_gain, stream);
}

/* --- the reference --- */

/* The means of a row, and the relative error e. */
struct means {
    long double x, size_x, scale, h, size_h, product, size_product, e;
};

/* A number, and how far the device's may be from it. */
struct expected {
    long double value, bound;
};

static long double unit_of(const struct norm *n) {
    return n->type == CLS_F64 ? DBL_EPSILON / 2 : (long double)FLT_EPSILON / 2;
}

static long double h_of(const struct norm *n, size_t i, size_t j) {
    return (long double)n->gradient.x[place(n, i, j)] * n->gain.x[place_of_column(n, j)];
}

static long double normal_of(const struct norm *n, const struct means *of, size_t i, size_t j) {
    return (n->in.x[place(n, i, j)] - of->x) * of->scale;
}

static struct means means_of(const struct norm *n, size_t i) {
    struct means of = {0};
    const long double count = (long double)n->columns;
    const double t = (double)n->columns / 1024 + 100 + log((double)n->columns);
    long double squares = 0;
    for (size_t j = 0; j < n->columns && n->by_mean; j++) {
        of.x += n->in.x[place(n, i, j)] / count;
        of.size_x += fabs(n->in.x[place(n, i, j)]) / count;
        of.h += h_of(n, i, j) / count;
    }
    for (size_t j = 0; j < n->columns; j++) {
        const long double away = n->in.x[place(n, i, j)] - of.x;
        squares += away * away / count;
    }
    of.scale = 1 / sqrtl(squares + EPSILON);
    for (size_t j = 0; j < n->columns; j++) {
        const long double product = h_of(n, i, j) * normal_of(n, &of, i, j);
        of.size_h += fabsl(h_of(n, i, j)) / count;
        of.product += product / count;
        of.size_product += fabsl(product) / count;
    }
    of.e = (t * (1 + of.size_x * of.scale) + 8) * unit_of(n);
    return of;
}

static struct expected in_gradient_of(const struct norm *n, const struct means *of, size_t i,
                                      size_t j) {
    const long double h = h_of(n, i, j), normal = normal_of(n, of, i, j);
    return (struct expected){
        (h - of->h - normal * of->product) * of->scale,
        4 * of->e * of->scale * (fabsl(h) + (1 + fabsl(normal)) * (of->size_h + of->size_product))};
}

/* Adds what a row's element gives to the gradients of its column. */
static void add_to_column(const struct norm *n, const struct means *of, size_t i, size_t j,
                          struct expected *gain, struct expected *shift) {
    const long double g = n->gradient.x[place(n, i, j)], normal = normal_of(n, of, i, j);
    const long double s = ((long double)n->rows / 1024 + 260) * unit_of(n);
    gain->value += g * normal;
    gain->bound += (of->e * (1 + fabsl(normal)) + s * fabsl(normal)) * fabsl(g);
    shift->value += g;
    shift->bound += s * fabsl(g);
}

static long double rounding(cls_dtype type, long double value) {
    return type == CLS_F16    ? fabsl(value) * 0x1p-11L + 0x1p-25L
           : type == CLS_BF16 ? fabsl(value) * 0x1p-8L + 0x1p-126L
                              : 0;
}

static bool is_near(const struct norm *n, double got, const struct expected *want) {
    const long double bound = want->bound + rounding(n->type, want->value);
    if (isnan(want->value))
        return isnan(got);
    if (isinf(want->value))
        return got == (double)want->value;
    return fabsl(got - want->value) <= bound;
}

static void refuse(const struct norm *n, const char *what, size_t i, size_t j, double got,
                   const struct expected *want) {
    fail_msg("%s of %s, %zu x %zu: %s (%zu, %zu) is %.9g, not %.9Lg within %.3Lg",
             n->by_mean ? "layer_norm" : "rms_norm", cls_dtype_name(n->type), n->rows, n->columns,
             what, i, j, got, want->value, want->bound);
}

/* What is compared becomes what the host has; then nothing else may differ. */
static void expect_rest(const char *what, const struct values *v, double *got) {
    for (size_t i = 0; i < v->count; i++)
        if (memcmp(&got[i], &v->x[i], sizeof got[i]) != 0)
            fail_msg("element %zu beside %s has changed", i, what);
    free(got);
}

static void expect_vector(const struct norm *n, const char *what, const struct values *v,
                          const struct expected *want) {
    double *const got = download(v);
    for (size_t j = 0; j < n->columns; j++) {
        double *const at = &got[place_of_column(n, j)];
        if (!is_near(n, *at, &want[j]))
            refuse(n, what, 0, j, *at, &want[j]);
        *at = v->x[place_of_column(n, j)];
    }
    expect_rest(what, v, got);
}

static void expect(const struct norm *n) {
    const struct values *const v = output_of(n);
    double *const got = download(v);
    struct expected *const gain = calloc(n->columns + 1, sizeof *gain);
    struct expected *const shift = calloc(n->columns + 1, sizeof *shift);
    assert_true(gain && shift);
    for (size_t i = 0; i < n->rows; i++) {
        const struct means of = means_of(n, i);
        for (size_t j = 0; j < n->columns; j++) {
            const struct expected want = in_gradient_of(n, &of, i, j);
            double *const at = &got[place(n, i, j)];
            if (!is_near(n, *at, &want))
                refuse(n, "in_gradient", i, j, *at, &want);
            *at = v->x[place(n, i, j)];
            add_to_column(n, &of, i, j, &gain[j], &shift[j]);
        }
    }
    expect_rest("in_gradient", v, got);
    expect_vector(n, "gain_gradient", &n->gain_gradient, gain);
    if (n->by_mean)
        expect_vector(n, "shift_gradient", &n->shift_gradient, shift);
    free(gain);
    free(shift);
}

static void check(struct norm n) {
    n.step = n.step ? n.step : 1;
    open_norm(&n);
    OK(submit(&n, NULL));
    OK(cls_stream_synchronize(NULL));
    expect(&n);
    close_norm(&n);
}

/* --- tests --- */

/* Rows that a team of each size keeps, and longer ones. */
static void rows_of_every_length(bool by_mean, cls_dtype type, size_t most) {
    static const size_t lengths[] = {1, 2, 10, 16, 31, 100, 1024, 2050, 4100, 8192, 9001, 20000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths && lengths[i] <= most; i++) {
        const size_t columns = lengths[i], rows = columns > 2000 ? 3 : 41;
        check((struct norm){by_mean, type, rows, columns, .middle = 3});
        check((struct norm){by_mean, type, 5, columns, i % 3, 3, 1 + i % 2, (enum in_place)(i % 3),
                            .middle = 0});
    }
}

static void layer_norm(void **state) {
    (void)state;
    if (device_is_oclgrind())
        SKIP_BECAUSE("rows of these lengths take minutes in an interpreter");
    rows_of_every_length(true, CLS_F32, 20000);
}

static void rms_norm(void **state) {
    (void)state;
    if (device_is_oclgrind())
        SKIP_BECAUSE("rows of these lengths take minutes in an interpreter");
    rows_of_every_length(false, CLS_F32, 20000);
}

static void other_types(void **state) {
    static const cls_dtype types[] = {CLS_F16, CLS_BF16, CLS_F64};
    (void)state;
    for (int t = 0; t < 3; t++)
        for (int by_mean = 0; by_mean < 2; by_mean++)
            if (effort_is_long() || t % 2 == by_mean)
                if (types[t] != CLS_F64 || device_has_f64())
                    rows_of_every_length(by_mean, types[t], effort_is_long() ? 20000 : 1024);
}

/* So many that parts of them are merged twice, on CPUs and on GPUs, and three times. */
static void many_rows(void **state) {
    (void)state;
    if (device_is_oclgrind())
        SKIP_BECAUSE("so many rows take minutes in an interpreter");
    check((struct norm){true, CLS_F32, 4099, 7, .middle = 1});
    check((struct norm){false, CLS_F32, 30011, 3, 2, 1, .middle = 0});
    check((struct norm){true, CLS_F16, 30011, 5, .middle = 0});
    check((struct norm){true, CLS_F32, 270001, 2, .middle = -2});
}

/* Their sums lose no more digits than few. */
static void sums_of_equal_terms(void **state) {
    enum { ROWS = 300000, COLUMNS = 2 };
    struct norm n = {true, CLS_F32, ROWS, COLUMNS, .step = 1};
    (void)state;
    if (device_is_oclgrind())
        SKIP_BECAUSE("so many rows take minutes in an interpreter");
    open_norm(&n);
    for (size_t i = 0; i < n.gradient.count; i++)
        n.gradient.x[i] = 0.1f;
    upload(&n.gradient);
    OK(submit(&n, NULL));
    OK(cls_stream_synchronize(NULL));
    expect(&n);
    close_norm(&n);
}

static void rows_far_from_zero(void **state) {
    (void)state;
    check((struct norm){true, CLS_F32, 5, 1000, .middle = 1e2});
    check((struct norm){false, CLS_F32, 5, 1000, .middle = 1e15});
}

static void elements_that_are_not_finite(void **state) {
    (void)state;
    for (int by_mean = 0; by_mean < 2; by_mean++) {
        check((struct norm){by_mean, CLS_F32, 70, 20, .odd = NAN});
        check((struct norm){by_mean, CLS_F32, 3, 20, .odd = INFINITY});
        check((struct norm){by_mean, CLS_F32, 3, 20, .odd_gradient = NAN});
        check((struct norm){by_mean, CLS_F32, 3, 20, .odd_gradient = -INFINITY});
    }
}

static void no_rows_and_no_columns(void **state) {
    (void)state;
    check((struct norm){true, CLS_F32, 0, 100, .step = 2});
    check((struct norm){false, CLS_F16, 0, 3, .offset = 1});
    check((struct norm){true, CLS_F32, 5, 0, .step = 1});
    check((struct norm){true, CLS_F32, 0, 0, .step = 1});
}

/* The order of the sums is the same from call to call. */
static void same_bits_again(void **state) {
    struct norm n = {true, CLS_F32, 1009, 33, .step = 1};
    (void)state;
    open_norm(&n);
    OK(submit(&n, NULL));
    double *const first = download(&n.gain_gradient);
    OK(submit(&n, NULL));
    double *const second = download(&n.gain_gradient);
    assert_memory_equal(first, second, n.gain_gradient.count * sizeof *first);
    free(first);
    free(second);
    close_norm(&n);
}

static void malformed_calls(void **state) {
    (void)state;
    NEED_ROUNDING(CLS_F32);
    struct values v = values_make(CLS_F32, 100, 1);
    const cls_matrix x = cls_matrix_of(v.buffer, CLS_F32, 4, 4),
                     g = cls_matrix_at(v.buffer, CLS_F32, 16, 4, 4),
                     out = cls_matrix_at(v.buffer, CLS_F32, 32, 4, 4);
    const cls_vector gain = {v.buffer, CLS_F32, 60, 4, 1}, a = {v.buffer, CLS_F32, 64, 4, 1},
                     b = {v.buffer, CLS_F32, 68, 4, 1};
    cls_matrix none = x, m = out;
    cls_vector w = a;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_layer_norm_gradient(x, gain, -1, g, out, a, b, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_rms_norm_gradient(x, gain, NAN, g, out, a, NULL));
    m.rows = 3;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_rms_norm_gradient(x, gain, 1, g, m, a, NULL));
    w.count = 3;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_layer_norm_gradient(x, gain, 1, g, out, a, w, NULL));
    w = a;
    w.dtype = CLS_F16;
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_layer_norm_gradient(x, gain, 1, g, out, w, b, NULL));
    EXPECT(CLS_ERROR_OVERLAP, cls_layer_norm_gradient(x, gain, 1, g, out, a, a, NULL));
    EXPECT(CLS_ERROR_OVERLAP, cls_layer_norm_gradient(x, gain, 1, g, out, gain, b, NULL));
    w.dtype = CLS_F32;
    w.offset = 40;
    EXPECT(CLS_ERROR_OVERLAP, cls_rms_norm_gradient(x, gain, 1, g, out, w, NULL));
    none.rows = 0;
    EXPECT(CLS_ERROR_OVERLAP, cls_layer_norm_gradient(none, gain, 1, none, none, gain, b, NULL));
    check_values("left alone", &v, 0);
    values_free(&v);
}

/* A launch of the captured call reads what is there then. */
static void graphs(void **state) {
    (void)state;
    struct norm n = {true, CLS_F32, 10, 12, .step = 1};
    cls_stream stream;
    cls_graph graph;
    cls_graph_exec exec;
    open_norm(&n);
    OK(cls_stream_create(NULL, NULL, &stream));
    OK(cls_stream_begin_capture(stream, "norm"));
    OK(submit(&n, stream));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    for (int launch = 0; launch < 2; launch++) {
        n.in.x[3] += 1;
        n.gradient.x[1] -= 1;
        upload(&n.in);
        upload(&n.gradient);
        OK(cls_graph_launch(exec, stream));
        OK(cls_stream_synchronize(stream));
        expect(&n);
    }
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    OK(cls_stream_destroy(stream));
    close_norm(&n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layer_norm),
        cmocka_unit_test(rms_norm),
        cmocka_unit_test(other_types),
        cmocka_unit_test(many_rows),
        cmocka_unit_test(sums_of_equal_terms),
        cmocka_unit_test(rows_far_from_zero),
        cmocka_unit_test(elements_that_are_not_finite),
        cmocka_unit_test(no_rows_and_no_columns),
        cmocka_unit_test(same_bits_again),
        cmocka_unit_test(malformed_calls),
        cmocka_unit_test(graphs),
    };
    prepare_tests();
    return cmocka_run_group_tests_name("norm_gradient", tests, NULL, NULL);
}
