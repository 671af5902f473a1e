/* SPDX-License-Identifier: MIT */
/* Shareable buffers: handles for one memory in several contexts. */
#include "../support/alike.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <clstream/batch.h>
#include <clstream/binary.h>
#include <clstream/profiler.h>
#include <clstream/share.h>

enum { WORDS = 5000, BYTES = WORDS * 4 };

static struct world {
    cls_context other;
    cls_stream here, there;
    cls_buffer near, far; /* one memory: of the rig's context, and of the other one */
    uint32_t in[WORDS], out[WORDS];
    struct gate gate;
} w;

static int setup(void **state) {
    (void)state;
    if (!alike_memory.is_shared)
        return 0;
    w.other = alike_context(1);
    w.here = rig_stream();
    OK(cls_stream_create(w.other, NULL, &w.there));
    OK(cls_buffer_create_shareable(rig.context, BYTES, &w.near));
    OK(cls_buffer_open(w.other, w.near, &w.far));
    for (uint32_t i = 0; i < WORDS; i++)
        w.in[i] = i * 2654435761u;
    memset(w.out, 0, sizeof w.out);
    gate_init(&w.gate);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    if (!alike_memory.is_shared)
        return 0;
    gate_destroy(&w.gate);
    OK(cls_stream_destroy(w.here));
    OK(cls_stream_destroy(w.there));
    OK(cls_buffer_destroy(w.near));
    OK(cls_buffer_destroy(w.far));
    OK(cls_context_destroy(w.other));
    return 0;
}

/* --- cls_context_can_share --- */

static void test_a_pair_of_contexts_is_described(void **state) {
    cls_share_info info = CLS_SHARE_INFO_INIT;
    (void)state;
    OK(cls_context_can_share(rig.context, rig.context, &info));
    if (alike_memory.is_shared) {
        assert_true(info.gb_per_s > 0 && info.latency_ns > 0);
        assert_string_equal(info.reason, "");
    } else {
        assert_true(info.gb_per_s == 0 && info.latency_ns == 0);
        assert_true(strlen(info.reason) > 0);
    }
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_context_can_share(rig.context, rig.context, NULL));
}

static void test_where_memory_cannot_be_shared_the_reason_is_given(void **state) {
    cls_buffer buffer = NULL;
    (void)state;
    if (alike_memory.is_shared)
        SKIP_BECAUSE("this device's memory can be shared");
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_buffer_create_shareable(rig.context, 64, &buffer));
    assert_non_null(strstr(cls_last_error_detail(), alike_memory.found.reason));
    assert_null(buffer);
}

/* --- one memory --- */

static void expect_words(size_t first, size_t n) {
    for (size_t i = first; i < first + n; i++)
        if (w.out[i] != w.in[i])
            fail_msg("word %zu is %u, not %u", i, w.out[i], w.in[i]);
}

static void test_what_one_handle_writes_the_other_reads(void **state) {
    const uint32_t nine = 9;
    (void)state;
    OK(cls_copy_h2d(w.near, 0, w.in, BYTES, w.here));
    OK(cls_copy_d2h(w.out, w.far, 0, BYTES, w.there));
    expect_words(0, WORDS);
    OK(cls_fill(w.far, 4, 4, &nine, 4, w.there));
    assert_int_equal(rig_cell(w.near, 1), 9);
}

static void test_a_kernel_sees_what_an_operation_of_the_other_context_wrote(void **state) {
    const cls_array far = {w.far, CLS_I32, 0, WORDS};
    (void)state;
    memset(w.in, 0, sizeof w.in);
    w.in[7] = 5;
    OK(cls_copy_h2d(w.near, 0, w.in, BYTES, w.here));
    OK(cls_binary(CLS_BINARY_ADD, far, far, far, w.there));
    OK(rig_step(w.here, w.near, 7, 3, 1, 0));
    OK(cls_stream_synchronize(w.here));
    OK(cls_copy_d2h(w.out, w.far, 0, BYTES, NULL));
    assert_int_equal(w.out[7], 31);
}

