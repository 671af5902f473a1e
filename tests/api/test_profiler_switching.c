/* SPDX-License-Identifier: MIT */
/* Profilers: switching them on and off, and having several, disturbs nothing. */
#include "profilers.h"

static bool is_timing(cls_stream stream) {
    cls_stream_info info = CLS_STREAM_INFO_INIT;
    OK(cls_stream_get_info(stream, &info));
    return info.timing != 0;
}

static void test_switching_with_work_in_flight_keeps_order(void **state) {
    cls_order orders[] = {CLS_ORDER_AUTO, CLS_ORDER_IN_ORDER};
    (void)state;
    for (unsigned o = 0; o < 2; o++) {
        cls_profiler profiler = new_profiler(0);
        cls_buffer cells = rig_cells(1);
        cls_stream stream = rig_ordered(orders[o]);
        uint32_t expected = 1;
        OK(rig_set(stream, cells, 0, 1, 2));
        for (unsigned i = 0; i < 24; i++) {
            if (i % 3 == 0)
                OK(i % 2 ? cls_profiler_stop(profiler) : cls_profiler_start(profiler));
            OK(rig_step(stream, cells, 0, 3, i, i % 4 ? 0 : 1));
            expected = expected * 3 + i;
        }
        OK(cls_stream_synchronize(stream));
        assert_int_equal(rig_cell(cells, 0), expected);
        OK(cls_stream_destroy(stream));
        OK(cls_buffer_destroy(cells));
        OK(cls_profiler_destroy(profiler));
    }
}

static void test_streams_are_profiled_while_a_profiler_runs(void **state) {
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    cls_profiler profiler = new_profiler(0);
    (void)state;
    OK(rig_set(stream, cells, 0, 1, 0));
    assert_false(is_timing(stream));
    OK(cls_profiler_start(profiler));
    OK(rig_set(stream, cells, 0, 2, 0));
    assert_true(is_timing(stream));
    OK(cls_stream_synchronize(stream));
    OK(cls_profiler_stop(profiler));
    OK(rig_set(stream, cells, 0, 3, 0));
    assert_false(is_timing(stream));
    OK(cls_stream_synchronize(stream));
    cls_profile profile = snapshot(profiler);
    assert_int_equal(stream_of(profile, stream).commands, 1);
    assert_int_equal(rig_cell(cells, 0), 3);
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
    end(profile, profiler);
}

static void test_several_profilers_see_the_same(void **state) {
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    cls_profiler first = started(), second = new_profiler(0);
    (void)state;
    OK(rig_set(stream, cells, 0, 1, 0));
    OK(cls_stream_synchronize(stream));
    OK(cls_profiler_start(second));
    OK(rig_set(stream, cells, 0, 2, 0));
    OK(cls_stream_synchronize(stream));
    OK(cls_profiler_stop(first));
    OK(rig_set(stream, cells, 0, 3, 0));
    OK(cls_stream_synchronize(stream));
    cls_profile one = snapshot(first), two = snapshot(second);
    assert_int_equal(stream_of(one, stream).commands, 2);
    assert_int_equal(stream_of(two, stream).commands, 2);
    assert_int_equal(command_of(one, stream, 1).position, command_of(two, stream, 0).position);
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
    end(one, first);
    end(two, second);
}

static void test_destroying_a_running_profiler_stops_it(void **state) {
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    cls_profiler profiler = started();
    (void)state;
    OK(rig_set(stream, cells, 0, 1, 5));
    OK(cls_profiler_destroy(profiler));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_profiler_stop(profiler));
    OK(rig_step(stream, cells, 0, 2, 2, 0));
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(cells, 0), 4);
    assert_false(is_timing(stream));
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
}

enum { THREADS = 4, STEPS = 60 };

struct crowd {
    cls_stream streams[THREADS];
    cls_buffer cells;
    cls_profiler profiler;
};

static bool submit_or_switch(void *arg, unsigned i) {
    struct crowd *crowd = arg;
    cls_profile profile;
    for (unsigned k = 0; k < STEPS; k++) {
        cls_status status = CLS_SUCCESS;
        if (i < THREADS)
            status = rig_step(crowd->streams[i], crowd->cells, i, 1, 1, 0);
        else if (k % 3 == 2)
            status = cls_profiler_stop(crowd->profiler);
        else if (k % 3 == 1)
            status = cls_profiler_start(crowd->profiler);
        else if (!(status = cls_profiler_snapshot(crowd->profiler, &profile)))
            status = cls_profile_destroy(profile);
        if (status)
            return false;
    }
    return i >= THREADS || !cls_stream_synchronize(crowd->streams[i]);
}

static void test_threads_may_switch_while_others_submit(void **state) {
    struct crowd crowd = {.cells = rig_cells(THREADS), .profiler = new_profiler(100)};
    (void)state;
    for (unsigned i = 0; i < THREADS; i++)
        crowd.streams[i] = rig_stream();
    assert_int_equal(team_run(THREADS + 1, submit_or_switch, &crowd), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(rig_cell(crowd.cells, i), STEPS);
        OK(cls_stream_destroy(crowd.streams[i]));
    }
    OK(cls_buffer_destroy(crowd.cells));
    OK(cls_profiler_destroy(crowd.profiler));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_switching_with_work_in_flight_keeps_order),
        cmocka_unit_test(test_streams_are_profiled_while_a_profiler_runs),
        cmocka_unit_test(test_several_profilers_see_the_same),
        cmocka_unit_test(test_destroying_a_running_profiler_stops_it),
        cmocka_unit_test(test_threads_may_switch_while_others_submit),
    };
    return cmocka_run_group_tests_name("profiler switching", tests, rig_setup, rig_teardown);
}
