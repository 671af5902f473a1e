/* SPDX-License-Identifier: MIT */
/* Element-by-element operations of strided views against the host reference: on layouts about each way of ordering, merging
 * and dividing their dimensions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/effort.h"
#include "arrays.h"
#include "last_op.h"

enum family { CAST, WHERE, UNARY, PARAM, BINARY };

struct work {
    char name[48];
    enum family family;
    int op;
    cls_dtype type, other, result; /* of the first input, of the others, of the output */
};

enum { INPUTS = 3, OUT = INPUTS, VIEWS };

/* A shape, and the strides of each view. */
struct layout {
    unsigned dimensions;
    size_t shape[CLS_MAX_DIMENSIONS];
    ptrdiff_t strides[VIEWS][CLS_MAX_DIMENSIONS];
    size_t offset; /* before the first element in memory */
};

static const struct layout layouts[] = {
    /* without gaps; the output in another order, all in the same */
    {3, {3, 5, 7}, {{35, 7, 1}, {35, 7, 1}, {35, 7, 1}, {35, 7, 1}}, 1},
    {3, {5, 7, 3}, {{7, 1, 35}, {7, 1, 35}, {7, 1, 35}, {7, 1, 35}}, 0},
    /* transposed, with and without gaps */
    {2, {37, 53}, {{1, 37}, {53, 1}, {1, 37}, {53, 1}}, 0},
    {2, {70, 33}, {{1, 71}, {1, 70}, {33, 1}, {40, 1}}, 1},
    {2, {33, 70}, {{75, 1}, {1, 33}, {2, 67}, {1, 33}}, 3},
    /* repeated: a row, a column, an element, a middle dimension */
    {2, {300, 64}, {{80, 1}, {0, 1}, {1, 0}, {64, 1}}, 0},
    {2, {9, 1040}, {{0, 1}, {1, 0}, {0, 0}, {1041, 1}}, 2},
    {1, {9001}, {{1}, {0}, {1}, {1}}, 0},
    {3, {4, 11, 40}, {{40, 0, 1}, {0, 40, 1}, {1, 4, 0}, {480, 40, 1}}, 0},
    /* backwards */
    {1, {301}, {{-1}, {1}, {-2}, {1}}, 1},
    {2, {20, 31}, {{-31, 1}, {31, -1}, {-31, -1}, {-31, -1}}, 0},
    {2, {31, 20}, {{20, -1}, {-20, 1}, {0, -1}, {22, -1}}, 1},
    /* gaps within lines; short lines; long lines */
    {2, {9, 17}, {{51, 3}, {17, 1}, {34, 2}, {40, 2}}, 0},
    {2, {1500, 3}, {{3, 1}, {5, 1}, {1, 1500}, {4, 1}}, 0},
    {2, {2, 9001}, {{9001, 1}, {9001, 1}, {9010, 1}, {9004, 1}}, 0},
    /* many dimensions, of which some are one, some are of one element, and a window passes over itself */
    {5,
     {2, 3, 4, 5, 6},
     {{360, 120, 1, 24, 4}, {1, 2, 6, 24, 120}, {0, 5, 0, 1, 0}, {400, 130, 30, 6, 1}},
     0},
    {8,
     {2, 1, 3, 2, 2, 1, 3, 2},
     {{72, 9, 24, 12, 6, 7777, 2, 1},
      {1, 0, 2, 6, 12, 0, 24, 72},
      {0, 0, 0, 4, 2, 0, 0, 1},
      {90, -5, 30, 14, 7, 123456, 2, 1}},
     0},
    {8,
     {2, 2, 2, 2, 2, 2, 2, 2},
     {{1, 2, 4, 8, 16, 32, 64, 128},
      {3, 9, 27, 81, 1, 0, 0, 0},
      {128, 64, 32, 16, 8, 4, 2, -1},
      {2187, 729, 243, 81, 27, 9, 3, 1}},
     1},
    {3, {20, 5, 16}, {{1, 1, 1}, {16, 320, 1}, {4, 1, 100}, {80, 16, 1}}, 0},
    /* one element, and none */
    {0, {0}, {{0}, {0}, {0}, {0}}, 3},
    {3, {1, 1, 1}, {{5, 9, -7}, {0, 1, 2}, {3, 3, 3}, {0, 0, 0}}, 0},
    {2, {0, 5}, {{5, 1}, {1, 0}, {0, 0}, {0, 0}}, 0},
    {3, {5, 0, 3}, {{0, 0, 0}, {1, 1, 1}, {-1, 9, 0}, {3, 3, -1}}, 1},
};

