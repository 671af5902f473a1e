/* SPDX-License-Identifier: MIT */
/* Reductions of strided views against the host reference: on layouts about each way of ordering and merging dimensions, and of
 * going over the elements of a result. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/effort.h"
#include "reductions.h"

enum { IN, OUT, VIEWS, MOST = 40000 };

/* A shape, the dimensions that are reduced as bits, from the first on, and the strides of input and output. */
struct layout {
    unsigned dimensions, reduced;
    size_t shape[CLS_MAX_DIMENSIONS];
    ptrdiff_t strides[VIEWS][CLS_MAX_DIMENSIONS];
    size_t offset; /* before the first element in memory */
};

static const struct layout layouts[] = {
    /* rows and columns of matrices, with gaps too, and all of one */
    {2, 2, {33, 70}, {{71, 1}, {2, 9}}, 1},
    {2, 1, {70, 33}, {{33, 1}, {5, 1}}, 0},
    {2, 3, {30, 50}, {{50, 1}, {0, 0}}, 0},
    {3, 6, {9, 5, 20}, {{100, 20, 1}, {1, 7, 7}}, 0},
    /* channels: the first dimension and the last ones */
    {4, 13, {3, 5, 7, 33}, {{1155, 231, 33, 1}, {1, 1, 1, 1}}, 0},
    {4, 13, {2, 3, 5, 16}, {{300, 100, 20, 1}, {1, 2, 1, 1}}, 3},
    /* a dimension in the middle, of few and of many neighbours, and with them in another order */
    {3, 2, {5, 90, 40}, {{3600, 40, 1}, {40, 1, 1}}, 0},
    {3, 2, {2, 11, 1300}, {{14304, 1301, 1}, {1, 1, 2}}, 1},
    {3, 2, {7, 60, 5}, {{300, 5, 1}, {5, 5, 1}}, 0},
    {3, 2, {40, 60, 9}, {{1, 360, 40}, {9, 1, 1}}, 0},
    /* the first and the last; the first two with a gap, of results that are cut into parts */
    {3, 5, {17, 9, 70}, {{630, 70, 1}, {9, 1, 1}}, 0},
    {3, 3, {3, 700, 16}, {{11300, 16, 1}, {1, 1, 1}}, 0},
    {3, 7, {3, 50, 81}, {{4200, 84, 1}, {1, 1, 1}}, 0},
    {2, 3, {2, 9001}, {{9004, 1}, {0, 0}}, 0},
    /* gaps within lines, backwards, repeated */
    {2, 2, {21, 300}, {{600, 2}, {1, 1}}, 0},
    {2, 1, {300, 21}, {{-42, 2}, {1, -3}}, 1},
    {3, 5, {9, 20, 31}, {{-620, 31, -1}, {1, -2, 1}}, 0},
    {3, 5, {6, 20, 31}, {{0, 31, 1}, {1, 1, 1}}, 0},
    {3, 2, {6, 20, 31}, {{0, 31, 1}, {31, 1, 1}}, 0},
    {3, 4, {20, 5, 16}, {{1, 1, 1}, {5, 1, 1}}, 0},
    {3, 1, {20, 5, 16}, {{1, 1, 1}, {5, 16, 1}}, 0},
    /* many dimensions, of which some are one and some are of one element; nothing is reduced */
    {5, 11, {2, 3, 4, 5, 6}, {{360, 120, 1, 24, 4}, {1, 1, 6, 1, 1}}, 0},
    {8,
     146,
     {2, 1, 3, 2, 2, 1, 3, 2},
     {{72, 9, 24, 12, 6, 7777, 2, 1}, {48, -5, 16, 8, 1, 123456, 2, 1}},
     0},
    {8,
     170,
     {2, 2, 2, 2, 2, 2, 2, 2},
     {{1, 3, 9, 27, 81, 243, 729, -2187}, {8, 1, 4, 1, 2, 1, 1, 1}},
     0},
    {2, 0, {9, 30}, {{40, 1}, {1, 9}}, 0},
    {3, 0, {4, 5, 6}, {{30, 6, 1}, {30, 6, 1}}, 0},
    /* one element, and none */
    {0, 0, {0}, {{0}, {0}}, 3},
    {3, 2, {1, 1, 1}, {{5, 9, -7}, {3, 3, 3}}, 0},
    {2, 1, {0, 5}, {{PTRDIFF_MIN, 1}, {0, 2}}, 0},
    {3, 2, {5, 0, 3}, {{0, 0, 0}, {3, 3, -1}}, 1},
    {2, 2, {0, 5}, {{5, 1}, {1, 1}}, 0},
};

