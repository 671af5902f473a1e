/* SPDX-License-Identifier: MIT */
/* Optimizers as objects of streams: their state is memory, and a step is work like any other. */
#include "../support/rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/optimizer.h>

enum { COUNT = 64, LAUNCHES = 3 };

static cls_stream stream;
static cls_buffer weights, gradients;
static cls_optimizer optimizer;

static cls_array all_of(cls_buffer buffer) { return cls_array_of(buffer, CLS_F32, COUNT); }

static cls_buffer numbers(unsigned seed) {
    float x[COUNT];
    cls_buffer buffer;
    for (unsigned i = 0; i < COUNT; i++)
        x[i] = (float)((i * 37 + seed) % 101) / 64 - 0.75f;
    OK(cls_buffer_from_host(rig.context, x, sizeof x, &buffer));
    return buffer;
}

static cls_optimizer_config clipped(void) {
    cls_optimizer_config config = CLS_OPTIMIZER_CONFIG_INIT;
    config.max_norm = 1;
    return config;
}

static cls_optimizer optimizer_of(cls_buffer buffer) {
    const cls_array parameter = all_of(buffer);
    const cls_optimizer_config config = clipped();
    cls_optimizer made;
    OK(cls_optimizer_create(rig.context, &config, &parameter, 1, &made));
    return made;
}

static int begin(void **state) {
    (void)state;
    stream = rig_stream();
    weights = numbers(1);
    gradients = numbers(50);
    optimizer = rig_has_capability("rounding") ? optimizer_of(weights) : NULL;
    return 0;
}

static int finish(void **state) {
    (void)state;
    if (optimizer)
        OK(cls_optimizer_destroy(optimizer));
    if (weights)
        OK(cls_buffer_destroy(weights));
    OK(cls_buffer_destroy(gradients));
    OK(cls_stream_destroy(stream));
    return 0;
}

static cls_status step_async(cls_optimizer of) {
    const cls_array gradient = all_of(gradients);
    return cls_optimizer_step_async(of, &gradient, 1, stream);
}

static cls_optimizer_state state_of(cls_optimizer of) {
    cls_optimizer_state state = {0, 0, 0};
    OK(cls_optimizer_get_state(of, &state, stream));
    return state;
}

static void check_same(cls_buffer a, cls_buffer b) {
    float x[COUNT], y[COUNT];
    OK(cls_copy_d2h(x, a, 0, sizeof x, stream));
    OK(cls_copy_d2h(y, b, 0, sizeof y, stream));
    assert_memory_equal(x, y, sizeof x);
}

static void test_starts_without_steps(void **state) {
    rig_need("rounding");
    cls_optimizer_state now = state_of(optimizer);
    (void)state;
    assert_true(now.steps == 0 && now.rate == 1e-3 && now.norm == 0);
    OK(step_async(optimizer));
    now = state_of(optimizer);
    assert_true(now.steps == 1 && now.norm > 0);
}

/* Each launch of a graph is a step of its own, with the rate that was set before it. */
static void test_launches_are_steps(void **state) {
    rig_need("rounding");
    cls_buffer again = numbers(1);
    cls_optimizer other = optimizer_of(again);
    cls_graph_exec exec;
    (void)state;
    OK(cls_stream_begin_capture(stream, "step"));
    OK(step_async(optimizer));
    exec = rig_end_capture(stream);
    assert_true(state_of(optimizer).steps == 0);
    for (unsigned i = 0; i < 2 * LAUNCHES; i++) {
        if (i == LAUNCHES) {
            OK(cls_optimizer_set_rate_async(optimizer, 0.5, stream));
            OK(cls_optimizer_set_rate_async(other, 0.5, stream));
        }
        OK(cls_graph_launch_async(exec, stream));
        OK(step_async(other));
    }
    check_same(weights, again);
    assert_true(state_of(optimizer).steps == 2 * LAUNCHES);
    assert_true(state_of(optimizer).rate == 0.5);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_optimizer_destroy(other));
    OK(cls_buffer_destroy(again));
}

