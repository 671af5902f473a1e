/* SPDX-License-Identifier: MIT */
/* Managed contexts: steps on streams and in place, and what they say of themselves. */
#include <stdlib.h>
#include <string.h>

#include <clstream/managed_context.h>
#include <clstream/unary.h>

#include "../support/nothing.h"
#include "../support/rig.h"

enum { ROUNDS = 20, WORDS = 64, BYTES = WORDS * 4 };

static cls_managed_context managed_make(bool with_streams) {
    cls_managed_context managed;
    OK(cls_managed_context_create(NULL, with_streams, &managed));
    return managed;
}

/* slot = slot * 3, by an operation of the library. */
static cls_status triple(cls_stream stream, const cls_slot *slot, void *arg) {
    const cls_array all = cls_array_of(slot->buffer, CLS_I32, WORDS);
    (void)arg;
    return cls_unary_param_async(CLS_UNARY_SCALE, all, all, 3, stream);
}

static void steps(bool with_streams) {
    static int32_t in[ROUNDS][WORDS], out[ROUNDS][WORDS];
    cls_managed_context managed = managed_make(with_streams);
    cls_buffered_step step = CLS_BUFFERED_STEP_INIT;
    cls_compute compute = CLS_COMPUTE_INIT;
    cls_step_telemetry told = CLS_STEP_TELEMETRY_INIT;
    cls_async_coordinator coordinator = NULL;
    compute.fn = triple;
    OK(cls_managed_context_make_triple_buffer(managed, BYTES, NULL, &step.slots));
    if (with_streams)
        OK(cls_managed_context_get_coordinator(managed, &coordinator));
    step.in_bytes = step.out_bytes = BYTES;
    step.compute = &compute;
    step.timed = 1;
    memset(out, 0, sizeof out);
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < WORDS; k++)
            in[i][k] = i * 1000 + k;
        step.in = in[i];
        step.out = out[i];
        OK(cls_managed_context_triple_buffered_step(managed, &step, &told));
        assert_int_equal(told.step, i);
        assert_int_equal(told.download != 0, with_streams);
        if (!with_streams)
            assert_int_equal(told.measured_step, i);
    }
    if (with_streams) {
        OK(cls_async_coordinator_synchronize_all(coordinator));
        OK(cls_managed_context_triple_buffered_step(managed, &step, &told));
        OK(cls_async_coordinator_wait(coordinator, told.download, CLS_FOREVER));
        assert_true(told.measured_step < ROUNDS);
    }
    assert_true(told.measured);
    assert_true(told.upload_ms >= 0 && told.compute_ms >= 0 && told.download_ms >= 0 &&
                told.submit_ms >= 0);
    for (int i = 0; i < ROUNDS; i++)
        for (int k = 0; k < WORDS; k++)
            assert_int_equal(out[i][k], in[i][k] * 3);
    OK(cls_triple_buffer_destroy(step.slots));
    OK(cls_managed_context_destroy(managed));
}

static void steps_on_streams(void **state) {
    (void)state;
    steps(true);
}

static void steps_in_place(void **state) {
    (void)state;
    steps(false);
}

/* Each of a team, with a ring of its own. */
static bool step_and_compare(void *managed, unsigned i) {
    enum { STEPS = 5000 };
    cls_buffered_step step = CLS_BUFFERED_STEP_INIT;
    cls_compute compute = CLS_COMPUTE_INIT;
    cls_step_telemetry told = CLS_STEP_TELEMETRY_INIT;
    const unsigned n = rig_scale(STEPS, 10);
    uint32_t word = i;
    bool well = true;
    OK(cls_managed_context_make_triple_buffer(*(cls_managed_context *)managed, 4, NULL,
                                              &step.slots));
    compute.fn = compute_nothing;
    step.in = step.out = &word;
    step.in_bytes = step.out_bytes = 4;
    step.compute = &compute;
    for (unsigned k = 0; k < n && well; k++) {
        OK(cls_managed_context_triple_buffered_step(*(cls_managed_context *)managed, &step, &told));
        well = told.measured && told.measured_step == told.step;
    }
    OK(cls_triple_buffer_destroy(step.slots));
    return well;
}

