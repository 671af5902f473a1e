/* SPDX-License-Identifier: MIT */
/*
 * Sorts against a stable sort on the host: every type, lengths around the sizes of tiles, few distinct keys, keys in order,
 * NaN and both zeros, ranges of bits, values of 4 and 8 bytes, indices, rows, the first k, the n-th, and lengths on the
 * device.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../support/effort.h"
#include "arrays.h"

/* --- keys, and their order on the host --- */

enum pattern { HARD, FEW, ASCENDING, DESCENDING, EQUAL, PATTERNS };

static unsigned draw(unsigned n) {
    static unsigned state = 4321;
    state = state * 1664525u + 1013904223u;
    return n ? (state >> 8) % n : 0;
}

/* The options of a call, and what the host compares by. */
struct wish {
    cls_dtype type;
    cls_sort_config config;
};

static struct wish wish_of(cls_dtype type, bool descending) {
    struct wish wish = {type, CLS_SORT_CONFIG_INIT};
    wish.config.descending = descending;
    return wish;
}

static uint64_t bits_at(cls_dtype type, const void *keys, size_t i) {
    uint64_t bits = 0;
    const size_t size = cls_dtype_size(type);
    memcpy(&bits, (const char *)keys + i * size, size);
    return bits;
}

/* As clstream/sort.h defines it. */
static uint64_t rank_at(cls_dtype type, const void *keys, size_t i) {
    const unsigned width = 8 * (unsigned)cls_dtype_size(type);
    const uint64_t sign = 1ULL << (width - 1), all = sign | (sign - 1);
    const uint64_t bits = bits_at(type, keys, i);
    if (is_float(type)) {
        const double value = reference_float(type, keys, i);
        if (isnan(value))
            return all;
        if (!(value < 0 || value > 0))
            return sign;
        return bits & sign ? ~bits & all : bits | sign;
    }
    return type == CLS_U8 || type == CLS_U16 || type == CLS_U32 ? bits : bits ^ sign;
}

static const struct wish *sorted_by;
static const void *sorted_keys;

static int compare_values(cls_dtype type, const void *keys, size_t i, size_t k) {
    if (is_float(type)) {
        const double a = reference_float(type, keys, i), b = reference_float(type, keys, k);
        return isnan(a) || isnan(b) ? !!isnan(a) - !!isnan(b) : (a > b) - (a < b);
    }
    const unsigned unused = 64 - 8 * (unsigned)cls_dtype_size(type);
    const uint64_t x = bits_at(type, keys, i) << unused, y = bits_at(type, keys, k) << unused;
    if (type == CLS_U8 || type == CLS_U16 || type == CLS_U32)
        return (x > y) - (x < y);
    return ((int64_t)x > (int64_t)y) - ((int64_t)x < (int64_t)y);
}

static int compare_ranks(const struct wish *wish, const void *keys, size_t i, size_t k) {
    const unsigned low = (unsigned)wish->config.begin_bit, high = (unsigned)wish->config.end_bit;
    const uint64_t mask = (high == 64 ? UINT64_MAX : (1ULL << high) - 1) >> low << low;
    const uint64_t a = rank_at(wish->type, keys, i) & mask, b = rank_at(wish->type, keys, k) & mask;
    return (a > b) - (a < b);
}

static int compare_elements(const void *a, const void *b) {
    const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const int order = sorted_by->config.end_bit
                          ? compare_ranks(sorted_by, sorted_keys, i, k)
                          : compare_values(sorted_by->type, sorted_keys, i, k);
    if (order)
        return sorted_by->config.descending ? -order : order;
    return (i > k) - (i < k);
}

/* The numbers of the elements in order; to be freed. */
static uint32_t *order_of(const struct wish *wish, const void *keys, size_t n) {
    uint32_t *order = calloc(n + 1, sizeof *order);
    assert_non_null(order);
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    sorted_by = wish;
    sorted_keys = keys;
    qsort(order, n, sizeof *order, compare_elements);
    return order;
}

