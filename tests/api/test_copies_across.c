/* SPDX-License-Identifier: MIT */
/* Copies between buffers of two contexts, and on the host: commands of the stream that the caller names. */
#include "../support/alike.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = 3500000, BYTES = WORDS * 4 }; /* several chunks, the last one in part */

static struct world {
    cls_context other;
    cls_stream here, there;
    cls_buffer near, far;
    uint32_t *in, *out;
    struct gate gate;
} w;

static int setup(void **state) {
    (void)state;
    w.other = alike_context(1);
    w.here = rig_stream();
    OK(cls_stream_create(w.other, NULL, &w.there));
    OK(cls_buffer_create(rig.context, BYTES, &w.near));
    OK(cls_buffer_create(w.other, BYTES, &w.far));
    w.in = malloc(BYTES);
    w.out = calloc(1, BYTES);
    assert_true(w.in && w.out);
    for (uint32_t i = 0; i < WORDS; i++)
        w.in[i] = i * 2654435761u;
    gate_init(&w.gate);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    gate_destroy(&w.gate);
    OK(cls_stream_destroy(w.here));
    OK(cls_stream_destroy(w.there));
    OK(cls_buffer_destroy(w.near));
    OK(cls_buffer_destroy(w.far));
    OK(cls_context_destroy(w.other));
    free(w.in);
    free(w.out);
    return 0;
}

static void expect_words(size_t first, size_t from, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (w.out[first + i] != w.in[from + i])
            fail_msg("word %zu is %u, not %u", first + i, w.out[first + i], w.in[from + i]);
}

static void test_bytes_arrive(void **state) {
    static const size_t sizes[] = {1, 4096, 1000000, WORDS - 7};
    (void)state;
    OK(cls_copy_h2d(w.near, 0, w.in, BYTES, w.here));
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t n = sizes[i];
        cls_stream stream = i % 2 ? w.here : w.there;
        OK(cls_copy_d2d_async(w.far, 4 * 3, w.near, 4 * 5, 4 * n, stream));
        OK(cls_copy_d2d(w.near, 4 * 1, w.far, 4 * 3, 4 * n, stream));
        OK(cls_copy_d2h(w.out, w.near, 0, BYTES, w.here));
        expect_words(1, 5, n);
        expect_words(0, 0, 1);
        OK(cls_copy_h2d(w.near, 0, w.in, BYTES, w.here));
    }
}

static void test_no_stream_means_the_destinations(void **state) {
    cls_stream stream;
    cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
    (void)state;
    OK(cls_copy_h2d(w.near, 0, w.in, 64, w.here));
    OK(cls_copy_d2d(w.far, 0, w.near, 0, 64, NULL));
    OK(cls_copy_d2h(w.out, w.far, 0, 64, NULL));
    expect_words(0, 0, 16);
    OK(cls_context_default_stream(w.other, &stream));
    OK(cls_stream_get_counters(stream, &counters));
    assert_int_equal(counters.commands[CLS_COMMAND_COPY_D2D], 1);
    assert_int_equal(counters.bytes_on_device, 64);
}

static void test_a_copy_keeps_its_streams_order(void **state) {
    uint32_t value = 0;
    (void)state;
    for (uint32_t round = 1; round < 8; round++) {
        OK(rig_set(w.here, w.near, 0, round, 5));
        OK(cls_copy_d2d_async(w.far, 0, w.near, 0, 4, w.here));
        OK(rig_set(w.here, w.near, 0, 77, 0)); /* not before the copy has read */
        OK(cls_copy_d2d_async(w.near, 4, w.far, 0, 4, w.here));
        OK(rig_step(w.here, w.near, 1, 2, 1, 0));
        OK(cls_copy_d2h(&value, w.near, 4, 4, w.here));
        assert_int_equal(value, 2 * round + 1);
    }
}

static void test_it_waits_for_what_its_stream_waits_for(void **state) {
    cls_event event;
    uint32_t value = 0;
    const uint32_t nine = 9;
    (void)state;
    OK(cls_event_create(w.other, NULL, &event));
    OK(cls_stream_launch_host_async(w.there, gate_hold, &w.gate));
    gate_await(&w.gate);
    OK(cls_fill_async(w.far, 0, 4, &nine, 4, w.there));
    OK(cls_event_record(event, w.there));
    OK(cls_stream_wait_event(w.here, event));
    OK(cls_copy_d2d_async(w.near, 0, w.far, 0, 4, w.here));
    nap_ms(5);
    EXPECT(CLS_NOT_READY, cls_stream_query(w.here));
    gate_open(&w.gate);
    OK(cls_copy_d2h(&value, w.near, 0, 4, w.here));
    assert_int_equal(value, 9);
    OK(cls_event_destroy(event));
}

static void test_bad_arguments(void **state) {
    cls_context third;
    cls_stream stranger;
    (void)state;
    third = alike_context(2);
    OK(cls_stream_create(third, NULL, &stranger));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_copy_d2d_async(w.far, 0, w.near, 0, 4, stranger));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_copy_d2d_async(w.far, 4, w.near, 0, BYTES, w.here));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_copy_d2d_async(w.far, 0, w.near, 4, BYTES, w.here));
    OK(cls_copy_d2d_async(w.far, BYTES, w.near, BYTES, 0, w.here));
    OK(cls_stream_destroy(stranger));
    OK(cls_context_destroy(third));
}

