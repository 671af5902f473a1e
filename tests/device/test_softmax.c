/* SPDX-License-Identifier: MIT */
/*
 * Softmax, log-softmax, their gradients and cross entropy along rows, against sums in double precision and within the
 * bounds of clstream/rows.h: rows of every length, views within buffers, rows that are not finite, labels that are none.
 */
#include "../support/effort.h"
#include "blas_values.h"

enum op { SOFTMAX, LOG_SOFTMAX, SOFTMAX_GRADIENT, LOG_SOFTMAX_GRADIENT, LOSS, LOSS_GRADIENT, OPS };

static const char *const op_names[OPS] = {"softmax",          "log_softmax",
                                          "softmax_gradient", "log_softmax_gradient",
                                          "cross_entropy",    "cross_entropy_gradient"};

/* A view of a matrix within a buffer: rows are `columns` + `gap` apart. */
struct layout {
    size_t rows, columns, gap, offset;
    bool in_place;
};

struct work {
    enum op op;
    cls_dtype type;
    struct layout at;
    struct values in, second, out, losses;
    cls_buffer labels;
    uint32_t *label; /* of each row */
    double factor;
};

static bool takes_two(enum op op) { return op == SOFTMAX_GRADIENT || op == LOG_SOFTMAX_GRADIENT; }
static bool has_labels(enum op op) { return op >= LOSS; }
static bool writes_matrix(enum op op) { return op != LOSS; }

static size_t place(const struct work *work, size_t i, size_t j) {
    return work->at.offset + i * (work->at.columns + work->at.gap) + j;
}

static cls_matrix view_of(const struct work *work, const struct values *v) {
    cls_matrix m =
        cls_matrix_at(v->buffer, work->type, work->at.offset, work->at.rows, work->at.columns);
    m.ld += work->at.gap;
    return m;
}

/* --- numbers --- */