static void test_a_batch_takes_an_opened_buffer(void **state) {
    const cls_array far = {w.far, CLS_I32, 0, WORDS};
    cls_batch batch;
    cls_value a, sum;
    (void)state;
    OK(cls_copy_h2d(w.near, 0, w.in, BYTES, w.here));
    OK(cls_batch_create(w.other, NULL, &batch));
    OK(cls_batch_array(batch, far, &a));
    OK(cls_batch_binary(batch, CLS_BINARY_ADD, a, a, &sum));
    OK(cls_batch_store(batch, sum, far));
    OK(cls_batch_execute(batch, w.there));
    OK(cls_batch_destroy(batch));
    OK(cls_copy_d2h(w.out, w.near, 0, BYTES, w.here));
    for (size_t i = 0; i < WORDS; i++)
        assert_int_equal(w.out[i], 2 * w.in[i]);
}

static void test_rectangles_reach_the_memory(void **state) {
    const cls_rect rect = {40, 10, 0, 400, 80, 400, 1, 0, 0};
    const cls_rect near_itself = {40, 10, 20, 400, 0, 400, 1, 0, 0};
    cls_buffer elsewhere;
    uint32_t value = 0;
    (void)state;
    OK(cls_copy_h2d(w.near, 0, w.in, BYTES, w.here));
    OK(cls_buffer_create_shareable(w.other, BYTES, &elsewhere));
    OK(cls_copy_rect_d2d(elsewhere, w.near, &rect, w.here));
    OK(cls_copy_d2h(&value, elsewhere, 9 * 400 + 36, 4, w.there));
    assert_int_equal(value, w.in[9 * 100 + 20 + 9]);
    OK(cls_buffer_destroy(elsewhere));
    EXPECT(CLS_ERROR_OVERLAP, cls_copy_rect_d2d_async(w.far, w.near, &near_itself, w.here));
    OK(cls_copy_rect_d2h(w.out, w.far, &rect, w.there));
    for (size_t row = 0; row < 10; row++)
        assert_memory_equal(w.out + row * 100, w.in + 20 + row * 100, 40);
}

static void test_a_wrapped_cl_mem_is_the_same_memory(void **state) {
    cl_mem memory;
    cls_buffer wrapped;
    uint32_t value = 0;
    (void)state;
    OK(cls_buffer_get_cl(w.far, &memory));
    OK(cls_buffer_wrap(w.other, memory, &wrapped));
    OK(cls_copy_h2d(w.near, 0, w.in, BYTES, w.here));
    OK(cls_copy_d2h(&value, wrapped, 4 * 11, 4, w.there));
    assert_int_equal(value, w.in[11]);
    OK(cls_buffer_destroy(wrapped));
}

static void test_an_opened_buffer_has_the_size(void **state) {
    size_t bytes = 0;
    (void)state;
    OK(cls_buffer_get_size(w.far, &bytes));
    assert_int_equal(bytes, BYTES);
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_copy_d2h(w.out, w.far, 4, BYTES, w.there));
}

static void test_an_opened_handle_opens_more(void **state) {
    cls_context third;
    cls_buffer more[2];
    (void)state;
    third = alike_context(2);
    OK(cls_buffer_open(third, w.far, &more[0]));
    OK(cls_buffer_open(rig.context, more[0], &more[1]));
    OK(cls_copy_h2d(more[0], 0, w.in, BYTES, NULL));
    OK(cls_copy_d2h(w.out, more[1], 0, BYTES, NULL));
    expect_words(0, WORDS);
    OK(cls_buffer_destroy(more[0]));
    OK(cls_buffer_destroy(more[1]));
    OK(cls_context_destroy(third));
}