enum { LAYOUTS = sizeof layouts / sizeof *layouts, MATRICES = 4 /* the first of them */ };

/* --- views on host and device --- */

static bool is_reduced(const struct layout *layout, unsigned d) { return layout->reduced >> d & 1; }

static size_t length_of(const struct layout *layout, unsigned view, unsigned d) {
    return view == OUT && is_reduced(layout, d) ? 1 : layout->shape[d];
}

static size_t count_of(const struct layout *layout, unsigned view) {
    size_t count = 1;
    for (unsigned d = 0; d < layout->dimensions; d++)
        count *= length_of(layout, view, d);
    return count;
}

/* From the first element in memory to the one whose indices are 0, or from that to the last. */
static size_t reach_of(const struct layout *layout, unsigned view, bool before) {
    ptrdiff_t reach = 0;
    for (unsigned d = 0; d < layout->dimensions && count_of(layout, view); d++)
        if ((layout->strides[view][d] < 0) == before)
            reach += ((ptrdiff_t)length_of(layout, view, d) - 1) * layout->strides[view][d];
    return (size_t)labs((long)reach);
}

static size_t extent_of(const struct layout *layout, unsigned view) {
    return count_of(layout, view) ? reach_of(layout, view, true) + reach_of(layout, view, false) + 1
                                  : 0;
}

/* Where an element lies from the one whose indices are 0: number `i` of the dimensions that are reduced, or of those that
 * are not. */
static ptrdiff_t place_of(const struct layout *layout, unsigned view, bool reduced, size_t i) {
    ptrdiff_t place = 0;
    for (unsigned d = layout->dimensions; d-- > 0;)
        if (is_reduced(layout, d) == reduced) {
            place += (ptrdiff_t)(i % layout->shape[d]) * layout->strides[view][d];
            i /= layout->shape[d];
        }
    return place;
}

static cls_strided strided_in(const struct layout *layout, unsigned view, cls_array array) {
    cls_strided strided = {.buffer = array.buffer,
                           .dtype = array.dtype,
                           .dimensions = layout->dimensions,
                           .offset = array.offset + reach_of(layout, view, true)};
    for (unsigned d = 0; d < layout->dimensions; d++) {
        strided.shape[d] = length_of(layout, view, d);
        strided.strides[d] = layout->strides[view][d];
    }
    return strided;
}

/* --- results --- */

static double as_double(cls_dtype type, const void *element) {
    double x = 0;
    reference_cast(type, CLS_F64, element, &x, 1);
    return x;
}

static void check_result(const struct work *work, int number, const void *values, size_t count,
                         const void *got) {
    uint64_t expected[1] = {0};
    double slack = 0;
    assert_true(reference_reduce(work->op, work->type, values, count, expected, &slack));
    const double x = as_double(work->result, got), y = as_double(work->result, expected);
    if (memcmp(got, expected, cls_dtype_size(work->result)) == 0 || (isnan(x) && isnan(y)) ||
        fabs(x - y) <= slack)
        return;
    fail_msg("%s, layout %d: %.17g, not %.17g, slack %g", work->name, number, x, y, slack);
}

/* Takes each result from `got`, and leaves zeros. */
static void check_results(const struct work *work, int number, const unsigned char *in,
                          unsigned char *got) {
    const struct layout *layout = &layouts[number];
    const size_t size = cls_dtype_size(work->type), result = cls_dtype_size(work->result);
    const size_t lines = count_of(layout, OUT);
    const size_t length = lines ? count_of(layout, IN) / lines : 0;
    unsigned char *line = malloc(length * size + 1);
    assert_non_null(line);
    in += reach_of(layout, IN, true) * size;
    for (size_t i = 0; i < lines; i++) {
        const ptrdiff_t from = place_of(layout, IN, false, i);
        const size_t to = reach_of(layout, OUT, true) + (size_t)place_of(layout, OUT, false, i);
        for (size_t k = 0; k < length; k++)
            memcpy(line + k * size, in + (from + place_of(layout, IN, true, k)) * (ptrdiff_t)size,
                   size);
        check_result(work, number, line, length, got + to * result);
        memset(got + to * result, 0, result);
    }
    for (size_t i = 0; i < extent_of(layout, OUT) * result; i++)
        if (got[i])
            fail_msg("%s, layout %d: something between the results", work->name, number);
    free(line);
}

