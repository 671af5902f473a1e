/* SPDX-License-Identifier: MIT */
/* Timelines: which values may be signalled by whom, what a timeline says of itself, and bad input. */
#include "timelines.h"

static void test_values_of_one_stream_rise(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_timeline timeline = make("rising", 0, NULL);
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(cls_stream_signal_timeline(stream, timeline, 5));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_signal_timeline(stream, timeline, 5));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_signal_timeline(stream, timeline, 4));
    expect_detail("rising");
    OK(cls_stream_signal_timeline(stream, timeline, 6));
    gate_open(&gate);
    OK(cls_timeline_wait(timeline, 6, UINT64_MAX));
    OK(cls_stream_signal_timeline(stream, timeline, 5)); /* those before it are given */
    OK(cls_stream_synchronize(stream));
    assert_int_equal(value_of(timeline), 6);
    OK(cls_timeline_destroy(timeline));
    OK(cls_stream_destroy(stream));
    gate_destroy(&gate);
}

static void test_a_late_signal_changes_nothing(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_timeline timeline = make(NULL, 0, NULL);
    OK(cls_timeline_signal(timeline, 10));
    OK(cls_timeline_signal(timeline, 10));
    OK(cls_timeline_signal(timeline, 3));
    OK(cls_stream_signal_timeline(stream, timeline, 4));
    OK(cls_stream_synchronize(stream));
    assert_int_equal(value_of(timeline), 10);
    OK(cls_timeline_signal(timeline, UINT64_MAX));
    OK(cls_timeline_query(timeline, UINT64_MAX));
    OK(cls_timeline_destroy(timeline));
    OK(cls_stream_destroy(stream));
}

struct attempt {
    cls_timeline timeline;
    uint64_t value;
    cls_status status;
};

static void signal_inside(void *arg) {
    struct attempt *attempt = arg;
    attempt->status = cls_timeline_signal(attempt->timeline, attempt->value);
}

static void wait_inside(void *arg) {
    struct attempt *attempt = arg;
    attempt->status = cls_timeline_wait(attempt->timeline, attempt->value, 0);
}

static void test_a_named_signaller_is_the_only_one(void **state) {
    (void)state;
    cls_stream owner = rig_stream(), other = rig_stream();
    cls_timeline timeline = make("owned", 7, owner);
    cls_timeline_info info = CLS_TIMELINE_INFO_INIT;
    struct attempt inside = {timeline, 8, CLS_NOT_READY}, again = {timeline, 8, CLS_NOT_READY},
                   elsewhere = {timeline, 20, CLS_NOT_READY};
    OK(cls_timeline_get_info(timeline, &info));
    assert_string_equal(info.name, "owned");
    assert_ptr_equal(info.signaller, owner);
    EXPECT(CLS_ERROR_INVALID_STATE, cls_timeline_signal(timeline, 9));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_signal_timeline(other, timeline, 9));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_signal_timeline(owner, timeline, 7));
    OK(cls_stream_launch_host_async(other, signal_inside, &elsewhere));
    OK(cls_stream_synchronize(other));
    EXPECT(CLS_ERROR_INVALID_STATE, elsewhere.status);
    OK(cls_stream_launch_host_async(owner, signal_inside, &inside));
    OK(cls_stream_launch_host_async(owner, signal_inside, &again));
    OK(cls_stream_synchronize(owner));
    OK(inside.status);
    EXPECT(CLS_ERROR_INVALID_VALUE, again.status);
    assert_int_equal(value_of(timeline), 8);
    OK(cls_stream_signal_timeline(owner, timeline, 9));
    OK(cls_timeline_wait(timeline, 9, UINT64_MAX));
    OK(cls_timeline_destroy(timeline));
    OK(cls_stream_destroy(owner));
    OK(cls_stream_destroy(other));
}

static void test_host_waits_are_refused_inside_host_functions(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_timeline timeline = make(NULL, 1, NULL);
    struct attempt inside = {timeline, 1, CLS_NOT_READY};
    OK(cls_stream_launch_host_async(stream, wait_inside, &inside));
    OK(cls_stream_synchronize(stream));
    EXPECT(CLS_ERROR_WOULD_DEADLOCK, inside.status);
    OK(cls_timeline_destroy(timeline));
    OK(cls_stream_destroy(stream));
}

static void test_what_a_timeline_says_of_itself(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_timeline timeline = make(NULL, 3, NULL);
    cls_timeline_info info = CLS_TIMELINE_INFO_INIT;
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(cls_stream_signal_timeline(stream, timeline, 8));
    OK(cls_timeline_get_info(timeline, &info));
    assert_memory_equal(info.name, "timeline ", 9);
    assert_int_equal(info.value, 3);
    assert_int_equal(info.queued, 8);
    assert_int_equal(info.status, CLS_SUCCESS);
    assert_null(info.signaller);
    gate_open(&gate);
    OK(cls_stream_synchronize(stream));
    OK(cls_timeline_get_info(timeline, &info));
    assert_int_equal(info.value, 8);
    assert_int_equal(info.queued, 8);
    OK(cls_timeline_destroy(timeline));
    OK(cls_stream_destroy(stream));
    gate_destroy(&gate);
}

static void test_bad_input_is_refused(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_timeline live = make(NULL, 0, NULL), stale = make(NULL, 0, NULL), out = live;
    cls_timeline_config config = CLS_TIMELINE_CONFIG_INIT;
    cls_timeline_info info = CLS_TIMELINE_INFO_INIT;
    OK(cls_timeline_destroy(stale));
    void *bad[] = {NULL, stale, stream, (void *)(uintptr_t)0x1235};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cls_timeline handle = bad[i];
        EXPECT(CLS_ERROR_INVALID_HANDLE, cls_timeline_destroy(handle));
        EXPECT(CLS_ERROR_INVALID_HANDLE, cls_timeline_signal(handle, 1));
        EXPECT(CLS_ERROR_INVALID_HANDLE, cls_timeline_query(handle, 0));
        EXPECT(CLS_ERROR_INVALID_HANDLE, cls_timeline_wait(handle, 0, 0));
        EXPECT(CLS_ERROR_INVALID_HANDLE, cls_timeline_reset(handle));
        EXPECT(CLS_ERROR_INVALID_HANDLE, cls_timeline_get_info(handle, &info));
        EXPECT(CLS_ERROR_INVALID_HANDLE, cls_stream_signal_timeline(stream, handle, 1));
        EXPECT(CLS_ERROR_INVALID_HANDLE, cls_stream_wait_timeline(stream, handle, 1));
    }
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_stream_signal_timeline((cls_stream)live, live, 1));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_stream_wait_timeline((cls_stream)live, live, 1));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_timeline_create(NULL, NULL));
    config.size--;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_timeline_create(&config, &out));
    config.size++;
    config.signaller = (cls_stream)live;
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_timeline_create(&config, &out));
    assert_ptr_equal(out, live);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_timeline_get_info(live, NULL));
    info.size = 3;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_timeline_get_info(live, &info));
    OK(cls_timeline_destroy(live));
    OK(cls_stream_destroy(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_of_one_stream_rise),
        cmocka_unit_test(test_a_late_signal_changes_nothing),
        cmocka_unit_test(test_a_named_signaller_is_the_only_one),
        cmocka_unit_test(test_host_waits_are_refused_inside_host_functions),
        cmocka_unit_test(test_what_a_timeline_says_of_itself),
        cmocka_unit_test(test_bad_input_is_refused),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
