/* SPDX-License-Identifier: MIT */
/* Rectangles in three dimensions, and between two contexts, against the same done on the host, byte by byte. */
#include "../support/alike.h"

#include <clstream/mempool.h>

#include <stdlib.h>
#include <string.h>

enum { BYTES = 4096, BIG = 9 << 20 };

/* Two buffers of one context and one of another, the contents expected of each, and host memory. */
static struct scene {
    cls_context other;
    cls_stream here, there;
    cls_buffer a, b, far;
    unsigned char of_a[BYTES], of_b[BYTES], of_far[BYTES], host[BYTES], wanted[BYTES];
} scene;

static void randomize(unsigned char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)(rand() >> 4);
}

static int setup(void **state) {
    if (rig_setup(state))
        return -1;
    srand(17);
    randomize(scene.of_a, BYTES);
    randomize(scene.of_b, BYTES);
    randomize(scene.of_far, BYTES);
    scene.other = alike_context(1);
    scene.here = rig_stream();
    OK(cls_stream_create(scene.other, NULL, &scene.there));
    OK(cls_buffer_from_host(rig.context, scene.of_a, BYTES, &scene.a));
    OK(cls_buffer_from_host(rig.context, scene.of_b, BYTES, &scene.b));
    OK(cls_buffer_from_host(scene.other, scene.of_far, BYTES, &scene.far));
    return 0;
}

static int teardown(void **state) {
    OK(cls_buffer_destroy(scene.a));
    OK(cls_buffer_destroy(scene.b));
    OK(cls_buffer_destroy(scene.far));
    OK(cls_stream_destroy(scene.here));
    OK(cls_stream_destroy(scene.there));
    OK(cls_context_destroy(scene.other));
    return rig_teardown(state);
}

static void expect(cls_buffer buffer, const unsigned char *wanted) {
    static unsigned char seen[BYTES];
    OK(cls_copy_d2h(seen, buffer, 0, BYTES, NULL));
    assert_memory_equal(seen, wanted, BYTES);
}

static size_t below(size_t end) { return (size_t)rand() % end; }

/* Slices without a gap, a number of rows apart, or anywhere; the default for some of the first. */
static size_t slice_pitch(size_t pitch, size_t height) {
    const size_t rows[] = {height, height, height + below(3), height + 1};
    const unsigned kind = (unsigned)below(5);
    return kind == 0 ? 0 : kind == 4 ? pitch * height + below(9) : pitch * rows[kind - 1];
}

/* A part of a square image: drivers may take rows of equal sizes for such without a gap. */
static void make_square(cls_rect *r) {
    r->width = 1 + below(9);
    r->height = r->width + 1 + below(4);
    r->dst_pitch = r->src_pitch = r->height;
}

/* At most 1500 bytes from the first to the last; now and then of one row, of one slice or of nothing. */
static cls_rect any_rect(void) {
    cls_rect r = {.width = 1 + below(24),
                  .height = below(12) ? 1 + below(5) : 0,
                  .depth = below(5),
                  .dst_offset = below(90),
                  .src_offset = below(90)};
    r.dst_pitch = r.width + (below(3) ? below(13) : 0);
    r.src_pitch = below(3) ? r.width + below(13) : r.dst_pitch;
    if (!below(5))
        make_square(&r);
    r.dst_slice_pitch = slice_pitch(r.dst_pitch, r.height);
    r.src_slice_pitch = slice_pitch(r.src_pitch, r.height);
    return r;
}

static size_t slices_of(const cls_rect *r) { return r->depth ? r->depth : 1; }

/* Where row `i` of all slices begins. */
static size_t row_at(const cls_rect *r, size_t i, bool dst) {
    const size_t pitch = dst ? r->dst_pitch : r->src_pitch;
    const size_t given = dst ? r->dst_slice_pitch : r->src_slice_pitch;
    return (dst ? r->dst_offset : r->src_offset) + i % r->height * pitch +
           i / r->height * (given ? given : pitch * r->height);
}

static void rect_on_host(unsigned char *dst, const unsigned char *src, const cls_rect *r) {
    for (size_t i = 0; i < slices_of(r) * r->height; i++)
        memcpy(dst + row_at(r, i, true), src + row_at(r, i, false), r->width);
}