enum { LAYOUTS = sizeof layouts / sizeof *layouts, MOST = 24100 };

/* --- views on host and device --- */

static size_t count_of(const struct layout *layout) {
    size_t count = 1;
    for (unsigned d = 0; d < layout->dimensions; d++)
        count *= layout->shape[d];
    return count;
}

/* From the first element in memory to the one whose indices are 0, or from that to the last. */
static size_t reach_of(const struct layout *layout, unsigned view, bool before) {
    ptrdiff_t reach = 0;
    for (unsigned d = 0; d < layout->dimensions && count_of(layout); d++)
        if ((layout->strides[view][d] < 0) == before)
            reach += ((ptrdiff_t)layout->shape[d] - 1) * layout->strides[view][d];
    return (size_t)labs((long)reach);
}

static size_t extent_of(const struct layout *layout, unsigned view) {
    return count_of(layout) ? reach_of(layout, view, true) + reach_of(layout, view, false) + 1 : 0;
}

/* Where element number i, in row-major order, lies from the first one in memory. */
static size_t place_of(const struct layout *layout, unsigned view, size_t i) {
    ptrdiff_t place = (ptrdiff_t)reach_of(layout, view, true);
    for (unsigned d = layout->dimensions; d-- > 0; i /= layout->shape[d])
        place += (ptrdiff_t)(i % layout->shape[d]) * layout->strides[view][d];
    return (size_t)place;
}

static cls_strided strided_in(const struct layout *layout, unsigned view, cls_array array) {
    cls_strided strided = {.buffer = array.buffer,
                           .dtype = array.dtype,
                           .dimensions = layout->dimensions,
                           .offset = array.offset + reach_of(layout, view, true)};
    memcpy(strided.shape, layout->shape, sizeof strided.shape);
    memcpy(strided.strides, layout->strides[view], sizeof strided.strides);
    return strided;
}

/* The elements in row-major order. */
static void *gather(const struct layout *layout, unsigned view, const void *memory, size_t size) {
    const size_t count = count_of(layout);
    unsigned char *out = malloc(count * size + 1);
    assert_non_null(out);
    for (size_t i = 0; i < count; i++)
        memcpy(out + i * size, (const unsigned char *)memory + place_of(layout, view, i) * size,
               size);
    return out;
}

/* Of the output every other element is what it was before. */
static void check_rest(const char *name, const struct layout *layout, const void *before,
                       const void *after, size_t size) {
    const size_t extent = extent_of(layout, OUT);
    const unsigned char *x = before, *y = after;
    bool *written = calloc(extent + 1, sizeof *written);
    assert_non_null(written);
    for (size_t i = 0; i < count_of(layout); i++)
        written[place_of(layout, OUT, i)] = true;
    for (size_t i = 0; i < extent; i++)
        if (!written[i] && memcmp(x + i * size, y + i * size, size))
            fail_msg("%s: element %zu, between those of the output, has changed", name, i);
    free(written);
}

/* --- operations --- */

static const double parameter = 1.75;

static cls_dtype type_of(const struct work *work, unsigned view) {
    return view == 0 ? work->type : view == OUT ? work->result : work->other;
}

static unsigned inputs_of(const struct work *work) {
    return work->family == WHERE ? 3 : work->family == BINARY ? 2 : 1;
}

