/* SPDX-License-Identifier: MIT */
/*
 * Rows and elements by their numbers, against loops on the host, bit for bit: every type of elements and of indices,
 * rows and views of every alignment, indices that name nothing and targets that are written many times.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/effort.h"
#include "arrays.h"

enum what { SELECT, SCATTER, ADD };

struct work {
    char name[48];
    enum what what;
    bool of_rows;
    cls_dtype type, index;
};

/* Of the matrix on the indices' side: `lines` rows of `entries` for elements, `entries` rows of `columns` for rows. */
struct shape {
    size_t lines, entries, columns, targets, gap, offset;
};

static const struct shape of_rows[] = {
    {1, 1, 1, 1, 0, 0},     {1, 9, 3, 4, 0, 1},     {1, 70, 64, 33, 0, 0}, {1, 300, 17, 5, 7, 2},
    {1, 5, 2051, 90, 1, 0}, {1, 1000, 16, 7, 0, 0}, {1, 40, 1, 900, 0, 3}, {1, 0, 5, 4, 0, 0},
    {1, 6, 0, 4, 1, 0},     {1, 3000, 4, 1, 4, 0}};
static const struct shape of_elements[] = {
    {1, 1, 1, 1, 0, 0},   {7, 5, 1, 11, 0, 1}, {300, 9, 1, 3, 2, 0}, {1, 5000, 1, 60, 0, 2},
    {9, 700, 1, 1, 3, 0}, {0, 4, 1, 4, 0, 0},  {4, 0, 1, 4, 0, 0}};

/* The three matrices of a call as they lie in memory, and the indices as numbers. */
struct sides {
    size_t rows[2], columns[2], ld[2]; /* of the entries' matrix and of the targets' */
    size_t index_ld;
    void *entries, *targets, *indices;
    long long *numbers;
    unsigned missed;
};

/* --- the host's --- */

static long long draw_index(const struct work *work, size_t targets, size_t i) {
    const unsigned mixed = (unsigned)(i * 2654435761u) >> 7;
    if (mixed % 11 == 3)
        return work->index == CLS_U8 || work->index == CLS_U32 ? (long long)targets
                                                               : -1 - (long long)(i % 3);
    if (mixed % 13 == 5)
        return work->index == CLS_I64 ? 1LL << 40 : (long long)targets;
    return (long long)(mixed % (targets ? targets : 1));
}

static void put_index(cls_dtype type, void *indices, size_t i, long long number) {
    const double real = (double)number;
    reference_cast(CLS_F64, type, &real, (char *)indices + i * cls_dtype_size(type), 1);
}

static struct shape limited(const struct work *work, struct shape shape) {
    if (work->index == CLS_U8 && shape.targets > 200)
        shape.targets = 200;
    return shape;
}

/* Elements between two are an index too, which nobody is to look at. */
static void draw_indices(const struct work *work, const struct shape *shape, struct sides *sides) {
    const size_t n = shape->lines * shape->entries;
    sides->index_ld = work->of_rows ? 1 + shape->gap % 3 : shape->entries + shape->gap;
    const size_t count = (work->of_rows ? shape->entries : shape->lines) * sides->index_ld;
    sides->indices = calloc(count + 1, cls_dtype_size(work->index));
    sides->numbers = calloc(n + 1, sizeof *sides->numbers);
    assert_non_null(sides->indices);
    assert_non_null(sides->numbers);
    for (size_t i = 0; i < n; i++) {
        const size_t place = work->of_rows
                                 ? i * sides->index_ld
                                 : i / shape->entries * sides->index_ld + i % shape->entries;
        const long long number = draw_index(work, shape->targets, i);
        put_index(work->index, sides->indices, place, number);
        sides->numbers[i] = number;
        sides->missed += number < 0 || number >= (long long)shape->targets;
    }
}

static void *draw_matrix(const struct work *work, size_t count, unsigned seed) {
    void *values = hard_values(work->type, count + 1, seed);
    const size_t size = cls_dtype_size(work->type);
    for (size_t i = 0; work->what == ADD && is_float(work->type) && i < count; i++) {
        const double x = ((double)((i * 37 + seed) % 2001) - 1000) / 7;
        reference_cast(CLS_F64, work->type, &x, (char *)values + i * size, 1);
    }
    return values;
}