static void steps_in_place_tell_their_own_times(void **state) {
    (void)state;
    cls_managed_context managed = managed_make(false);
    assert_int_equal(team_run(12, step_and_compare, &managed), 0);
    OK(cls_managed_context_destroy(managed));
}

/* --- steps that fail, and steps in each other's way --- */

static cls_managed_context context_of_steps;
static cls_status told_inside; /* to a host function */

/* A compute that fails at the step that it is told, and one that tries a step of its own. */
static cls_status refuse(cls_stream stream, const cls_slot *slot, void *arg) {
    (void)stream;
    (void)slot;
    return *(bool *)arg ? CLS_ERROR_UNSUPPORTED : CLS_SUCCESS;
}

static cls_status fail_later(cls_stream stream, const cls_slot *slot, void *arg) {
    (void)slot;
    return *(bool *)arg ? rig_fail(stream, "a bad step", CL_OUT_OF_RESOURCES) : CLS_SUCCESS;
}

static cls_status step_within(cls_stream stream, const cls_slot *slot, void *arg) {
    cls_step_telemetry told = CLS_STEP_TELEMETRY_INIT;
    (void)stream;
    (void)slot;
    EXPECT(CLS_ERROR_INVALID_STATE,
           cls_managed_context_triple_buffered_step(context_of_steps, arg, &told));
    return CLS_SUCCESS;
}

static cls_buffered_step words_step(cls_compute *compute) {
    cls_buffered_step step = CLS_BUFFERED_STEP_INIT;
    OK(cls_managed_context_make_triple_buffer(context_of_steps, BYTES, NULL, &step.slots));
    step.in_bytes = step.out_bytes = 4;
    step.compute = compute;
    return step;
}

static void synchronize(void) {
    cls_context context;
    OK(cls_managed_context_get_context(context_of_steps, &context));
    OK(cls_context_synchronize(context));
}

static void expect_word(cls_buffered_step *step, uint32_t in) {
    cls_step_telemetry told = CLS_STEP_TELEMETRY_INIT;
    uint32_t out = 0;
    step->in = &in;
    step->out = &out;
    OK(cls_managed_context_triple_buffered_step(context_of_steps, step, &told));
    synchronize();
    assert_int_equal(out, in);
}

static void steps_go_on_once_both_are_reset(void **state) {
    (void)state;
    cls_compute compute = CLS_COMPUTE_INIT;
    cls_step_telemetry told = CLS_STEP_TELEMETRY_INIT;
    cls_async_coordinator coordinator;
    bool fails = true;
    uint32_t word = 7;
    context_of_steps = managed_make(true);
    OK(cls_managed_context_get_coordinator(context_of_steps, &coordinator));
    cls_buffered_step step = words_step(&compute);
    step.in = step.out = &word;
    compute.fn = fail_later;
    compute.arg = &fails;
    cls_managed_context_triple_buffered_step(context_of_steps, &step, &told);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_async_coordinator_synchronize_all(coordinator));
    OK(cls_async_coordinator_reset(coordinator));
    OK(cls_triple_buffer_reset(step.slots));
    fails = false;
    for (uint32_t i = 1; i < 10; i++)
        expect_word(&step, i);
    OK(cls_triple_buffer_destroy(step.slots));
    OK(cls_managed_context_destroy(context_of_steps));
}

static void a_failed_step_leaves_the_next_its_own(void **state) {
    (void)state;
    for (int with_streams = 0; with_streams < 2; with_streams++) {
        cls_compute compute = CLS_COMPUTE_INIT;
        cls_step_telemetry told = CLS_STEP_TELEMETRY_INIT;
        bool fails = false;
        context_of_steps = managed_make(with_streams);
        cls_buffered_step step = words_step(&compute);
        compute.fn = refuse;
        compute.arg = &fails;
        for (uint32_t i = 1; i < 10; i++) {
            uint32_t word = 1000 + i;
            expect_word(&step, i);
            fails = true;
            step.in = step.out = &word;
            EXPECT(CLS_ERROR_UNSUPPORTED,
                   cls_managed_context_triple_buffered_step(context_of_steps, &step, &told));
            fails = false;
            step.out_bytes = BYTES + 1;
            EXPECT(CLS_ERROR_OUT_OF_RANGE,
                   cls_managed_context_triple_buffered_step(context_of_steps, &step, &told));
            step.out_bytes = 4;
            synchronize();
        }
        OK(cls_triple_buffer_destroy(step.slots));
        OK(cls_managed_context_destroy(context_of_steps));
    }
}