static void *take(const void *from, const uint32_t *order, size_t n, size_t size) {
    char *made = calloc(n + 1, size);
    assert_non_null(made);
    for (size_t i = 0; i < n; i++)
        memcpy(made + i * size, (const char *)from + order[i] * size, size);
    return made;
}

static void fill(cls_dtype type, enum pattern pattern, char *keys, size_t n) {
    const size_t size = cls_dtype_size(type);
    void *hard = hard_values(type, n < 256 ? 256 : n, draw(1000));
    const struct wish wish = wish_of(type, pattern == DESCENDING);
    for (size_t i = 0; i < n; i++) {
        const size_t from = pattern == EQUAL ? 3 : pattern == FEW ? draw(5) : i;
        memcpy(keys + i * size, (char *)hard + from * size, size);
    }
    if (pattern == ASCENDING || pattern == DESCENDING) {
        uint32_t *order = order_of(&wish, keys, n);
        void *sorted = take(keys, order, n, size);
        memcpy(keys, sorted, n * size);
        free(sorted);
        free(order);
    }
    free(hard);
}

static void *draw_keys(cls_dtype type, enum pattern pattern, size_t n) {
    char *keys = calloc(n + 1, cls_dtype_size(type));
    assert_non_null(keys);
    fill(type, pattern, keys, n);
    return keys;
}

static void check_bytes(const char *what, const struct wish *wish, size_t n, const void *got,
                        const void *expected, size_t size) {
    for (size_t i = 0; i < n; i++)
        if (memcmp((const char *)got + i * size, (const char *)expected + i * size, size))
            fail_msg("%s of %zu %s, descending %d, bits %d to %d: element %zu is wrong", what, n,
                     cls_dtype_name(wish->type), wish->config.descending, wish->config.begin_bit,
                     wish->config.end_bit, i);
}

/* --- the calls --- */

static void check_keys(const struct wish *wish, const void *keys, const uint32_t *order, size_t n,
                       bool in_place) {
    const size_t size = cls_dtype_size(wish->type), offset = draw(4);
    void *expected = take(keys, order, n, size);
    cls_array in = view_make(wish->type, offset, n, keys);
    cls_array out = in_place ? in : view_make(wish->type, draw(4), n, NULL);
    OK(cls_sort(in, out, &wish->config, NULL));
    void *got = view_take(out);
    check_bytes("sort", wish, n, got, expected, size);
    if (!in_place) {
        free(got);
        got = view_take(in);
        check_bytes("input", wish, n, got, keys, size);
    }
    free(got);
    free(expected);
}

static void check_pairs(const struct wish *wish, const void *keys, const uint32_t *order, size_t n,
                        cls_dtype value, bool in_place) {
    const size_t size = cls_dtype_size(wish->type), value_size = cls_dtype_size(value);
    void *values = draw_keys(value, HARD, n);
    void *expected = take(keys, order, n, size), *of_values = take(values, order, n, value_size);
    cls_array in = view_make(wish->type, draw(4), n, keys);
    cls_array values_in = view_make(value, draw(4), n, values);
    cls_array out = in_place ? in : view_make(wish->type, 0, n, NULL);
    cls_array values_out = in_place ? values_in : view_make(value, 1, n, NULL);
    OK(cls_sort_pairs_async(in, out, values_in, values_out, &wish->config, NULL));
    OK(cls_stream_synchronize(NULL));
    void *got = view_take(out), *got_values = view_take(values_out);
    check_bytes("keys of pairs", wish, n, got, expected, size);
    check_bytes("values of pairs", wish, n, got_values, of_values, value_size);
    if (!in_place) {
        view_destroy(in);
        view_destroy(values_in);
    }
    free(got);
    free(got_values);
    free(expected);
    free(of_values);
    free(values);
}

static void *indices_of(cls_dtype index, const uint32_t *order, size_t n) {
    void *made = calloc(n + 1, cls_dtype_size(index));
    assert_non_null(made);
    reference_cast(CLS_U32, index, order, made, n);
    return made;
}