static cls_status submit(const struct work *work, const cls_strided *v, bool blocking) {
    switch (work->family) {
    case CAST:
        return blocking ? cls_strided_cast(v[0], v[OUT], NULL)
                        : cls_strided_cast_async(v[0], v[OUT], NULL);
    case WHERE:
        return blocking ? cls_strided_where(v[0], v[1], v[2], v[OUT], NULL)
                        : cls_strided_where_async(v[0], v[1], v[2], v[OUT], NULL);
    case UNARY:
        return blocking ? cls_strided_unary((cls_unary_op)work->op, v[0], v[OUT], NULL)
                        : cls_strided_unary_async((cls_unary_op)work->op, v[0], v[OUT], NULL);
    case PARAM:
        return blocking ? cls_strided_unary_param((cls_unary_param_op)work->op, v[0], v[OUT],
                                                  parameter, NULL)
                        : cls_strided_unary_param_async((cls_unary_param_op)work->op, v[0], v[OUT],
                                                        parameter, NULL);
    case BINARY:
        break;
    }
    return blocking ? cls_strided_binary((cls_binary_op)work->op, v[0], v[1], v[OUT], NULL)
                    : cls_strided_binary_async((cls_binary_op)work->op, v[0], v[1], v[OUT], NULL);
}

/* False: the library has no such operation for the type. */
static bool reference(const struct work *work, void *const *x, void *out, size_t count) {
    unsigned char p[8];
    switch (work->family) {
    case CAST:
        return reference_cast(work->type, work->result, x[0], out, count);
    case WHERE:
        return reference_where(work->type, work->result, x[0], x[1], x[2], out, count);
    case UNARY:
        return reference_unary((cls_unary_op)work->op, work->type, x[0], out, count);
    case PARAM:
        return reference_cast(CLS_F64, work->type, &parameter, p, 1) &&
               reference_unary_param((cls_unary_param_op)work->op, work->type, x[0], p, out, count);
    case BINARY:
        break;
    }
    return reference_binary((cls_binary_op)work->op, work->type, x[0], x[1], out, count);
}

static double element_of(cls_dtype type, const void *x, size_t i) {
    double value = 0;
    const unsigned char *at = (const unsigned char *)x + i * cls_dtype_size(type);
    assert_true(reference_cast(type, CLS_F64, at, &value, 1));
    return value;
}

static double *bounds_of(const struct work *work, const void *x, size_t count) {
    double *bounds = calloc(count + 1, sizeof *bounds);
    assert_non_null(bounds);
    for (size_t i = 0; i < count; i++)
        if (work->family == UNARY)
            bounds[i] = reference_unary_bound((cls_unary_op)work->op, work->type,
                                              element_of(work->type, x, i));
        else if (work->family == PARAM)
            bounds[i] = reference_unary_param_bound((cls_unary_param_op)work->op, work->type);
        else if (work->family == BINARY)
            bounds[i] = reference_binary_bound((cls_binary_op)work->op, work->type,
                                               element_of(work->type, x, i));
    return bounds;
}

/* --- one layout --- */

static void compare(const struct work *work, const struct layout *layout, const void *const *inputs,
                    const void *before, const void *after) {
    const size_t count = count_of(layout), size = cls_dtype_size(work->result);
    void *x[INPUTS] = {NULL}, *got = gather(layout, OUT, after, size);
    for (unsigned i = 0; i < inputs_of(work); i++)
        x[i] = gather(layout, i, inputs[i], cls_dtype_size(type_of(work, i)));
    void *expected = malloc(count * size + 1);
    assert_non_null(expected);
    assert_true(reference(work, x, expected, count));
    double *bounds = bounds_of(work, x[0], count);
    check_array(work->name, work->result, got, expected, bounds, count, work->type, x[0]);
    if (work->family == CAST && work->type == work->result)
        assert_memory_equal(got, expected, count * size);
    check_rest(work->name, layout, before, after, size);
    free(bounds);
    free(expected);
    free(got);
    for (unsigned i = 0; i < INPUTS; i++)
        free(x[i]);
}