static struct sides sides_make(const struct work *work, const struct shape *shape) {
    struct sides sides = {.rows = {work->of_rows ? shape->entries : shape->lines,
                                   work->of_rows ? shape->targets : shape->lines},
                          .columns = {work->of_rows ? shape->columns : shape->entries,
                                      work->of_rows ? shape->columns : shape->targets}};
    for (int i = 0; i < 2; i++)
        sides.ld[i] = sides.columns[i] + shape->gap * (size_t)(i + 1);
    sides.entries = draw_matrix(work, sides.rows[0] * sides.ld[0], 3);
    sides.targets = draw_matrix(work, sides.rows[1] * sides.ld[1], 5);
    draw_indices(work, shape, &sides);
    return sides;
}

static void sides_free(struct sides *sides) {
    free(sides->entries);
    free(sides->targets);
    free(sides->indices);
    free(sides->numbers);
}

/* `entry` counts through all lines; one of no target is NULL. */
static char *target_of(const struct work *work, const struct shape *shape,
                       const struct sides *sides, size_t entry) {
    const long long number = sides->numbers[entry];
    const size_t size = cls_dtype_size(work->type);
    if (number < 0 || number >= (long long)shape->targets)
        return NULL;
    return (char *)sides->targets + (work->of_rows
                                         ? (size_t)number * sides->ld[1]
                                         : entry / shape->entries * sides->ld[1] + (size_t)number) *
                                        size;
}

static char *entry_of(const struct work *work, const struct shape *shape, const struct sides *sides,
                      size_t entry) {
    return (char *)sides->entries +
           (work->of_rows ? entry * sides->ld[0]
                          : entry / shape->entries * sides->ld[0] + entry % shape->entries) *
               cls_dtype_size(work->type);
}

/* What the call is to make of `sides`; for SCATTER only where each target has one entry at most. */
static void expected(const struct work *work, const struct shape *shape, struct sides *sides) {
    const size_t bytes = shape->columns * cls_dtype_size(work->type);
    for (size_t i = 0; i < shape->lines * shape->entries; i++) {
        char *const target = target_of(work, shape, sides, i), *const entry =
                                                                   entry_of(work, shape, sides, i);
        if (work->what == SELECT && target)
            memcpy(entry, target, bytes);
        else if (work->what == SELECT)
            memset(entry, 0, bytes);
        else if (target && work->what == SCATTER)
            memcpy(target, entry, bytes);
        else if (target)
            assert_true(reference_binary(CLS_BINARY_ADD, work->type, target, entry, target,
                                         shape->columns));
    }
}

/* --- the call --- */

static cls_status submit(const struct work *work, cls_matrix in, cls_matrix indices, cls_matrix out,
                         cls_array missed, bool blocking) {
    const cls_vector numbers = {indices.buffer, indices.dtype, indices.offset, indices.rows,
                                indices.ld};
    switch (work->what) {
    case SELECT:
        return work->of_rows
                   ? (blocking ? cls_select_rows : cls_select_rows_async)(in, numbers, out, missed,
                                                                          NULL)
                   : (blocking ? cls_gather : cls_gather_async)(in, indices, out, missed, NULL);
    case SCATTER:
        return work->of_rows
                   ? (blocking ? cls_scatter_rows : cls_scatter_rows_async)(in, numbers, out,
                                                                            missed, NULL)
                   : (blocking ? cls_scatter : cls_scatter_async)(in, indices, out, missed, NULL);
    case ADD:
        break;
    }
    return work->of_rows ? (blocking ? cls_scatter_add_rows
                                     : cls_scatter_add_rows_async)(in, numbers, out, missed, NULL)
                         : (blocking ? cls_scatter_add : cls_scatter_add_async)(in, indices, out,
                                                                                missed, NULL);
}

