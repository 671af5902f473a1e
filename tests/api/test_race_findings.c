/* SPDX-License-Identifier: MIT */
/* CLSTREAM_CHECK=race: what is found is counted, kept and cleared, and bad arguments are refused. */
#include "race_pairs.h"

static void test_what_was_done_before_does_not_hide_a_race(void **state) {
    (void)state;
    world_begin();
    write_x(w.a);
    while (true) {
        cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
        OK(cls_stream_get_counters(w.a, &counters));
        if (counters.completed == counters.submitted)
            break;
        nap_ms(1);
    }
    read_x(w.b);
    assert_int_equal(found().races, 1);
    world_end();
}

static void test_many_bytes_of_two_commands_are_one_finding(void **state) {
    const cls_rect rect = {4, 8, 0, 16, 0, 16, 0, 0, 0};
    (void)state;
    world_begin();
    OK(cls_copy_rect_h2d_async(w.x, w.words, &rect, w.a));
    OK(cls_copy_rect_h2d_async(w.x, w.words, &rect, w.b));
    assert_int_equal(found().races, 1);
    world_end();
}

static void test_refused_commands_leave_no_access(void **state) {
    (void)state;
    world_begin();
    OK(rig_fail(w.a, "made to fail", -5));
    assert_int_not_equal(cls_stream_synchronize(w.a), CLS_SUCCESS);
    assert_int_not_equal(cls_copy_h2d_async(w.x, 0, w.words, BYTES, w.a), CLS_SUCCESS);
    read_x(w.b);
    assert_int_equal(found().races, 0);
    OK(cls_stream_reset(w.a));
    world_end();
}

static void test_findings_are_kept_and_cleared(void **state) {
    cls_check_finding finding = CLS_CHECK_FINDING_INIT;
    (void)state;
    world_begin();
    for (int i = 0; i < 300; i++)
        fill(w.x, 0, 4, i % 2 ? w.a : w.b);
    cls_check_counts counts = found();
    assert_int_equal(counts.commands, 300);
    assert_true(counts.races >= 299);
    OK(cls_check_get_finding(255, &finding));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_check_get_finding(256, &finding));
    OK(cls_check_clear());
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_check_get_finding(0, &finding));
    assert_int_equal(found().races, 0);
    world_end();
}

static void test_bad_arguments_are_refused(void **state) {
    cls_check_counts counts = CLS_CHECK_COUNTS_INIT;
    cls_check_finding finding = CLS_CHECK_FINDING_INIT;
    const cls_launch shape = cls_launch_1d(1);
    cls_arg args[] = {cls_arg_reads(NULL, 0, 8), cls_arg_writes(NULL, 0, 8)};
    (void)state;
    world_begin();
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_check_host_access(NULL, 1, CLS_ACCESS_READ));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_check_host_access(w.words, 4, (cls_access)4));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_check_host_access(w.words, SIZE_MAX, CLS_ACCESS_READ));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_check_buffer_access(NULL, 0, 4, CLS_ACCESS_READ));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_check_buffer_access(w.x, 4, BYTES, CLS_ACCESS_READ));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_check_buffer_access(w.x, 0, 4, (cls_access)-1));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_check_get_counts(NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_check_get_finding(0, NULL));
    counts.size = finding.size = 1;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_check_get_counts(&counts));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_check_get_finding(0, &finding));
    args[0] = cls_arg_reads(w.x, 0, BYTES);
    args[1] = cls_arg_writes(w.y, 1, BYTES);
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_kernel_launch_async(w.blur, &shape, args, 2, w.a));
    args[1] = cls_arg_declared(w.y, (cls_access)4, 0, 4);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_launch_async(w.blur, &shape, args, 2, w.a));
    OK(cls_check_host_access(NULL, 0, CLS_ACCESS_READ));
    OK(cls_check_acquire(NULL));
    OK(cls_check_release(NULL));
    assert_int_equal(found().commands, 0);
    world_end();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_what_was_done_before_does_not_hide_a_race),
    cmocka_unit_test(test_many_bytes_of_two_commands_are_one_finding),
    cmocka_unit_test(test_refused_commands_leave_no_access),
    cmocka_unit_test(test_findings_are_kept_and_cleared),
    cmocka_unit_test(test_bad_arguments_are_refused),
};

int main(void) { return cmocka_run_group_tests(tests, race_setup, race_teardown); }