/* `in_place`: the output is the first input, whose strides are the output's. */
static void check_layout(const struct work *work, struct layout layout, const void *const *inputs,
                         const void *before, bool in_place) {
    cls_array arrays[VIEWS];
    cls_strided views[VIEWS];
    if (in_place)
        memcpy(layout.strides[0], layout.strides[OUT], sizeof layout.strides[0]);
    for (unsigned i = 0; i < VIEWS; i++) {
        arrays[i] = in_place && i == OUT
                        ? arrays[0]
                        : view_make(type_of(work, i), layout.offset, extent_of(&layout, i),
                                    i == OUT ? before : inputs[i]);
        views[i] = strided_in(&layout, i, arrays[i]);
        views[i].dtype = type_of(work, i);
    }
    OK(submit(work, views, !in_place));
    OK(cls_stream_synchronize(NULL));
    void *after = view_take(arrays[OUT]);
    compare(work, &layout, inputs, in_place ? inputs[0] : before, after);
    free(after);
    for (unsigned i = in_place; i < INPUTS; i++)
        view_destroy(arrays[i]);
}

static void check_operation(void **state) {
    const struct work *work = *state;
    NEED_TYPE(work->type);
    NEED_TYPE(work->other);
    NEED_TYPE(work->result);
    if (work->family == BINARY &&
        !reference_takes((cls_binary_op)work->op, CLS_I32)) /* a function */
        NEED_ROUNDING(work->type);
    void *inputs[INPUTS], *before = hard_values(work->result, MOST, 7);
    for (unsigned i = 0; i < INPUTS; i++)
        inputs[i] = hard_values(type_of(work, i), MOST, 3 + i);
    for (int i = 0; i < LAYOUTS; i++) {
        check_layout(work, layouts[i], (const void *const *)inputs, before, false);
        if (cls_dtype_size(work->type) == cls_dtype_size(work->result))
            check_layout(work, layouts[i], (const void *const *)inputs, before, true);
    }
    for (unsigned i = 0; i < INPUTS; i++)
        free(inputs[i]);
    free(before);
}

/* An element has the bits that the operations of arrays give, where the reference has a bound only. */
static void bits_of_arrays(void **state) {
    enum { ROWS = 31, COLUMNS = 67, COUNT = ROWS * COLUMNS };
    static const size_t shape[] = {ROWS, COLUMNS};
    (void)state;
    NEED_ROUNDING(CLS_F32);
    void *a = hard_values(CLS_F32, COUNT, 3), *b = hard_values(CLS_F32, COUNT, 5);
    cls_array x = view_make(CLS_F32, 0, COUNT, a), y = view_make(CLS_F32, 0, COUNT, b);
    cls_array dense = view_make(CLS_F32, 0, COUNT, NULL), out = view_make(CLS_F32, 0, COUNT, NULL);
    cls_strided views[2] = {cls_strided_of(x, 2, shape), cls_strided_of(y, 2, shape)};
    const size_t wide[] = {COLUMNS, ROWS};
    const cls_strided to = cls_strided_of(out, 2, wide);
    float expected[COUNT];
    for (int i = 0; i < 2; i++)
        views[i] = cls_strided_transpose(views[i], 0, 1);
    for (int op = 0; op < 2; op++) {
        OK(op ? cls_binary(CLS_BINARY_DIV, x, y, dense, NULL)
              : cls_unary(CLS_UNARY_EXP, x, dense, NULL));
        OK(op ? cls_strided_binary(CLS_BINARY_DIV, views[0], views[1], to, NULL)
              : cls_strided_unary(CLS_UNARY_EXP, views[0], to, NULL));
        float *all = view_read(dense), *got = view_read(out);
        for (int i = 0; i < COUNT; i++)
            expected[i % COLUMNS * ROWS + i / COLUMNS] = all[i];
        check_array("strided", CLS_F32, got, expected, NULL, COUNT, CLS_F32, NULL);
        free(all);
        free(got);
    }
    free(a);
    free(b);
    view_destroy(x);
    view_destroy(y);
    view_destroy(dense);
    view_destroy(out);
}

/* --- the functions that make views --- */

static void expect_view(cls_strided view, unsigned dimensions, const size_t *shape,
                        const ptrdiff_t *strides) {
    assert_int_equal(view.dimensions, dimensions);
    for (unsigned d = 0; d < dimensions; d++) {
        assert_int_equal(view.shape[d], shape[d]);
        assert_int_equal(view.strides[d], strides[d]);
    }
}

