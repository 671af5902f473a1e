/* SPDX-License-Identifier: MIT */
/* The report of who waits for whom, and why; also in the detail of a wait that timed out. */
#include "../support/rig.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/coordinator.h>
#include <clstream/pool.h>
#include <clstream/task.h>
#include <clstream/timeline.h>

static const uint64_t MS = 1000000;

static cls_timeline timeline_of(const char *name, cls_stream signaller) {
    const cls_timeline_config config = {sizeof config, name, 3, signaller};
    cls_timeline timeline = NULL;
    OK(cls_timeline_create(&config, &timeline));
    return timeline;
}

static void gate_pass(void *arg) { (void)arg; }

static char *report(void) {
    size_t length = 0, again;
    OK(cls_context_explain(rig.context, NULL, 0, &length));
    char *text = malloc(2 * length + 1024); /* it may have grown meanwhile */
    assert_non_null(text);
    OK(cls_context_explain(rig.context, text, 2 * length + 1024, &again));
    assert_int_equal(strlen(text), again);
    return text;
}

/* The paragraph of a stream. */
static void expect_of(const char *text, const char *stream, const char *part) {
    char head[80];
    snprintf(head, sizeof head, "stream '%s': ", stream);
    const char *from = text;
    while ((from = strstr(from, head)) != NULL && from != text && from[-1] != '\n')
        from++;
    const char *to = from ? strstr(from, "\nstream '") : NULL;
    const char *at = from ? strstr(from, part) : NULL;
    if (!at || (to && at > to))
        fail_msg("'%s' is not said of stream '%s':\n%s", part, stream, text);
}

static void expect_in_report(const char *stream, const char *part) {
    char *text = report();
    expect_of(text, stream, part);
    free(text);
}

static void test_idle_streams(void **state) {
    (void)state;
    cls_stream stream = rig_named("idle");
    expect_in_report("idle", "nothing to do after 0 commands");
    expect_in_report("default stream", "nothing to do");
    OK(cls_stream_destroy(stream));
}

static _Atomic bool enough;

static void *create_and_destroy(void *arg) {
    while (!enough) {
        cls_stream stream = rig_named("short-lived");
        OK(cls_stream_destroy(stream));
    }
    return arg;
}

/* A stream is told of by its whole name from the first moment on; the thread sanitizer looks closer. */
static void test_streams_that_come_and_go(void **state) {
    (void)state;
    const unsigned looks = rig_scale(300, 30);
    pthread_t thread;
    enough = false;
    assert_int_equal(pthread_create(&thread, NULL, create_and_destroy, NULL), 0);
    for (unsigned i = 0; i < looks; i++) {
        char *text = report();
        if (strstr(text, "stream ''"))
            fail_msg("%s", text);
        free(text);
    }
    enough = true;
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void test_work_with_the_driver(void **state) {
    (void)state;
    cls_stream stream = rig_named("busy");
    cls_buffer cells = rig_cells(1);
    char *text = NULL;
    if (rig_runs_inline())
        SKIP_BECAUSE("commands run inside the flush");
    /* A busy machine may be late once; not every time. */
    for (double ms = 20; ms < 10000 && (!text || strstr(text, "'busy': nothing")); ms *= 4) {
        free(text);
        OK(rig_step(stream, cells, 0, 1, 1, ms));
        text = report();
        OK(cls_stream_synchronize(stream));
    }
    expect_of(text, "busy", " first comes 'advance' (command ");
    free(text);
    expect_in_report("busy", "nothing to do after ");
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
}

static void test_a_host_function_that_runs(void **state) {
    (void)state;
    cls_stream stream = rig_named("host"), behind = rig_named("behind");
    cls_buffer cells = rig_cells(1);
    cls_event event = rig_event();
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(rig_set(stream, cells, 0, 1, 0));
    OK(cls_event_record(event, stream));
    OK(cls_stream_wait_event(behind, event));
    OK(rig_set(behind, cells, 0, 2, 0));
    gate_await(&gate);
    expect_in_report("host", "0 of 2 commands are done. The library holds 2.");
    expect_in_report("host", "'host function' (command 1) has been running for ");
    expect_in_report("behind", "'advance' (command 1) waits for command 2 of stream 'host'");
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(behind, 10 * MS));
    expect_of(cls_last_error_detail(), "behind", "waits for command 2 of stream 'host'");
    expect_of(cls_last_error_detail(), "host", "has been running for ");
    EXPECT(CLS_ERROR_TIMEOUT, cls_event_wait(event, 10 * MS));
    expect_of(cls_last_error_detail(), "host", "has been running for ");
    gate_open(&gate);
    OK(cls_stream_synchronize(behind));
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(behind));
    OK(cls_event_destroy(event));
    OK(cls_buffer_destroy(cells));
    gate_destroy(&gate);
}

