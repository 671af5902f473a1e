/* SPDX-License-Identifier: MIT */
/* Streams that wait for each other's events, crosswise and again and again, come to an end. */
#include "../support/rig.h"

enum { CROSSINGS = 5000 };

/* Each waits for the other's mark of the round before. */
static void test_two_streams_cross_five_thousand_times(void **state) {
    (void)state;
    cls_stream a = rig_stream(), b = rig_stream();
    cls_event from_a = rig_event(), from_b = rig_event();
    cls_buffer cells = rig_cells(2);
    for (unsigned i = 0; i < CROSSINGS; i++) {
        OK(rig_step(a, cells, 0, 1, 1, 0));
        OK(rig_step(b, cells, 1, 1, 1, 0));
        OK(cls_event_record(from_a, a));
        OK(cls_event_record(from_b, b));
        OK(cls_stream_wait_event(a, from_b));
        OK(cls_stream_wait_event(b, from_a));
    }
    OK(cls_stream_synchronize(a));
    OK(cls_stream_synchronize(b));
    assert_int_equal(rig_cell(cells, 0), CROSSINGS);
    assert_int_equal(rig_cell(cells, 1), CROSSINGS);
    OK(cls_stream_destroy(a));
    OK(cls_stream_destroy(b));
    OK(cls_event_destroy(from_a));
    OK(cls_event_destroy(from_b));
    OK(cls_buffer_destroy(cells));
}

/* Marks that nothing follows: waits upon waits, no command between. */
static void test_waits_alone_cross(void **state) {
    (void)state;
    cls_stream a = rig_stream(), b = rig_stream();
    cls_event from_a = rig_event(), from_b = rig_event();
    unsigned count = rig_scale(CROSSINGS, 100);
    for (unsigned i = 0; i < count; i++) {
        OK(cls_event_record(from_a, a));
        OK(cls_stream_wait_event(b, from_a));
        OK(cls_event_record(from_b, b));
        OK(cls_stream_wait_event(a, from_b));
    }
    OK(cls_stream_synchronize(a));
    OK(cls_stream_synchronize(b));
    OK(cls_stream_destroy(a));
    OK(cls_stream_destroy(b));
    OK(cls_event_destroy(from_a));
    OK(cls_event_destroy(from_b));
}

/* The whole weave is taken while a gate holds its first thread. */
static void test_a_held_weave_of_streams_unravels(void **state) {
    (void)state;
    enum { STREAMS = 8 };
    cls_stream streams[STREAMS];
    cls_event events[STREAMS];
    cls_buffer cells = rig_cells(1);
    unsigned rounds = rig_scale(200, 10);
    struct gate gate;
    gate_init(&gate);
    for (int s = 0; s < STREAMS; s++) {
        streams[s] = rig_stream();
        events[s] = rig_event();
    }
    OK(cls_stream_launch_host_async(streams[0], gate_hold, &gate));
    uint32_t expected = 0;
    for (unsigned i = 0; i < rounds; i++)
        for (int s = 0; s < STREAMS; s++) {
            OK(rig_step(streams[s], cells, 0, 3, i, 0));
            OK(cls_event_record(events[s], streams[s]));
            OK(cls_stream_wait_event(streams[(s + 1) % STREAMS], events[s]));
            expected = expected * 3 + i;
        }
    EXPECT(CLS_NOT_READY, cls_stream_query(streams[STREAMS - 1]));
    gate_open(&gate);
    for (int s = 0; s < STREAMS; s++)
        OK(cls_stream_synchronize(streams[s]));
    assert_int_equal(rig_cell(cells, 0), expected);
    for (int s = 0; s < STREAMS; s++) {
        OK(cls_stream_destroy(streams[s]));
        OK(cls_event_destroy(events[s]));
    }
    OK(cls_buffer_destroy(cells));
    gate_destroy(&gate);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_streams_cross_five_thousand_times),
        cmocka_unit_test(test_waits_alone_cross),
        cmocka_unit_test(test_a_held_weave_of_streams_unravels),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