static cls_matrix matrix_in(cls_array view, size_t rows, size_t columns, size_t ld) {
    cls_matrix matrix = cls_matrix_at(view.buffer, view.dtype, view.offset, rows, columns);
    matrix.ld = ld;
    return matrix;
}

/* Entries that are another's target, or follow one for that target, are of no target: the result is defined then. */
static void part_targets(const struct work *work, const struct shape *shape, struct sides *sides) {
    char *taken = calloc(shape->targets * shape->lines + 1, 1);
    assert_non_null(taken);
    sides->missed = 0;
    for (size_t i = 0; i < shape->lines * shape->entries; i++) {
        const size_t line = shape->entries ? i / shape->entries : 0;
        const size_t place =
            work->of_rows ? i * sides->index_ld : line * sides->index_ld + i % shape->entries;
        char *const target = target_of(work, shape, sides, i);
        char *const mark =
            target ? &taken[line * shape->targets + (size_t)sides->numbers[i]] : NULL;
        if (mark && !*mark) {
            *mark = 1;
            continue;
        }
        sides->numbers[i] = (long long)shape->targets;
        put_index(work->index, sides->indices, place, sides->numbers[i]);
        sides->missed++;
    }
    free(taken);
}

static void check_shape(const struct work *work, struct shape shape, bool counted) {
    shape = limited(work, shape);
    struct sides sides = sides_make(work, &shape);
    if (work->what == SCATTER)
        part_targets(work, &shape, &sides);
    const size_t counts[] = {sides.rows[0] * sides.ld[0], sides.rows[1] * sides.ld[1]};
    const size_t n_indices = (work->of_rows ? shape.entries : shape.lines) * sides.index_ld;
    const uint32_t five = 5;
    cls_array entries = view_make(work->type, shape.offset, counts[0], sides.entries);
    cls_array targets = view_make(work->type, shape.offset, counts[1], sides.targets);
    cls_array indices = view_make(work->index, shape.offset, n_indices, sides.indices);
    cls_array missed = view_make(CLS_U32, 1, 1, &five);
    const cls_matrix a = matrix_in(entries, sides.rows[0], sides.columns[0], sides.ld[0]);
    const cls_matrix b = matrix_in(targets, sides.rows[1], sides.columns[1], sides.ld[1]);
    const cls_matrix numbers = matrix_in(indices, work->of_rows ? shape.entries : shape.lines,
                                         work->of_rows ? 1 : shape.entries, sides.index_ld);
    OK(submit(work, work->what == SELECT ? b : a, numbers, work->what == SELECT ? a : b,
              counted ? missed : (cls_array){0}, counted));
    OK(cls_stream_synchronize(NULL));
    expected(work, &shape, &sides);
    void *got[] = {view_take(entries), view_take(targets), view_take(indices), view_take(missed)};
    check_array("entries", work->type, got[0], sides.entries, NULL, counts[0], work->type, NULL);
    check_array("targets", work->type, got[1], sides.targets, NULL, counts[1], work->type, NULL);
    assert_memory_equal(got[2], sides.indices, n_indices * cls_dtype_size(work->index));
    const bool any = shape.lines && shape.entries && shape.columns;
    assert_int_equal(*(uint32_t *)got[3], five + (counted && any ? sides.missed : 0));
    for (int i = 0; i < 4; i++)
        free(got[i]);
    sides_free(&sides);
}

static void check(void **state) {
    const struct work *work = *state;
    NEED_TYPE(work->type);
    if (work->what == ADD)
        NEED_ROUNDING(work->type);
    const struct shape *shapes = work->of_rows ? of_rows : of_elements;
    const size_t n =
        work->of_rows ? sizeof of_rows / sizeof *of_rows : sizeof of_elements / sizeof *of_elements;
    for (size_t i = 0; i < n; i++)
        check_shape(work, shapes[i], i % 2 == 0);
}

