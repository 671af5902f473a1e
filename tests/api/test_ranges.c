/* SPDX-License-Identifier: MIT */
/*
 * Ranges that are bad only together: offsets and sizes, rectangles and patterns, copies within one
 * buffer; and memory that is not pinned any more. Single bad arguments are tests/hostile.
 */
#include "../support/rig.h"

#include <stdlib.h>
#include <string.h>

#include <clstream/cast.h>
#include <clstream/profiler.h>
#include <clstream/reduce.h>
#include <clstream/unary.h>

enum { BYTES = 1024 };

static struct stock {
    cls_stream stream;
    cls_buffer a, b;
    void *pinned;
} stock;

static int stock_setup(void **state) {
    return rig_setup(state) || cls_stream_create(rig.context, NULL, &stock.stream) ||
           cls_buffer_create(rig.context, BYTES, &stock.a) ||
           cls_buffer_create(rig.context, BYTES, &stock.b) ||
           cls_host_alloc(rig.context, BYTES, &stock.pinned);
}

static int stock_teardown(void **state) {
    return cls_host_free(stock.pinned) || cls_buffer_destroy(stock.a) ||
           cls_buffer_destroy(stock.b) || cls_stream_destroy(stock.stream) || rig_teardown(state);
}

static void test_ranges_past_the_end_are_refused(void **state) {
    (void)state;
    static const struct {
        size_t offset, bytes;
    } bad[] = {
        {0, BYTES + 1},       {BYTES, 1},        {1, BYTES},
        {BYTES + 1, 0},       {SIZE_MAX, 1},     {1, SIZE_MAX},
        {SIZE_MAX, SIZE_MAX}, {SIZE_MAX - 3, 4}, {SIZE_MAX / 2 + 1, SIZE_MAX / 2 + 1},
        {0, SIZE_MAX},
    };
    char *memory = calloc(1, 2 * BYTES);
    assert_non_null(memory);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t o = bad[i].offset, n = bad[i].bytes;
        EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_copy_h2d(stock.a, o, memory, n, stock.stream));
        EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_copy_h2d_async(stock.a, o, memory, n, stock.stream));
        EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_copy_d2h(memory, stock.a, o, n, stock.stream));
        EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_copy_d2h_async(memory, stock.a, o, n, stock.stream));
        EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_copy_d2d(stock.a, o, stock.b, 0, n, stock.stream));
        EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_copy_d2d(stock.a, 0, stock.b, o, n, stock.stream));
        EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_fill(stock.a, o, n, "1", 1, stock.stream));
    }
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_buffer_to_host(stock.a, memory, BYTES + 1));
    for (size_t i = 0; i < 2 * BYTES; i++)
        assert_int_equal(memory[i], 0);
    free(memory);
}

