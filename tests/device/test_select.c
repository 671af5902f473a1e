/* SPDX-License-Identifier: MIT */
/*
 * Selections, against loops on the host: by flags, by comparisons of every type, unique elements, runs, and reductions by
 * key; sizes around those of tiles, outputs without room, lengths on the device, and chains that never wait.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/effort.h"
#include "arrays.h"

static const size_t sizes[] = {0, 1, 2, 15, 16, 17, 300, 4095, 4096, 8192, 8193, 40000, 150001};
enum { SIZES = sizeof sizes / sizeof *sizes, MOST = 150001 };

static const cls_array nothing;

static unsigned draw(unsigned n) {
    static unsigned state = 88172645u;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return n ? state % n : state;
}

/* --- inputs and outputs --- */

/* A selection that is checked: elements of `size` bytes, what is expected, and how much room there is. */
struct fixture {
    cls_dtype type;
    size_t size, count, used, room, offset;
    unsigned char *elements, *expected, *before;
    cls_array in, out, number, length;
};

static bool is_too_long(size_t count) { return device_is_oclgrind() && count > 9000; }

static void open_fixture(struct fixture *f, cls_dtype type, size_t count, size_t room) {
    *f = (struct fixture){.type = type, .size = cls_dtype_size(type), .count = count, .room = room};
    const long long minus_one = -1, length = draw(4) ? (long long)draw((unsigned)count + 2) : 0;
    f->offset = draw(4);
    f->elements = hard_values(type, count + 1, draw(0));
    f->expected = calloc(count + 1, f->size);
    assert_non_null(f->expected);
    f->used = count;
    if (draw(3) == 0) {
        f->length = view_make(CLS_I64, 2, 1, &length);
        f->used = (size_t)length < count ? (size_t)length : count;
    }
    f->number = view_make(CLS_I64, 1, 1, &minus_one);
}

/* After the elements have been made. */
static void upload_fixture(struct fixture *f) {
    f->in = view_make(f->type, f->offset, f->count, f->elements);
    f->out = view_make(f->type, 3 - f->offset, f->room, NULL);
    f->before = view_read(f->out);
}

/* `n` elements were to be selected; `filled` of the output are compared, and the others are as they were. */
static void close_fixture(struct fixture *f, size_t n, size_t filled) {
    long long *number = view_take(f->number);
    unsigned char *got = view_take(f->out);
    filled = filled < f->room ? filled : f->room;
    assert_int_equal(*number, n);
    for (size_t i = 0; i < filled; i++)
        if (memcmp(got + i * f->size, f->expected + i * f->size, f->size) != 0)
            fail_msg("%s: element %zu of %zu, from %zu, is wrong", cls_dtype_name(f->type), i, n,
                     f->count);
    assert_memory_equal(got + filled * f->size, f->before + filled * f->size,
                        (f->room - filled) * f->size);
    view_destroy(f->in);
    if (f->length.buffer)
        view_destroy(f->length);
    free(got);
    free(number);
    free(f->before);
    free(f->elements);
    free(f->expected);
}

static void expect_next(struct fixture *f, size_t at, size_t i) {
    memcpy(f->expected + at * f->size, f->elements + i * f->size, f->size);
}

/* Runs of one and of many elements. */
static void make_runs(struct fixture *f) {
    for (size_t i = 1; i < f->count; i++)
        if (draw(i % 5000 < 2500 ? 40 : 3))
            memcpy(f->elements + i * f->size, f->elements + (i - 1) * f->size, f->size);
}

static bool ends_run(const struct fixture *f, size_t i) {
    return i + 1 == f->used ||
           memcmp(f->elements + i * f->size, f->elements + (i + 1) * f->size, f->size) != 0;
}

/* --- by flags --- */

static unsigned char *draw_flags(size_t count) {
    unsigned char *flags = calloc(count + 1, 1);
    assert_non_null(flags);
    const unsigned in = 1 + draw(6);
    for (size_t i = 0; i < count; i++)
        flags[i] = (unsigned char)(draw(in) == 0 ? 1 + draw(255) : 0);
    return flags;
}

static void check_flags(cls_dtype type, size_t count, bool partition) {
    struct fixture f;
    unsigned char *flags = draw_flags(count);
    size_t n = 0, last;
    open_fixture(&f, type, count, partition || draw(2) ? count : draw((unsigned)count + 1));
    upload_fixture(&f);
    cls_array marks = view_make(CLS_U8, draw(5), count, flags);
    for (size_t i = 0; i < f.used; i++)
        if (flags[i])
            expect_next(&f, n++, i);
    last = n;
    for (size_t i = f.used; partition && i-- > 0;)
        if (!flags[i])
            expect_next(&f, last++, i);
    if (partition)
        OK(cls_partition(f.in, marks, f.out, f.number, f.length, NULL));
    else
        OK(cls_compact(f.in, marks, f.out, f.number, f.length, NULL));
    view_destroy(marks);
    close_fixture(&f, n, last);
    free(flags);
}

