/* SPDX-License-Identifier: MIT */
/*
 * Nodes of a launch of a graph that the driver accepts and that fail later: what the failure is called, and what
 * launches do after it.
 */
#include "../../support/outcome.h"
#include "../../support/rig.h"

#include <stdlib.h>
#include <string.h>

#include <clstream/graph.h>

#include "../loading.h"
#include "controls.h"

static const struct fault_controls *controls;

/* How the driver tells of it. */
#ifdef LATE_PLATFORM
static const cl_int told_status = CL_COMPLETE;
static const bool followers_run = true;
#else
static const cl_int told_status = -1;
static const bool followers_run = false;
#endif

/* The node that fails. */
static const struct victim {
    const char *function, *label;
    unsigned nth;
} victims[] = {{"clEnqueueNDRangeKernel", "'advance'", 2},
               {"clEnqueueCopyBuffer", "'copy_d2d'", 1}};

enum { N_VICTIMS = sizeof victims / sizeof *victims };

/* cells: x, 3x, 3x, 3x + 7. */
static void submit(cls_stream stream, cls_buffer cells) {
    const uint32_t one = 1;
    OK(cls_fill_async(cells, 0, 8, &one, 4, stream));
    OK(rig_step(stream, cells, 1, 3, 0, 0));
    OK(cls_copy_d2d_async(cells, 8, cells, 4, 4, stream));
    OK(cls_copy_d2d_async(cells, 12, cells, 8, 4, stream));
    OK(rig_step(stream, cells, 3, 1, 7, 0));
}

static void expect_done(cls_buffer cells) {
    static const uint32_t want[] = {1, 3, 3, 10};
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(rig_cell(cells, i), want[i]);
}

/* Who gives the nodes to the driver. */
enum giver {
    CALLER,
    BACKGROUND, /* a thread of the library, all at once */
    ONE_BY_ONE  /* such a thread, because of a callback among them */
};

static cls_graph_exec make_exec(cls_stream stream, cls_buffer cells, enum giver giver,
                                struct outcome *outcome) {
    cls_graph_config config = CLS_GRAPH_CONFIG_INIT;
    cls_graph graph;
    cls_graph_exec exec;
    OK(cls_stream_begin_capture(stream, "the step"));
    submit(stream, cells);
    if (giver == ONE_BY_ONE)
        OK(cls_stream_add_callback(stream, keep_outcome, outcome));
    OK(cls_stream_end_capture(stream, &graph));
    config.background = giver == BACKGROUND;
    OK(cls_graph_instantiate(graph, &config, &exec));
    OK(cls_graph_destroy(graph));
    return exec;
}

static bool is_one_command(cls_graph_exec exec) {
    return rig_graph_statistics(exec).one_command != 0;
}

/* In one command the driver may tell of the whole launch only. */
static void expect_named(cls_graph_exec exec, const char *label) {
    const char *detail = cls_last_error_detail();
    if (!strstr(detail, label) && !(is_one_command(exec) && strstr(detail, "'the step'")))
        fail_msg("the node is %s: %s", label, detail);
}

static void fail_launch(cls_graph_exec exec, cls_stream stream, const struct victim *victim) {
    const struct late_plan plan = {.function = victim->function,
                                   .nth = victim->nth,
                                   .status = told_status,
                                   .followers_run = followers_run,
                                   .wait = -14,
                                   .callback = LATE_CALLBACK_NEVER};
    controls->late_arm(&plan);
    OK(cls_graph_launch_async(exec, stream));
    while (!controls->late_taken())
        nap_ms(1);
    assert_true(controls->late_fire());
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    expect_named(exec, victim->label);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_graph_launch_async(exec, stream));
    expect_named(exec, victim->label);
    controls->late_arm(NULL);
}

/* Reset, the stream runs later launches; so does another stream, also before the reset. */
static void play(cls_order order, const struct victim *victim, enum giver giver) {
    const bool called = giver == ONE_BY_ONE;
    cls_stream stream = rig_ordered(order), other = rig_stream();
    cls_buffer cells = rig_cells(4);
    struct outcome outcome;
    outcome_init(&outcome);
    print_message("# %s, order %d, giver %d\n", victim->label, (int)order, (int)giver);
    cls_graph_exec exec = make_exec(stream, cells, giver, &outcome);
    assert_true(!called || !is_one_command(exec));
    fail_launch(exec, stream, victim);
    assert_int_equal(outcome.calls, called);
    assert_int_equal(outcome.status, called ? CLS_ERROR_COMMAND_FAILED : CLS_SUCCESS);
    OK(cls_graph_launch(exec, other));
    expect_done(cells);
    OK(cls_stream_reset(stream));
    OK(cls_fill_async(cells, 0, 16, &(uint32_t){0}, 4, stream));
    OK(cls_graph_launch(exec, stream));
    expect_done(cells);
    assert_int_equal(outcome.calls, called ? 3 : 0);
    assert_int_equal(outcome.status, CLS_SUCCESS);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(other));
    OK(cls_context_synchronize(rig.context));
}

static void play_all(cls_order order) {
    for (unsigned i = 0; i < N_VICTIMS; i++)
        for (int giver = CALLER; giver <= ONE_BY_ONE; giver++)
            play(order, &victims[i], (enum giver)giver);
}

static void test_in_order(void **state) {
    (void)state;
    play_all(CLS_ORDER_IN_ORDER);
}

static void test_out_of_order(void **state) {
    (void)state;
    if (!rig_has_capability("out_of_order"))
        SKIP_BECAUSE("the device has no out-of-order queues");
    play_all(CLS_ORDER_OUT_OF_ORDER);
}