static void test_sub_devices_share(void **state) {
    const cl_device_partition_property each[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_device_id device, parts[64];
    cl_context cl;
    cl_uint n = 0, most = 0;
    cls_context part;
    cls_buffer opened;
    (void)state;
    OK(cls_context_get_cl(rig.context, &cl, &device));
    /* Asked first: rusticl 22.3 crashes when it is to part what cannot be parted. */
    if (clGetDeviceInfo(device, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, sizeof most, &most, NULL) ||
        most < 2 || clCreateSubDevices(device, each, 64, parts, &n) != CL_SUCCESS || !n)
        SKIP_BECAUSE("this device has no sub-devices");
    cl = clCreateContext(NULL, 1, &parts[n - 1], NULL, NULL, NULL);
    assert_non_null(cl);
    OK(cls_context_wrap(cl, parts[n - 1], &part));
    OK(cls_buffer_open(part, w.near, &opened));
    OK(cls_copy_h2d(opened, 0, w.in, BYTES, NULL));
    OK(cls_copy_d2h(w.out, w.far, 0, BYTES, w.there));
    expect_words(0, WORDS);
    OK(cls_buffer_destroy(opened));
    OK(cls_context_destroy(part));
    clReleaseContext(cl);
    for (cl_uint i = 0; i < n; i++)
        clReleaseDevice(parts[i]);
}

/* --- order --- */

static void test_events_order_the_contexts(void **state) {
    cls_event near, far;
    (void)state;
    OK(cls_event_create(rig.context, NULL, &near));
    OK(cls_event_create(w.other, NULL, &far));
    for (uint32_t i = 1; i < 20; i++) {
        OK(rig_set(w.here, w.near, 0, i, 1));
        OK(cls_event_record(near, w.here));
        OK(cls_stream_wait_event(w.there, near));
        OK(cls_copy_d2h_async(&w.out[i], w.far, 0, 4, w.there));
        OK(cls_event_record(far, w.there));
        OK(cls_stream_wait_event(w.here, far));
    }
    OK(cls_stream_synchronize(w.there));
    for (uint32_t i = 1; i < 20; i++)
        assert_int_equal(w.out[i], i);
    OK(cls_event_destroy(near));
    OK(cls_event_destroy(far));
}

/* --- copies between contexts --- */

/* Whether the driver did the only copy of a profile: then it has the driver's times, or none. */
static bool driver_copied(cls_profiler profiler) {
    cls_profile_record record = CLS_PROFILE_RECORD_INIT;
    cls_profile profile;
    OK(cls_profiler_stop(profiler));
    OK(cls_profiler_snapshot(profiler, &profile));
    OK(cls_profile_get_record(profile, 0, &record));
    assert_int_equal(record.kind, CLS_COMMAND_COPY_D2D);
    OK(cls_profile_destroy(profile));
    return record.clock != CLS_CLOCK_HOST;
}

static void copy_and_look(cls_buffer to, cls_buffer from, cls_stream stream, bool by_driver) {
    cls_profiler profiler;
    OK(cls_profiler_create(NULL, &profiler));
    OK(cls_profiler_start(profiler));
    OK(cls_copy_d2d(to, 4 * 3, from, 4 * 5, 4 * 1000, stream));
    assert_int_equal(driver_copied(profiler), by_driver);
    OK(cls_profiler_destroy(profiler));
}

static void test_a_copy_is_the_drivers_where_its_context_reaches_both(void **state) {
    cls_buffer plain, elsewhere;
    uint32_t value = 0;
    (void)state;
    if (rig_has_quirk("odd_copies"))
        SKIP_BECAUSE("this driver's copies are not used");
    OK(cls_buffer_create(w.other, BYTES, &plain));
    OK(cls_buffer_create_shareable(w.other, BYTES, &elsewhere));
    OK(cls_copy_h2d(w.near, 0, w.in, BYTES, w.here));
    copy_and_look(plain, w.near, w.there, true);
    copy_and_look(plain, w.near, w.here, false);
    copy_and_look(elsewhere, w.near, w.here, true);
    OK(cls_copy_d2h(&value, plain, 4 * 3, 4, w.there));
    assert_int_equal(value, w.in[5]);
    OK(cls_copy_d2h(&value, elsewhere, 4 * 1002, 4, w.there));
    assert_int_equal(value, w.in[1004]);
    OK(cls_buffer_destroy(plain));
    OK(cls_buffer_destroy(elsewhere));
}

static void test_a_copy_keeps_a_destroyed_handle(void **state) {
    cls_buffer source;
    (void)state;
    OK(cls_buffer_create_shareable(w.other, BYTES, &source));
    OK(cls_copy_h2d(source, 0, w.in, BYTES, w.there));
    OK(cls_stream_launch_host_async(w.here, gate_hold, &w.gate));
    OK(cls_copy_d2d_async(w.near, 0, source, 0, BYTES, w.here));
    OK(cls_buffer_destroy(source));
    gate_open(&w.gate);
    OK(cls_copy_d2h(w.out, w.near, 0, BYTES, w.here));
    expect_words(0, WORDS);
}

static void test_overlap_is_found_across_contexts(void **state) {
    cls_buffer again;
    (void)state;
    OK(cls_copy_h2d(w.near, 0, w.in, BYTES, w.here));
    EXPECT(CLS_ERROR_OVERLAP, cls_copy_d2d_async(w.far, 4, w.near, 0, 8, w.here));
    EXPECT(CLS_ERROR_OVERLAP, cls_copy_d2d_async(w.far, 0, w.near, 4, 8, w.here));
    OK(cls_copy_d2d(w.far, 0, w.near, 0, BYTES, w.here));
    OK(cls_copy_d2d(w.far, 8, w.near, 0, 8, w.here));
    assert_int_equal(rig_cell(w.near, 3), w.in[1]);
    OK(cls_buffer_open(rig.context, w.near, &again));
    EXPECT(CLS_ERROR_OVERLAP, cls_copy_d2d_async(again, 4, w.near, 0, 8, w.here));
    const cls_array a = {again, CLS_I32, 1, 8}, b = {w.near, CLS_I32, 0, 8};
    EXPECT(CLS_ERROR_OVERLAP, cls_binary_async(CLS_BINARY_ADD, b, b, a, w.here));
    OK(cls_buffer_destroy(again));
}

/* --- lifetime --- */

static void test_the_memory_lives_until_its_last_handle(void **state) {
    cls_buffer first, second;
    (void)state;
    OK(cls_buffer_create_shareable(rig.context, BYTES, &first));
    OK(cls_copy_h2d(first, 0, w.in, BYTES, w.here));
    OK(cls_buffer_open(w.other, first, &second));
    OK(cls_buffer_destroy(first));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_buffer_open(w.other, first, &first));
    OK(cls_copy_d2h(w.out, second, 0, BYTES, w.there));
    expect_words(0, WORDS);
    OK(cls_buffer_destroy(second));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_buffer_destroy(second));
}