static void test_a_poisoned_stream_copies_nothing(void **state) {
    uint32_t value = 0;
    const uint32_t seven = 7;
    (void)state;
    OK(cls_fill(w.far, 0, 4, &seven, 4, w.there));
    OK(cls_copy_h2d(w.near, 0, w.in, 64, w.here));
    OK(cls_stream_launch_host_async(w.here, gate_hold, &w.gate));
    OK(rig_fail(w.here, "the culprit", CL_OUT_OF_RESOURCES));
    OK(cls_copy_d2d_async(w.far, 0, w.near, 4, 4, w.here));
    gate_open(&w.gate);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(w.here));
    OK(cls_copy_d2h(&value, w.far, 0, 4, w.there));
    assert_int_equal(value, 7);
    OK(cls_stream_reset(w.here));
}

static void test_handles_may_go_while_it_is_pending(void **state) {
    cls_buffer near, far;
    cls_stream stream = rig_stream();
    cls_event event = rig_event();
    (void)state;
    OK(cls_buffer_create(rig.context, 64, &near));
    OK(cls_buffer_create(w.other, 64, &far));
    OK(cls_stream_launch_host_async(stream, gate_hold, &w.gate));
    OK(cls_copy_d2d_async(far, 0, near, 0, 64, stream));
    OK(cls_event_record(event, stream));
    OK(cls_buffer_destroy(near));
    OK(cls_buffer_destroy(far));
    OK(cls_stream_destroy(stream));
    gate_open(&w.gate);
    OK(cls_event_synchronize(event));
    OK(cls_event_destroy(event));
}

static bool copy_often(void *arg, unsigned i) {
    cls_stream stream = i % 2 ? w.there : w.here;
    const size_t part = BYTES / 8 / 4 * 4;
    (void)arg;
    for (unsigned k = 0; k < 10; k++)
        if (cls_copy_d2d_async(w.far, i * part, w.near, i * part, part, stream))
            return false;
    return !cls_stream_synchronize(stream);
}

static void test_threads_copy_at_once(void **state) {
    (void)state;
    OK(cls_copy_h2d(w.near, 0, w.in, BYTES, w.here));
    assert_int_equal(team_run(8, copy_often, NULL), 0);
    OK(cls_copy_d2h(w.out, w.far, 0, BYTES, w.there));
    expect_words(0, 0, WORDS / 8 * 8 - 8);
}

/* --- on the host --- */

static void test_host_memory_is_copied_in_order(void **state) {
    uint32_t a[4] = {0}, b[4] = {0};
    (void)state;
    OK(rig_set(w.here, w.near, 0, 5, 20));
    OK(cls_copy_d2h_async(a, w.near, 0, 4, w.here));
    OK(cls_copy_h2h_async(b, a, sizeof a, w.here));
    OK(cls_copy_h2d_async(w.near, 4, b, 4, w.here));
    OK(rig_step(w.here, w.near, 1, 1, 1, 0));
    OK(cls_copy_d2h(a, w.near, 4, 4, w.here));
    assert_int_equal(b[0], 5);
    assert_int_equal(a[0], 6);
    OK(cls_copy_h2h(w.out, w.in, BYTES, NULL));
    expect_words(0, 0, WORDS);
}

static void test_host_copies_refuse_bad_memory(void **state) {
    (void)state;
    EXPECT(CLS_ERROR_OVERLAP, cls_copy_h2h_async(w.out + 1, w.out, 8, w.here));
    EXPECT(CLS_ERROR_OVERLAP, cls_copy_h2h_async(w.out, w.out + 1, 8, w.here));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_copy_h2h_async(NULL, w.out, 8, w.here));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_copy_h2h_async(w.out, NULL, 8, w.here));
    OK(cls_copy_h2h_async(w.out + 2, w.out, 8, w.here));
    OK(cls_copy_h2h_async(NULL, NULL, 0, w.here));
    OK(cls_copy_h2h_async(w.out, w.out, 8, w.here));
    OK(cls_stream_synchronize(w.here));
}

/* Freeing the source waits for the copy. */
static void test_pinned_memory_is_freed_behind_a_host_copy(void **state) {
    uint32_t *pinned, value = 0;
    (void)state;
    OK(cls_host_alloc(rig.context, 64, (void **)&pinned));
    *pinned = 41;
    OK(rig_set(w.here, w.near, 0, 1, 30));
    OK(cls_copy_h2h_async(&value, pinned, 4, w.here));
    OK(cls_host_free(pinned));
    assert_int_equal(value, 41);
    OK(cls_stream_synchronize(w.here));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_bytes_arrive),
        TEST(test_no_stream_means_the_destinations),
        TEST(test_a_copy_keeps_its_streams_order),
        TEST(test_it_waits_for_what_its_stream_waits_for),
        TEST(test_bad_arguments),
        TEST(test_a_poisoned_stream_copies_nothing),
        TEST(test_handles_may_go_while_it_is_pending),
        TEST(test_threads_copy_at_once),
        TEST(test_host_memory_is_copied_in_order),
        TEST(test_host_copies_refuse_bad_memory),
        TEST(test_pinned_memory_is_freed_behind_a_host_copy),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