static void flags(void **state) {
    (void)state;
    static const cls_dtype types[] = {CLS_U8, CLS_F16, CLS_F32, CLS_I64};
    for (size_t t = 0; t < 4; t++)
        for (size_t i = 0; i < SIZES; i++)
            if (!is_too_long(sizes[i]))
                check_flags(types[t], sizes[i], false);
}

static void partition(void **state) {
    (void)state;
    for (size_t i = 0; i < SIZES; i++)
        if (!is_too_long(sizes[i]))
            check_flags(i % 2 ? CLS_F32 : CLS_U16, sizes[i], true);
}

/* --- by comparisons --- */

static bool compares(cls_comparison comparison, int order, bool is_nan) {
    switch (comparison) {
    case CLS_LESS:
        return !is_nan && order < 0;
    case CLS_LESS_EQUAL:
        return !is_nan && order <= 0;
    case CLS_GREATER:
        return !is_nan && order > 0;
    case CLS_GREATER_EQUAL:
        return !is_nan && order >= 0;
    case CLS_EQUAL:
        return !is_nan && order == 0;
    case CLS_NOT_EQUAL:
        return is_nan || order != 0;
    }
    return false;
}

static bool is_selected(const struct fixture *f, cls_comparison comparison, size_t i,
                        const void *value) {
    long long a, b;
    double x, y;
    if (!is_float(f->type)) {
        reference_cast(f->type, CLS_I64, f->elements + i * f->size, &a, 1);
        reference_cast(f->type, CLS_I64, value, &b, 1);
        return compares(comparison, (a > b) - (a < b), false);
    }
    reference_cast(f->type, CLS_F64, f->elements + i * f->size, &x, 1);
    reference_cast(f->type, CLS_F64, value, &y, 1);
    return compares(comparison, (x > y) - (x < y), isnan(x) || isnan(y));
}

static void check_comparison(cls_dtype type, cls_comparison comparison, size_t count) {
    struct fixture f;
    uint64_t value = 0;
    size_t n = 0;
    open_fixture(&f, type, count, count);
    upload_fixture(&f);
    memcpy(&value, f.elements + draw((unsigned)count + 1) * f.size, f.size);
    for (size_t i = 0; i < f.used; i++)
        if (is_selected(&f, comparison, i, &value))
            expect_next(&f, n++, i);
    OK(cls_compact_if(f.in, comparison, &value, f.out, f.number, f.length, NULL));
    close_fixture(&f, n, n);
}

/* The driver's compiler takes most of the time: unless the effort is long, each type is compared in one way, f32 in more. */
static bool is_chosen(cls_comparison comparison, cls_dtype type) {
    return effort_is_long() || ((int)comparison + (int)type) % CLS_NOT_EQUAL == 0 ||
           (type == CLS_F32 && comparison % 2 != 0);
}

static void comparisons(void **state) {
    const cls_dtype type = *(const cls_dtype *)*state;
    NEED_TYPE(type);
    for (cls_comparison comparison = CLS_LESS; comparison <= CLS_NOT_EQUAL; comparison++)
        if (is_chosen(comparison, type))
            for (size_t i = 0; i < SIZES; i++)
                if (!is_too_long(sizes[i]) && (!device_flushes() || !is_float(type)))
                    check_comparison(type, comparison, sizes[i]);
}

/* --- runs --- */

static void check_unique(cls_dtype type, size_t count) {
    struct fixture f;
    size_t n = 0;
    open_fixture(&f, type, count, draw(2) ? count : draw((unsigned)count + 1));
    make_runs(&f);
    upload_fixture(&f);
    for (size_t i = 0; i < f.used; i++)
        if (ends_run(&f, i))
            expect_next(&f, n++, i);
    OK(cls_unique(f.in, f.out, f.number, f.length, NULL));
    close_fixture(&f, n, n);
}