static void test_it_outlives_its_context(void **state) {
    cls_context made_in;
    cls_buffer first, second, third;
    (void)state;
    made_in = alike_context(2);
    OK(cls_buffer_create_shareable(made_in, BYTES, &first));
    OK(cls_copy_h2d(first, 0, w.in, BYTES, NULL));
    OK(cls_buffer_open(w.other, first, &second));
    OK(cls_context_destroy(made_in));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_buffer_open(w.other, first, &third));
    OK(cls_copy_d2h(w.out, second, 0, BYTES, w.there));
    expect_words(0, WORDS);
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_copy_d2d(second, 0, first, 0, 4, w.there));
    OK(cls_buffer_destroy(first));
    OK(cls_buffer_destroy(second));
}

static void test_pending_work_keeps_the_memory(void **state) {
    cls_buffer first, second;
    (void)state;
    OK(cls_buffer_create_shareable(rig.context, BYTES, &first));
    OK(cls_buffer_open(w.other, first, &second));
    OK(cls_copy_h2d(first, 0, w.in, BYTES, w.here));
    OK(cls_stream_launch_host_async(w.there, gate_hold, &w.gate));
    OK(cls_copy_d2h_async(w.out, second, 0, BYTES, w.there));
    OK(cls_buffer_destroy(first));
    OK(cls_buffer_destroy(second));
    gate_open(&w.gate);
    OK(cls_stream_synchronize(w.there));
    expect_words(0, WORDS);
}

/* --- refused calls --- */

static void test_bad_arguments(void **state) {
    cls_buffer plain, out = NULL;
    (void)state;
    OK(cls_buffer_create(rig.context, 64, &plain));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_open(w.other, plain, &out));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_open(w.other, w.near, NULL));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_buffer_open(w.other, NULL, &out));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_buffer_open((cls_context)(uintptr_t)99, w.near, &out));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_create_shareable(rig.context, 0, &out));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_create_shareable(rig.context, 64, NULL));
    EXPECT(CLS_ERROR_OUT_OF_DEVICE_MEMORY,
           cls_buffer_create_shareable(rig.context, SIZE_MAX, &out));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_fill_async(w.far, 0, 4, "abcd", 4, w.here));
    assert_null(out);
    OK(cls_buffer_destroy(plain));
}

/* --- nothing is left --- */