static uint32_t next(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Scores of small and of large magnitude, in turn, with some of -infinity; probabilities are from 0 to 1. */
static void draw(struct values *v, enum op op, const struct layout *at, unsigned seed) {
    uint32_t state = seed;
    for (size_t i = 0; i < v->count; i++) {
        const double x = (double)next(&state) / (1 << 24);
        const double reach = i / (at->columns + at->gap) % 3 == 2 ? 200 : 8;
        v->x[i] = op == SOFTMAX_GRADIENT       ? x
                  : op == LOG_SOFTMAX_GRADIENT ? -10 * x
                                               : reach * (2 * x - 1);
        if (!takes_two(op) && at->columns > 3 && next(&state) % 16 == 0)
            v->x[i] = -INFINITY;
    }
    values_round(v);
    upload(v);
}

static void open_labels(struct work *work, unsigned seed) {
    const size_t rows = work->at.rows;
    uint32_t state = seed;
    work->label = malloc((rows + 1) * sizeof *work->label);
    assert_non_null(work->label);
    for (size_t i = 0; i < rows; i++) {
        work->label[i] = next(&state) % (uint32_t)work->at.columns;
        if (next(&state) % 8 == 0)
            work->label[i] = UINT32_MAX;
    }
    OK(cls_buffer_create(NULL, (rows + 1) * sizeof *work->label, &work->labels));
}

static void open_work(struct work *work) {
    NEED_ROUNDING(work->type);
    const struct layout *at = &work->at;
    const size_t count = place(work, at->rows, 0) + 1;
    const cls_dtype wide = work->type == CLS_F64 ? CLS_F64 : CLS_F32;
    work->in = values_make(work->type, count, 1);
    work->second = values_make(work->type, count, 2);
    work->out = values_make(work->type, count, 3);
    work->losses = values_make(wide, 2 * at->rows + 1, 4);
    draw(&work->in, work->op, at, 5);
    open_labels(work, 6);
}

static void close_work(struct work *work) {
    struct values *const all[] = {&work->in, &work->second, &work->out, &work->losses};
    for (int i = 0; i < 4; i++)
        values_free(all[i]);
    OK(cls_buffer_destroy(work->labels));
    free(work->label);
}

/* --- the call --- */

static cls_status submit(const struct work *work, cls_stream stream) {
    const cls_matrix in = view_of(work, &work->in), second = view_of(work, &work->second);
    const cls_matrix out = work->at.in_place ? in : view_of(work, &work->out);
    const cls_vector labels = {work->labels, work->at.rows % 2 ? CLS_I32 : CLS_U32, 0,
                               work->at.rows, 1};
    const cls_vector losses = {work->losses.buffer, work->losses.type, 1, work->at.rows, 2};
    switch (work->op) {
    case SOFTMAX:
        return cls_softmax_async(in, out, stream);
    case LOG_SOFTMAX:
        return cls_log_softmax_async(in, out, stream);
    case SOFTMAX_GRADIENT:
        return cls_softmax_gradient_async(in, second, out, stream);
    case LOG_SOFTMAX_GRADIENT:
        return cls_log_softmax_gradient_async(in, second, out, stream);
    case LOSS:
        return cls_cross_entropy_async(in, labels, losses, stream);
    default:
        return cls_cross_entropy_gradient_async(in, labels, losses, out, work->factor, stream);
    }
}

/* --- the reference --- */

struct sums {
    double m, s, magnitude; /* the last with two inputs */
};

static struct sums sums_of(const struct work *work, size_t i) {
    struct sums sums = {-INFINITY, 0, 0};
    bool has_nan = false;
    for (size_t j = 0; j < work->at.columns; j++) {
        const double x = work->in.x[place(work, i, j)];
        sums.m = x > sums.m ? x : sums.m;
        has_nan = has_nan || isnan(x);
    }
    for (size_t j = 0; j < work->at.columns; j++) {
        const double x = work->in.x[place(work, i, j)], g = work->second.x[place(work, i, j)];
        const double term = work->op == SOFTMAX_GRADIENT ? x * g : g;
        sums.s += takes_two(work->op) ? term : exp(x - sums.m);
        sums.magnitude += fabs(term);
    }
    if (has_nan)
        sums.m = NAN;
    return sums;
}

struct result {
    double value, bound;
};

static double half_unit(const struct work *work) {
    return work->type == CLS_F64 ? DBL_EPSILON / 2 : (double)FLT_EPSILON / 2;
}

static double terms(const struct work *work) {
    const double n = (double)work->at.columns;
    return n / 1024 + 100 + (takes_two(work->op) ? 0 : log(n));
}

/* By a last rounding to 16 bits. */
static double rounding(cls_dtype type, double value) {
    return type == CLS_F16    ? fabs(value) * 0x1p-11 + 0x1p-25
           : type == CLS_BF16 ? fabs(value) * 0x1p-8 + 0x1p-126
                              : 0;
}

static struct result probability(const struct work *work, double x, const struct sums *sums) {
    const double least = work->type == CLS_F64 ? DBL_MIN : (double)FLT_MIN;
    const double value = exp(x - sums->m) / sums->s;
    const double far = isinf(x) ? 0 : sums->m - x;
    return (struct result){value, value * (far + terms(work)) * half_unit(work) + least};
}

static struct result logarithm(const struct work *work, double x, const struct sums *sums) {
    const double far = isinf(x) ? 0 : sums->m - x;
    return (struct result){x - sums->m - log(sums->s), (terms(work) + 4 * far) * half_unit(work)};
}

static struct result gradient(const struct work *work, double y, double g,
                              const struct sums *sums) {
    const double scale = work->op == SOFTMAX_GRADIENT ? y : exp(y), u = half_unit(work);
    const double value = work->op == SOFTMAX_GRADIENT ? y * (g - sums->s) : g - scale * sums->s;
    const double parts =
        (work->op == SOFTMAX_GRADIENT ? fabs(y * g) : fabs(g)) + fabs(scale * sums->s);
    return (struct result){value, terms(work) * u * sums->magnitude * fabs(scale) +
                                      (8 + fabs(y)) * u * parts};
}

static struct result element_of(const struct work *work, size_t i, size_t j,
                                const struct sums *sums) {
    const double x = work->in.x[place(work, i, j)], g = work->second.x[place(work, i, j)];
    if (takes_two(work->op))
        return gradient(work, x, g, sums);
    if (work->op == LOG_SOFTMAX)
        return logarithm(work, x, sums);
    struct result result = probability(work, x, sums);
    if (work->op == SOFTMAX)
        return result;
    const uint32_t label = work->label[i];
    if (label >= work->at.columns)
        return (struct result){label == UINT32_MAX ? 0 : NAN, 0};
    result.value = work->factor * (result.value - (label == j));
    result.bound = fabs(work->factor) * (result.bound + 2 * half_unit(work));
    return result;
}

static struct result loss_of(const struct work *work, size_t i, const struct sums *sums) {
    const uint32_t label = work->label[i];
    if (label >= work->at.columns)
        return (struct result){label == UINT32_MAX ? 0 : NAN, 0};
    struct result result = logarithm(work, work->in.x[place(work, i, label)], sums);
    result.value = -result.value;
    return result;
}

static void expect_result(const struct work *work, const char *what, size_t i, size_t j, double got,
                          struct result want) {
    if (isnan(want.value) ? isnan(got) : got == want.value || fabs(got - want.value) <= want.bound)
        return;
    fail_msg("%s_%s of %zu x %zu: %s (%zu, %zu) is %.9g, not %.9g within %.3g", op_names[work->op],
             cls_dtype_name(work->type), work->at.rows, work->at.columns, what, i, j, got,
             want.value, want.bound);
}

static void expect_matrix(const struct work *work) {
    const struct values *const v = work->at.in_place ? &work->in : &work->out;
    double *const got = download(v);
    for (size_t i = 0; i < work->at.rows; i++) {
        const struct sums sums = sums_of(work, i);
        for (size_t j = 0; j < work->at.columns; j++) {
            struct result want = element_of(work, i, j, &sums);
            want.bound += rounding(work->type, want.value);
            expect_result(work, "element", i, j, got[place(work, i, j)], want);
            got[place(work, i, j)] = v->x[place(work, i, j)];
        }
    }
    for (size_t i = 0; i < v->count; i++)
        if (memcmp(&got[i], &v->x[i], sizeof got[i]) != 0)
            fail_msg("%s: element %zu beside the matrix has changed", op_names[work->op], i);
    free(got);
}

static void expect_losses(const struct work *work) {
    double *const got = download(&work->losses);
    for (size_t i = 0; i < work->at.rows; i++) {
        const struct sums sums = sums_of(work, i);
        expect_result(work, "loss", i, 0, got[1 + 2 * i], loss_of(work, i, &sums));
        assert_true(got[2 * i] == work->losses.x[2 * i]);
    }
    free(got);
}

static void run(struct work *work) {
    OK(cls_copy_h2d(work->labels, 0, work->label, work->at.rows * sizeof *work->label, NULL));
    upload(&work->in);
    OK(submit(work, NULL));
    OK(cls_stream_synchronize(NULL));
    if (writes_matrix(work->op))
        expect_matrix(work);
    if (has_labels(work->op))
        expect_losses(work);
}

static void check(enum op op, cls_dtype type, struct layout at) {
    struct work work = {.op = op, .type = type, .at = at, .factor = 0.25};
    open_work(&work);
    run(&work);
    close_work(&work);
}

/* --- tests --- */

/* Of all ways that a device may take: teams of 1 to 256 items, whole groups, rows in local memory or that are read
 * twice. */
static const size_t lengths[] = {1,   2,    3,    10,   16,   31,    64,
                                 100, 1000, 1024, 4100, 9001, 20000, 40000};

static void rows_of_every_length(enum op op, cls_dtype type, bool all) {
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const size_t n = lengths[i];
        if (n > 1024 && !all)
            continue;
        check(op, type, (struct layout){n > 4000 ? 2 : 37, n, 0, 0, false});
        check(op, type, (struct layout){n > 4000 ? 1 : 5, n, i % 3, 3, i % 2 == 0});
    }
    check(op, type, (struct layout){3, 64, 64, 64, false}); /* aligned, within a matrix */
    if (all)                                                /* of which each team takes several */
        check(op, type, (struct layout){rows_for_rounds(), 9008, 16, 0, true});
}

