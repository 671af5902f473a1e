/* SPDX-License-Identifier: MIT */
/* Element-by-element operations of matrices against the host reference: with a vector for each row or column, casts,
 * copies and transposition, on shapes about each way of dividing them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/effort.h"
#include "arrays.h"
#include "last_op.h"

/* The bits of a form: a vector for each row instead of each column, and as the first operand. */
enum { BY_COLUMN = 1, REVERSED = 2, FORMS = 4 };

struct work {
    char name[48];
    int op;
    cls_dtype type, result;
    int form;
};

/* Elements between the rows of the input and of the output, before the first of them, and from one of the vector to the
 * next. */
struct shape {
    size_t rows, columns, gap, out_gap, offset, step;
};

/* Of a CPU's work-item less and more than a row, long rows that are divided, and of a GPU's teams one and more in a row.
 * Those of 16 columns and more without an offset are aligned. */
static const struct shape shapes[] = {
    {1, 1, 0, 0, 0, 1},     {3, 17, 0, 5, 1, 2},   {67, 130, 7, 0, 3, 1},
    {9, 1040, 16, 0, 0, 1}, {1500, 3, 0, 2, 0, 3}, {2, 9001, 0, 15, 2, 1},
    {300, 64, 0, 0, 0, 1},  {0, 5, 0, 0, 0, 1},    {5, 0, 3, 1, 1, 1},
};

enum { SHAPES = sizeof shapes / sizeof *shapes, MOST = 22000 };

/* --- matrices on host and device --- */

static size_t pitch_of(const struct shape *shape, bool is_output) {
    return shape->columns + (is_output ? shape->out_gap : shape->gap);
}

static cls_matrix matrix_in(cls_array view, size_t rows, size_t columns, size_t ld) {
    cls_matrix matrix = cls_matrix_at(view.buffer, view.dtype, view.offset, rows, columns);
    matrix.ld = ld;
    return matrix;
}

static void put(void *to, size_t i, const void *from, size_t k, size_t size) {
    memcpy((unsigned char *)to + i * size, (const unsigned char *)from + k * size, size);
}

/* Matrix and vector as two arrays with the output's rows; what is between these is `values`. */
static void *spread_matrix(const struct shape *shape, const void *values, size_t size) {
    const size_t ld = pitch_of(shape, true), count = shape->rows * ld;
    void *out = malloc(count * size + 1);
    assert_non_null(out);
    memcpy(out, values, count * size);
    for (size_t i = 0; i < shape->rows; i++)
        for (size_t j = 0; j < shape->columns; j++)
            put(out, i * ld + j, values, i * pitch_of(shape, false) + j, size);
    return out;
}

static void *spread_vector(const struct shape *shape, bool by_column, const void *values,
                           size_t size) {
    const size_t ld = pitch_of(shape, true), count = shape->rows * ld;
    void *out = malloc(count * size + 1);
    assert_non_null(out);
    memcpy(out, values, count * size);
    for (size_t i = 0; i < shape->rows; i++)
        for (size_t j = 0; j < shape->columns; j++)
            put(out, i * ld + j, values, (by_column ? i : j) * shape->step, size);
    return out;
}

/* Between the rows of an output is what was there, of which no bit may be another. */
static void keep_gaps(const struct shape *shape, const void *before, void *expected, double *bounds,
                      size_t size) {
    const size_t ld = pitch_of(shape, true);
    for (size_t i = 0; i < shape->rows; i++)
        for (size_t j = shape->columns; j < ld; j++) {
            put(expected, i * ld + j, before, i * ld + j, size);
            bounds[i * ld + j] = 0;
        }
}

/* --- binary operations with a vector --- */

static cls_status binary(const struct work *work, cls_matrix in, cls_vector vector, cls_matrix out,
                         bool blocking) {
    static cls_status (*const calls[FORMS][2])(cls_binary_op, cls_matrix, cls_vector, cls_matrix,
                                               cls_stream) = {
        [0] = {cls_binary_rows_async, cls_binary_rows},
        [BY_COLUMN] = {cls_binary_columns_async, cls_binary_columns},
        [REVERSED] = {cls_binary_rows_reversed_async, cls_binary_rows_reversed},
        [BY_COLUMN | REVERSED] = {cls_binary_columns_reversed_async, cls_binary_columns_reversed}};
    return calls[work->form][blocking]((cls_binary_op)work->op, in, vector, out, NULL);
}