static void check_indices(const struct wish *wish, const void *keys, const uint32_t *order,
                          size_t n, cls_dtype index) {
    void *expected = indices_of(index, order, n);
    cls_array in = view_make(wish->type, draw(4), n, keys), out = view_make(index, 1, n, NULL);
    OK(cls_argsort(in, out, &wish->config, NULL));
    void *got = view_take(out);
    check_bytes("argsort", wish, n, got, expected, cls_dtype_size(index));
    free(got);
    free(expected);
    view_destroy(in);
}

static void check_top(const struct wish *wish, const void *keys, const uint32_t *order, size_t n,
                      size_t k, unsigned outputs, cls_dtype index) {
    const size_t size = cls_dtype_size(wish->type);
    void *expected = take(keys, order, k, size), *of_indices = indices_of(index, order, k);
    cls_array in = view_make(wish->type, draw(4), n, keys), none = {0};
    cls_array values = view_make(wish->type, 1, k, NULL), indices = view_make(index, 2, k, NULL);
    OK(cls_top_k(in, outputs & 1 ? values : none, outputs & 2 ? indices : none, &wish->config,
                 NULL));
    void *got = view_take(values), *got_indices = view_take(indices);
    if (outputs & 1)
        check_bytes("values of top k", wish, k, got, expected, size);
    if (outputs & 2)
        check_bytes("indices of top k", wish, k, got_indices, of_indices, cls_dtype_size(index));
    free(got);
    free(got_indices);
    free(expected);
    free(of_indices);
    view_destroy(in);
}

static void check_nth(const struct wish *wish, const void *keys, const uint32_t *order, size_t n,
                      size_t number) {
    const size_t size = cls_dtype_size(wish->type);
    cls_array in = view_make(wish->type, draw(4), n, keys), out = view_make(wish->type, 3, 1, NULL);
    OK(cls_nth_element(in, number, out, &wish->config, NULL));
    void *got = view_take(out);
    check_bytes("n-th element", wish, 1, got, (const char *)keys + order[number] * size, size);
    free(got);
    view_destroy(in);
}

/* --- tests of each type --- */

static const size_t lengths[] = {0, 1, 2, 33, 700, 2048, 2049, 8192, 16385, 40003, 100000};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* Compilers have much to do, so a type is tested with some of the kinds of values. */
static bool is_chosen(cls_dtype type, unsigned kind) {
    return effort_is_long() || type == CLS_F32 || (unsigned)type % 4 == kind;
}

static void all_calls(struct wish wish, enum pattern pattern, size_t n) {
    void *keys = draw_keys(wish.type, pattern, n);
    uint32_t *order = order_of(&wish, keys, n);
    check_keys(&wish, keys, order, n, draw(2));
    if (is_chosen(wish.type, 0))
        check_pairs(&wish, keys, order, n, draw(2) ? CLS_F32 : CLS_U32, draw(2));
    if (is_chosen(wish.type, 1))
        check_pairs(&wish, keys, order, n, draw(2) ? CLS_F64 : CLS_I64, draw(2));
    if (is_chosen(wish.type, 2))
        check_indices(&wish, keys, order, n, draw(2) ? CLS_I32 : CLS_U32);
    if (is_chosen(wish.type, 0))
        check_indices(&wish, keys, order, n, CLS_I64);
    free(order);
    free(keys);
}

static void sorts(void **state) {
    const cls_dtype type = *(const cls_dtype *)*state;
    const unsigned patterns = effort_is_long() ? PATTERNS : 2;
    for (unsigned i = 0; i < LENGTHS; i++)
        for (unsigned k = 0; k < patterns; k++)
            all_calls(wish_of(type, (i + k) % 2), (enum pattern)((i + k) % PATTERNS), lengths[i]);
}

static void ranges_of_bits(void **state) {
    const cls_dtype type = *(const cls_dtype *)*state;
    const int bits = 8 * (int)cls_dtype_size(type);
    static const size_t sizes[] = {100, 3000, 20000};
    for (unsigned i = 0; i < 12; i++) {
        struct wish wish = wish_of(type, draw(2));
        wish.config.begin_bit = i == 1 ? bits - 1 : (int)draw((unsigned)bits);
        wish.config.end_bit = wish.config.begin_bit + 1;
        wish.config.end_bit += (int)draw((unsigned)(bits - wish.config.begin_bit));
        const size_t n = sizes[i % 3];
        void *keys = draw_keys(type, HARD, n);
        uint32_t *order = order_of(&wish, keys, n);
        check_keys(&wish, keys, order, n, i % 2);
        if (is_chosen(type, 3))
            check_nth(&wish, keys, order, n, draw((unsigned)n));
        free(order);
        free(keys);
    }
}