static void test_timelines(void **state) {
    (void)state;
    cls_stream owner = rig_named("owner"), waiter = rig_named("waiter"), lost = rig_named("lost");
    cls_timeline owned = timeline_of("owned", owner), open = timeline_of("open", NULL);
    cls_buffer cells = rig_cells(2);
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_wait_timeline(waiter, owned, 5));
    expect_in_report("waiter", "nothing to do after 0 commands");
    expect_in_report("waiter",
                     "the next command will wait for timeline 'owned' to reach 5; it is at 3: only "
                     "stream 'owner' may signal it, and no such signal is submitted");
    OK(rig_set(waiter, cells, 0, 1, 0));
    expect_in_report("waiter",
                     "'advance' (command 1) waits for timeline 'owned' to reach 5; it is at 3");
    OK(cls_stream_wait_timeline(lost, open, 4));
    OK(rig_set(lost, cells, 1, 1, 0));
    expect_in_report("lost",
                     "timeline 'open' to reach 4; it is at 3: any thread or stream may signal it, "
                     "and no such signal is submitted");
    OK(cls_stream_launch_host_async(owner, gate_hold, &gate));
    OK(cls_stream_signal_timeline(owner, owned, 6));
    expect_in_report(
        "waiter",
        "timeline 'owned' to reach 5; it is at 3: stream 'owner' signals it after its command 1");
    gate_await(&gate);
    EXPECT(CLS_ERROR_TIMEOUT, cls_timeline_wait(owned, 5, 10 * MS));
    assert_non_null(
        strstr(cls_last_error_detail(), "waiting for timeline 'owned' to reach 5; it is at 3"));
    expect_of(cls_last_error_detail(), "owner", "has been running for ");
    gate_open(&gate);
    OK(cls_timeline_signal(open, 4));
    OK(cls_stream_synchronize(waiter));
    OK(cls_stream_synchronize(lost));
    OK(cls_stream_destroy(owner));
    OK(cls_stream_destroy(waiter));
    OK(cls_stream_destroy(lost));
    OK(cls_timeline_destroy(owned));
    OK(cls_timeline_destroy(open));
    OK(cls_buffer_destroy(cells));
    gate_destroy(&gate);
}

/* What streams of another context do belongs here, where one of this context waits for it. */
static void test_another_context(void **state) {
    (void)state;
    cls_context other;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream stream = rig_named("here"), there;
    cls_timeline timeline;
    cls_buffer cells = rig_cells(1);
    config.name = "there";
    OK(cls_context_create(NULL, &other));
    OK(cls_stream_create(other, &config, &there));
    timeline = timeline_of("far", there);
    OK(cls_stream_wait_timeline(stream, timeline, 4));
    OK(rig_set(stream, cells, 0, 1, 0));
    expect_in_report("there", "nothing to do after 0 commands");
    OK(cls_stream_signal_timeline(there, timeline, 4));
    OK(cls_stream_synchronize(stream));
    OK(cls_timeline_destroy(timeline));
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(there));
    OK(cls_context_destroy(other));
    OK(cls_buffer_destroy(cells));
}