static void steps_with_a_ring_are_one_at_a_time(void **state) {
    (void)state;
    for (int with_streams = 0; with_streams < 2; with_streams++) {
        cls_compute compute = CLS_COMPUTE_INIT;
        cls_step_telemetry told = CLS_STEP_TELEMETRY_INIT;
        cls_stream stream;
        cls_context context;
        cls_slot slot;
        context_of_steps = managed_make(with_streams);
        cls_buffered_step step = words_step(&compute);
        compute.fn = step_within;
        compute.arg = &step;
        expect_word(&step, 7);
        expect_word(&step, 8);
        compute.fn = triple;
        OK(cls_managed_context_get_context(context_of_steps, &context));
        OK(cls_context_default_stream(context, &stream));
        OK(cls_triple_buffer_upload_slot(step.slots, stream, &slot));
        EXPECT(CLS_ERROR_INVALID_STATE,
               cls_managed_context_triple_buffered_step(context_of_steps, &step, &told));
        OK(cls_triple_buffer_process_slot(step.slots, stream, &slot)); /* it is where it was */
        OK(cls_triple_buffer_destroy(step.slots));
        OK(cls_managed_context_destroy(context_of_steps));
    }
}

static void step_inside(void *step) {
    cls_step_telemetry told = CLS_STEP_TELEMETRY_INIT;
    told_inside = cls_managed_context_triple_buffered_step(context_of_steps, step, &told);
}

static void no_step_in_place_in_a_host_function(void **state) {
    (void)state;
    cls_compute compute = CLS_COMPUTE_INIT;
    cls_context context;
    cls_stream stream;
    uint32_t word = 7;
    context_of_steps = managed_make(false);
    cls_buffered_step step = words_step(&compute);
    compute.fn = triple;
    step.in = step.out = &word;
    OK(cls_managed_context_get_context(context_of_steps, &context));
    OK(cls_context_default_stream(context, &stream));
    OK(cls_stream_launch_host_async(stream, step_inside, &step));
    synchronize();
    EXPECT(CLS_ERROR_WOULD_DEADLOCK, told_inside);
    assert_int_equal(word, 7);
    step.in = step.out = &word;
    OK(cls_managed_context_triple_buffered_step(context_of_steps, &step,
                                                &(cls_step_telemetry)CLS_STEP_TELEMETRY_INIT));
    assert_int_equal(word, 21);
    OK(cls_triple_buffer_destroy(step.slots));
    OK(cls_managed_context_destroy(context_of_steps));
}

static void nap(void *arg) { nap_ms(*(unsigned *)arg); }

static cls_status compute_nap(cls_stream stream, const cls_slot *slot, void *arg) {
    (void)slot;
    return cls_stream_launch_host_async(stream, nap, arg);
}

/* The last of eight steps is timed: what its compute takes, and not what the others before it do. */
static double time_of_the_last(unsigned ms) {
    enum { STEPS = 8 };
    cls_triple_buffer_config ring = CLS_TRIPLE_BUFFER_CONFIG_INIT;
    cls_buffered_step step = CLS_BUFFERED_STEP_INIT;
    cls_compute compute = CLS_COMPUTE_INIT;
    cls_step_telemetry told = CLS_STEP_TELEMETRY_INIT;
    uint32_t in = 1, out[STEPS + 1];
    context_of_steps = managed_make(true);
    ring.slots = STEPS;
    OK(cls_managed_context_make_triple_buffer(context_of_steps, BYTES, &ring, &step.slots));
    compute.fn = compute_nap;
    compute.arg = &ms;
    step.in = &in;
    step.in_bytes = step.out_bytes = 4;
    step.compute = &compute;
    for (int i = 0; i <= STEPS; i++) {
        step.out = &out[i];
        step.timed = i == STEPS - 1;
        if (i == STEPS)
            synchronize();
        OK(cls_managed_context_triple_buffered_step(context_of_steps, &step, &told));
    }
    synchronize();
    assert_true(told.measured);
    assert_int_equal(told.measured_step, STEPS - 1);
    OK(cls_triple_buffer_destroy(step.slots));
    OK(cls_managed_context_destroy(context_of_steps));
    return told.compute_ms;
}