static void check_runs(cls_dtype type, size_t count) {
    struct fixture f;
    size_t n = 0, first = 0;
    open_fixture(&f, type, count, draw(2) ? count : draw((unsigned)count + 1));
    make_runs(&f);
    upload_fixture(&f);
    long long *expected = calloc(count + 1, sizeof *expected);
    assert_non_null(expected);
    for (size_t i = 0; i < f.used; i++)
        if (ends_run(&f, i)) {
            expected[n] = (long long)(i + 1 - first);
            expect_next(&f, n++, i);
            first = i + 1;
        }
    cls_array lengths = view_make(CLS_I64, draw(3), f.room, NULL);
    OK(cls_run_length_encode(f.in, f.out, lengths, f.number, f.length, NULL));
    long long *got = view_take(lengths);
    for (size_t i = 0; i < n && i < f.room; i++)
        if (got[i] != expected[i])
            fail_msg("run %zu of %zu has %lld elements, not %lld", i, n, got[i], expected[i]);
    close_fixture(&f, n, n);
    free(got);
    free(expected);
}

static void runs(void **state) {
    (void)state;
    static const cls_dtype types[] = {CLS_U8, CLS_BF16, CLS_F32, CLS_F64};
    for (size_t t = 0; t < 4; t++)
        for (size_t i = 0; i < SIZES; i++)
            if (!is_too_long(sizes[i])) {
                if (effort_is_long() || t % 2 == 0)
                    check_unique(types[t], sizes[i]);
                if (effort_is_long() || t % 2 != 0)
                    check_runs(types[t], sizes[i]);
            }
}

static uint32_t merged(cls_scan_op op, uint32_t a, uint32_t b) {
    switch (op) {
    case CLS_SCAN_SUM:
        return a + b;
    case CLS_SCAN_PRODUCT:
        return a * b;
    case CLS_SCAN_MIN:
        return a < b ? a : b;
    case CLS_SCAN_MAX:
        return a > b ? a : b;
    }
    return 0;
}

static void check_by_key(cls_scan_op op, cls_dtype type, size_t count) {
    struct fixture f;
    size_t n = 0;
    bool is_first = true;
    open_fixture(&f, type, count, count);
    make_runs(&f);
    upload_fixture(&f);
    uint32_t *values = hard_values(CLS_U32, count + 1, draw(0)),
             *expected = calloc(count + 1, sizeof *expected);
    assert_non_null(expected);
    cls_array in = view_make(CLS_U32, draw(3), count, values),
              out = view_make(CLS_U32, draw(3), count, NULL);
    for (size_t i = 0; i < f.used; i++) {
        expected[n] = is_first ? values[i] : merged(op, expected[n], values[i]);
        is_first = ends_run(&f, i);
        if (is_first)
            expect_next(&f, n++, i);
    }
    OK(cls_reduce_by_key(op, f.in, in, f.out, out, f.number, f.length, NULL));
    uint32_t *got = view_take(out);
    for (size_t i = 0; i < n; i++)
        if (got[i] != expected[i])
            fail_msg("run %zu of %zu comes to %u, not %u", i, n, got[i], expected[i]);
    close_fixture(&f, n, n);
    view_destroy(in);
    free(got);
    free(values);
    free(expected);
}

static void by_key(void **state) {
    (void)state;
    static const cls_dtype types[] = {CLS_U8, CLS_I16, CLS_F32, CLS_I64};
    for (size_t t = 0; t < 4; t += effort_is_long() ? 1 : 3)
        for (size_t i = 0; i < SIZES; i++)
            if (!is_too_long(sizes[i]))
                check_by_key((cls_scan_op)(1 + t), types[t], sizes[i]);
}

static void sums_of_floats_by_key(void **state) {
    (void)state;
    NEED_ROUNDING(CLS_F32);
    static const int32_t keys[] = {7, 7, 7, -2, 7, 7};
    static const float values[] = {1, 2, 0.5f, 10, -1, 4}, sums[] = {3.5f, 10, 3};
    cls_array in = view_make(CLS_I32, 1, 6, keys), with = view_make(CLS_F32, 0, 6, values);
    cls_array out = view_make(CLS_I32, 0, 6, NULL), to = view_make(CLS_F32, 1, 6, NULL),
              number = view_make(CLS_I64, 0, 1, NULL);
    OK(cls_reduce_by_key(CLS_SCAN_SUM, in, with, out, to, number, nothing, NULL));
    long long *n = view_take(number);
    float *got = view_take(to);
    int32_t *kept = view_take(out);
    assert_int_equal(*n, 3);
    assert_memory_equal(got, sums, sizeof sums);
    assert_true(kept[0] == 7 && kept[1] == -2 && kept[2] == 7);
    free(n);
    free(got);
    free(kept);
    view_destroy(in);
    view_destroy(with);
}

/* --- in programs --- */