static cls_status hold(cls_stream stream, void *gate) {
    return cls_stream_launch_host_async(stream, gate_hold, gate);
}

/* Every wait with a time says what it waits for when that is over. */
static void test_waits_for_several_streams(void **state) {
    (void)state;
    cls_stream first = rig_named("first"), second = rig_named("second"), any, pooled;
    const uint32_t number = 0;
    cls_pool_config config = CLS_POOL_CONFIG_INIT;
    cls_task task = CLS_TASK_INIT;
    cls_event event = rig_event();
    cls_coordinator coordinator;
    cls_task_graph graph;
    cls_pool pool;
    cl_event handed_out;
    struct gate gate;
    gate_init(&gate);
    config.min_streams = config.max_streams = 1;
    OK(cls_pool_create(rig.context, &config, &pool));
    OK(cls_pool_get(pool, &pooled));
    OK(cls_coordinator_create(NULL, &coordinator));
    OK(cls_coordinator_add_stream(coordinator, first, NULL));
    OK(cls_coordinator_add_stream(coordinator, second, NULL));
    OK(cls_task_graph_create(coordinator, &graph));
    task.label = "load";
    task.stream = first;
    task.fn = hold;
    task.arg = &gate;
    OK(cls_task_graph_add(graph, &task, NULL));
    task.label = "train";
    task.stream = second;
    task.prerequisites = &number;
    task.n_prerequisites = 1;
    OK(cls_task_graph_add(graph, &task, NULL));
    OK(cls_task_graph_run(graph));
    OK(hold(pooled, &gate));
    OK(cls_event_record(event, second));

    EXPECT(CLS_ERROR_TIMEOUT, cls_coordinator_wait_all(coordinator, 10 * MS));
    expect_of(cls_last_error_detail(), "first", "has been running for ");
    EXPECT(CLS_ERROR_TIMEOUT, cls_coordinator_wait_any(coordinator, 10 * MS, &any));
    expect_of(cls_last_error_detail(), "first", "has been running for ");
    expect_of(cls_last_error_detail(), "second", "waits for command 1 of stream 'first'");
    EXPECT(CLS_ERROR_TIMEOUT, cls_task_graph_wait(graph, 10 * MS));
    expect_of(cls_last_error_detail(), "first", "has been running for ");
    assert_non_null(strstr(cls_last_error_detail(), "task 'load' is still at work"));
    EXPECT(CLS_ERROR_TIMEOUT, cls_pool_wait_any(pool, 10 * MS, &any));
    assert_non_null(strstr(cls_last_error_detail(), "has been running for "));
    EXPECT(CLS_ERROR_TIMEOUT, cls_event_wait_cl(event, 10 * MS, &handed_out));
    expect_of(cls_last_error_detail(), "second", "waits for command 1 of stream 'first'");

    for (int i = 0; i < 3; i++)
        gate_open(&gate);
    OK(cls_stream_synchronize(pooled));
    OK(cls_coordinator_wait_all(coordinator, UINT64_MAX));
    OK(cls_task_graph_destroy(graph));
    OK(cls_coordinator_destroy(coordinator));
    OK(cls_pool_release(pool, pooled));
    OK(cls_pool_destroy(pool));
    OK(cls_event_destroy(event));
    OK(cls_stream_destroy(first));
    OK(cls_stream_destroy(second));
    gate_destroy(&gate);
}

static void test_failure(void **state) {
    (void)state;
    cls_stream failed = rig_named("failed");
    OK(rig_fail(failed, "the culprit", -5));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(failed));
    expect_in_report(
        "failed",
        "poisoned (CLS_ERROR_COMMAND_FAILED): command 'the culprit', number 1 of stream 'failed', failed: CL_OUT_OF_RESOURCES (-5). ");
    OK(cls_stream_destroy(failed));
}