static void test_to_the_device_and_back(void **state) {
    (void)state;
    const unsigned count = rig_scale(300, 80);
    for (unsigned i = 0; i < count; i++) {
        const cls_rect r = any_rect();
        randomize(scene.host, BYTES);
        if (i % 2) {
            rect_on_host(scene.of_a, scene.host, &r);
            OK((i % 4 == 1 ? cls_copy_rect_h2d : cls_copy_rect_h2d_async)(scene.a, scene.host, &r,
                                                                          scene.here));
            OK(cls_stream_synchronize(scene.here));
            expect(scene.a, scene.of_a);
            continue;
        }
        memcpy(scene.wanted, scene.host, BYTES);
        rect_on_host(scene.wanted, scene.of_a, &r);
        OK((i % 4 ? cls_copy_rect_d2h : cls_copy_rect_d2h_async)(scene.host, scene.a, &r,
                                                                 scene.here));
        OK(cls_stream_synchronize(scene.here));
        assert_memory_equal(scene.host, scene.wanted, BYTES);
    }
    expect(scene.a, scene.of_a);
}

static void test_on_the_device(void **state) {
    (void)state;
    const unsigned count = rig_scale(300, 80);
    for (unsigned i = 0; i < count; i++) {
        const cls_rect r = any_rect();
        rect_on_host(scene.of_b, scene.of_a, &r);
        OK((i % 2 ? cls_copy_rect_d2d : cls_copy_rect_d2d_async)(scene.b, scene.a, &r, scene.here));
        OK(cls_stream_synchronize(scene.here));
        expect(scene.b, scene.of_b);
    }
}

/* Memory of the stream's order is sub-buffers to the driver. */
static void test_of_stream_ordered_memory(void **state) {
    (void)state;
    const unsigned count = rig_scale(60, 20);
    cls_buffer part;
    OK(cls_malloc_async(scene.here, BYTES, &part));
    OK(cls_copy_h2d(part, 0, scene.of_a, BYTES, scene.here));
    memcpy(scene.wanted, scene.of_a, BYTES);
    for (unsigned i = 0; i < count; i++) {
        const cls_rect r = any_rect();
        rect_on_host(scene.wanted, scene.of_b, &r);
        OK(cls_copy_rect_d2d_async(part, scene.b, &r, scene.here));
    }
    OK(cls_copy_d2h(scene.host, part, 0, BYTES, scene.here));
    assert_memory_equal(scene.host, scene.wanted, BYTES);
    OK(cls_free_async(part, scene.here));
}

static void test_on_the_host(void **state) {
    (void)state;
    static unsigned char to[BYTES];
    const unsigned count = rig_scale(100, 40);
    for (unsigned i = 0; i < count; i++) {
        const cls_rect r = any_rect();
        randomize(to, BYTES);
        memcpy(scene.wanted, to, BYTES);
        rect_on_host(scene.wanted, scene.host, &r);
        OK((i % 2 ? cls_copy_rect_h2h : cls_copy_rect_h2h_async)(to, scene.host, &r, scene.here));
        OK(cls_stream_synchronize(scene.here));
        assert_memory_equal(to, scene.wanted, BYTES);
    }
    const cls_rect even = {4, 2, 0, 16, 0, 16, 2, 0, 0};
    EXPECT(CLS_ERROR_OVERLAP, cls_copy_rect_h2h(to + 35, to, &even, scene.here));
    OK(cls_copy_rect_h2h(to + 36, to, &even, scene.here));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_copy_rect_h2h(to, NULL, &even, scene.here));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_copy_rect_h2h(NULL, to, &even, scene.here));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_copy_rect_h2h(to, scene.host, NULL, scene.here));
}

static void test_fills(void **state) {
    (void)state;
    const unsigned count = rig_scale(300, 80);
    for (unsigned i = 0; i < count; i++) {
        const size_t size = (size_t)1 << i % 5;
        unsigned char pattern[16];
        cls_rect r = any_rect();
        r.width = size * (1 + below(3)) + (below(4) ? 0 : 1024 / size * size);
        r.height = below(8) ? 1 + below(3) : 0;
        r.depth = r.width < 1000 ? below(4) : below(2);
        r.dst_offset = r.dst_offset / size * size;
        r.dst_pitch = r.width + size * below(4);
        r.dst_slice_pitch = below(3) ? r.height * r.dst_pitch + size * below(9) : 0;
        r.height = r.width < 1000 || r.height < 2 ? r.height : 2;
        randomize(pattern, size);
        for (size_t row = 0; row < slices_of(&r) * r.height; row++)
            for (size_t k = 0; k < r.width; k += size)
                memcpy(scene.of_a + row_at(&r, row, true) + k, pattern, size);
        OK((i % 2 ? cls_fill_rect : cls_fill_rect_async)(scene.a, &r, pattern, size, scene.here));
        memset(pattern, 0, sizeof pattern); /* the call has copied it */
        OK(cls_stream_synchronize(scene.here));
        expect(scene.a, scene.of_a);
    }
}

