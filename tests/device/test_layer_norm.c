/* SPDX-License-Identifier: MIT */
/*
 * Rows normalized by mean and variance, or by their mean square, against sums in double precision and within the bounds
 * of clstream/rows.h.
 */
#include "../support/effort.h"
#include "blas_values.h"

enum { MOST_COLUMNS = 40000 };

static const double EPSILON = 0x1p-17;

struct norm {
    bool by_mean; /* layer_norm */
    cls_dtype type;
    size_t rows, columns, gap, offset, step; /* the last of gain and shift */
    bool in_place;
    double middle; /* of the elements */
    double odd;    /* one of them in row 0, unless it is 0 */
    struct values in, out, gain, shift;
};

static size_t place(const struct norm *n, size_t i, size_t j) {
    return n->offset + i * (n->columns + n->gap) + j;
}

static cls_matrix view_of(const struct norm *n, const struct values *v) {
    cls_matrix m = cls_matrix_at(v->buffer, n->type, n->offset, n->rows, n->columns);
    m.ld += n->gap;
    return m;
}

static void open_norm(struct norm *n) {
    NEED_ROUNDING(n->type);
    const size_t count = place(n, n->rows, 0) + 1;
    n->in = values_make(n->type, count, 1);
    n->out = values_make(n->type, count, 2);
    n->gain = values_make(n->type, 1 + n->columns * n->step, 3);
    n->shift = values_make(n->type, 1 + n->columns * n->step, 4);
    for (size_t i = 0; i < count; i++)
        n->in.x[i] += n->middle;
    if (n->odd != 0)
        n->in.x[place(n, 0, n->columns / 2)] = n->odd;
    values_round(&n->in);
    upload(&n->in);
}

static void close_norm(struct norm *n) {
    values_free(&n->in);
    values_free(&n->out);
    values_free(&n->gain);
    values_free(&n->shift);
}

static cls_status submit(const struct norm *n, cls_stream stream) {
    const cls_vector gain = {n->gain.buffer, n->type, 1, n->columns, n->step},
                     shift = {n->shift.buffer, n->type, 1, n->columns, n->step};
    const cls_matrix in = view_of(n, &n->in), out = n->in_place ? in : view_of(n, &n->out);
    return n->by_mean ? cls_layer_norm_async(in, gain, shift, EPSILON, out, stream)
                      : cls_rms_norm_async(in, gain, EPSILON, out, stream);
}

/* --- the reference --- */

struct sums {
    double mean, size, scale; /* size: the mean of |x| */
};

static struct sums sums_of(const struct norm *n, size_t i) {
    struct sums sums = {0, 0, 0};
    double squares = 0;
    for (size_t j = 0; j < n->columns; j++) {
        sums.mean += n->in.x[place(n, i, j)] / (double)n->columns;
        sums.size += fabs(n->in.x[place(n, i, j)]) / (double)n->columns;
    }
    sums.mean = n->by_mean ? sums.mean : 0;
    for (size_t j = 0; j < n->columns; j++)
        squares += pow(n->in.x[place(n, i, j)] - sums.mean, 2) / (double)n->columns;
    sums.scale = 1 / sqrt(squares + EPSILON);
    return sums;
}

static double bound_of(const struct norm *n, double x, double gain, double shift,
                       const struct sums *sums) {
    const double u = n->type == CLS_F64 ? DBL_EPSILON / 2 : (double)FLT_EPSILON / 2;
    const double t = (double)n->columns / 1024 + 100 + log((double)n->columns);
    const double away = fabs(x - sums->mean), r = sums->scale;
    if (!n->by_mean)
        return fabs(gain * x) * r * (t + 8) * u;
    return fabs(gain) * r * (t * u * sums->size * (1 + away * r) + (t + 8) * u * (away + fabs(x))) +
           4 * u * fabs(shift);
}

static double rounding(cls_dtype type, double value) {
    return type == CLS_F16    ? fabs(value) * 0x1p-11 + 0x1p-25
           : type == CLS_BF16 ? fabs(value) * 0x1p-8 + 0x1p-126
                              : 0;
}

