/* SPDX-License-Identifier: MIT */
/* Reductions of rows and columns against the host reference: every operation and type, shapes about each way of
 * going over a line. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reductions.h"

struct shape {
    size_t rows, columns, gap, offset, step; /* elements between rows, and before the first */
};

/* Short and long lines, few and many, of which those of one line and of one element are cut into parts the most. */
static const struct shape shapes[] = {
    {1, 1, 0, 0, 1},     {3, 5, 0, 1, 1},     {5, 3, 2, 0, 2},     {33, 257, 7, 3, 1},
    {257, 33, 15, 0, 3}, {1, 20001, 0, 0, 1}, {20001, 1, 1, 2, 1}, {2, 5000, 8, 0, 2},
    {5000, 2, 6, 0, 1},  {300, 320, 0, 0, 1}, {0, 5, 0, 0, 1},     {5, 0, 3, 0, 1},
};

static cls_status reduce(const struct work *work, bool by_column, cls_matrix in, cls_vector out,
                         bool blocking) {
    if (by_column)
        return blocking ? cls_reduce_columns(work->op, in, out, NULL)
                        : cls_reduce_columns_async(work->op, in, out, NULL);
    return blocking ? cls_reduce_rows(work->op, in, out, NULL)
                    : cls_reduce_rows_async(work->op, in, out, NULL);
}

static double as_double(cls_dtype type, const void *element) {
    double x = 0;
    reference_cast(type, CLS_F64, element, &x, 1);
    return x;
}

/* The elements of a line behind each other. */
static void copy_line(const struct work *work, const struct shape *shape, bool by_column,
                      size_t line, const unsigned char *matrix, unsigned char *out) {
    const size_t size = cls_dtype_size(work->type), ld = shape->columns + shape->gap;
    const size_t length = by_column ? shape->rows : shape->columns;
    for (size_t i = 0; i < length; i++)
        memcpy(out + i * size, matrix + (by_column ? i * ld + line : line * ld + i) * size, size);
}

static void check_line(const struct work *work, const struct shape *shape, bool by_column,
                       size_t line, const void *values, const void *got) {
    const size_t length = by_column ? shape->rows : shape->columns;
    uint64_t expected[1] = {0};
    double slack = 0;
    assert_true(reference_reduce(work->op, work->type, values, length, expected, &slack));
    const double x = as_double(work->result, got), y = as_double(work->result, expected);
    if (memcmp(got, expected, cls_dtype_size(work->result)) == 0 || (isnan(x) && isnan(y)) ||
        fabs(x - y) <= slack)
        return;
    fail_msg("%s of %s %zu of %zu x %zu is %.17g, not %.17g, slack %g", work->name,
             by_column ? "column" : "row", line, shape->rows, shape->columns, x, y, slack);
}

static bool is_nothing(const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    size_t i = 0;
    while (i < size && !at[i])
        i++;
    return i == size;
}

static void check_results(const struct work *work, const struct shape *shape, bool by_column,
                          const void *matrix, const unsigned char *got) {
    const size_t size = cls_dtype_size(work->result);
    const size_t lines = by_column ? shape->columns : shape->rows;
    const size_t length = by_column ? shape->rows : shape->columns;
    void *line = malloc(length * cls_dtype_size(work->type) + 1);
    assert_non_null(line);
    for (size_t i = 0; i < lines; i++) {
        copy_line(work, shape, by_column, i, matrix, line);
        check_line(work, shape, by_column, i, line, got + i * shape->step * size);
        if (!is_nothing(got + (i * shape->step + 1) * size, (shape->step - 1) * size))
            fail_msg("%s: something between the results", work->name);
    }
    free(line);
}

/* Whether a reduction of no elements has a result. */
static bool reduces_nothing(cls_reduce_op op) {
    return op == CLS_REDUCE_SUM || op == CLS_REDUCE_MEAN || op == CLS_REDUCE_ANY ||
           op == CLS_REDUCE_ALL;
}

static void check_shape(const struct work *work, const struct shape *shape, bool by_column,
                        const void *values) {
    const size_t ld = shape->columns + shape->gap;
    const size_t lines = by_column ? shape->columns : shape->rows;
    const size_t length = by_column ? shape->rows : shape->columns;
    cls_array in = view_make(work->type, shape->offset, shape->rows * ld, values);
    void *zeros = calloc(lines * shape->step + 1, sizeof(uint64_t)), *first = NULL;
    assert_non_null(zeros);
    cls_matrix matrix =
        cls_matrix_at(in.buffer, work->type, in.offset, shape->rows, shape->columns);
    matrix.ld = ld;
    for (int blocking = 1; blocking >= 0; blocking--) {
        cls_array out = view_make(work->result, 1, lines * shape->step, zeros);
        const cls_vector vector = {out.buffer, work->result, out.offset, lines, shape->step};
        const cls_status status = reduce(work, by_column, matrix, vector, blocking);
        if (lines && !length && !reduces_nothing(work->op)) {
            EXPECT(CLS_ERROR_INVALID_VALUE, status);
            view_destroy(out);
            continue;
        }
        if (lines || length)
            OK(status);
        OK(cls_stream_synchronize(NULL));
        void *got = view_take(out);
        if (blocking) {
            check_results(work, shape, by_column, values, got);
            first = got;
        } else {
            assert_memory_equal(got, first, lines * shape->step * cls_dtype_size(work->result));
            free(got);
        }
    }
    free(first);
    free(zeros);
    view_destroy(in);
}