/* Mappings of shareable memory. */
/* A driver may give up memory later, on a thread of its own. */
static void expect_counts(unsigned descriptors, unsigned mappings) {
    for (unsigned i = 0; i < 2000; i++) {
        if (rig_count_descriptors() == descriptors && rig_count_mappings() == mappings)
            return;
        nap_ms(1);
    }
    assert_int_equal(rig_count_descriptors(), descriptors);
    assert_int_equal(rig_count_mappings(), mappings);
}

static void test_descriptors_and_mappings_go_with_the_memory(void **state) {
    teardown(state);
    assert_true(rig_await_memory_gone()); /* that of the tests before */
    setup(state);
    const unsigned descriptors = rig_count_descriptors(), mappings = rig_count_mappings();
    for (unsigned round = 0; round < 20; round++) {
        cls_buffer buffers[10], opened[10];
        for (unsigned i = 0; i < 10; i++) {
            OK(cls_buffer_create_shareable(rig.context, BYTES, &buffers[i]));
            OK(cls_buffer_open(w.other, buffers[i], &opened[i]));
            OK(cls_copy_d2d_async(opened[i], 0, w.near, 0, BYTES, w.there));
        }
        assert_int_equal(rig_count_mappings(), mappings ? mappings + 10 : 0);
        for (unsigned i = 0; i < 10; i++) {
            OK(cls_buffer_destroy(buffers[i]));
            OK(cls_buffer_destroy(opened[i]));
        }
        OK(cls_stream_synchronize(w.there));
        expect_counts(descriptors, mappings);
    }
}

static void test_a_process_without_descriptors_is_told(void **state) {
    struct rlimit limit, none;
    cls_buffer more = NULL;
    (void)state;
    const unsigned mappings = rig_count_mappings();
    if (!mappings)
        SKIP_BECAUSE("the shareable memory of this device is no memory of the process");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    const cls_status status = cls_buffer_create_shareable(rig.context, BYTES, &more);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    EXPECT(CLS_ERROR_LIMIT, status);
    assert_null(more);
    assert_int_equal(rig_count_mappings(), mappings);
    OK(cls_buffer_create_shareable(rig.context, BYTES, &more));
    OK(cls_buffer_destroy(more));
}

/* --- threads --- */

static bool open_and_close(void *arg, unsigned i) {
    cls_context context = i % 2 ? rig.context : w.other;
    (void)arg;
    for (unsigned k = 0; k < 200; k++) {
        cls_buffer opened;
        if (cls_buffer_open(context, k % 2 ? w.near : w.far, &opened) ||
            cls_fill_async(opened, 4 * i, 4, &k, 4, NULL) || cls_buffer_destroy(opened))
            return false;
    }
    return true;
}

static void test_threads_open_at_once(void **state) {
    enum { TEAM = 8 };
    (void)state;
    assert_int_equal(team_run(TEAM, open_and_close, NULL), 0);
    OK(cls_context_synchronize(rig.context));
    OK(cls_context_synchronize(w.other));
    for (unsigned i = 0; i < TEAM; i++)
        assert_int_equal(rig_cell(w.near, i), 199);
}

#define TEST(name) SHARED_TEST(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pair_of_contexts_is_described),
        cmocka_unit_test(test_where_memory_cannot_be_shared_the_reason_is_given),
        TEST(test_what_one_handle_writes_the_other_reads),
        TEST(test_a_kernel_sees_what_an_operation_of_the_other_context_wrote),
        TEST(test_a_batch_takes_an_opened_buffer),
        TEST(test_rectangles_reach_the_memory),
        TEST(test_a_wrapped_cl_mem_is_the_same_memory),
        TEST(test_an_opened_buffer_has_the_size),
        TEST(test_an_opened_handle_opens_more),
        TEST(test_sub_devices_share),
        TEST(test_events_order_the_contexts),
        TEST(test_a_copy_is_the_drivers_where_its_context_reaches_both),
        TEST(test_a_copy_keeps_a_destroyed_handle),
        TEST(test_overlap_is_found_across_contexts),
        TEST(test_the_memory_lives_until_its_last_handle),
        TEST(test_it_outlives_its_context),
        TEST(test_pending_work_keeps_the_memory),
        TEST(test_bad_arguments),
        TEST(test_descriptors_and_mappings_go_with_the_memory),
        TEST(test_a_process_without_descriptors_is_told),
        TEST(test_threads_open_at_once),
    };
    return cmocka_run_group_tests(tests, alike_setup, rig_teardown);
}