/* What the driver refuses a thread of the library fails the launch, by name, and the rest goes on after a reset. */
static void refuse_node(cls_graph_exec exec, cls_stream stream, const char *function,
                        const char *name) {
    const struct fault_plan plan = {.function = function, .nth = 1, .code = CL_OUT_OF_RESOURCES};
    controls->arm(&plan);
    OK(cls_graph_launch_async(exec, stream));
    EXPECT(CLS_ERROR_OUT_OF_DEVICE_MEMORY, cls_stream_synchronize(stream));
    controls->arm(NULL);
    if (!strstr(cls_last_error_detail(), name))
        fail_msg("the node is %s: %s", name, cls_last_error_detail());
    OK(cls_stream_reset(stream));
}

static void refuse_nodes(cls_order order) {
    cls_stream stream = rig_ordered(order);
    cls_buffer cells = rig_cells(4);
    cls_graph_exec exec = make_exec(stream, cells, BACKGROUND, NULL);
    refuse_node(exec, stream, "clEnqueueFillBuffer", "'the step'"); /* its first */
    refuse_node(exec, stream, "clEnqueueNDRangeKernel", "'advance'");
    refuse_node(exec, stream, "clEnqueueCopyBuffer", "'copy_d2d'");
    OK(cls_fill_async(cells, 0, 16, &(uint32_t){0}, 4, stream));
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_stream_synchronize(stream));
    expect_done(cells);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

static void test_refused_in_the_background(void **state) {
    (void)state;
    refuse_nodes(CLS_ORDER_IN_ORDER);
    if (rig_has_capability("out_of_order"))
        refuse_nodes(CLS_ORDER_OUT_OF_ORDER);
}

/* A node that works for so long, and one that the driver refuses, on a branch of its own where `branch` is a stream. */
static cls_graph_exec make_long(cls_stream stream, cls_stream branch, cls_buffer cells,
                                enum giver giver, double ms) {
    cls_graph_config config = CLS_GRAPH_CONFIG_INIT;
    cls_graph graph;
    cls_graph_exec exec;
    cls_event event = rig_event();
    OK(cls_stream_begin_capture(stream, "long"));
    OK(cls_event_record(event, stream));
    if (branch)
        OK(cls_stream_wait_event(branch, event));
    OK(rig_set(stream, cells, 0, 7, ms));
    OK(cls_copy_d2d_async(cells, 8, cells, 4, 4, branch ? branch : stream));
    if (branch) {
        OK(cls_event_record(event, branch));
        OK(cls_stream_wait_event(stream, event));
    }
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_event_destroy(event));
    config.background = giver == BACKGROUND;
    OK(cls_graph_instantiate(graph, &config, &exec));
    OK(cls_graph_destroy(graph));
    return exec;
}

/* Longer than a driver is given to start what waits for a failed command. */
enum { LONG_MS = 700 };

static const struct fault_plan no_copy = {
    .function = "clEnqueueCopyBuffer", .nth = 1, .code = CL_OUT_OF_RESOURCES};

static void reset_behind(cls_order order, enum giver giver) {
    cls_stream stream = rig_ordered(order);
    cls_buffer cells = rig_cells(4);
    cls_graph_exec exec = make_long(stream, NULL, cells, giver, LONG_MS);
    controls->arm(&no_copy);
    OK(cls_graph_launch_async(exec, stream));
    EXPECT(CLS_ERROR_OUT_OF_DEVICE_MEMORY, cls_stream_synchronize(stream));
    controls->arm(NULL);
    OK(cls_stream_reset(stream));
    assert_int_equal(rig_cell(cells, 0), 7);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

static void test_a_reset_waits_for_nodes_before_a_refused_one(void **state) {
    (void)state;
    for (int giver = CALLER; giver <= BACKGROUND; giver++) {
        reset_behind(CLS_ORDER_IN_ORDER, (enum giver)giver);
        if (rig_has_capability("out_of_order"))
            reset_behind(CLS_ORDER_OUT_OF_ORDER, (enum giver)giver);
    }
}

/* The driver never starts what comes behind them. */
static void test_nodes_before_a_refused_one_may_fail(void **state) {
    (void)state;
    const struct late_plan plan = {.function = "clEnqueueNDRangeKernel",
                                   .nth = 1,
                                   .status = told_status,
                                   .wait = -14,
                                   .callback = LATE_CALLBACK_NEVER,
                                   .dependents_stay = true};
    if (told_status == CL_COMPLETE)
        SKIP_BECAUSE("such a driver runs what comes behind");
    if (!rig_has_capability("out_of_order"))
        SKIP_BECAUSE("the device has no out-of-order queues");
    cls_stream stream = rig_ordered(CLS_ORDER_OUT_OF_ORDER), branch = rig_stream();
    cls_buffer cells = rig_cells(4);
    cls_graph_exec exec = make_long(stream, branch, cells, CALLER, 0);
    controls->arm(&no_copy);
    controls->late_arm(&plan);
    OK(cls_graph_launch_async(exec, stream));
    assert_true(controls->late_fire());
    EXPECT(CLS_ERROR_OUT_OF_DEVICE_MEMORY, cls_stream_synchronize(stream));
    controls->late_arm(NULL);
    controls->arm(NULL);
    OK(cls_stream_reset(stream));
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(branch));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_refused_in_the_background),
    cmocka_unit_test(test_a_reset_waits_for_nodes_before_a_refused_one),
    cmocka_unit_test(test_nodes_before_a_refused_one_may_fail),
    cmocka_unit_test(test_in_order),
    cmocka_unit_test(test_out_of_order),
};

int main(int argc, char **argv) {
    (void)argc;
#ifdef LATE_PLATFORM
    setenv("CLS_FAULT_PLATFORM", LATE_PLATFORM, 1);
#endif
    layer_start("fault_layer", argv);
    controls = layer_controls("fault_layer", FAULT_CONTROLS);
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