static void selections(void **state) {
    const cls_dtype type = *(const cls_dtype *)*state;
    static const size_t sizes[] = {1, 5, 2000, 30000};
    for (unsigned i = 0; i < 4; i++)
        for (unsigned pattern = HARD; pattern < PATTERNS; pattern++) {
            const struct wish wish = wish_of(type, (i + pattern) % 2);
            const size_t n = sizes[i];
            const size_t ks[] = {1, n / 3, n, draw((unsigned)n)};
            void *keys = draw_keys(type, (enum pattern)pattern, n);
            uint32_t *order = order_of(&wish, keys, n);
            check_top(&wish, keys, order, n, ks[(i + pattern) % 4], 1 + pattern % 3,
                      pattern % 2 ? CLS_I64 : CLS_I32);
            check_nth(&wish, keys, order, n, draw((unsigned)n));
            free(order);
            free(keys);
        }
}

/* --- rows --- */

struct grid {
    size_t rows, columns, ld;
};

static void check_rows(cls_dtype type, const struct grid *grid, bool in_place) {
    const struct wish wish = wish_of(type, draw(2));
    const size_t size = cls_dtype_size(type), n = grid->rows * grid->ld;
    char *keys = draw_keys(type, HARD, n), *expected = malloc(n * size + 1);
    uint32_t *numbers = calloc(n + 1, sizeof *numbers);
    assert_non_null(expected);
    assert_non_null(numbers);
    memcpy(expected, keys, n * size);
    for (size_t row = 0; row < grid->rows; row++) {
        const char *from = keys + row * grid->ld * size;
        uint32_t *order = order_of(&wish, from, grid->columns);
        void *sorted = take(from, order, grid->columns, size);
        memcpy(expected + row * grid->ld * size, sorted, grid->columns * size);
        memcpy(numbers + row * grid->ld, order, grid->columns * sizeof *order);
        free(sorted);
        free(order);
    }
    uint32_t *zeros = calloc(n + 1, sizeof *zeros);
    assert_non_null(zeros);
    cls_array in = view_make(type, 3, n, keys), out = view_make(type, 1, n, keys),
              indices = view_make(CLS_U32, 0, n, zeros);
    const cls_matrix a = {in.buffer, type, in.offset, grid->rows, grid->columns, grid->ld, 0};
    const cls_matrix b = {out.buffer, type, out.offset, grid->rows, grid->columns, grid->ld, 0};
    const cls_matrix c = {indices.buffer, CLS_U32, indices.offset, grid->rows, grid->columns,
                          grid->ld,       0};
    OK(cls_argsort_rows(a, c, &wish.config, NULL));
    OK(cls_sort_rows(in_place ? b : a, b, &wish.config, NULL));
    void *got = view_take(out), *got_numbers = view_take(indices);
    check_bytes("rows", &wish, n, got, expected, size);
    check_bytes("numbers of rows", &wish, n, got_numbers, numbers, sizeof *numbers);
    free(got);
    free(got_numbers);
    free(zeros);
    free(numbers);
    free(expected);
    free(keys);
    view_destroy(in);
}

static void rows(void **state) {
    static const struct grid grids[] = {{1, 1, 1},         {40, 7, 9},       {300, 100, 100},
                                        {3, 20000, 20001}, {17, 2500, 2500}, {5, 0, 4}};
    static const cls_dtype types[] = {CLS_F32, CLS_I64, CLS_U8};
    (void)state;
    for (unsigned i = 0; i < sizeof grids / sizeof *grids; i++)
        for (unsigned k = 0; k < 3; k++)
            check_rows(types[k], &grids[i], (i + k) % 2);
}