static void check(void **state) {
    const struct work *work = *state;
    enum { MOST = 300000 };
    NEED_TYPE(work->type);
    NEED_TYPE(work->result);
    if (work->op == CLS_REDUCE_SUM || work->op == CLS_REDUCE_MEAN)
        NEED_ROUNDING(work->type);
    void *values = hard_values(work->type, MOST, 3);
    tame(work->type, values, MOST, 1e4);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int by_column = 0; by_column < 2; by_column++)
            check_shape(work, &shapes[i], by_column, values);
    free(values);
}

/* NaN wins, and the first of equals is the index. */
static void first_of_equals(void **state) {
    enum { ROWS = 70, COLUMNS = 90 };
    static float x[ROWS * COLUMNS];
    (void)state;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (float)(i % 7);
    x[5 * COLUMNS + 11] = x[5 * COLUMNS + 80] = x[60 * COLUMNS + 11] = NAN;
    cls_array in = view_make(CLS_F32, 0, ROWS * COLUMNS, x);
    for (int by_column = 0; by_column < 2; by_column++) {
        const size_t lines = by_column ? COLUMNS : ROWS;
        cls_array out = view_make(CLS_I64, 0, lines, NULL);
        struct work work = {.op = CLS_REDUCE_ARGMAX};
        cls_matrix matrix = cls_matrix_at(in.buffer, CLS_F32, in.offset, ROWS, COLUMNS);
        OK(reduce(&work, by_column, matrix, (cls_vector){out.buffer, CLS_I64, out.offset, lines, 1},
                  true));
        int64_t *got = view_take(out);
        assert_int_equal(got[by_column ? 11 : 5], by_column ? 5 : 11);
        free(got);
    }
    view_destroy(in);
}

static void refusals(void **state) {
    (void)state;
    cls_array in = view_make(CLS_F32, 0, 12, NULL), out = view_make(CLS_F32, 0, 4, NULL);
    const cls_matrix matrix = cls_matrix_at(in.buffer, CLS_F32, in.offset, 3, 4);
    cls_vector rows = {out.buffer, CLS_F32, out.offset, 3, 1}, wrong = rows;
    cls_matrix narrow = matrix;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_reduce_columns(CLS_REDUCE_MAX, matrix, rows, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_reduce_rows((cls_reduce_op)99, matrix, rows, NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_reduce_rows(CLS_REDUCE_ARGMAX, matrix, rows, NULL));
    wrong.step = 0;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_reduce_rows(CLS_REDUCE_MAX, matrix, wrong, NULL));
    narrow.ld = 3;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_reduce_rows(CLS_REDUCE_MAX, narrow, rows, NULL));
    wrong = (cls_vector){in.buffer, CLS_F32, in.offset + 2, 3, 1};
    EXPECT(CLS_ERROR_OVERLAP, cls_reduce_rows(CLS_REDUCE_MAX, matrix, wrong, NULL));
    view_destroy(in);
    view_destroy(out);
}

/* Results may lie between the rows that they are of. */
static void between_rows(void **state) {
    enum { ROWS = 9, COLUMNS = 20, LD = 21 };
    float x[ROWS * LD] = {0};
    (void)state;
    for (int i = 0; i < ROWS * LD; i++)
        x[i] = (float)i;
    cls_array in = view_make(CLS_F32, 0, ROWS * LD, x);
    cls_matrix matrix = cls_matrix_at(in.buffer, CLS_F32, in.offset, ROWS, COLUMNS);
    matrix.ld = LD;
    OK(cls_reduce_rows(CLS_REDUCE_MAX, matrix,
                       (cls_vector){in.buffer, CLS_F32, in.offset + COLUMNS, ROWS, LD}, NULL));
    float *got = view_take(in);
    for (int i = 0; i < ROWS * LD; i++)
        assert_true(got[i] == (i % LD == COLUMNS ? x[i - 1] : x[i]));
    free(got);
}

static const struct CMUnitTest others[] = {
    cmocka_unit_test(first_of_equals),
    cmocka_unit_test(refusals),
    cmocka_unit_test(between_rows),
};

enum { OTHERS = sizeof others / sizeof others[0] };

static bool is_chosen(const struct work *work) { return pair_is_chosen((int)work->op, work->type); }

int main(void) {
    static struct CMUnitTest tests[PAIRS + OTHERS];
    prepare_tests();
    const unsigned n = add_pairs(tests, check, is_chosen);
    memcpy(&tests[n], others, sizeof others);
    return _cmocka_run_group_tests("reduce_lines", tests, n + OTHERS, NULL, NULL);
}