static double *bounds_of(const struct work *work, const void *x, size_t count) {
    double *bounds = malloc(count * sizeof *bounds + 1);
    assert_non_null(bounds);
    for (size_t i = 0; i < count; i++) {
        double first = 0;
        reference_cast(work->type, CLS_F64, (const char *)x + i * cls_dtype_size(work->type),
                       &first, 1);
        bounds[i] = reference_binary_bound((cls_binary_op)work->op, work->type, first);
    }
    return bounds;
}

static void *expected_of(const struct work *work, const struct shape *shape, const void *a,
                         const void *b, double **bounds) {
    const size_t size = cls_dtype_size(work->type), count = shape->rows * pitch_of(shape, true);
    void *x = spread_matrix(shape, a, size);
    void *y = spread_vector(shape, work->form & BY_COLUMN, b, size);
    void *out = malloc(count * cls_dtype_size(work->result) + 1);
    assert_non_null(out);
    const bool reversed = work->form & REVERSED;
    assert_true(reference_binary((cls_binary_op)work->op, work->type, reversed ? y : x,
                                 reversed ? x : y, out, count));
    *bounds = bounds_of(work, reversed ? y : x, count);
    free(x);
    free(y);
    return out;
}

/* `in_place`: the output is the input, if it can be. */
static void check_binary(const struct work *work, const struct shape *shape, const void *a,
                         const void *b, const void *before, bool in_place) {
    const size_t out_ld = pitch_of(shape, true), count = shape->rows * out_ld;
    const size_t steps = shape->step * ((work->form & BY_COLUMN) ? shape->rows : shape->columns);
    cls_array in = view_make(work->type, shape->offset, shape->rows * pitch_of(shape, false), a);
    cls_array of = view_make(work->type, 1 & shape->offset, steps, b);
    cls_array to = in_place ? in : view_make(work->result, shape->offset, count, before);
    to.dtype = work->result;
    const cls_vector vector = {of.buffer, of.dtype, of.offset, steps / shape->step, shape->step};
    OK(binary(work, matrix_in(in, shape->rows, shape->columns, pitch_of(shape, false)), vector,
              matrix_in(to, shape->rows, shape->columns, out_ld), !in_place));
    OK(cls_stream_synchronize(NULL));
    double *bounds = NULL;
    void *expected = expected_of(work, shape, a, b, &bounds), *got = view_take(to);
    keep_gaps(shape, in_place ? a : before, expected, bounds, cls_dtype_size(work->result));
    check_array(work->name, work->result, got, expected, bounds, count, work->type, NULL);
    free(expected);
    free(bounds);
    free(got);
    view_destroy(of);
    if (!in_place)
        view_destroy(in);
}

static void check_operation(void **state) {
    const struct work *work = *state;
    NEED_TYPE(work->type);
    if (!reference_takes((cls_binary_op)work->op, CLS_I32)) /* a function */
        NEED_ROUNDING(work->type);
    void *a = hard_values(work->type, MOST, 3), *b = hard_values(work->type, 3 * MOST, 5);
    void *before = hard_values(work->result, MOST, 7);
    for (int i = 0; i < SHAPES; i++) {
        struct shape same = shapes[i];
        check_binary(work, &shapes[i], a, b, before, false);
        same.out_gap = same.gap;
        if (cls_dtype_size(work->type) == cls_dtype_size(work->result))
            check_binary(work, &same, a, b, before, true);
    }
    free(a);
    free(b);
    free(before);
}