static void makes_views(void **state) {
    static const size_t shape[] = {2, 3, 4}, wide[] = {5, 2, 3, 4}, other[] = {2, 3, 5};
    static const unsigned order[] = {2, 0, 1}, twice[] = {2, 0, 2}, beyond[] = {2, 0, 3};
    static const size_t many[CLS_MAX_DIMENSIONS + 1] = {1, 1, 1, 1, 1, 1, 1, 1, 24};
    (void)state;
    const cls_array array = cls_array_at(NULL, CLS_F32, 7, 24);
    const cls_strided view = cls_strided_of(array, 3, shape);
    cls_matrix matrix = cls_matrix_at(NULL, CLS_F64, 3, 5, 6);
    matrix.ld = 9;
    const cls_strided column = cls_strided_of_matrix(cls_matrix_at(NULL, CLS_F32, 0, 3, 1));
    const cls_strided of_matrix = cls_strided_of_matrix(matrix);
    assert_int_equal(view.offset, 7);
    expect_view(view, 3, shape, (ptrdiff_t[]){12, 4, 1});
    expect_view(of_matrix, 2, (size_t[]){5, 6}, (ptrdiff_t[]){9, 1});
    expect_view(cls_strided_permute(view, order), 3, (size_t[]){4, 2, 3}, (ptrdiff_t[]){1, 12, 4});
    expect_view(cls_strided_transpose(view, 0, 2), 3, (size_t[]){4, 3, 2}, (ptrdiff_t[]){1, 4, 12});
    expect_view(cls_strided_broadcast(view, 4, wide), 4, wide, (ptrdiff_t[]){0, 12, 4, 1});
    expect_view(cls_strided_broadcast(column, 3, shape), 3, shape, (ptrdiff_t[]){0, 1, 0});
    expect_view(cls_strided_of(cls_array_at(NULL, CLS_F32, 0, 1), 0, NULL), 0, NULL, NULL);
    const cls_strided bad[] = {
        cls_strided_of(array, 3, other),          cls_strided_of(array, 9, many),
        cls_strided_permute(view, twice),         cls_strided_permute(view, beyond),
        cls_strided_transpose(view, 0, 3),        cls_strided_broadcast(view, 2, shape),
        cls_strided_broadcast(view, 3, other),    cls_strided_broadcast(view, 9, many),
        cls_strided_of(array, UINT32_MAX, shape),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        EXPECT(CLS_ERROR_INVALID_VALUE, cls_strided_cast(bad[i], bad[i], NULL));
        cls_strided next = cls_strided_transpose(bad[i], 0, 1);
        assert_true(next.dimensions > CLS_MAX_DIMENSIONS);
        next = cls_strided_permute(bad[i], order);
        assert_true(next.dimensions > CLS_MAX_DIMENSIONS);
        next = cls_strided_broadcast(bad[i], 3, shape);
        assert_true(next.dimensions > CLS_MAX_DIMENSIONS);
    }
}

/* --- what is refused, and what is not --- */