static void test_bad_fills_are_refused(void **state) {
    (void)state;
    static const struct {
        cls_rect rect;
        size_t size;
        cls_status status;
    } bad[] = {
        {{8, 2, 0, 16, 0, 0, 0, 0, 0}, 3, CLS_ERROR_INVALID_VALUE},
        {{8, 2, 0, 16, 0, 0, 0, 0, 0}, 32, CLS_ERROR_INVALID_VALUE},
        {{8, 2, 2, 16, 0, 0, 0, 0, 0}, 4, CLS_ERROR_INVALID_VALUE},
        {{6, 2, 0, 16, 0, 0, 0, 0, 0}, 4, CLS_ERROR_INVALID_VALUE},
        {{8, 2, 0, 18, 0, 0, 0, 0, 0}, 4, CLS_ERROR_INVALID_VALUE},
        {{8, 2, 0, 16, 0, 0, 2, 34, 0}, 4, CLS_ERROR_INVALID_VALUE},
        {{8, 2, 0, 4, 0, 0, 0, 0, 0}, 4, CLS_ERROR_INVALID_VALUE},
        {{8, 2, BYTES - 20, 16, 0, 0, 0, 0, 0}, 4, CLS_ERROR_OUT_OF_RANGE},
        {{8, SIZE_MAX, 0, 16, 0, 0, 0, 0, 0}, 4, CLS_ERROR_OUT_OF_RANGE},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        EXPECT(bad[i].status,
               cls_fill_rect_async(scene.a, &bad[i].rect, scene.host, bad[i].size, scene.here));
    const cls_rect good = {8, 1, BYTES - 8, 9, 0, 0, 1, 33, 0};
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_fill_rect(scene.a, &good, NULL, 4, scene.here));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_fill_rect(scene.a, NULL, scene.host, 4, scene.here));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_fill_rect(scene.a, &good, scene.host, 4, scene.there));
    OK(cls_fill_rect(scene.a, &good, scene.of_a + BYTES - 8, 8, scene.here));
    expect(scene.a, scene.of_a);
}

static void mark(unsigned char *marks, const cls_rect *r, bool dst) {
    memset(marks, 0, BYTES);
    for (size_t i = 0; i < slices_of(r) * r->height; i++)
        memset(marks + row_at(r, i, dst), 1, r->width);
}

static bool bytes_meet(const cls_rect *r) {
    static unsigned char to[BYTES], from[BYTES];
    mark(to, r, true);
    mark(from, r, false);
    for (size_t i = 0; i < BYTES; i++)
        if (to[i] && from[i])
            return true;
    return false;
}

/* Where all rows are where they were, nothing is done. */
static bool is_in_place(const cls_rect *r) {
    for (size_t i = 0; i < slices_of(r) * r->height; i++)
        if (row_at(r, i, true) != row_at(r, i, false))
            return false;
    return true;
}

/* Slices that alternate, or lie in the gaps of others, are no overlap. */
static void test_within_one_buffer_exactly(void **state) {
    (void)state;
    const unsigned count = rig_scale(600, 200);
    unsigned refused = 0, copied = 0;
    for (unsigned i = 0; i < count; i++) {
        cls_rect r = any_rect();
        r.width = 1 + below(r.width < 4 ? r.width : 4);
        r.dst_slice_pitch += r.dst_slice_pitch ? below(40) : 0;
        if (i % 2)
            r.src_pitch = r.dst_pitch, r.src_slice_pitch = r.dst_slice_pitch;
        if (r.src_slice_pitch && r.src_slice_pitch < r.height * r.src_pitch)
            r.src_slice_pitch = r.height * r.src_pitch;
        const bool meets = bytes_meet(&r), in_place = is_in_place(&r);
        if (!meets)
            rect_on_host(scene.of_a, scene.of_a, &r);
        EXPECT(meets && !in_place ? CLS_ERROR_OVERLAP : CLS_SUCCESS,
               cls_copy_rect_d2d(scene.a, scene.a, &r, scene.here));
        refused += meets && !in_place;
        copied += !meets && r.height && slices_of(&r) > 1;
    }
    assert_true(refused > count / 10 && copied > count / 10);
    expect(scene.a, scene.of_a);
}