/* A failure that has come from elsewhere says where it began. */
static void test_a_failure_of_another_stream(void **state) {
    (void)state;
    cls_stream culprit = rig_named("culprit"), victim = rig_named("victim");
    cls_event event = rig_event();
    OK(cls_stream_launch_host_async(culprit, gate_pass, NULL));
    OK(rig_fail(culprit, "bad", CL_OUT_OF_RESOURCES));
    OK(cls_event_record(event, culprit));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(culprit));
    OK(cls_stream_wait_event(victim, event));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(victim));
    assert_string_equal(
        cls_last_error_detail(),
        "command 'bad', number 2 of stream 'culprit', failed: CL_OUT_OF_RESOURCES (-5); "
        "stream 'victim' is poisoned until cls_stream_reset");
    assert_int_equal(cls_last_error_code(), CL_OUT_OF_RESOURCES);
    OK(cls_event_destroy(event));
    OK(cls_stream_destroy(culprit));
    OK(cls_stream_destroy(victim));
}

/* Timelines without a declared signaller may close a circle, which no call refuses. */
static void test_a_circle_is_named(void **state) {
    (void)state;
    cls_stream left = rig_named("left"), right = rig_named("right"), aside = rig_named("aside");
    cls_timeline a = timeline_of("a", NULL), b = timeline_of("b", NULL);
    cls_buffer cells = rig_cells(3);
    char *text;
    OK(cls_stream_wait_timeline(left, a, 4));
    OK(rig_set(left, cells, 0, 1, 0));
    OK(cls_stream_signal_timeline(left, b, 4));
    OK(cls_stream_wait_timeline(aside, b, 4));
    OK(rig_set(aside, cells, 2, 1, 0));
    text = report();
    assert_null(strstr(text, "circle"));
    free(text);
    OK(cls_stream_wait_timeline(right, b, 4));
    OK(rig_set(right, cells, 1, 1, 0));
    OK(cls_stream_signal_timeline(right, a, 4));
    text = report();
    if (!strstr(text,
                "These streams wait for each other in a circle, and do not go on by themselves:\n"
                "    command 1 of stream 'left' waits for command 1 of stream 'right'\n"
                "    command 1 of stream 'right' waits for command 1 of stream 'left'\n"))
        fail_msg("%s", text);
    free(text);
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(aside, 10 * MS));
    assert_non_null(strstr(cls_last_error_detail(), "in a circle"));
    OK(cls_timeline_signal(a, 4));
    OK(cls_stream_synchronize(aside));
    OK(cls_stream_synchronize(right));
    OK(cls_timeline_destroy(a));
    OK(cls_timeline_destroy(b));
    OK(cls_stream_destroy(left));
    OK(cls_stream_destroy(right));
    OK(cls_stream_destroy(aside));
    OK(cls_buffer_destroy(cells));
}

static void test_a_short_buffer_gets_the_beginning(void **state) {
    (void)state;
    char *text = report(), part[12];
    size_t length;
    memset(part, 'x', sizeof part);
    OK(cls_context_explain(rig.context, part, sizeof part, &length));
    assert_int_equal(part[sizeof part - 1], 0);
    assert_memory_equal(part, text, sizeof part - 1);
    assert_true(length >= sizeof part);
    OK(cls_context_explain(rig.context, part, 1, NULL));
    assert_int_equal(part[0], 0);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_context_explain(rig.context, NULL, 1, &length));
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idle_streams),
        cmocka_unit_test(test_streams_that_come_and_go),
        cmocka_unit_test(test_work_with_the_driver),
        cmocka_unit_test(test_a_host_function_that_runs),
        cmocka_unit_test(test_timelines),
        cmocka_unit_test(test_another_context),
        cmocka_unit_test(test_waits_for_several_streams),
        cmocka_unit_test(test_failure),
        cmocka_unit_test(test_a_failure_of_another_stream),
        cmocka_unit_test(test_a_circle_is_named),
        cmocka_unit_test(test_a_short_buffer_gets_the_beginning),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