/* --- one layout --- */

/* Whether a reduction of no elements has a result. */
static bool reduces_nothing(cls_reduce_op op) {
    return op == CLS_REDUCE_SUM || op == CLS_REDUCE_MEAN || op == CLS_REDUCE_ANY ||
           op == CLS_REDUCE_ALL;
}

static cls_status submit(const struct work *work, cls_strided in, cls_strided out, bool blocking) {
    return blocking ? cls_strided_reduce(work->op, in, out, NULL)
                    : cls_strided_reduce_async(work->op, in, out, NULL);
}

/* The results of the blocking form, and then of the other one, have the same bits. */
static void check_layout(const struct work *work, int number, const void *values) {
    const struct layout *layout = &layouts[number];
    const size_t extent = extent_of(layout, OUT), bytes = extent * cls_dtype_size(work->result);
    void *zeros = calloc(extent + 1, sizeof(uint64_t)), *first = NULL;
    cls_array in = view_make(work->type, layout->offset, extent_of(layout, IN), values);
    const cls_strided from = strided_in(layout, IN, in);
    const bool is_refused = count_of(layout, OUT) && !count_of(layout, IN);
    assert_non_null(zeros);
    for (int blocking = 1; blocking >= 0; blocking--) {
        cls_array out = view_make(work->result, 1, extent, zeros);
        const cls_status status = submit(work, from, strided_in(layout, OUT, out), blocking);
        if (is_refused && !reduces_nothing(work->op)) {
            EXPECT(CLS_ERROR_INVALID_VALUE, status);
            view_destroy(out);
            continue;
        }
        if (status)
            fail_msg("%s, layout %d: %s", work->name, number, cls_last_error_detail());
        OK(cls_stream_synchronize(NULL));
        void *got = view_take(out);
        if (first)
            assert_memory_equal(got, first, bytes);
        else if (bytes) {
            first = malloc(bytes);
            assert_non_null(first);
            memcpy(first, got, bytes);
            check_results(work, number, values, got);
        }
        free(got);
    }
    free(first);
    free(zeros);
    view_destroy(in);
}

/* Matrices have kernels of their own, which test_reduce_lines tests: they are compiled for one operation only. */
static void check(void **state) {
    const struct work *work = *state;
    const bool has_matrices = effort_is_long() || work->op == CLS_REDUCE_SUM;
    NEED_TYPE(work->type);
    NEED_TYPE(work->result);
    void *values = hard_values(work->type, MOST, 3);
    tame(work->type, values, MOST, 1e4);
    for (int i = has_matrices ? 0 : MATRICES; i < LAYOUTS; i++)
        check_layout(work, i, values);
    free(values);
}

/* --- more --- */

/* Views of matrices have the bits of cls_reduce_rows and cls_reduce_columns, in two dimensions or more. */
static void bits_of_matrices(void **state) {
    enum { ROWS = 35, COLUMNS = 90, COUNT = ROWS * COLUMNS };
    static const size_t shapes[][3] = {{5, 7, COLUMNS}, {ROWS, 9, 10}};
    (void)state;
    void *values = hard_values(CLS_F32, COUNT, 3);
    tame(CLS_F32, values, COUNT, 1e4);
    cls_array in = view_make(CLS_F32, 0, COUNT, values);
    const cls_matrix matrix = cls_matrix_at(in.buffer, CLS_F32, in.offset, ROWS, COLUMNS);
    for (int by_column = 0; by_column < 2; by_column++) {
        const size_t *shape = shapes[!by_column], n = by_column ? COLUMNS : ROWS;
        const size_t reduced[] = {by_column ? 1 : shape[0], 1, by_column ? shape[2] : 1};
        cls_array a = view_make(CLS_F32, 0, n, NULL), b = view_make(CLS_F32, 0, n, NULL);
        const cls_vector vector = {a.buffer, CLS_F32, a.offset, n, 1};
        OK(by_column ? cls_reduce_columns(CLS_REDUCE_SUM, matrix, vector, NULL)
                     : cls_reduce_rows(CLS_REDUCE_SUM, matrix, vector, NULL));
        OK(cls_strided_reduce(CLS_REDUCE_SUM,
                              cls_strided_of(in, 3, by_column ? shapes[0] : shapes[1]),
                              cls_strided_of(b, 3, reduced), NULL));
        void *x = view_take(a), *y = view_take(b);
        assert_memory_equal(x, y, n * sizeof(float));
        free(x);
        free(y);
    }
    free(values);
    view_destroy(in);
}