/* An element has the bits that cls_binary gives, where the reference has a bound only. */
static void bits_of_cls_binary(void **state) {
    enum { ROWS = 31, COLUMNS = 67, COUNT = ROWS * COLUMNS };
    (void)state;
    void *a = hard_values(CLS_F32, COUNT, 3), *b = hard_values(CLS_F32, COUNT, 5);
    float y[COUNT];
    for (int i = 0; i < COUNT; i++)
        memcpy(&y[i], (float *)b + i % COLUMNS, sizeof *y);
    cls_array in = view_make(CLS_F32, 0, COUNT, a), row = view_make(CLS_F32, 0, COLUMNS, b);
    cls_array all = view_make(CLS_F32, 0, COUNT, y);
    cls_array expected = view_make(CLS_F32, 0, COUNT, NULL),
              out = view_make(CLS_F32, 0, COUNT, NULL);
    OK(cls_binary(CLS_BINARY_DIV, in, all, expected, NULL));
    OK(cls_binary_rows(CLS_BINARY_DIV, matrix_in(in, ROWS, COLUMNS, COLUMNS),
                       (cls_vector){row.buffer, CLS_F32, row.offset, COLUMNS, 1},
                       matrix_in(out, ROWS, COLUMNS, COLUMNS), NULL));
    void *x = view_take(expected), *got = view_take(out);
    check_array("div", CLS_F32, got, x, NULL, COUNT, CLS_F32, a);
    free(x);
    free(got);
    free(a);
    free(b);
    view_destroy(in);
    view_destroy(row);
    view_destroy(all);
}

/* --- casts, copies, transposition --- */

static void check_cast_of(const struct work *work, const struct shape *shape, const void *a,
                          const void *before) {
    const size_t out_ld = pitch_of(shape, true), count = shape->rows * out_ld;
    const size_t size = cls_dtype_size(work->result);
    cls_array in = view_make(work->type, shape->offset, shape->rows * pitch_of(shape, false), a);
    cls_array to = view_make(work->result, shape->offset, count, before);
    const cls_matrix from = matrix_in(in, shape->rows, shape->columns, pitch_of(shape, false));
    const cls_matrix out = matrix_in(to, shape->rows, shape->columns, out_ld);
    OK(shape->offset ? cls_cast_matrix_async(from, out, NULL) : cls_cast_matrix(from, out, NULL));
    OK(cls_stream_synchronize(NULL));
    void *x = spread_matrix(shape, a, cls_dtype_size(work->type));
    void *expected = malloc(count * size + 1), *got = view_take(to);
    double *bounds = calloc(count + 1, sizeof *bounds);
    assert_non_null(expected);
    assert_non_null(bounds);
    assert_true(reference_cast(work->type, work->result, x, expected, count));
    keep_gaps(shape, before, expected, bounds, size);
    check_array(work->name, work->result, got, expected, NULL, count, work->type, x);
    if (work->type == work->result)
        assert_memory_equal(got, expected, count * size);
    free(x);
    free(expected);
    free(bounds);
    free(got);
    view_destroy(in);
}

static void check_cast(void **state) {
    const struct work *work = *state;
    NEED_TYPE(work->type);
    NEED_TYPE(work->result);
    void *a = hard_values(work->type, MOST, 3), *before = hard_values(work->result, MOST, 7);
    for (int i = 0; i < SHAPES; i++)
        check_cast_of(work, &shapes[i], a, before);
    free(a);
    free(before);
}

static void check_transpose_of(cls_dtype type, const struct shape *shape, const void *a,
                               const void *before) {
    const size_t ld = pitch_of(shape, false), size = cls_dtype_size(type);
    const size_t out_ld = shape->rows + shape->out_gap, count = shape->columns * out_ld;
    cls_array in = view_make(type, shape->offset, shape->rows * ld, a);
    cls_array to = view_make(type, shape->step, count, before);
    const cls_matrix from = matrix_in(in, shape->rows, shape->columns, ld);
    const cls_matrix out = matrix_in(to, shape->columns, shape->rows, out_ld);
    OK(shape->offset ? cls_transpose_async(from, out, NULL) : cls_transpose(from, out, NULL));
    OK(cls_stream_synchronize(NULL));
    unsigned char *expected = malloc(count * size + 1);
    void *got = view_take(to);
    assert_non_null(expected);
    memcpy(expected, before, count * size);
    for (size_t i = 0; i < shape->rows; i++)
        for (size_t j = 0; j < shape->columns; j++)
            put(expected, j * out_ld + i, a, i * ld + j, size);
    assert_memory_equal(got, expected, count * size);
    free(expected);
    free(got);
    view_destroy(in);
}

