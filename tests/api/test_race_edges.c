/* SPDX-License-Identifier: MIT */
/* CLSTREAM_CHECK=race: what events and timelines put in order. */
#include "race_pairs.h"

static void re_recorded_event(bool clean) {
    write_x(w.a);
    OK(cls_event_record(w.event, w.a));
    if (clean)
        OK(cls_stream_wait_event(w.b, w.event));
    OK(cls_event_record(w.event, w.c));
    OK(cls_stream_wait_event(w.b, w.event));
    read_x(w.b);
}

static void wrong_event(bool clean) {
    OK(cls_event_record(w.other, w.a));
    write_x(w.a);
    OK(cls_event_record(w.event, w.a));
    OK(cls_stream_wait_event(w.b, clean ? w.event : w.other));
    read_x(w.b);
}

static void wait_before_the_record(bool clean) {
    write_x(w.a);
    if (!clean)
        OK(cls_stream_wait_event(w.b, w.event));
    OK(cls_event_record(w.event, w.a));
    if (clean)
        OK(cls_stream_wait_event(w.b, w.event));
    read_x(w.b);
}

static void wait_after_the_command(bool clean) {
    write_x(w.a);
    OK(cls_event_record(w.event, w.a));
    if (clean)
        OK(cls_stream_wait_event(w.b, w.event));
    read_x(w.b);
    OK(cls_stream_wait_event(w.b, w.event));
}

static void three_streams(bool clean) {
    write_x(w.a);
    edge(w.a, w.b);
    if (clean)
        fill(w.y, 0, 4, w.b);
    OK(cls_event_record(w.other, clean ? w.b : w.c));
    OK(cls_stream_wait_event(w.c, w.other));
    read_x(w.c);
}

/* No command lies between the second stream's wait and its record. */
static void bare_relay(bool clean) {
    write_x(w.a);
    if (!clean)
        OK(cls_event_record(w.other, w.b));
    edge(w.a, w.b);
    if (clean)
        OK(cls_event_record(w.other, w.b));
    OK(cls_stream_wait_event(w.c, w.other));
    read_x(w.c);
}

static void timed_event(bool clean) {
    cls_event_config config = CLS_EVENT_CONFIG_INIT;
    cls_event timed = NULL;
    config.timed = 1;
    OK(cls_event_create(rig.context, &config, &timed));
    if (!clean)
        OK(cls_event_record(timed, w.a));
    write_x(w.a);
    if (clean)
        OK(cls_event_record(timed, w.a));
    OK(cls_stream_wait_event(w.b, timed));
    read_x(w.b);
    OK(cls_event_destroy(timed));
}

static void timeline(bool clean) {
    cls_timeline values = NULL;
    OK(cls_timeline_create(NULL, &values));
    OK(cls_stream_signal_timeline(w.a, values, 1));
    write_x(w.a);
    OK(cls_stream_signal_timeline(w.a, values, 2));
    OK(cls_stream_wait_timeline(w.b, values, clean ? 2 : 1));
    read_x(w.b);
    OK(cls_timeline_destroy(values));
}

static const struct CMUnitTest tests[] = {
    PAIR("re-recorded event", re_recorded_event, false,
         {"record an event on 'first' after its command 1"}),
    PAIR("wrong event", wrong_event, false, {NULL}),
    PAIR("wait before the record", wait_before_the_record, false, {NULL}),
    PAIR("wait after the command", wait_after_the_command, false, {NULL}),
    PAIR("three streams", three_streams, false, {"'first'", "'third'"}),
    PAIR("bare relay", bare_relay, false, {"'first'", "'third'"}),
    PAIR("timed event", timed_event, false, {NULL}),
    PAIR("timeline", timeline, false, {NULL}),
};

int main(void) { return cmocka_run_group_tests(tests, race_setup, race_teardown); }
