/* SPDX-License-Identifier: MIT */
/*
 * Lower and upper bounds against a count on the host: all types, NaN and zeros, lengths on the device, odd offsets; after a
 * sort whose length is on the device, in a graph.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arrays.h"

static const cls_array nothing;

static unsigned draw(unsigned n) {
    static unsigned state = 521288629u;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return n ? state % n : state;
}

/* An element as a number that is ordered as sort.h has it. */
struct item {
    bool is_nan;
    double real;
    int64_t whole;
};

static struct item item_at(cls_dtype type, const unsigned char *array, size_t i) {
    struct item item = {0};
    const unsigned char *at = array + i * cls_dtype_size(type);
    if (is_float(type))
        reference_cast(type, CLS_F64, at, &item.real, 1);
    else
        reference_cast(type, CLS_I64, at, &item.whole, 1);
    item.is_nan = is_float(type) && isnan(item.real);
    return item;
}

static bool comes_before(struct item a, struct item b) {
    if (a.is_nan || b.is_nan)
        return !a.is_nan;
    return a.real < b.real || (a.real == b.real && a.whole < b.whole);
}

static cls_dtype sorted_type;

static int compare(const void *a, const void *b) {
    const struct item x = item_at(sorted_type, a, 0), y = item_at(sorted_type, b, 0);
    if (x.is_nan && y.is_nan)
        return 0;
    return comes_before(x, y) ? -1 : comes_before(y, x);
}

static bool is_behind(struct item a, struct item b) {
    return !(a.is_nan && b.is_nan) && comes_before(b, a);
}

static void expect_position(cls_dtype type, const unsigned char *sorted, size_t used,
                            struct item value, bool upper, int64_t got) {
    const size_t at = (size_t)got;
    const bool both_nan = value.is_nan && at < used && item_at(type, sorted, at).is_nan;
    assert_true(got >= 0 && at <= used);
    /* What is before the position belongs there, and what is at it does not. */
    if (at > 0) {
        const struct item before = item_at(type, sorted, at - 1);
        assert_true(upper ? !is_behind(before, value)
                          : comes_before(before, value) && !(before.is_nan && value.is_nan));
    }
    if (at < used) {
        const struct item next = item_at(type, sorted, at);
        assert_true(upper ? is_behind(next, value) : both_nan || !comes_before(next, value));
    }
}

static void check(cls_dtype type, size_t count, size_t n_values, bool upper) {
    const size_t size = cls_dtype_size(type);
    const long long length = draw(4) ? (long long)draw((unsigned)count + 2) : -1;
    const bool has_length = draw(3) == 0;
    const size_t used = !has_length              ? count
                        : length < 0             ? 0
                        : (size_t)length < count ? (size_t)length
                                                 : count;
    unsigned char *sorted = hard_values(type, count + 1, draw(0)),
                  *values = hard_values(type, n_values + 1, draw(0));
    sorted_type = type;
    qsort(sorted, count, size, compare);
    for (size_t i = 1; count && i < n_values; i += 2)
        memcpy(values + i * size, sorted + draw((unsigned)count) * size, size);
    cls_array in = view_make(type, draw(4), count, sorted),
              of = view_make(type, draw(4), n_values, values),
              positions = view_make(CLS_I64, draw(3), n_values, NULL),
              limit = has_length ? view_make(CLS_I64, 1, 1, &length) : nothing;
    if (upper)
        OK(cls_upper_bound(in, of, positions, limit, NULL));
    else
        OK(cls_lower_bound(in, of, positions, limit, NULL));
    int64_t *got = view_take(positions);
    for (size_t i = 0; i < n_values; i++)
        expect_position(type, sorted, used, item_at(type, values, i), upper, got[i]);
    view_destroy(in);
    view_destroy(of);
    if (has_length)
        view_destroy(limit);
    free(got);
    free(sorted);
    free(values);
}

static void bounds(void **state) {
    const cls_dtype type = *(const cls_dtype *)*state;
    static const size_t counts[] = {0, 1, 2, 300, 30011}, values[] = {0, 1, 129, 9001};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t k = 0; k < sizeof values / sizeof *values; k++)
            for (int upper = 0; upper < 2; upper++)
                if (!device_is_oclgrind() || counts[i] + values[k] < 1000)
                    check(type, counts[i], values[k], upper);
}