/* --- lengths on the device --- */

static void check_length(size_t n, int64_t length) {
    struct wish wish = wish_of(CLS_F32, n % 2);
    const size_t used = length < 0 ? 0 : (uint64_t)length > n ? n : (size_t)length, k = n / 2;
    float *keys = draw_keys(CLS_F32, HARD, n), *expected = draw_keys(CLS_F32, HARD, n);
    cls_array count = view_make(CLS_I64, 1, 1, &length), in = view_make(CLS_F32, 1, n, keys),
              out = view_make(CLS_F32, 0, n, expected), top = view_make(CLS_F32, 0, k, expected),
              nth = view_make(CLS_F32, 0, 1, expected);
    wish.config.length = count;
    uint32_t *order = order_of(&wish, keys, used);
    OK(cls_sort_async(in, out, &wish.config, NULL));
    OK(cls_top_k_async(in, top, (cls_array){0}, &wish.config, NULL));
    OK(cls_nth_element_async(in, k, nth, &wish.config, NULL));
    OK(cls_stream_synchronize(NULL));
    float *sorted = take(keys, order, used, sizeof *keys), *got = view_take(out),
          *got_top = view_take(top), *got_nth = view_take(nth);
    check_bytes("the nth of a part", &wish, 1, got_nth, used > k ? sorted + k : expected,
                sizeof *keys);
    memcpy(expected, sorted, used * sizeof *keys);
    check_bytes("a part", &wish, n, got, expected, sizeof *keys);
    check_bytes("top k of a part", &wish, k, got_top, expected, sizeof *keys);
    free(got);
    free(got_top);
    free(got_nth);
    free(sorted);
    free(order);
    free(keys);
    free(expected);
    view_destroy(count);
    view_destroy(in);
}

static void lengths_on_the_device(void **state) {
    static const size_t sizes[] = {10, 1501, 50000};
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        const int64_t n = (int64_t)sizes[i];
        const int64_t given[] = {-5, 0, 1, n / 3, n / 2, n - 1, n, n + 1, INT64_MAX};
        for (unsigned k = 0; k < sizeof given / sizeof *given; k++)
            check_length(sizes[i], given[k]);
    }
}

/* --- a large array, graphs, refusals --- */

static void large(void **state) {
    const size_t n = effort_is_long() ? 5000001 : 1000003;
    const struct wish wish = wish_of(CLS_U32, false);
    uint32_t *keys = calloc(n, sizeof *keys);
    (void)state;
    assert_non_null(keys);
    for (size_t i = 0; i < n; i++)
        keys[i] = draw(1 << 24) << 8 | draw(256);
    uint32_t *order = order_of(&wish, keys, n);
    check_keys(&wish, keys, order, n, true);
    check_indices(&wish, keys, order, n, CLS_I64);
    check_top(&wish, keys, order, n, 1000, 3, CLS_I64);
    free(order);
    free(keys);
}

/* A captured sort takes what its buffers hold at each launch. */
static void captured(void **state) {
    enum { N = 30000 };
    const struct wish wish = wish_of(CLS_I32, true);
    int32_t *keys = draw_keys(CLS_I32, HARD, N);
    cls_array in = view_make(CLS_I32, 0, N, NULL), out = view_make(CLS_I32, 1, N, NULL),
              top = view_make(CLS_I32, 0, 10, NULL);
    cls_stream stream;
    cls_graph graph;
    cls_graph_exec exec;
    (void)state;
    OK(cls_stream_create(NULL, NULL, &stream));
    OK(cls_stream_begin_capture(stream, "sort"));
    OK(cls_sort_async(in, out, &wish.config, stream));
    OK(cls_top_k_async(in, top, (cls_array){0}, &wish.config, stream));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < N; k++)
            keys[k] = (int32_t)draw(1000) - 500;
        OK(cls_copy_h2d(in.buffer, in.offset * sizeof *keys, keys, N * sizeof *keys, stream));
        OK(cls_graph_launch(exec, stream));
        OK(cls_stream_synchronize(stream));
        uint32_t *order = order_of(&wish, keys, N);
        void *expected = take(keys, order, N, sizeof *keys), *got = view_read(out),
             *got_top = view_read(top);
        check_bytes("captured sort", &wish, N, got, expected, sizeof *keys);
        check_bytes("captured top k", &wish, 10, got_top, expected, sizeof *keys);
        free(order);
        free(expected);
        free(got);
        free(got_top);
    }
    free(keys);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    OK(cls_stream_destroy(stream));
    view_destroy(in);
    view_destroy(out);
    view_destroy(top);
}