static void a_timed_step_has_its_own_time(void **state) {
    unsigned ms = 20;
    (void)state;
    while (ms < 1000 && time_of_the_last(ms) > 3 * ms)
        ms *= 4;
    assert_true(ms < 1000);
}

/* A step whose function has another one submitted, by another thread, on a ring of its own. */
struct beside {
    cls_buffered_step step;
    cls_step_telemetry told;
};

static bool step_beside(void *arg, unsigned i) {
    struct beside *beside = arg;
    (void)i;
    return !cls_managed_context_triple_buffered_step(context_of_steps, &beside->step,
                                                     &beside->told);
}

static cls_status have_one_beside(cls_stream stream, const cls_slot *slot, void *arg) {
    (void)stream;
    (void)slot;
    return team_run(1, step_beside, arg) ? CLS_ERROR_INVALID_STATE : CLS_SUCCESS;
}

/* What the inner one submits lies between the marks of the outer one; of the outer one's work the inner one cannot
 * know where it lies. */
static void steps_beside_others_are_not_measured(void **state) {
    (void)state;
    for (int inner = 0; inner < 2; inner++) {
        cls_compute outer_compute = CLS_COMPUTE_INIT, compute = CLS_COMPUTE_INIT;
        cls_step_telemetry told = CLS_STEP_TELEMETRY_INIT;
        struct beside beside = {.told = CLS_STEP_TELEMETRY_INIT};
        unsigned ms = 50;
        uint32_t word = 7, other = 8;
        context_of_steps = managed_make(true);
        cls_buffered_step step = words_step(&outer_compute);
        beside.step = words_step(&compute);
        step.in = step.out = &word;
        beside.step.in = beside.step.out = &other;
        compute.fn = compute_nap;
        compute.arg = &ms;
        outer_compute.fn = have_one_beside;
        outer_compute.arg = &beside;
        step.timed = !inner;
        beside.step.timed = inner;
        OK(cls_managed_context_triple_buffered_step(context_of_steps, &step, &told));
        synchronize();
        assert_int_equal(beside.told.step, told.step + 1);
        /* Later ones are, which have the streams to themselves. */
        outer_compute.fn = compute_nothing;
        step.timed = 1;
        OK(cls_managed_context_triple_buffered_step(context_of_steps, &step, &told));
        assert_false(told.measured);
        synchronize();
        OK(cls_managed_context_triple_buffered_step(context_of_steps, &step, &told));
        synchronize();
        assert_true(told.measured);
        assert_int_equal(told.measured_step, 2);
        OK(cls_triple_buffer_destroy(step.slots));
        OK(cls_triple_buffer_destroy(beside.step.slots));
        OK(cls_managed_context_destroy(context_of_steps));
    }
}

/* What all times are taken from may have been recorded on a poisoned stream, and reports that for ever. */
static void steps_are_timed_again_after_a_failure(void **state) {
    (void)state;
    enum { STEPS = 4 };
    cls_compute compute = CLS_COMPUTE_INIT;
    cls_step_telemetry told = CLS_STEP_TELEMETRY_INIT;
    cls_async_coordinator coordinator;
    cls_stream up;
    unsigned ms = 1;
    uint32_t word = 7;
    context_of_steps = managed_make(true);
    cls_buffered_step step = words_step(&compute);
    OK(cls_managed_context_get_coordinator(context_of_steps, &coordinator));
    OK(cls_async_coordinator_get_stream(coordinator, CLS_OP_UPLOAD, &up));
    compute.fn = compute_nap;
    compute.arg = &ms;
    step.in = step.out = &word;
    step.timed = 1;
    OK(rig_fail(up, "an upload", CL_OUT_OF_RESOURCES));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(up));
    EXPECT(CLS_ERROR_COMMAND_FAILED,
           cls_managed_context_triple_buffered_step(context_of_steps, &step, &told));
    OK(cls_async_coordinator_reset(coordinator));
    OK(cls_triple_buffer_reset(step.slots));
    for (int i = 0; i < STEPS; i++) {
        OK(cls_managed_context_triple_buffered_step(context_of_steps, &step, &told));
        synchronize();
    }
    assert_true(told.measured);
    OK(cls_triple_buffer_destroy(step.slots));
    OK(cls_managed_context_destroy(context_of_steps));
}