/* Copies an array of one optimizer's state to that of another. */
static void copy_array(cls_optimizer from, cls_optimizer to, cls_optimizer_array which) {
    cls_array a, b;
    OK(cls_optimizer_get_array(from, which, 0, &a));
    OK(cls_optimizer_get_array(to, which, 0, &b));
    assert_true(a.count == COUNT && b.count == COUNT && a.dtype == CLS_F32);
    OK(cls_copy_d2d(b.buffer, b.offset * 4, a.buffer, a.offset * 4, COUNT * 4, stream));
}

static void test_goes_on_from_a_checkpoint(void **state) {
    rig_need("rounding");
    (void)state;
    for (unsigned i = 0; i < LAUNCHES; i++)
        OK(step_async(optimizer));
    cls_buffer again = numbers(7);
    cls_optimizer other = optimizer_of(again);
    OK(cls_copy_d2d(again, 0, weights, 0, COUNT * 4, stream));
    copy_array(optimizer, other, CLS_OPTIMIZER_FIRST_MOMENT);
    copy_array(optimizer, other, CLS_OPTIMIZER_SECOND_MOMENT);
    const cls_optimizer_state kept = state_of(optimizer);
    OK(cls_optimizer_set_state(other, &kept, stream));
    OK(step_async(optimizer));
    OK(step_async(other));
    check_same(weights, again);
    OK(cls_optimizer_destroy(other));
    OK(cls_buffer_destroy(again));
}

/* The optimizer keeps its parameters, and the graph all that it uses. */
static void test_destroyed_while_it_steps(void **state) {
    rig_need("rounding");
    cls_buffer again = numbers(1), last = numbers(50);
    cls_optimizer other = optimizer_of(again);
    cls_graph_exec exec;
    float wanted[COUNT], got[COUNT];
    cls_buffer mapped;
    (void)state;
    const cls_array gradient = all_of(last);
    OK(cls_buffer_create(rig.context, sizeof got, &mapped));
    OK(step_async(other));
    OK(step_async(other));
    OK(cls_copy_d2h(wanted, again, 0, sizeof wanted, stream));
    OK(cls_stream_begin_capture(stream, "step"));
    OK(cls_optimizer_step_async(optimizer, &gradient, 1, stream));
    OK(cls_copy_d2d_async(mapped, 0, weights, 0, sizeof got, stream));
    exec = rig_end_capture(stream);
    OK(cls_optimizer_step_async(optimizer, &gradient, 1, stream));
    OK(cls_optimizer_destroy(optimizer));
    OK(cls_buffer_destroy(weights));
    OK(cls_buffer_destroy(last));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_optimizer_destroy(optimizer));
    EXPECT(CLS_ERROR_INVALID_HANDLE, step_async(optimizer));
    optimizer = NULL;
    weights = NULL;
    OK(cls_graph_launch(exec, stream));
    OK(cls_copy_d2h(got, mapped, 0, sizeof got, stream));
    assert_memory_equal(got, wanted, sizeof got);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_optimizer_destroy(other));
    OK(cls_buffer_destroy(again));
    OK(cls_buffer_destroy(mapped));
}

static void test_its_memory_is_its_own(void **state) {
    rig_need("rounding");
    cls_array moment, norm;
    (void)state;
    OK(cls_optimizer_get_array(optimizer, CLS_OPTIMIZER_FIRST_MOMENT, 0, &moment));
    OK(cls_optimizer_get_array(optimizer, CLS_OPTIMIZER_NORM, 99, &norm));
    assert_true(norm.count == 1 && norm.dtype == CLS_F32);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_destroy(moment.buffer));
    EXPECT(CLS_ERROR_NOT_FOUND,
           cls_optimizer_get_array(optimizer, CLS_OPTIMIZER_MASTER, 0, &moment));
    EXPECT(CLS_ERROR_OVERLAP, cls_optimizer_step(optimizer, &moment, 1, stream));
    assert_true(state_of(optimizer).steps == 0);
}

/* --- threads on one stream --- */

enum { THREADS = 4, STEPS = 40 };

static bool step_some(void *arg, unsigned i) {
    (void)arg;
    (void)i;
    for (unsigned k = 0; k < STEPS; k++)
        if (step_async(optimizer))
            return false;
    return true;
}