static void test_rectangles_past_the_end_are_refused(void **state) {
    (void)state;
    static const struct {
        cls_rect rect;
        cls_status status;
    } bad[] = {
        {{32, 33, 0, 32, 0, 32, 0, 0, 0}, CLS_ERROR_OUT_OF_RANGE},
        {{32, 2, BYTES - 63, 32, 0, 32, 0, 0, 0}, CLS_ERROR_OUT_OF_RANGE},
        {{32, 2, 0, 32, BYTES - 63, 32, 0, 0, 0}, CLS_ERROR_OUT_OF_RANGE},
        {{32, 3, 0, 500, 0, 32, 0, 0, 0}, CLS_ERROR_OUT_OF_RANGE},
        {{4, 2, 0, SIZE_MAX, 0, 4, 0, 0, 0}, CLS_ERROR_OUT_OF_RANGE},
        {{4, SIZE_MAX, 0, 4, 0, 4, 0, 0, 0}, CLS_ERROR_OUT_OF_RANGE},
        {{4, SIZE_MAX / 4 + 2, 0, 4, 0, 4, 0, 0, 0}, CLS_ERROR_OUT_OF_RANGE},
        {{4, 1, SIZE_MAX, 4, 0, 4, 0, 0, 0}, CLS_ERROR_OUT_OF_RANGE},
        {{8, 2, 0, 7, 0, 8, 0, 0, 0}, CLS_ERROR_INVALID_VALUE},
        {{8, 2, 0, 8, 0, 7, 0, 0, 0}, CLS_ERROR_INVALID_VALUE},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        EXPECT(bad[i].status,
               cls_copy_rect_d2d_async(stock.a, stock.b, &bad[i].rect, stock.stream));
}

static void test_overlap_in_one_buffer_is_refused(void **state) {
    (void)state;
    EXPECT(CLS_ERROR_OVERLAP, cls_copy_d2d(stock.a, 3, stock.a, 0, 4, stock.stream));
    EXPECT(CLS_ERROR_OVERLAP, cls_copy_d2d(stock.a, 0, stock.a, 3, 4, stock.stream));
    OK(cls_copy_d2d(stock.a, 4, stock.a, 0, 4, stock.stream));
    OK(cls_copy_d2d(stock.a, 0, stock.a, 4, 4, stock.stream));
    OK(cls_copy_d2d(stock.a, 4, stock.a, 4, 0, stock.stream));
    cls_rect rect = {8, 4, 4, 64, 0, 64, 0, 0, 0};
    EXPECT(CLS_ERROR_OVERLAP, cls_copy_rect_d2d(stock.a, stock.a, &rect, stock.stream));
    cls_buffer alias;
    cl_mem memory;
    OK(cls_buffer_get_cl(stock.a, &memory));
    OK(cls_buffer_wrap(rig.context, memory, &alias)); /* the same memory under another handle */
    EXPECT(CLS_ERROR_OVERLAP, cls_copy_d2d(alias, 0, stock.a, 2, 4, stock.stream));
    OK(cls_buffer_destroy(alias));
}

/* In random calls on one buffer, exactly those that the bytes overlap in. */
static void test_overlaps_are_refused_exactly(void **state) {
    (void)state;
    const unsigned count = rig_scale(400, 100);
    unsigned refused = 0;
    srand(5);
    for (unsigned i = 0; i < count; i++) {
        const size_t to = (size_t)rand() % 64, from = (size_t)rand() % 64;
        const size_t n = (size_t)rand() % 40, apart = to > from ? to - from : from - to;
        const bool bytes_meet = n && apart && apart < n, elements_meet = n && apart < n;
        const cls_array a = cls_array_at(stock.a, CLS_U8, from, n);
        const cls_array b = cls_array_at(stock.a, CLS_U8, to, n);
        /* in place where they are the same; 4 bytes for each of 1 never are */
        const size_t wide = to / 4;
        const bool cast_meets = n && from < 4 * (wide + n) && 4 * wide < from + n;
        EXPECT(bytes_meet ? CLS_ERROR_OVERLAP : CLS_SUCCESS,
               cls_copy_d2d(stock.a, to, stock.a, from, n, stock.stream));
        EXPECT(bytes_meet ? CLS_ERROR_OVERLAP : CLS_SUCCESS,
               cls_unary_async(CLS_UNARY_COPY, a, b, stock.stream));
        EXPECT(cast_meets ? CLS_ERROR_OVERLAP : CLS_SUCCESS,
               cls_cast_async(a, cls_array_at(stock.a, CLS_U32, wide, n), stock.stream));
        if (!n)
            continue;
        const bool result_meets = to >= from && to < from + n;
        EXPECT(result_meets ? CLS_ERROR_OVERLAP : CLS_SUCCESS,
               cls_reduce_async(CLS_REDUCE_MAX, a, cls_array_at(stock.a, CLS_U8, to, 1),
                                stock.stream));
        refused += elements_meet;
    }
    assert_true(refused >= 1 && refused <= count - 1);
    OK(cls_stream_synchronize(stock.stream));
}

/* Nothing to do is no command, whatever the call; the arguments are checked all the same. */
static void test_nothing_to_do_is_no_command(void **state) {
    (void)state;
    char memory[8] = {0};
    cls_profile_summary summary = CLS_PROFILE_SUMMARY_INIT;
    cls_profiler profiler;
    cls_profile profile;
    OK(cls_stream_synchronize(stock.stream));
    OK(cls_profiler_create(NULL, &profiler));
    OK(cls_profiler_start(profiler));
    const cls_rect flat = {0, 4, 0, 4, 0, 4, 0, 0, 0}, empty = {4, 0, 0, 4, 0, 4, 0, 0, 0};
    const cls_rect same = {8, 4, 16, 64, 16, 64, 0, 0, 0}, row = {8, 1, 16, 64, 16, 32, 0, 0, 0};
    const cls_rect *const nothing[] = {&flat, &empty, &same, &row};
    OK(cls_copy_d2d(stock.a, 0, stock.b, 8, 0, stock.stream));
    OK(cls_copy_d2d(stock.a, 8, stock.a, 8, 16, stock.stream));
    OK(cls_copy_h2d(stock.a, BYTES, NULL, 0, stock.stream));
    OK(cls_copy_d2h(NULL, stock.a, BYTES, 0, stock.stream));
    OK(cls_fill(stock.a, BYTES, 0, memory, 4, stock.stream));
    for (int i = 0; i < 4; i++)
        OK(cls_copy_rect_d2d(stock.a, stock.a, nothing[i], stock.stream));
    for (int i = 0; i < 2; i++) {
        OK(cls_copy_rect_h2d(stock.a, NULL, nothing[i], stock.stream));
        OK(cls_copy_rect_d2h(NULL, stock.a, nothing[i], stock.stream));
    }
    const cls_rect past = {0, 4, BYTES + 1, 4, 0, 4, 0, 0, 0}, narrow = {4, 0, 0, 3, 0, 4, 0, 0, 0};
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_copy_rect_d2d(stock.a, stock.b, &past, stock.stream));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_copy_rect_d2d(stock.a, stock.b, &narrow, stock.stream));
    EXPECT(CLS_ERROR_OUT_OF_RANGE,
           cls_copy_d2d(stock.a, BYTES - 4, stock.a, BYTES - 4, 8, stock.stream));
    OK(cls_stream_synchronize(stock.stream));
    OK(cls_profiler_snapshot(profiler, &profile));
    OK(cls_profile_get_summary(profile, &summary));
    assert_int_equal(summary.records, 0);
    OK(cls_profile_destroy(profile));
    OK(cls_profiler_destroy(profiler));
}

