/* SPDX-License-Identifier: MIT */
/*
 * Histograms against loops on the host: even bins and bins between edges, of all types, with few and with many bins, odd
 * offsets and lengths on the device; bounds at the ends of types; in a graph.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/effort.h"
#include "arrays.h"

static const size_t sizes[] = {0, 1, 17, 300, 4099, 40000, 150001};
static const size_t bin_counts[] = {1, 2, 7, 256, 1000, 40000};
enum { SIZES = sizeof sizes / sizeof *sizes, BIN_COUNTS = sizeof bin_counts / sizeof *bin_counts };

static const cls_array nothing;

static unsigned draw(unsigned n) {
    static unsigned state = 2463534242u;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return n ? state % n : state;
}

static bool is_too_long(size_t count) { return device_is_oclgrind() && count > 5000; }

/* --- elements --- */

struct fixture {
    cls_dtype type;
    size_t size, count, used, bins;
    unsigned char *elements;
    int64_t *expected;
    cls_array in, counts, length;
};

static int64_t integer_at(const struct fixture *f, size_t i) {
    int64_t x;
    reference_cast(f->type, CLS_I64, f->elements + i * f->size, &x, 1);
    return x;
}

static double float_at(const struct fixture *f, size_t i) {
    double x;
    reference_cast(f->type, CLS_F64, f->elements + i * f->size, &x, 1);
    return x;
}

/* Elements of every kind, and as many close together, so that bins of all widths have some. */
static void draw_elements(struct fixture *f) {
    f->elements = hard_values(f->type, f->count + 1, draw(0));
    for (size_t i = draw(2); i < f->count; i += 2) {
        const int64_t whole = (int64_t)draw(200) - 60;
        const double real = (double)draw(0) / 4294967296.0 * 3 - 1;
        if (is_float(f->type))
            reference_cast(CLS_F64, f->type, &real, f->elements + i * f->size, 1);
        else
            memcpy(f->elements + i * f->size, &whole, f->size);
    }
}

static void open_fixture(struct fixture *f, cls_dtype type, size_t count, size_t bins) {
    *f = (struct fixture){
        .type = type, .size = cls_dtype_size(type), .count = count, .used = count, .bins = bins};
    const long long length = draw(4) ? (long long)draw((unsigned)count + 2) : -1;
    draw_elements(f);
    f->expected = calloc(bins, sizeof *f->expected);
    assert_non_null(f->expected);
    f->in = view_make(type, draw(4), count, f->elements);
    f->counts = view_make(CLS_I64, draw(3), bins, NULL);
    if (draw(3) == 0) {
        f->length = view_make(CLS_I64, 2, 1, &length);
        f->used = length < 0 ? 0 : (size_t)length < count ? (size_t)length : count;
    }
}

static void close_fixture(struct fixture *f, const char *what) {
    int64_t *got = view_take(f->counts);
    for (size_t i = 0; i < f->bins; i++)
        if (got[i] != f->expected[i])
            fail_msg("%s of %zu %s: bin %zu of %zu has %lld elements, not %lld", what, f->used,
                     cls_dtype_name(f->type), i, f->bins, (long long)got[i],
                     (long long)f->expected[i]);
    view_destroy(f->in);
    if (f->length.buffer)
        view_destroy(f->length);
    free(got);
    free(f->elements);
    free(f->expected);
}

/* --- even bins --- */

/* floor(a b / c) for a < c, without more bits than there are: digit by digit of b. */
static uint64_t quotient_of(uint64_t a, uint64_t b, uint64_t c) {
    uint64_t quotient = 0, rest = 0;
    for (int bit = 63; bit >= 0; bit--) {
        const bool carry = rest >> 63;
        rest <<= 1;
        quotient <<= 1;
        if (carry || rest >= c) {
            rest -= c;
            quotient++;
        }
        if (b >> bit & 1) {
            const bool wraps = rest + a < a;
            rest += a;
            if (wraps || rest >= c) {
                rest -= c;
                quotient++;
            }
        }
    }
    return quotient;
}