/* A target that many entries are written to has one of them. */
static void one_of_many(void **state) {
    enum { ENTRIES = 500, COLUMNS = 24 };
    static float in[ENTRIES * COLUMNS];
    static const uint8_t zeros[ENTRIES];
    (void)state;
    for (int i = 0; i < ENTRIES * COLUMNS; i++)
        in[i] = (float)(i / COLUMNS + 1);
    cls_array entries = view_make(CLS_F32, 0, ENTRIES * COLUMNS, in),
              out = view_make(CLS_F32, 0, COLUMNS, in);
    cls_array indices = view_make(CLS_U8, 0, ENTRIES, zeros);
    OK(cls_scatter_rows(matrix_in(entries, ENTRIES, COLUMNS, COLUMNS),
                        (cls_vector){indices.buffer, CLS_U8, indices.offset, ENTRIES, 1},
                        matrix_in(out, 1, COLUMNS, COLUMNS), (cls_array){0}, NULL));
    float *got = view_take(out);
    for (int i = 0; i < COLUMNS; i++)
        assert_true(got[i] >= 1 && got[i] <= ENTRIES && got[i] == (float)(int)got[i]);
    free(got);
    view_destroy(entries);
    view_destroy(indices);
}

/* Sums of floats depend on their order: it is that of the indices. */
static void in_order(void **state) {
    enum { ENTRIES = 20000 };
    static float in[ENTRIES];
    static int32_t zeros[ENTRIES];
    float sum = 0.1f;
    (void)state;
    NEED_ROUNDING(CLS_F32);
    for (int i = 0; i < ENTRIES; i++) {
        in[i] = (float)((i * 7919) % 1000) * (i % 3 ? 1e-3f : -1e3f);
        sum += in[i];
    }
    const float start = 0.1f;
    cls_array entries = view_make(CLS_F32, 0, ENTRIES, in), out = view_make(CLS_F32, 0, 1, &start);
    cls_array indices = view_make(CLS_I32, 0, ENTRIES, zeros);
    OK(cls_scatter_add(matrix_in(entries, 1, ENTRIES, ENTRIES),
                       matrix_in(indices, 1, ENTRIES, ENTRIES), matrix_in(out, 1, 1, 1),
                       (cls_array){0}, NULL));
    float *got = view_take(out);
    assert_true(*got == sum);
    free(got);
    view_destroy(entries);
    view_destroy(indices);
}

/* More than a driver counts that stops at 65,535 steps of a work-item. */
static void many_elements(void **state) {
    enum { ENTRIES = 1 << 21, TARGETS = 200 };
    uint8_t *in = malloc(TARGETS), *indices = malloc(ENTRIES);
    (void)state;
    assert_non_null(in);
    assert_non_null(indices);
    for (int i = 0; i < TARGETS; i++)
        in[i] = (uint8_t)(i * 7 + 3);
    for (int i = 0; i < ENTRIES; i++)
        indices[i] = (uint8_t)(i * 31 % TARGETS);
    cls_array table = view_make(CLS_U8, 0, TARGETS, in),
              out = view_make(CLS_U8, 0, ENTRIES, indices);
    cls_array numbers = view_make(CLS_U8, 0, ENTRIES, indices);
    OK(cls_gather(matrix_in(table, 1, TARGETS, TARGETS), matrix_in(numbers, 1, ENTRIES, ENTRIES),
                  matrix_in(out, 1, ENTRIES, ENTRIES), (cls_array){0}, NULL));
    uint8_t *got = view_take(out);
    for (int i = 0; i < ENTRIES; i++)
        if (got[i] != in[indices[i]])
            fail_msg("element %d is %d, not %d", i, got[i], in[indices[i]]);
    free(got);
    free(in);
    free(indices);
    view_destroy(table);
    view_destroy(numbers);
}