/* Each call takes its length from the one before, and nothing waits; captured, and launched for other elements. */
static void chained(void **state) {
    (void)state;
    enum { COUNT = 20000 };
    const size_t count = device_is_oclgrind() ? 3000 : COUNT;
    const int32_t limit = 0;
    int32_t *elements = malloc(COUNT * sizeof *elements);
    assert_non_null(elements);
    for (size_t i = 0; i < count; i++)
        elements[i] = (int32_t)draw(7) - 3;
    cls_array in = view_make(CLS_I32, 0, count, elements),
              kept = view_make(CLS_I32, 1, count, NULL);
    cls_array n_kept = view_make(CLS_I64, 0, 1, NULL), runs = view_make(CLS_I32, 0, count, NULL);
    cls_array n_runs = view_make(CLS_I64, 0, 1, NULL), sums = view_make(CLS_I32, 0, count, NULL);
    cls_scan_config config = CLS_SCAN_CONFIG_INIT;
    cls_stream stream;
    cls_graph graph;
    cls_graph_exec exec;
    config.length = n_runs;
    OK(cls_stream_create(NULL, NULL, &stream));
    OK(cls_stream_begin_capture(stream, "selection"));
    OK(cls_compact_if_async(in, CLS_GREATER, &limit, kept, n_kept, nothing, stream));
    OK(cls_unique_async(kept, runs, n_runs, n_kept, stream));
    OK(cls_scan_async(CLS_SCAN_SUM, runs, sums, &config, stream));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    for (int turn = 0; turn < 2; turn++) {
        size_t n = 0;
        int32_t last = 0, sum = 0;
        OK(cls_graph_launch(exec, stream));
        OK(cls_stream_synchronize(stream));
        int32_t *got = view_read(sums);
        for (size_t i = 0; i < count; i++) {
            if (elements[i] <= 0)
                continue;
            if (elements[i] != last) {
                sum += elements[i];
                if (got[n++] != sum)
                    fail_msg("launch %d: sum %zu is %d, not %d", turn, n - 1, got[n - 1], sum);
            }
            last = elements[i];
        }
        long long *counted = view_read(n_runs);
        assert_int_equal(*counted, n);
        free(counted);
        free(got);
        OK(cls_unary(CLS_UNARY_NEG, in, in, stream));
        for (size_t i = 0; i < count; i++)
            elements[i] = -elements[i];
    }
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    OK(cls_stream_destroy(stream));
    free(elements);
    const cls_array views[] = {in, kept, n_kept, runs, n_runs, sums};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        view_destroy(views[i]);
}

static void refusals(void **state) {
    (void)state;
    cls_array a = view_make(CLS_F32, 0, 20, NULL), b = view_make(CLS_F32, 0, 20, NULL),
              n = view_make(CLS_I64, 0, 3, NULL);
    cls_array marks = view_make(CLS_U8, 0, 20, NULL), wrong = b, number = n;
    const float value = 1;
    number.count = 1;
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_compact_if(a, (cls_comparison)0, &value, b, number, nothing, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_compact_if(a, (cls_comparison)7, &value, b, number, nothing, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_compact_if(a, CLS_LESS, NULL, b, number, nothing, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_reduce_by_key((cls_scan_op)9, a, a, b, b, number, nothing, NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_compact(a, b, b, number, nothing, NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_compact(a, marks, b, n, nothing, NULL));
    expect_detail("count of 3");
    EXPECT(CLS_ERROR_OVERLAP, cls_compact(a, marks, a, number, nothing, NULL));
    EXPECT(CLS_ERROR_OVERLAP, cls_unique(a, b, number, number, NULL));
    wrong.dtype = CLS_I32;
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_unique(a, wrong, number, nothing, NULL));
    wrong = b;
    wrong.count = 19;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_partition(a, marks, wrong, number, nothing, NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_unique(a, b, wrong, nothing, NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_run_length_encode(a, b, marks, number, nothing, NULL));
    marks.count = 3;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_compact(a, marks, b, number, nothing, NULL));
    view_destroy(a);
    view_destroy(b);
    view_destroy(n);
    view_destroy(marks);
}

int main(void) {
    struct CMUnitTest tests[TYPES + 7];
    size_t n = 0;
    for (size_t i = 0; i < TYPES; i++)
        tests[n++] = (struct CMUnitTest){cls_dtype_name(all_types[i]), comparisons, NULL, NULL,
                                         (void *)&all_types[i]};
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(flags);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(partition);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(runs);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(by_key);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(sums_of_floats_by_key);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(chained);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(refusals);
    prepare_tests();
    return _cmocka_run_group_tests("select", tests, n, NULL, NULL);
}