static void expect(const struct norm *n) {
    const struct values *const v = n->in_place ? &n->in : &n->out;
    double *const got = download(v);
    for (size_t i = 0; i < n->rows; i++) {
        const struct sums sums = sums_of(n, i);
        for (size_t j = 0; j < n->columns; j++) {
            const double x = n->in.x[place(n, i, j)], gain = n->gain.x[1 + j * n->step];
            const double shift = n->by_mean ? n->shift.x[1 + j * n->step] : 0;
            const double want = gain * ((x - sums.mean) * sums.scale) + shift;
            const double bound = bound_of(n, x, gain, shift, &sums) + rounding(n->type, want);
            double *const at = &got[place(n, i, j)];
            if (isnan(want) ? !isnan(*at) : !(fabs(*at - want) <= bound))
                fail_msg("%s of %s, %zu x %zu: (%zu, %zu) is %.9g, not %.9g within %.3g",
                         n->by_mean ? "layer_norm" : "rms_norm", cls_dtype_name(n->type), n->rows,
                         n->columns, i, j, *at, want, bound);
            *at = v->x[place(n, i, j)];
        }
    }
    for (size_t i = 0; i < v->count; i++)
        if (memcmp(&got[i], &v->x[i], sizeof got[i]) != 0)
            fail_msg("element %zu beside the matrix has changed", i);
    free(got);
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

static void rows_of_every_length(bool by_mean, cls_dtype type, size_t most) {
    static const size_t lengths[] = {1, 2, 10, 16, 31, 100, 1024, 4100, 9001, 20000, MOST_COLUMNS};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths && lengths[i] <= most; i++) {
        const size_t columns = lengths[i], rows = columns > 4000 ? 2 : 37;
        check((struct norm){by_mean, type, rows, columns, .middle = 3});
        check(
            (struct norm){by_mean, type, 3, columns, i % 3, 3, 1 + i % 2, i % 2 == 0, .middle = 0});
    }
    if (most > 9008) /* of which each team takes several */
        check((struct norm){by_mean, type, rows_for_rounds(), 9008, 16, .middle = 3});
}

static void layer_norm(void **state) {
    (void)state;
    if (device_is_oclgrind())
        SKIP_BECAUSE("rows of these lengths take minutes in an interpreter");
    rows_of_every_length(true, CLS_F32, MOST_COLUMNS);
}

static void rms_norm(void **state) {
    (void)state;
    if (device_is_oclgrind())
        SKIP_BECAUSE("rows of these lengths take minutes in an interpreter");
    rows_of_every_length(false, CLS_F32, MOST_COLUMNS);
}

static void other_types(void **state) {
    static const cls_dtype types[] = {CLS_F16, CLS_BF16, CLS_F64};
    (void)state;
    for (int t = 0; t < 3; t++)
        for (int by_mean = 0; by_mean < 2; by_mean++)
            if (effort_is_long() || t % 2 == by_mean)
                if (types[t] != CLS_F64 || device_has_f64())
                    rows_of_every_length(by_mean, types[t], effort_is_long() ? MOST_COLUMNS : 1024);
}

/* A large mean costs no more digits than it takes from the elements themselves. */
static void rows_far_from_zero(void **state) {
    (void)state;
    check((struct norm){true, CLS_F32, 5, 1000, .middle = 1e4});
    check((struct norm){true, CLS_F32, 5, 1000, .middle = -1e6});
    check((struct norm){false, CLS_F32, 5, 1000, .middle = 1e15});
}

static void rows_that_are_not_finite(void **state) {
    (void)state;
    check((struct norm){true, CLS_F32, 3, 20, .odd = NAN});
    check((struct norm){true, CLS_F32, 3, 20, .odd = INFINITY});
    check((struct norm){true, CLS_F32, 3, 20, .odd = -INFINITY});
    check((struct norm){false, CLS_F32, 3, 20, .odd = NAN});
    check((struct norm){false, CLS_F32, 3, 20, .odd = -INFINITY});
}

static void malformed_calls(void **state) {
    (void)state;
    NEED_ROUNDING(CLS_F32);
    struct values v = values_make(CLS_F32, 64, 1);
    const cls_matrix a = cls_matrix_of(v.buffer, CLS_F32, 4, 4),
                     b = cls_matrix_at(v.buffer, CLS_F32, 16, 4, 4);
    const cls_vector good = {v.buffer, CLS_F32, 40, 4, 1};
    cls_vector w = good;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_layer_norm(a, good, good, -1, b, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_rms_norm(a, good, NAN, b, NULL));
    w.dtype = CLS_F16;
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_layer_norm(a, good, w, 1, b, NULL));
    w = good;
    w.count = 3;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_rms_norm(a, w, 1, b, NULL));
    w = good;
    w.offset = 30;
    EXPECT(CLS_ERROR_OVERLAP, cls_rms_norm(a, w, 1, b, NULL));
    OK(cls_rms_norm(cls_matrix_of(v.buffer, CLS_F32, 0, 4), good, 1,
                    cls_matrix_of(v.buffer, CLS_F32, 0, 4), NULL));
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
    n.in.x[3] += 1;
    n.shift.x[1] -= 1;
    upload(&n.in);
    upload(&n.shift);
    OK(cls_graph_launch(exec, stream));
    OK(cls_stream_synchronize(stream));
    expect(&n);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    OK(cls_stream_destroy(stream));
    close_norm(&n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layer_norm),      cmocka_unit_test(rms_norm),
        cmocka_unit_test(other_types),     cmocka_unit_test(rows_far_from_zero),
        cmocka_unit_test(malformed_calls), cmocka_unit_test(rows_that_are_not_finite),
        cmocka_unit_test(graphs),
    };
    prepare_tests();
    return cmocka_run_group_tests_name("layer_norm", tests, NULL, NULL);
}