static void refusals(void **state) {
    static const size_t shape[] = {3, 4};
    (void)state;
    cls_array x = view_make(CLS_F32, 0, 40, NULL), y = view_make(CLS_F32, 0, 40, NULL);
    x.count = y.count = 12;
    const cls_strided in = cls_strided_of(x, 2, shape), out = cls_strided_of(y, 2, shape);
    cls_strided bad = out;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_strided_unary((cls_unary_op)99, in, out, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_strided_unary_param((cls_unary_param_op)0, in, out, 1, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_strided_binary((cls_binary_op)99, in, in, out, NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_strided_cast(in, cls_strided_transpose(out, 0, 1), NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_strided_binary(CLS_BINARY_EQ, in, in, out, NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH,
           cls_strided_where(cls_strided_transpose(cls_strided_of(x, 2, (size_t[]){4, 3}), 0, 1),
                             in, in, out, NULL));
    bad.strides[0] = 3;
    EXPECT(CLS_ERROR_OVERLAP, cls_strided_cast(in, bad, NULL));
    bad.strides[1] = 0;
    EXPECT(CLS_ERROR_OVERLAP, cls_strided_cast(in, bad, NULL));
    bad = in;
    bad.offset++;
    EXPECT(CLS_ERROR_OVERLAP, cls_strided_cast(in, bad, NULL));
    bad = in;
    bad.strides[0] = 6;
    EXPECT(CLS_ERROR_OVERLAP, cls_strided_cast(in, bad, NULL));
    EXPECT(CLS_ERROR_OVERLAP, cls_strided_cast(bad, in, NULL));
    bad = in;
    bad.dtype = CLS_U8;
    EXPECT(CLS_ERROR_OVERLAP, cls_strided_cast(in, bad, NULL));
    bad = in;
    bad.strides[0] = 0;
    EXPECT(CLS_ERROR_OVERLAP, cls_strided_binary(CLS_BINARY_ADD, in, bad, in, NULL));
    bad.offset = x.offset;
    bad.strides[0] = -(ptrdiff_t)x.offset - 1;
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_strided_cast(bad, out, NULL));
    bad.strides[0] = 1 << 20;
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_strided_cast(bad, out, NULL));
    bad.strides[0] = PTRDIFF_MAX;
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_strided_cast(bad, out, NULL));
    EXPECT(CLS_ERROR_OVERLAP,
           cls_strided_cast(cls_strided_transpose(cls_strided_of(x, 2, (size_t[]){4, 3}), 0, 1), in,
                            NULL));
    view_destroy(x);
    view_destroy(y);
}

/* Views may be between each other's elements: columns, rows, and slices. */
static void shares_memory(void **state) {
    enum { SIDE = 6, COUNT = SIDE * SIDE * SIDE };
    float x[COUNT];
    (void)state;
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)i;
    for (int d = 0; d < 3; d++) {
        cls_array array = view_make(CLS_F32, 1, COUNT, x);
        cls_strided even = cls_strided_of(array, 3, (size_t[]){SIDE, SIDE, SIDE}), odd;
        const size_t step = (size_t)even.strides[d];
        even.shape[d] = SIDE / 2;
        even.strides[d] *= 2;
        odd = even;
        odd.offset += step;
        OK(cls_strided_cast(even, odd, NULL));
        float *got = view_take(array);
        for (size_t i = 0; i < COUNT; i++)
            assert_true(got[i] == (float)(i / step % 2 ? i - step : i));
        free(got);
    }
}

/* A captured call reads and writes what is there at each launch. */
static void is_captured(void **state) {
    enum { ROWS = 5, COLUMNS = 3 };
    static const size_t shape[] = {ROWS, COLUMNS};
    (void)state;
    float row[COLUMNS] = {1, 2, 3}, zero[ROWS * COLUMNS] = {0};
    cls_array x = view_make(CLS_F32, 0, COLUMNS, row);
    cls_array sum = view_make(CLS_F32, 0, ROWS * COLUMNS, zero);
    const cls_strided to = cls_strided_of(sum, 2, shape);
    const cls_strided more = cls_strided_broadcast(cls_strided_of(x, 1, &shape[1]), 2, shape);
    cls_stream stream;
    cls_graph graph;
    cls_graph_exec exec;
    OK(cls_stream_create(NULL, NULL, &stream));
    OK(cls_stream_begin_capture(stream, "sums"));
    OK(cls_strided_binary_async(CLS_BINARY_SUB, to, more, to, stream));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    for (int i = 0; i < 3; i++)
        OK(cls_graph_launch(exec, stream));
    OK(cls_stream_synchronize(stream));
    float *got = view_take(sum);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        assert_true(got[i] == -3 * row[i % COLUMNS]);
    free(got);
    view_destroy(x);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    OK(cls_stream_destroy(stream));
}

static const struct CMUnitTest others[] = {
    cmocka_unit_test(bits_of_arrays), cmocka_unit_test(makes_views), cmocka_unit_test(refusals),
    cmocka_unit_test(shares_memory),  cmocka_unit_test(is_captured),
};