static void refusals(void **state) {
    (void)state;
    NEED_ROUNDING(CLS_F32);
    cls_array a = view_make(CLS_F32, 0, 12, NULL), b = view_make(CLS_F32, 0, 12, NULL);
    cls_array numbers = view_make(CLS_I32, 0, 12, NULL), counts = view_make(CLS_U32, 0, 2, NULL);
    const cls_matrix in = matrix_in(a, 3, 4, 4), out = matrix_in(b, 3, 4, 4),
                     at = matrix_in(numbers, 3, 4, 4);
    const cls_array none = {0};
    cls_array missed = cls_array_at(counts.buffer, CLS_U32, counts.offset, 1);
    cls_vector rows = {numbers.buffer, CLS_I32, numbers.offset, 3, 1};
    cls_matrix wrong = out;
    wrong.rows = 0;
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_scatter_rows(in, rows, wrong, none, NULL));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_select_rows(wrong, rows, in, none, NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_gather(in, at, wrong, none, NULL));
    wrong = out;
    wrong.columns = 3;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_select_rows(in, rows, wrong, none, NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_gather(in, at, wrong, none, NULL));
    OK(cls_scatter_add(in, at, wrong, none, NULL));
    wrong.ld = 2;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_scatter_add(in, at, wrong, none, NULL));
    rows.count = 2;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_select_rows(in, rows, out, none, NULL));
    rows.count = 3;
    rows.step = 0;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_scatter_add_rows(in, rows, out, none, NULL));
    rows.step = 1;
    rows.dtype = CLS_F32;
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_scatter_add_rows(in, rows, out, none, NULL));
    rows.dtype = CLS_I32;
    wrong = out;
    wrong.dtype = CLS_I32;
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_scatter_add_rows(in, rows, wrong, none, NULL));
    EXPECT(CLS_ERROR_OVERLAP, cls_scatter_rows(in, rows, in, none, NULL));
    missed.dtype = CLS_I32;
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_select_rows(in, rows, out, missed, NULL));
    missed.dtype = CLS_U32;
    missed.count = 2;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_select_rows(in, rows, out, missed, NULL));
    missed = cls_array_at(b.buffer, CLS_U32, b.offset + 1, 1);
    EXPECT(CLS_ERROR_OVERLAP, cls_select_rows(in, rows, out, missed, NULL));
    missed = cls_array_at(numbers.buffer, CLS_U32, numbers.offset, 1);
    EXPECT(CLS_ERROR_OVERLAP, cls_select_rows(in, rows, out, missed, NULL));
    view_destroy(a);
    view_destroy(b);
    view_destroy(numbers);
    view_destroy(counts);
}

/* --- the tests --- */

static const struct CMUnitTest others[] = {
    cmocka_unit_test(one_of_many),
    cmocka_unit_test(in_order),
    cmocka_unit_test(many_elements),
    cmocka_unit_test(refusals),
};
static const cls_dtype index_types[] = {CLS_I32, CLS_I64, CLS_U8, CLS_U32};
static const char *const names[2][3] = {{"gather", "scatter", "scatter_add"},
                                        {"select_rows", "scatter_rows", "scatter_add_rows"}};

enum { INDEX_TYPES = 4, OTHERS = sizeof others / sizeof *others, WORKS = 6 * TYPES * INDEX_TYPES };

/* Each is a program for the driver's compiler: all calls on f32 by i32, and some on each other type and by each other. */
static bool is_chosen(unsigned call, cls_dtype type, unsigned index) {
    if (effort_is_long())
        return true;
    if (type == CLS_F32)
        return index == 0 || index == 1 + call % 3;
    return index == call % INDEX_TYPES && pair_is_chosen((int)call, type);
}

int main(void) {
    static struct work works[WORKS];
    static struct CMUnitTest tests[WORKS + OTHERS];
    unsigned n = 0;
    prepare_tests();
    for (unsigned i = 0; i < WORKS; i++) {
        struct work *work = &works[i];
        const unsigned call = i / INDEX_TYPES / TYPES, index = i % INDEX_TYPES;
        *work = (struct work){.what = (enum what)(call % 3),
                              .of_rows = call / 3,
                              .type = all_types[i / INDEX_TYPES % TYPES],
                              .index = index_types[index]};
        snprintf(work->name, sizeof work->name, "%s_%s by %s", names[work->of_rows][work->what],
                 cls_dtype_name(work->type), cls_dtype_name(work->index));
        if (is_chosen(call, work->type, index))
            tests[n++] = (struct CMUnitTest){work->name, check, NULL, NULL, work};
    }
    memcpy(&tests[n], others, sizeof others);
    return _cmocka_run_group_tests("indices", tests, n + OTHERS, NULL, NULL);
}