static void f32(void **state) {
    const enum op op = *(const enum op *)*state;
    if (device_is_oclgrind())
        SKIP_BECAUSE("rows of these lengths take minutes in an interpreter");
    rows_of_every_length(op, CLS_F32, true);
}

/* A type for each operation, all with TEST_EFFORT=long. */
static void other_types(void **state) {
    static const cls_dtype types[] = {CLS_F16, CLS_BF16, CLS_F64};
    (void)state;
    if (device_is_oclgrind())
        SKIP_BECAUSE("rows of these lengths take minutes in an interpreter");
    for (int op = 0; op < OPS; op++)
        for (int t = 0; t < 3; t++)
            if (effort_is_long() || (op % 3 == t && op != LOG_SOFTMAX_GRADIENT))
                if (types[t] != CLS_F64 || device_has_f64())
                    rows_of_every_length((enum op)op, types[t], effort_is_long());
}

/* Row i % 6 is as it was drawn, or has one element that decides it, or has no other than -infinity. */
static void rows_that_are_not_finite(void **state) {
    static const enum op ops[] = {SOFTMAX, LOG_SOFTMAX, LOSS_GRADIENT};
    static const double odd[] = {0, NAN, INFINITY, 0, -INFINITY, 1e30};
    (void)state;
    for (int k = 0; k < 3; k++)
        for (size_t n = 5; n <= 65; n += 60) {
            struct work work = {
                .op = ops[k], .type = CLS_F32, .at = {12, n, 1, 1, false}, .factor = 1};
            open_work(&work);
            for (size_t i = 0; i < 12; i++)
                for (size_t j = 0; j < n; j++) {
                    double *const x = &work.in.x[place(&work, i, j)];
                    if (i % 6 == 3)
                        *x = -INFINITY;
                    else if (i % 6 && j == i % n)
                        *x = odd[i % 6];
                    else if (i % 6 == 5)
                        *x = -1e30;
                }
            values_round(&work.in);
            run(&work);
            close_work(&work);
        }
}