/* NaN wins, and the index is that of the first in the order of the dimensions, not of memory. */
static void first_of_equals(void **state) {
    static const size_t shape[] = {6, 5, 4};
    float x[120] = {0};
    (void)state;
    x[7] = x[30] = NAN;
    cls_array in = view_make(CLS_F32, 0, 120, x), out = view_make(CLS_I64, 0, 1, NULL);
    cls_strided all = cls_strided_of(in, 3, shape);
    const cls_strided one = cls_strided_of(out, 3, (size_t[]){1, 1, 1});
    all.strides[1] = 1;
    all.strides[2] = 5; /* x[7] is (0, 2, 1) now, and x[30] (1, 0, 2) */
    OK(cls_strided_reduce(CLS_REDUCE_ARGMAX, all, one, NULL));
    int64_t *got = view_take(out);
    assert_int_equal(got[0], 9);
    free(got);
    view_destroy(in);
}

static void refusals(void **state) {
    static const size_t shape[] = {3, 4}, rows[] = {3, 1}, wrong[] = {2, 1}, flat[] = {3};
    (void)state;
    cls_array in = view_make(CLS_F32, 0, 12, NULL), out = view_make(CLS_F32, 0, 3, NULL);
    cls_array part = cls_array_at(out.buffer, CLS_F32, out.offset, 2);
    cls_array within = cls_array_at(in.buffer, CLS_F32, in.offset + 2, 3);
    const cls_strided view = cls_strided_of(in, 2, shape), to = cls_strided_of(out, 2, rows);
    cls_strided many = view, same = to;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_strided_reduce((cls_reduce_op)99, view, to, NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_strided_reduce(CLS_REDUCE_ARGMAX, view, to, NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_strided_reduce(CLS_REDUCE_SUM, to, view, NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH,
           cls_strided_reduce(CLS_REDUCE_SUM, view, cls_strided_of(part, 2, wrong), NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH,
           cls_strided_reduce(CLS_REDUCE_SUM, view, cls_strided_of(out, 1, flat), NULL));
    EXPECT(CLS_ERROR_OVERLAP,
           cls_strided_reduce(CLS_REDUCE_SUM, view, cls_strided_of(within, 2, rows), NULL));
    EXPECT(CLS_ERROR_OVERLAP,
           cls_strided_reduce(CLS_REDUCE_SUM, cls_strided_transpose(view, 0, 1),
                              cls_strided_of(within, 2, (size_t[]){1, 3}), NULL));
    same.strides[0] = 0;
    EXPECT(CLS_ERROR_OVERLAP, cls_strided_reduce(CLS_REDUCE_SUM, view, same, NULL));
    many.dimensions = CLS_MAX_DIMENSIONS + 1;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_strided_reduce(CLS_REDUCE_SUM, many, to, NULL));
    many = view;
    many.shape[1] = SIZE_MAX;
    many.strides[1] = 0;
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_strided_reduce(CLS_REDUCE_SUM, many, to, NULL));
    view_destroy(in);
    view_destroy(out);
}

static const struct CMUnitTest others[] = {
    cmocka_unit_test(bits_of_matrices),
    cmocka_unit_test(first_of_equals),
    cmocka_unit_test(refusals),
};

enum { OTHERS = sizeof others / sizeof others[0] };

/* Each kind of result, and of elements; with TEST_EFFORT=long, what other tests have of all pairs. */
static bool is_chosen(const struct work *work) {
    static const struct {
        cls_reduce_op op;
        cls_dtype type;
    } usual[] = {{CLS_REDUCE_SUM, CLS_F32},
                 {CLS_REDUCE_MEAN, CLS_F16},
                 {CLS_REDUCE_ARGMAX, CLS_F32},
                 {CLS_REDUCE_ALL, CLS_I8}};
    if (effort_is_long())
        return pair_is_chosen((int)work->op, work->type);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (usual[i].op == work->op && usual[i].type == work->type)
            return true;
    return false;
}

int main(void) {
    static struct CMUnitTest tests[PAIRS + OTHERS];
    prepare_tests();
    const unsigned n = add_pairs(tests, check, is_chosen);
    memcpy(&tests[n], others, sizeof others);
    return _cmocka_run_group_tests("strided_reduce", tests, n + OTHERS, NULL, NULL);
}