static void refusals(void **state) {
    (void)state;
    cls_array keys = view_make(CLS_F32, 0, 20, NULL), other = view_make(CLS_F32, 0, 20, NULL),
              small = view_make(CLS_U16, 0, 20, NULL), numbers = view_make(CLS_I64, 0, 20, NULL);
    const cls_array none = {0};
    cls_array part = cls_array_at(keys.buffer, CLS_F32, keys.offset + 1, 10), head = part;
    head.offset--;
    cls_sort_config config = CLS_SORT_CONFIG_INIT;
    EXPECT(CLS_ERROR_OVERLAP, cls_sort(head, part, NULL, NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_sort(keys, small, NULL, NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH,
           cls_sort(keys, cls_array_at(other.buffer, CLS_F32, other.offset, 9), NULL, NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_sort_pairs(keys, other, small, small, NULL, NULL));
    EXPECT(CLS_ERROR_OVERLAP, cls_sort_pairs(keys, other, other, other, NULL, NULL));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_argsort(keys, other, NULL, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_top_k(keys, none, none, NULL, NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_top_k(part, other, none, NULL, NULL));
    EXPECT(CLS_ERROR_OVERLAP, cls_top_k(keys, keys, none, NULL, NULL));
    EXPECT(CLS_ERROR_OUT_OF_RANGE,
           cls_nth_element(keys, 20, cls_array_at(other.buffer, CLS_F32, other.offset, 1), NULL,
                           NULL));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_nth_element(keys, 2, other, NULL, NULL));
    config.end_bit = 33;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_sort(keys, other, &config, NULL));
    config.begin_bit = config.end_bit = 5;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_sort(keys, other, &config, NULL));
    expect_detail("bits 5 to 5");
    config = (cls_sort_config)CLS_SORT_CONFIG_INIT;
    config.length = numbers;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_sort(keys, other, &config, NULL));
    config.length = cls_array_at(small.buffer, CLS_U16, small.offset, 1);
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_sort(keys, other, &config, NULL));
    view_destroy(keys);
    view_destroy(other);
    view_destroy(small);
    view_destroy(numbers);
}

enum { PER_TYPE = 3, MORE = 5 };

int main(void) {
    static const struct {
        const char *name;
        void (*run)(void **state);
    } per_type[PER_TYPE] = {{"sort", sorts}, {"bits", ranges_of_bits}, {"select", selections}};
    const struct CMUnitTest more[MORE] = {
        cmocka_unit_test(rows),     cmocka_unit_test(lengths_on_the_device),
        cmocka_unit_test(large),    cmocka_unit_test(captured),
        cmocka_unit_test(refusals),
    };
    static struct CMUnitTest tests[TYPES * PER_TYPE + MORE];
    static char names[TYPES * PER_TYPE][32];
    unsigned n = 0;
    for (unsigned i = 0; i < TYPES * PER_TYPE; i++) {
        const cls_dtype *type = &all_types[i / PER_TYPE];
        if (i % PER_TYPE && !is_chosen(*type, 3) && !is_chosen(*type, i % PER_TYPE))
            continue;
        snprintf(names[i], sizeof names[i], "%s_%s", per_type[i % PER_TYPE].name,
                 cls_dtype_name(*type));
        tests[n++] = (struct CMUnitTest){names[i], per_type[i % PER_TYPE].run, NULL, NULL,
                                         (void *)(uintptr_t)type};
    }
    for (unsigned i = 0; i < MORE; i++)
        tests[n++] = more[i];
    prepare_tests();
    return _cmocka_run_group_tests("sort", tests, n, NULL, NULL);
}