static void zeros_and_nans(void **state) {
    (void)state;
    static const float sorted[] = {-1, -0.0f, 0, -0.0f, 2, INFINITY, NAN, NAN};
    static const float values[] = {0, -0.0f, NAN, INFINITY, -2};
    static const int64_t lower[] = {1, 1, 6, 5, 0}, upper[] = {4, 4, 8, 6, 0};
    cls_array in = view_make(CLS_F32, 1, 8, sorted), of = view_make(CLS_F32, 0, 5, values),
              positions = view_make(CLS_I64, 0, 5, NULL);
    OK(cls_lower_bound(in, of, positions, nothing, NULL));
    int64_t *got = view_read(positions);
    assert_memory_equal(got, lower, sizeof lower);
    free(got);
    OK(cls_upper_bound(in, of, positions, nothing, NULL));
    got = view_take(positions);
    assert_memory_equal(got, upper, sizeof upper);
    free(got);
    view_destroy(in);
    view_destroy(of);
}

/* Elements that are counted, sorted and searched without a wait; launched for two inputs. */
static void captured(void **state) {
    (void)state;
    enum { COUNT = 2000, VALUES = 50 };
    const int32_t limit = 0;
    int32_t elements[COUNT], values[VALUES];
    cls_sort_config config = CLS_SORT_CONFIG_INIT;
    cls_stream stream;
    cls_graph graph;
    cls_graph_exec exec;
    for (size_t i = 0; i < COUNT; i++)
        elements[i] = (int32_t)draw(100) - 50;
    for (int32_t i = 0; i < VALUES; i++)
        values[i] = i;
    cls_array in = view_make(CLS_I32, 0, COUNT, elements),
              of = view_make(CLS_I32, 0, VALUES, values), kept = view_make(CLS_I32, 1, COUNT, NULL),
              n = view_make(CLS_I64, 0, 1, NULL), positions = view_make(CLS_I64, 0, VALUES, NULL);
    config.length = n;
    OK(cls_stream_create(NULL, NULL, &stream));
    OK(cls_stream_begin_capture(stream, "bounds"));
    OK(cls_compact_if_async(in, CLS_GREATER, &limit, kept, n, nothing, stream));
    OK(cls_sort_async(kept, kept, &config, stream));
    OK(cls_upper_bound_async(kept, of, positions, n, stream));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    for (int turn = 0; turn < 2; turn++) {
        OK(cls_graph_launch(exec, stream));
        OK(cls_stream_synchronize(stream));
        int64_t *got = view_read(positions);
        for (size_t i = 0; i < VALUES; i++) {
            int64_t expected = 0;
            for (size_t k = 0; k < COUNT; k++)
                expected += elements[k] > 0 && elements[k] <= values[i];
            assert_int_equal(got[i], expected);
        }
        free(got);
        OK(cls_unary(CLS_UNARY_NEG, in, in, stream));
        for (size_t i = 0; i < COUNT; i++)
            elements[i] = -elements[i];
    }
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    OK(cls_stream_destroy(stream));
    const cls_array views[] = {in, of, kept, n, positions};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        view_destroy(views[i]);
}

static void refusals(void **state) {
    (void)state;
    cls_array a = view_make(CLS_F32, 0, 20, NULL), b = view_make(CLS_I32, 0, 20, NULL),
              positions = view_make(CLS_I64, 0, 20, NULL), few = positions, one = positions;
    few.count = 19;
    one.count = 1;
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_lower_bound(a, b, positions, nothing, NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_upper_bound(a, a, b, nothing, NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_lower_bound(a, a, few, nothing, NULL));
    expect_detail("19 positions for 20");
    EXPECT(CLS_ERROR_OVERLAP, cls_lower_bound(a, a, positions, one, NULL));
    EXPECT(CLS_ERROR_OVERLAP, cls_upper_bound(positions, positions, positions, nothing, NULL));
    view_destroy(a);
    view_destroy(b);
    view_destroy(positions);
}

int main(void) {
    struct CMUnitTest tests[TYPES + 3];
    size_t n = 0;
    for (size_t i = 0; i < TYPES; i++)
        tests[n++] = (struct CMUnitTest){cls_dtype_name(all_types[i]), bounds, NULL, NULL,
                                         (void *)&all_types[i]};
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(zeros_and_nans);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(captured);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(refusals);
    prepare_tests();
    return _cmocka_run_group_tests("bounds", tests, n, NULL, NULL);
}