/* Each is two or three programs for the driver's compiler: some operations of each family, on each type. */
static const struct {
    enum family family;
    int op;
    cls_dtype type, result;
} usual[] = {
    {BINARY, CLS_BINARY_SUB, CLS_F32, CLS_F32},
    {BINARY, CLS_BINARY_LT, CLS_F16, CLS_U8},
    {BINARY, CLS_BINARY_MUL, CLS_U8, CLS_U8},
    {UNARY, CLS_UNARY_NEG, CLS_I64, CLS_I64},
    {BINARY, CLS_BINARY_SILU_GRADIENT, CLS_F32, CLS_F32},
    {PARAM, CLS_UNARY_SCALE, CLS_BF16, CLS_BF16},
    {CAST, 0, CLS_F32, CLS_F32},
    {CAST, 0, CLS_U32, CLS_F16},
    {CAST, 0, CLS_F64, CLS_I32},
    {WHERE, 0, CLS_I32, CLS_I64},
};

enum {
    USUAL = sizeof usual / sizeof *usual,
    OTHERS = sizeof others / sizeof *others,
    WORKS = (LAST_BINARY + LAST_UNARY + LAST_UNARY_PARAM + 2 * TYPES) * TYPES + USUAL
};

static struct work works[WORKS];
static struct CMUnitTest tests[WORKS + OTHERS];
static unsigned n_works;

static const char *name_of(enum family family, int op) {
    switch (family) {
    case CAST:
        return "cast";
    case WHERE:
        return "where";
    case UNARY:
        return cls_unary_op_name((cls_unary_op)op);
    case PARAM:
        return cls_unary_param_op_name((cls_unary_param_op)op);
    case BINARY:
        break;
    }
    return cls_binary_op_name((cls_binary_op)op);
}

/* Of the long effort: a fourth of all pairs, each a program for the driver's compiler. */
static bool is_chosen(int op, cls_dtype type, cls_dtype result) {
    return (op + (int)type + 3 * (int)result) % 4 == 0;
}

static void add(enum family family, int op, cls_dtype type, cls_dtype result) {
    struct work *work = &works[n_works];
    unsigned char x[INPUTS][8] = {{1}, {1}, {1}}, out[8];
    void *const inputs[] = {x[0], x[1], x[2]};
    *work = (struct work){.family = family,
                          .op = op,
                          .type = type,
                          .other = family == WHERE ? result : type,
                          .result = result};
    if (family == BINARY && reference_compares((cls_binary_op)op))
        work->result = CLS_U8;
    if (!reference(work, inputs, out, 1))
        return;
    snprintf(work->name, sizeof work->name, "%s_%s_%s", name_of(family, op), cls_dtype_name(type),
             cls_dtype_name(work->result));
    tests[n_works++] = (struct CMUnitTest){work->name, check_operation, NULL, NULL, work};
}

static void try_pair(enum family family, int op, cls_dtype type, cls_dtype result) {
    if (is_chosen(op, type, result))
        add(family, op, type, result);
}

static void add_all(void) {
    for (unsigned t = 0; t < TYPES; t++) {
        for (int op = 1; op <= LAST_UNARY; op++)
            try_pair(UNARY, op, all_types[t], all_types[t]);
        for (int op = 1; op <= LAST_UNARY_PARAM; op++)
            try_pair(PARAM, op, all_types[t], all_types[t]);
        for (int op = 1; op <= LAST_BINARY; op++)
            try_pair(BINARY, op, all_types[t], all_types[t]);
        for (unsigned to = 0; to < TYPES; to++) {
            try_pair(CAST, 0, all_types[t], all_types[to]);
            if (all_types[t] == CLS_U8 || all_types[t] == CLS_I32 || all_types[t] == CLS_I64)
                try_pair(WHERE, 0, all_types[t], all_types[to]);
        }
    }
}

int main(void) {
    prepare_tests();
    if (effort_is_long())
        add_all();
    else
        for (size_t i = 0; i < USUAL; i++)
            add(usual[i].family, usual[i].op, usual[i].type, usual[i].result);
    memcpy(&tests[n_works], others, sizeof others);
    return _cmocka_run_group_tests("strided", tests, n_works + OTHERS, NULL, NULL);
}