static void expect_integers(struct fixture *f, int64_t lower, int64_t upper) {
    for (size_t i = 0; i < f->used; i++) {
        const int64_t x = integer_at(f, i);
        if (x >= lower && x < upper)
            f->expected[quotient_of((uint64_t)x - (uint64_t)lower, f->bins,
                                    (uint64_t)upper - (uint64_t)lower)]++;
    }
}

static void check_integers(cls_dtype type, size_t count, size_t bins, int64_t lower,
                           int64_t upper) {
    struct fixture f;
    open_fixture(&f, type, count, bins);
    expect_integers(&f, lower, upper);
    OK(cls_histogram_even(f.in, &lower, &upper, f.counts, f.length, NULL));
    close_fixture(&f, "even bins");
}

static void expect_floats(struct fixture *f, double lower, double upper) {
    const volatile float low = (float)lower, high = (float)upper, width = high - low,
                         scale = (float)f->bins / width;
    const double wide_scale = (double)f->bins / (upper - lower);
    for (size_t i = 0; i < f->used; i++) {
        const double x = float_at(f, i);
        double at;
        if (f->type == CLS_F64) {
            if (!(x >= lower && x < upper))
                continue;
            at = (x - lower) * wide_scale;
        } else {
            const volatile float narrow = (float)x, from_lower = narrow - low,
                                 product = from_lower * scale;
            if (!(narrow >= low && narrow < high))
                continue;
            at = (double)product;
        }
        f->expected[at < (double)f->bins ? (size_t)at : f->bins - 1]++;
    }
}

static void check_floats(cls_dtype type, size_t count, size_t bins, double lower, double upper) {
    struct fixture f;
    open_fixture(&f, type, count, bins);
    expect_floats(&f, lower, upper);
    OK(cls_histogram_even(f.in, &lower, &upper, f.counts, f.length, NULL));
    close_fixture(&f, "even bins");
}

static const int64_t integer_bounds[][2] = {
    {0, 256},
    {-128, 128},
    {-3, 10},
    {5, 6},
    {INT32_MIN, (int64_t)INT32_MAX + 1},
    {-INT64_C(5000000000), INT64_C(7000000000)},
    {1, 1000003},
    {INT64_MIN, INT64_MAX},
    {INT64_MIN, 0},
    {0, INT64_C(4294967296)},
};
static const double float_bounds[][2] = {{-1, 1},     {0, 256},      {-0.1, 0.7},
                                         {1e-3, 3e9}, {-1e30, 1e37}, {0.25, 0.2500001}};

static void even(void **state) {
    const cls_dtype type = *(const cls_dtype *)*state;
    const size_t n = is_float(type) ? sizeof float_bounds / sizeof *float_bounds
                                    : sizeof integer_bounds / sizeof *integer_bounds;
    NEED_TYPE(type);
    NEED_ROUNDING(type);
    for (size_t b = 0; b < n; b++)
        for (size_t i = 0; i < SIZES; i++)
            for (size_t k = effort_is_long() ? 0 : draw(3); k < BIN_COUNTS;
                 k += effort_is_long() ? 1 : 3) {
                if (is_too_long(sizes[i]) || (device_is_oclgrind() && bin_counts[k] > 1000) ||
                    (!effort_is_long() && (b + i) % 2 != 0))
                    continue;
                if (is_float(type))
                    check_floats(type, sizes[i], bin_counts[k], float_bounds[b][0],
                                 float_bounds[b][1]);
                else
                    check_integers(type, sizes[i], bin_counts[k], integer_bounds[b][0],
                                   integer_bounds[b][1]);
            }
}

/* --- between edges --- */