static void test_between_contexts(void **state) {
    (void)state;
    const unsigned count = rig_scale(200, 60);
    for (unsigned i = 0; i < count; i++) {
        const cls_rect r = any_rect();
        const bool out = i % 2, blocks = i % 8 > 3;
        cls_stream stream = i % 4 > 1 ? scene.here : scene.there;
        rect_on_host(out ? scene.of_far : scene.of_a, out ? scene.of_a : scene.of_far, &r);
        OK((blocks ? cls_copy_rect_d2d : cls_copy_rect_d2d_async)(
            out ? scene.far : scene.a, out ? scene.a : scene.far, &r, stream));
        OK(cls_stream_synchronize(stream));
    }
    expect(scene.a, scene.of_a);
    expect(scene.far, scene.of_far);
    cls_context third;
    cls_stream stranger;
    const cls_rect r = {.width = 4, .height = 2, .dst_pitch = 8, .src_pitch = 8};
    third = alike_context(2);
    OK(cls_stream_create(third, NULL, &stranger));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_copy_rect_d2d_async(scene.a, scene.far, &r, stranger));
    OK(cls_stream_destroy(stranger));
    OK(cls_context_destroy(third));
}

static void fill_in(cls_rect *r, size_t slice) {
    r->dst_slice_pitch = slice;
    r->src_slice_pitch = slice;
}

/* More than one chunk of pinned memory: whole slices, slices that are no number of rows apart, rows of slices that are
 * larger than a chunk, and rows that are. */
static void test_many_chunks(void **state) {
    (void)state;
    cls_rect rects[] = {{1000, 300, 3, 1024, 1, 1001, 20, 320 * 1024, 301 * 1001},
                        {1000, 300, 3, 1024, 1, 1024, 20, 0, 0},
                        {3000, 1500, 0, 3001, 7, 3010, 2, 0, 4600000},
                        {(4 << 20) + 5, 2, 1, (4 << 20) + 9, 0, (4 << 20) + 7, 1, 0, 0}};
    unsigned char *from = malloc(BIG + 1000), *to = malloc(BIG + 1000), *seen = malloc(BIG + 1000);
    cls_buffer near, far;
    assert_true(from && to && seen);
    randomize(from, BIG + 1000);
    fill_in(&rects[1], 321 * 1024 + 3);
    OK(cls_buffer_from_host(rig.context, from, BIG + 1000, &near));
    OK(cls_buffer_create(scene.other, BIG + 1000, &far));
    for (unsigned i = 0; i < sizeof rects / sizeof *rects; i++) {
        memset(to, (int)i, BIG + 1000);
        OK(cls_copy_h2d(far, 0, to, BIG + 1000, scene.there));
        rect_on_host(to, from, &rects[i]);
        OK(cls_copy_rect_d2d(far, near, &rects[i], i % 2 ? scene.here : scene.there));
        OK(cls_copy_d2h(seen, far, 0, BIG + 1000, scene.there));
        assert_memory_equal(seen, to, BIG + 1000);
        memset(seen, (int)i, BIG + 1000);
        OK(cls_copy_rect_d2h(seen, near, &rects[i], scene.here));
        assert_memory_equal(seen, to, BIG + 1000);
        memset(seen, (int)i, BIG + 1000);
        OK(cls_copy_h2d(far, 0, seen, BIG + 1000, scene.there));
        OK(cls_copy_rect_h2d(far, from, &rects[i], scene.there));
        OK(cls_copy_d2h(seen, far, 0, BIG + 1000, scene.there));
        assert_memory_equal(seen, to, BIG + 1000);
    }
    OK(cls_buffer_destroy(near));
    OK(cls_buffer_destroy(far));
    free(from);
    free(to);
    free(seen);
}