static void labels_that_are_no_column(void **state) {
    (void)state;
    for (size_t rows = 7; rows <= 8; rows++) {
        struct work work = {.op = LOSS_GRADIENT, .type = CLS_F32, .at = {rows, 10, 0, 0, true}};
        const uint32_t odd[] = {10, UINT32_MAX, 11, 1u << 31, UINT32_MAX - 1, 9, 0};
        work.factor = -2;
        open_work(&work);
        memcpy(work.label, odd, sizeof odd);
        work.in.x[place(&work, 1, 3)] = NAN; /* in a row that is left out */
        run(&work);
        close_work(&work);
    }
}

static void nothing_to_do(void **state) {
    (void)state;
    NEED_ROUNDING(CLS_F32);
    struct values v = values_make(CLS_F32, 16, 1);
    const cls_matrix none = cls_matrix_of(v.buffer, CLS_F32, 0, 4),
                     narrow = cls_matrix_of(v.buffer, CLS_F32, 4, 0);
    const cls_vector no_rows = cls_vector_of(v.buffer, CLS_F32, 0),
                     no_labels = cls_vector_of(v.buffer, CLS_I32, 0),
                     labels = cls_vector_of(v.buffer, CLS_I32, 4);
    OK(cls_softmax(none, none, NULL));
    OK(cls_log_softmax(narrow, narrow, NULL));
    OK(cls_softmax_gradient(narrow, narrow, narrow, NULL));
    OK(cls_cross_entropy(none, no_labels, no_rows, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_cross_entropy(narrow, labels, cls_vector_of(v.buffer, CLS_F32, 4), NULL));
    check_values("left alone", &v, 0);
    values_free(&v);
}

static void malformed_calls(void **state) {
    (void)state;
    NEED_ROUNDING(CLS_F32);
    struct values v = values_make(CLS_F32, 64, 1);
    const cls_matrix a = cls_matrix_of(v.buffer, CLS_F32, 4, 4),
                     b = cls_matrix_at(v.buffer, CLS_F32, 16, 4, 4);
    const cls_vector labels = {v.buffer, CLS_I32, 32, 4, 1}, losses = {v.buffer, CLS_F32, 40, 4, 1};
    cls_matrix m = b;
    cls_vector w = losses;
    m.dtype = CLS_I32;
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_softmax(a, m, NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_softmax(m, m, NULL));
    m = cls_matrix_at(v.buffer, CLS_F32, 2, 4, 4);
    EXPECT(CLS_ERROR_OVERLAP, cls_softmax(a, m, NULL));
    m = a;
    m.ld = 5;
    EXPECT(CLS_ERROR_OVERLAP, cls_softmax(a, m, NULL));
    EXPECT(CLS_ERROR_OVERLAP, cls_softmax_gradient(b, a, m, NULL));
    w.offset = 17;
    EXPECT(CLS_ERROR_OVERLAP, cls_cross_entropy_gradient(a, labels, w, b, 1, NULL));
    w.offset = 1;
    EXPECT(CLS_ERROR_OVERLAP, cls_cross_entropy(a, labels, w, NULL));
    w = losses;
    w.dtype = CLS_F16;
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_cross_entropy(a, labels, w, NULL));
    w = labels;
    w.dtype = CLS_I64;
    w.offset = 20;
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_cross_entropy(a, w, losses, NULL));
    m = a;
    m.columns = 3;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_softmax(a, m, NULL));
    m.columns = m.ld = (size_t)1 << 40;
    m.rows = 4;
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_softmax(m, m, NULL));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_cross_entropy(m, labels, losses, NULL));
    check_values("left alone", &v, 0);
    values_free(&v);
}