/* As sort.h has it: NaN is behind all numbers, and -0 equals 0. */
static int compare(const struct fixture *f, const unsigned char *a, const unsigned char *b) {
    struct fixture pair = *f;
    int64_t i[2];
    double x[2];
    for (int k = 0; k < 2; k++) {
        pair.elements = (unsigned char *)(k ? b : a);
        if (is_float(f->type))
            x[k] = float_at(&pair, 0);
        else
            i[k] = integer_at(&pair, 0);
    }
    if (!is_float(f->type))
        return (i[0] > i[1]) - (i[0] < i[1]);
    if (isnan(x[0]) || isnan(x[1]))
        return !!isnan(x[0]) - !!isnan(x[1]);
    return (x[0] > x[1]) - (x[0] < x[1]);
}

static void sort_edges(const struct fixture *f, unsigned char *edges, size_t n) {
    unsigned char swap[8];
    for (size_t gap = n / 2; gap > 0; gap /= 2)
        for (size_t i = gap; i < n; i++)
            for (size_t k = i; k >= gap; k -= gap) {
                unsigned char *a = edges + (k - gap) * f->size, *b = edges + k * f->size;
                if (compare(f, a, b) <= 0)
                    break;
                memcpy(swap, a, f->size);
                memcpy(a, b, f->size);
                memcpy(b, swap, f->size);
            }
}

static void expect_between(struct fixture *f, const unsigned char *edges) {
    for (size_t i = 0; i < f->used; i++) {
        const unsigned char *x = f->elements + i * f->size;
        size_t low = 0, high = f->bins + 1;
        if (is_float(f->type) && isnan(float_at(f, i)))
            continue;
        while (low < high) {
            const size_t middle = (low + high) / 2;
            if (compare(f, edges + middle * f->size, x) <= 0)
                low = middle + 1;
            else
                high = middle;
        }
        if (low > 0 && low <= f->bins)
            f->expected[low - 1]++;
    }
}

static void check_edges(cls_dtype type, size_t count, size_t bins) {
    struct fixture f, of_edges;
    open_fixture(&f, type, count, bins);
    of_edges = f;
    of_edges.count = bins + 1;
    draw_elements(&of_edges);
    sort_edges(&f, of_edges.elements, bins + 1);
    cls_array edges = view_make(type, draw(5), bins + 1, of_edges.elements);
    expect_between(&f, of_edges.elements);
    OK(cls_histogram_range(f.in, edges, f.counts, f.length, NULL));
    close_fixture(&f, "bins between edges");
    view_destroy(edges);
    free(of_edges.elements);
}

static void between_edges(void **state) {
    const cls_dtype type = *(const cls_dtype *)*state;
    for (size_t i = 0; i < SIZES; i++)
        for (size_t k = effort_is_long() ? 0 : i % 3; k < BIN_COUNTS; k += effort_is_long() ? 1 : 3)
            if (!is_too_long(sizes[i]) && !(device_is_oclgrind() && bin_counts[k] > 1000))
                check_edges(type, sizes[i], bin_counts[k]);
}

/* Nothing outside of the counts is written, and no more elements are counted than there are. */
static void edges_in_no_order(void **state) {
    (void)state;
    struct fixture f;
    int64_t sum = 0;
    open_fixture(&f, CLS_F32, 3000, 100);
    cls_array edges = view_make(CLS_F32, 1, 101, f.elements);
    OK(cls_histogram_range(f.in, edges, f.counts, nothing, NULL));
    int64_t *got = view_read(f.counts);
    for (size_t i = 0; i < f.bins; i++) {
        assert_true(got[i] >= 0);
        sum += got[i];
    }
    assert_true(sum <= 3000);
    memcpy(f.expected, got, f.bins * sizeof *got);
    close_fixture(&f, "edges in no order");
    free(got);
    view_destroy(edges);
}

/* --- in programs --- */