static void check_transpose(void **state) {
    static const struct shape more[] = {{64, 64, 0, 0, 0, 1}, {65, 63, 1, 3, 0, 1},
                                        {8, 200, 0, 0, 5, 1}, {200, 8, 8, 0, 0, 2},
                                        {1, 300, 0, 2, 1, 1}, {300, 1, 0, 0, 0, 1}};
    (void)state;
    for (unsigned t = 0; t < TYPES; t++) {
        if (all_types[t] == CLS_F64 && !device_has_f64())
            continue;
        void *a = hard_values(all_types[t], MOST, 3);
        void *before = hard_values(all_types[t], 2 * MOST + 9001 * 15, 7);
        for (int i = 0; i < SHAPES; i++)
            check_transpose_of(all_types[t], &shapes[i], a, before);
        for (size_t i = 0; i < sizeof more / sizeof *more; i++)
            check_transpose_of(all_types[t], &more[i], a, before);
        free(a);
        free(before);
    }
}

/* --- what is refused, and what is not --- */

static void refusals(void **state) {
    (void)state;
    cls_array view = view_make(CLS_F32, 0, 40, NULL), other = view_make(CLS_F32, 0, 40, NULL);
    const cls_matrix in = matrix_in(view, 3, 4, 4), out = matrix_in(other, 3, 4, 4);
    const cls_vector row = {view.buffer, CLS_F32, view.offset + 30, 4, 1};
    const cls_vector column = {view.buffer, CLS_F32, view.offset + 30, 3, 1};
    cls_matrix bad = out;
    cls_vector wrong = row;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_binary_rows((cls_binary_op)99, in, row, out, NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_binary_rows(CLS_BINARY_ADD, in, column, out, NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_binary_columns(CLS_BINARY_ADD, in, row, out, NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_binary_rows(CLS_BINARY_EQ, in, row, out, NULL));
    wrong.dtype = CLS_I32;
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_binary_rows(CLS_BINARY_ADD, in, wrong, out, NULL));
    wrong = row;
    wrong.step = 0;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_binary_rows(CLS_BINARY_ADD, in, wrong, out, NULL));
    wrong = (cls_vector){other.buffer, CLS_F32, other.offset + 11, 4, 1};
    EXPECT(CLS_ERROR_OVERLAP, cls_binary_rows(CLS_BINARY_ADD, in, wrong, out, NULL));
    bad.ld = 3;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_cast_matrix(in, bad, NULL));
    bad = matrix_in(other, 4, 3, 4);
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_cast_matrix(in, bad, NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_transpose(in, out, NULL));
    bad.dtype = CLS_I32;
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_transpose(in, bad, NULL));
    bad = in;
    bad.offset++;
    EXPECT(CLS_ERROR_OVERLAP, cls_binary_rows(CLS_BINARY_ADD, in, row, bad, NULL));
    bad = in;
    bad.ld = 5;
    EXPECT(CLS_ERROR_OVERLAP, cls_cast_matrix(in, bad, NULL));
    bad = in;
    bad.dtype = CLS_U8;
    EXPECT(CLS_ERROR_OVERLAP, cls_cast_matrix(in, bad, NULL));
    EXPECT(CLS_ERROR_OVERLAP,
           cls_transpose(matrix_in(view, 4, 4, 4), matrix_in(view, 4, 4, 4), NULL));
    bad = in;
    bad.rows = 0;
    OK(cls_cast_matrix(bad, bad, NULL));
    view_destroy(view);
    view_destroy(other);
}