static void test_fill_patterns_are_checked(void **state) {
    (void)state;
    static const size_t bad_sizes[] = {0, 3, 5, 6, 7, 9, 12, 15, 17, 32, 128, SIZE_MAX};
    unsigned char pattern[128] = {0};
    for (size_t i = 0; i < sizeof bad_sizes / sizeof *bad_sizes; i++)
        EXPECT(CLS_ERROR_INVALID_VALUE,
               cls_fill(stock.a, 0, 0x3c0, pattern, bad_sizes[i], stock.stream));
    for (size_t size = 2; size <= 16; size *= 2) {
        EXPECT(CLS_ERROR_INVALID_VALUE,
               cls_fill(stock.a, size / 2, 2 * size, pattern, size, stock.stream));
        EXPECT(CLS_ERROR_INVALID_VALUE,
               cls_fill(stock.a, size, 2 * size - 1, pattern, size, stock.stream));
    }
}

static void test_memory_that_is_not_ours_is_not_freed(void **state) {
    (void)state;
    int local = 0;
    void *heap = malloc(16);
    void *gone;
    OK(cls_host_free(NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_host_free(&local));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_host_free(heap));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_host_free((char *)stock.pinned + 1));
    OK(cls_host_alloc(rig.context, 64, &gone));
    OK(cls_host_free(gone));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_host_free(gone));
    free(heap);
}

/* All of the above left the stream as it was. */
static void test_nothing_of_it_reached_the_stream(void **state) {
    (void)state;
    OK(cls_stream_query(stock.stream));
    OK(cls_context_synchronize(rig.context));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges_past_the_end_are_refused),
        cmocka_unit_test(test_rectangles_past_the_end_are_refused),
        cmocka_unit_test(test_overlap_in_one_buffer_is_refused),
        cmocka_unit_test(test_overlaps_are_refused_exactly),
        cmocka_unit_test(test_nothing_to_do_is_no_command),
        cmocka_unit_test(test_fill_patterns_are_checked),
        cmocka_unit_test(test_memory_that_is_not_ours_is_not_freed),
        cmocka_unit_test(test_nothing_of_it_reached_the_stream),
    };
    return cmocka_run_group_tests(tests, stock_setup, stock_teardown);
}