/* What is at work of a pipeline whose stages nothing orders. */
struct at_work {
    _Atomic int now, most, runs;
};

static void be_at_work(void *arg) {
    struct at_work *at_work = arg;
    const int now = ++at_work->now;
    nap_ms(20);
    if (now > at_work->most)
        at_work->most = now;
    at_work->now--;
    at_work->runs++;
}

static cls_status stage_at_work(const cls_stage_run *run, void *arg) {
    return cls_stream_launch_host_async(run->stream, be_at_work, arg);
}

static cls_status stage_fails(const cls_stage_run *run, void *arg) {
    (void)arg;
    return rig_fail(run->stream, "a stage that fails", CL_OUT_OF_RESOURCES);
}

static cls_pipeline pipeline_in_place(cls_managed_context managed, cls_stage_fn first, void *arg) {
    cls_stage stages[] = {CLS_STAGE_INIT, CLS_STAGE_INIT};
    cls_pipeline pipeline;
    OK(cls_managed_context_make_pipeline(managed, NULL, &pipeline));
    for (int i = 0; i < 2; i++) {
        stages[i].name = i ? "second" : "first";
        stages[i].fn = i ? stage_at_work : first;
        stages[i].arg = arg;
        OK(cls_pipeline_add_stage(pipeline, &stages[i]));
    }
    return pipeline;
}

static void execute_inside(void *pipeline) {
    told_inside = cls_pipeline_execute_iteration(*(cls_pipeline *)pipeline);
}

static void pipelines_without_streams_run_in_place(void **state) {
    (void)state;
    enum { ITERATIONS = 3 };
    struct at_work at_work = {0, 0, 0};
    cls_managed_context managed = managed_make(false);
    cls_context context;
    cls_stream stream;
    cls_pipeline pipeline = pipeline_in_place(managed, stage_at_work, &at_work);
    for (int i = 1; i <= ITERATIONS; i++) {
        OK(cls_pipeline_execute_iteration(pipeline));
        assert_int_equal(at_work.runs, 2 * i);
    }
    assert_int_equal(at_work.most, 1);
    OK(cls_managed_context_get_context(managed, &context));
    OK(cls_context_default_stream(context, &stream));
    OK(cls_stream_launch_host_async(stream, execute_inside, &pipeline));
    OK(cls_stream_synchronize(stream));
    EXPECT(CLS_ERROR_WOULD_DEADLOCK, told_inside);
    OK(cls_pipeline_destroy(pipeline));
    pipeline = pipeline_in_place(managed, stage_fails, &at_work);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_pipeline_execute_iteration(pipeline));
    assert_int_equal(at_work.runs, 2 * ITERATIONS);
    OK(cls_pipeline_destroy(pipeline));
    OK(cls_managed_context_destroy(managed));
}

static void it_makes_what_belongs_to_it(void **state) {
    (void)state;
    cls_managed_context managed = managed_make(false);
    cls_async_coordinator coordinator = NULL;
    cls_context context;
    cls_pipeline pipeline;
    cls_triple_buffer ring;
    EXPECT(CLS_ERROR_INVALID_STATE, cls_managed_context_get_coordinator(managed, &coordinator));
    assert_null(coordinator);
    OK(cls_managed_context_get_context(managed, &context));
    OK(cls_context_synchronize(context));
    OK(cls_managed_context_make_pipeline(managed, NULL, &pipeline));
    OK(cls_managed_context_make_triple_buffer(managed, 16, NULL, &ring));
    OK(cls_managed_context_destroy(managed));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_triple_buffer_advance(ring));
    OK(cls_triple_buffer_destroy(ring));
    OK(cls_pipeline_destroy(pipeline));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_managed_context_get_context(managed, &context));
    EXPECT(CLS_ERROR_NO_DEVICE, cls_managed_context_create("no such device", 1, &managed));
}