/* Elements of another type take the place of those of the same size, and operands may be between each other's rows. */
static void shares_memory(void **state) {
    enum { ROWS = 5, COLUMNS = 20, LD = 41 };
    float x[ROWS * LD];
    (void)state;
    for (int i = 0; i < ROWS * LD; i++)
        x[i] = (float)i;
    cls_array view = view_make(CLS_F32, 0, ROWS * LD, x);
    cls_matrix in = matrix_in(view, ROWS, COLUMNS, LD), out = in, whole = in;
    out.offset += COLUMNS;
    whole.dtype = CLS_I32;
    const cls_vector column = {view.buffer, CLS_F32, view.offset + 2 * COLUMNS, ROWS, LD};
    OK(cls_binary_columns(CLS_BINARY_SUB, in, column, out, NULL));
    OK(cls_cast_matrix(in, whole, NULL));
    float *got = view_take(view);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            int32_t number;
            memcpy(&number, &got[i * LD + j], sizeof number);
            assert_int_equal(number, i * LD + j);
            assert_true(got[i * LD + COLUMNS + j] == (float)(j - 2 * COLUMNS));
        }
    free(got);
}

static const struct CMUnitTest others[] = {
    cmocka_unit_test(bits_of_cls_binary),
    cmocka_unit_test(check_transpose),
    cmocka_unit_test(refusals),
    cmocka_unit_test(shares_memory),
};

enum { OTHERS = sizeof others / sizeof others[0], WORKS = (LAST_BINARY * FORMS + TYPES) * TYPES };

static struct work works[WORKS];
static struct CMUnitTest tests[WORKS + OTHERS];

/* Each pair is one more program for the driver's compiler: an operation is run on one type and in one form, others on
 * others; of the comparisons three. The long effort has every pair, in one form. */
static void add_binary(unsigned *n, int op, unsigned type, int form) {
    struct work *work = &works[*n];
    const bool is_usual =
        op <= CLS_BINARY_LT && (unsigned)(op - 1) % TYPES == type && op / 2 % FORMS == form;
    const bool is_gradient =
        op == CLS_BINARY_GELU_GRADIENT && all_types[type] == CLS_F32 && form == BY_COLUMN;
    const bool is_long = effort_is_long() && ((unsigned)op + type) % FORMS == (unsigned)form;
    if (!(is_usual || is_gradient || is_long) ||
        !reference_takes((cls_binary_op)op, all_types[type]))
        return;
    *work =
        (struct work){.op = op, .type = all_types[type], .result = all_types[type], .form = form};
    if (reference_compares((cls_binary_op)op))
        work->result = CLS_U8;
    snprintf(work->name, sizeof work->name, "%s_%s_%s%s", cls_binary_op_name((cls_binary_op)op),
             (form & BY_COLUMN) ? "columns" : "rows", (form & REVERSED) ? "reversed_" : "",
             cls_dtype_name(work->type));
    tests[(*n)++] = (struct CMUnitTest){work->name, check_operation, NULL, NULL, work};
}

/* The conversions themselves are tests/device/test_cast's: here are some to larger and smaller elements, and copies of two
 * sizes. */
static bool is_usual_cast(cls_dtype from, cls_dtype to) {
    return (from == CLS_F32 && to == CLS_F32) || (from == CLS_U8 && to == CLS_U8) ||
           (from == CLS_F32 && to == CLS_BF16) || (from == CLS_I32 && to == CLS_I64) ||
           (from == CLS_F64 && to == CLS_U8);
}

static void add_cast(unsigned *n, cls_dtype from, cls_dtype to) {
    struct work *work = &works[*n];
    if (!is_usual_cast(from, to))
        return;
    *work = (struct work){.type = from, .result = to};
    snprintf(work->name, sizeof work->name, "cast_%s_%s", cls_dtype_name(work->type),
             cls_dtype_name(work->result));
    tests[(*n)++] = (struct CMUnitTest){work->name, check_cast, NULL, NULL, work};
}

int main(void) {
    unsigned n = 0;
    prepare_tests();
    for (int op = 1; op <= LAST_BINARY; op++)
        for (unsigned t = 0; t < TYPES; t++)
            for (int form = 0; form < FORMS; form++)
                add_binary(&n, op, t, form);
    for (unsigned from = 0; from < TYPES; from++)
        for (unsigned to = 0; to < TYPES; to++)
            add_cast(&n, all_types[from], all_types[to]);
    memcpy(&tests[n], others, sizeof others);
    return _cmocka_run_group_tests("matrices", tests, n + OTHERS, NULL, NULL);
}