static void test_steps_of_threads_do_not_mix(void **state) {
    rig_need("rounding");
    cls_buffer again = numbers(1);
    cls_optimizer other = optimizer_of(again);
    (void)state;
    assert_int_equal(team_run(THREADS, step_some, NULL), 0);
    for (unsigned i = 0; i < THREADS * STEPS; i++)
        OK(step_async(other));
    check_same(weights, again);
    assert_true(state_of(optimizer).steps == THREADS * STEPS);
    OK(cls_optimizer_destroy(other));
    OK(cls_buffer_destroy(again));
}

/* --- what is refused leaves everything as it was --- */

static void test_a_failed_stream_takes_no_step(void **state) {
    rig_need("rounding");
    (void)state;
    OK(rig_fail(stream, "failing", CL_OUT_OF_RESOURCES));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    EXPECT(CLS_ERROR_COMMAND_FAILED, step_async(optimizer));
    OK(cls_stream_reset(stream));
    assert_true(state_of(optimizer).steps == 0);
}

static void test_refused_parameters(void **state) {
    rig_need("rounding");
    const cls_optimizer_config config = clipped();
    const cls_array two[] = {cls_array_of(weights, CLS_F32, COUNT / 2 + 1),
                             cls_array_at(weights, CLS_F32, COUNT / 2, COUNT / 2)};
    const cls_array integers = cls_array_of(weights, CLS_I32, COUNT);
    cls_optimizer made;
    (void)state;
    EXPECT(CLS_ERROR_OVERLAP, cls_optimizer_create(rig.context, &config, two, 2, &made));
    EXPECT(CLS_ERROR_TYPE_MISMATCH,
           cls_optimizer_create(rig.context, &config, &integers, 1, &made));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_optimizer_create(rig.context, &config, two, 1, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_optimizer_create(rig.context, &config, two, 0, &made));
}

static void test_refused_options(void **state) {
    rig_need("rounding");
    const cls_array parameter = all_of(weights);
    cls_optimizer_config config = clipped();
    cls_optimizer made;
    (void)state;
    config.kind = CLS_SGD;
    config.nesterov = 1;
    config.momentum = 0.9;
    config.dampening = 0.1;
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_optimizer_create(rig.context, &config, &parameter, 1, &made));
    config.dampening = 0;
    OK(cls_optimizer_create(rig.context, &config, &parameter, 1, &made));
    OK(cls_optimizer_destroy(made));
    config.max_norm = -1;
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_optimizer_create(rig.context, &config, &parameter, 1, &made));
}

static void test_refused_gradients(void **state) {
    rig_need("rounding");
    const cls_array good = all_of(gradients), own = all_of(weights);
    const cls_array shorter = cls_array_of(gradients, CLS_F32, COUNT - 1),
                    halves = cls_array_of(gradients, CLS_F16, COUNT);
    float before[COUNT], after[COUNT];
    (void)state;
    OK(cls_copy_d2h(before, weights, 0, sizeof before, stream));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_optimizer_step(optimizer, &good, 2, stream));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_optimizer_step(optimizer, &shorter, 1, stream));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_optimizer_step(optimizer, &halves, 1, stream));
    EXPECT(CLS_ERROR_OVERLAP, cls_optimizer_step(optimizer, &own, 1, stream));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_optimizer_set_rate(optimizer, -1, stream));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_optimizer_set_rate(optimizer, 1e39, stream));
    OK(cls_copy_d2h(after, weights, 0, sizeof after, stream));
    assert_memory_equal(before, after, sizeof after);
    assert_true(state_of(optimizer).steps == 0 && state_of(optimizer).rate == 1e-3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, finish)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(starts_without_steps),
        TEST(launches_are_steps),
        TEST(goes_on_from_a_checkpoint),
        TEST(destroyed_while_it_steps),
        TEST(its_memory_is_its_own),
        TEST(steps_of_threads_do_not_mix),
        TEST(a_failed_stream_takes_no_step),
        TEST(refused_parameters),
        TEST(refused_options),
        TEST(refused_gradients),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