/* Computes that the coordinator does not take are none in place either. */
static void refuse_computes(cls_managed_context managed, cls_buffered_step *step) {
    cls_step_telemetry told = CLS_STEP_TELEMETRY_INIT;
    const cls_launch shape = cls_launch_1d(1);
    const cls_compute *given = step->compute;
    cls_compute bad[] = {CLS_COMPUTE_INIT, CLS_COMPUTE_INIT, CLS_COMPUTE_INIT, *given};
    cls_program program;
    cls_context context;
    OK(cls_managed_context_get_context(managed, &context));
    OK(cls_program_from_source(context, "kernel void two(global uint *x, uint y) { x[0] = y; }",
                               NULL, NULL, &program));
    OK(cls_kernel_create(program, "two", &bad[0].kernel));
    bad[0].launch = &shape;
    bad[0].n_args = 1; /* of no array */
    bad[2].size = 0;
    bad[3].n_args = 65;
    for (int i = 0; i < 4; i++) {
        step->compute = &bad[i];
        EXPECT(CLS_ERROR_INVALID_VALUE,
               cls_managed_context_triple_buffered_step(managed, step, &told));
    }
    step->compute = given;
    OK(cls_kernel_destroy(bad[0].kernel));
    OK(cls_program_destroy(program));
}

static void bad_steps(void **state) {
    (void)state;
    uint32_t word = 1;
    for (int with_streams = 0; with_streams < 2; with_streams++) {
        cls_managed_context managed = managed_make(with_streams);
        cls_buffered_step step = CLS_BUFFERED_STEP_INIT;
        cls_step_telemetry told = CLS_STEP_TELEMETRY_INIT;
        cls_compute compute = CLS_COMPUTE_INIT;
        cls_slot_state states[3];
        EXPECT(CLS_ERROR_INVALID_VALUE,
               cls_managed_context_triple_buffered_step(managed, &step, &told));
        compute.fn = triple;
        step.in = step.out = &word;
        step.in_bytes = step.out_bytes = BYTES + 1;
        step.compute = &compute;
        EXPECT(CLS_ERROR_INVALID_HANDLE,
               cls_managed_context_triple_buffered_step(managed, &step, &told));
        OK(cls_managed_context_make_triple_buffer(managed, BYTES, NULL, &step.slots));
        EXPECT(CLS_ERROR_OUT_OF_RANGE,
               cls_managed_context_triple_buffered_step(managed, &step, &told));
        step.in_bytes = step.out_bytes = sizeof word;
        refuse_computes(managed, &step);
        OK(cls_triple_buffer_get_states(step.slots, states, 3));
        for (int i = 0; i < 3; i++)
            assert_int_equal(states[i], CLS_SLOT_FREE);
        OK(cls_triple_buffer_destroy(step.slots));
        OK(cls_managed_context_destroy(managed));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_on_streams),
        cmocka_unit_test(steps_in_place),
        cmocka_unit_test(steps_in_place_tell_their_own_times),
        cmocka_unit_test(pipelines_without_streams_run_in_place),
        cmocka_unit_test(it_makes_what_belongs_to_it),
        cmocka_unit_test(bad_steps),
        cmocka_unit_test(a_failed_step_leaves_the_next_its_own),
        cmocka_unit_test(steps_go_on_once_both_are_reset),
        cmocka_unit_test(steps_with_a_ring_are_one_at_a_time),
        cmocka_unit_test(no_step_in_place_in_a_host_function),
        cmocka_unit_test(a_timed_step_has_its_own_time),
        cmocka_unit_test(steps_beside_others_are_not_measured),
        cmocka_unit_test(steps_are_timed_again_after_a_failure),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