static void test_bad_slices_are_refused(void **state) {
    (void)state;
    static const struct {
        cls_rect rect;
        cls_status status;
    } bad[] = {
        {{8, 2, 0, 16, 0, 16, 2, 23, 0}, CLS_ERROR_INVALID_VALUE},
        {{8, 2, 0, 16, 0, 16, 2, 0, 23}, CLS_ERROR_INVALID_VALUE},
        {{8, 1, 0, 16, 0, 16, 2, 7, 0}, CLS_ERROR_INVALID_VALUE},
        {{8, 2, 0, 7, 0, 16, 2, 0, 0}, CLS_ERROR_INVALID_VALUE},
        {{8, 2, 0, 16, 0, 16, 129, 0, 0}, CLS_ERROR_OUT_OF_RANGE},
        {{8, 2, 0, 16, 0, 16, 2, BYTES, 0}, CLS_ERROR_OUT_OF_RANGE},
        {{8, 2, 0, 16, 0, 16, 2, 0, BYTES - 23}, CLS_ERROR_OUT_OF_RANGE},
        {{8, 2, 0, 16, 0, 16, 2, SIZE_MAX, 0}, CLS_ERROR_OUT_OF_RANGE},
        {{8, 2, 0, 16, 0, 16, SIZE_MAX, 0, 0}, CLS_ERROR_OUT_OF_RANGE},
        {{8, 2, 0, 16, 0, 16, SIZE_MAX / 32 + 2, 32, 32}, CLS_ERROR_OUT_OF_RANGE},
        {{8, 2, 0, SIZE_MAX / 2 + 1, 0, 16, 2, 0, 0}, CLS_ERROR_OUT_OF_RANGE},
        {{8, 2, BYTES - 55, 16, 0, 16, 2, 0, 0}, CLS_ERROR_OUT_OF_RANGE},
        {{0, 2, BYTES + 1, 16, 0, 16, 2, 0, 0}, CLS_ERROR_OUT_OF_RANGE},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        EXPECT(bad[i].status, cls_copy_rect_d2d_async(scene.a, scene.b, &bad[i].rect, scene.here));
        EXPECT(bad[i].status,
               cls_copy_rect_d2d_async(scene.a, scene.far, &bad[i].rect, scene.here));
    }
    /* of one slice any, and just as large as the buffer */
    static const cls_rect good[] = {{8, 2, 0, 16, 0, 16, 1, 1, SIZE_MAX},
                                    {8, 2, BYTES - 56, 16, BYTES - 56, 16, 2, 0, 0},
                                    {8, 2, BYTES - 48, 16, BYTES - 48, 16, 2, 24, 24}};
    for (unsigned i = 0; i < sizeof good / sizeof *good; i++) {
        OK(cls_copy_rect_d2d(scene.b, scene.a, &good[i], scene.here));
        rect_on_host(scene.of_b, scene.of_a, &good[i]);
    }
    OK(cls_stream_query(scene.here));
    expect(scene.b, scene.of_b);
}

static void test_counters_tell_the_bytes(void **state) {
    (void)state;
    const cls_rect r = {10, 3, 0, 20, 0, 30, 4, 100, 90};
    cls_stream stream = rig_stream();
    cls_stream_counters counters = {.size = sizeof counters};
    OK(cls_copy_rect_d2h(scene.host, scene.a, &r, stream));
    OK(cls_copy_rect_d2d(scene.far, scene.a, &r, stream));
    rect_on_host(scene.of_far, scene.of_a, &r);
    OK(cls_stream_get_counters(stream, &counters));
    assert_int_equal(counters.bytes_to_host, 120);
    assert_int_equal(counters.bytes_on_device, 120);
    assert_int_equal(counters.commands[CLS_COMMAND_COPY_D2D], 1);
    OK(cls_stream_destroy(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_to_the_device_and_back),
        cmocka_unit_test(test_on_the_device),
        cmocka_unit_test(test_of_stream_ordered_memory),
        cmocka_unit_test(test_on_the_host),
        cmocka_unit_test(test_fills),
        cmocka_unit_test(test_bad_fills_are_refused),
        cmocka_unit_test(test_within_one_buffer_exactly),
        cmocka_unit_test(test_between_contexts),
        cmocka_unit_test(test_many_chunks),
        cmocka_unit_test(test_bad_slices_are_refused),
        cmocka_unit_test(test_counters_tell_the_bytes),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