/* Matrices beside each other in the same rows share no element. */
static void matrices_beside_each_other(void **state) {
    (void)state;
    struct work work = {.op = SOFTMAX, .type = CLS_F32, .at = {9, 8, 8, 0, false}};
    open_work(&work);
    cls_matrix in = view_of(&work, &work.in), out = in;
    out.offset = 8;
    OK(cls_softmax(in, out, NULL));
    double *const got = download(&work.in);
    for (size_t i = 0; i < 9; i++) {
        const struct sums sums = sums_of(&work, i);
        for (size_t j = 0; j < 8; j++)
            expect_result(&work, "element", i, j, got[place(&work, i, j) + 8],
                          probability(&work, work.in.x[place(&work, i, j)], &sums));
    }
    free(got);
    close_work(&work);
}

/* A launch of the captured call reads the scores and labels that are there then. */
static void graphs(void **state) {
    (void)state;
    struct work work = {
        .op = LOSS_GRADIENT, .type = CLS_F32, .at = {10, 10, 0, 0, false}, .factor = 0.1};
    cls_stream stream;
    cls_graph graph;
    cls_graph_exec exec;
    open_work(&work);
    OK(cls_stream_create(NULL, NULL, &stream));
    OK(cls_stream_begin_capture(stream, "loss"));
    OK(submit(&work, stream));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    for (unsigned i = 0; i < 2; i++) {
        draw(&work.in, work.op, &work.at, 10 + i);
        work.label[i] = 3;
        OK(cls_copy_h2d(work.labels, 0, work.label, 10 * sizeof *work.label, NULL));
        OK(cls_graph_launch(exec, stream));
        OK(cls_stream_synchronize(stream));
        expect_matrix(&work);
        expect_losses(&work);
    }
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    OK(cls_stream_destroy(stream));
    close_work(&work);
}

int main(void) {
    static const enum op ops[OPS] = {SOFTMAX, LOG_SOFTMAX,  SOFTMAX_GRADIENT, LOG_SOFTMAX_GRADIENT,
                                     LOSS,    LOSS_GRADIENT};
    static const struct CMUnitTest others[] = {
        cmocka_unit_test(other_types),
        cmocka_unit_test(rows_that_are_not_finite),
        cmocka_unit_test(labels_that_are_no_column),
        cmocka_unit_test(nothing_to_do),
        cmocka_unit_test(malformed_calls),
        cmocka_unit_test(matrices_beside_each_other),
        cmocka_unit_test(graphs),
    };
    static struct CMUnitTest tests[OPS + sizeof others / sizeof *others];
    prepare_tests();
    for (int op = 0; op < OPS; op++)
        tests[op] = (struct CMUnitTest){op_names[op], f32, NULL, NULL, (void *)&ops[op]};
    memcpy(&tests[OPS], others, sizeof others);
    return cmocka_run_group_tests_name("softmax", tests, NULL, NULL);
}