/* The elements that a compaction keeps, captured, and launched for two inputs. */
static void captured(void **state) {
    (void)state;
    enum { COUNT = 5000, BINS = 20 };
    const int32_t limit = 0;
    const int64_t lower = 0, upper = 100;
    int32_t elements[COUNT];
    cls_stream stream;
    cls_graph graph;
    cls_graph_exec exec;
    for (size_t i = 0; i < COUNT; i++)
        elements[i] = (int32_t)draw(240) - 120;
    cls_array in = view_make(CLS_I32, 0, COUNT, elements),
              kept = view_make(CLS_I32, 3, COUNT, NULL), n = view_make(CLS_I64, 1, 1, NULL),
              counts = view_make(CLS_I64, 1, BINS, NULL);
    OK(cls_stream_create(NULL, NULL, &stream));
    OK(cls_stream_begin_capture(stream, "histogram"));
    OK(cls_compact_if_async(in, CLS_GREATER, &limit, kept, n, nothing, stream));
    OK(cls_histogram_even_async(kept, &lower, &upper, counts, n, stream));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    for (int turn = 0; turn < 2; turn++) {
        int64_t expected[BINS] = {0};
        for (size_t i = 0; i < COUNT; i++)
            if (elements[i] > 0 && elements[i] < upper)
                expected[elements[i] / 5]++;
        OK(cls_graph_launch(exec, stream));
        OK(cls_stream_synchronize(stream));
        int64_t *got = view_read(counts);
        assert_memory_equal(got, expected, sizeof expected);
        free(got);
        OK(cls_unary(CLS_UNARY_NEG, in, in, stream));
        for (size_t i = 0; i < COUNT; i++)
            elements[i] = -elements[i];
    }
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    OK(cls_stream_destroy(stream));
    const cls_array views[] = {in, kept, n, counts};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        view_destroy(views[i]);
}

static void refused_bounds(void **state) {
    (void)state;
    static const double bad[][2] = {{1, 1},     {2, 1},        {NAN, 1},
                                    {0, NAN},   {0, 1e39},     {-3e38, 3e38},
                                    {0, 1e-39}, {1, 1 + 1e-9}, {-INFINITY, 0}};
    const int64_t same = 5, less = 4;
    cls_array a = view_make(CLS_F32, 0, 20, NULL), b = view_make(CLS_I32, 0, 20, NULL),
              counts = view_make(CLS_I64, 0, 10, NULL), none = counts, n = counts;
    none.count = 0;
    n.count = 1;
    NEED_ROUNDING(CLS_F32);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        EXPECT(CLS_ERROR_INVALID_VALUE,
               cls_histogram_even(a, &bad[i][0], &bad[i][1], counts, nothing, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_histogram_even(b, &same, &same, counts, nothing, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_histogram_even(b, &same, &less, counts, nothing, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_histogram_even(b, NULL, &same, counts, nothing, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_histogram_even(b, &less, NULL, counts, nothing, NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_histogram_even(b, &less, &same, none, nothing, NULL));
    expect_detail("no bins");
    EXPECT(CLS_ERROR_OVERLAP, cls_histogram_even(b, &less, &same, counts, n, NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_histogram_even(b, &less, &same, a, nothing, NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_histogram_range(a, a, counts, nothing, NULL));
    expect_detail("20 edges for 10");
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_histogram_range(a, b, counts, nothing, NULL));
    view_destroy(a);
    view_destroy(b);
    view_destroy(counts);
}

int main(void) {
    struct CMUnitTest tests[2 * TYPES + 3];
    char names[2 * TYPES][32];
    size_t n = 0;
    for (size_t i = 0; i < TYPES; i++)
        for (int edges = 0; edges < 2; edges++, n++) {
            snprintf(names[n], sizeof names[n], "%s_%s", edges ? "edges" : "even",
                     cls_dtype_name(all_types[i]));
            tests[n] = (struct CMUnitTest){names[n], edges ? between_edges : even, NULL, NULL,
                                           (void *)&all_types[i]};
        }
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(edges_in_no_order);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(captured);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(refused_bounds);
    prepare_tests();
    return _cmocka_run_group_tests("histogram", tests, n, NULL, NULL);
}
