/* SPDX-License-Identifier: MIT */
/* Pipelines that fail, are reset or destroyed at work, and stages and buffers that are refused. */
#include <stdio.h>
#include <string.h>

#include "pipelines.h"

static cls_status stage_fails(const cls_stage_run *run, void *arg) {
    const cls_status *refusal = arg;
    return *refusal ? *refusal : rig_fail(run->stream, "a stage that fails", CL_OUT_OF_RESOURCES);
}

static void failure_ends_the_iteration_and_reset_heals(void **state) {
    (void)state;
    static struct run_data data;
    cls_status refusal = CLS_ERROR_NOT_FOUND;
    data.ms = 0;
    cls_pipeline pipeline = pipeline_make(2);
    add_buffer(pipeline, "in", CLS_PIPELINE_INTERNAL);
    add(pipeline, "fails", NULL, "in", stage_fails, &refusal);
    add(pipeline, "reads", "in", NULL, stage_download, &data);
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_pipeline_set_order(pipeline, NULL, 1)); /* an older detail */
    EXPECT(CLS_ERROR_NOT_FOUND, cls_pipeline_execute_iteration(pipeline));
    assert_string_equal(cls_last_error_detail(), "stage 'fails' returned CLS_ERROR_NOT_FOUND");
    OK(cls_pipeline_synchronize(pipeline));
    refusal = CLS_SUCCESS;
    cls_pipeline_execute_iteration(pipeline);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_pipeline_synchronize(pipeline));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_pipeline_execute_iteration(pipeline));
    OK(cls_pipeline_reset(pipeline));
    refusal = CLS_ERROR_NOT_FOUND;
    EXPECT(CLS_ERROR_NOT_FOUND, cls_pipeline_execute_iteration(pipeline));
    OK(cls_pipeline_synchronize(pipeline));
    OK(cls_pipeline_destroy(pipeline));
}

/* A host function that submits another one while the reset waits for it; that one asks for the pipeline. */
struct inquirer {
    cls_pipeline pipeline;
    cls_stream stream;
    sleeper resetting;
    cls_status submitted, told, executed;
};

static void ask(void *arg) {
    struct inquirer *inquirer = arg;
    cls_pipeline_statistics statistics = CLS_PIPELINE_STATISTICS_INIT;
    await_sleeper(&inquirer->resetting);
    inquirer->executed = cls_pipeline_execute_iteration(inquirer->pipeline);
    inquirer->told = cls_pipeline_get_statistics(inquirer->pipeline, &statistics);
}

static void submit_another(void *arg) {
    struct inquirer *inquirer = arg;
    await_sleeper(&inquirer->resetting);
    inquirer->submitted = cls_stream_launch_host_async(inquirer->stream, ask, inquirer);
}

static cls_status stage_inquires(const cls_stage_run *run, void *arg) {
    struct inquirer *inquirer = arg;
    inquirer->stream = run->stream;
    return cls_stream_launch_host_async(run->stream, submit_another, inquirer);
}

static void reset_waits_for_who_asks_for_the_pipeline(void **state) {
    (void)state;
    cls_pipeline pipeline = pipeline_make(2);
    struct inquirer inquirer = {.pipeline = pipeline, .told = CLS_ERROR_NOT_FOUND};
    cls_pipeline_statistics statistics = CLS_PIPELINE_STATISTICS_INIT;
    add(pipeline, "inquires", NULL, NULL, stage_inquires, &inquirer);
    OK(cls_pipeline_execute_iteration(pipeline));
    sleeper_here(&inquirer.resetting);
    OK(cls_pipeline_reset(pipeline));
    OK(inquirer.submitted);
    OK(inquirer.told);
    EXPECT(CLS_ERROR_INVALID_STATE, inquirer.executed);
    OK(cls_pipeline_get_statistics(pipeline, &statistics));
    assert_int_equal(statistics.iterations, 0);
    OK(cls_pipeline_execute_iteration(pipeline));
    OK(cls_pipeline_destroy(pipeline));
    OK(cls_context_synchronize(rig.context));
}

static void reset_inside(void *arg) {
    struct inquirer *inquirer = arg;
    inquirer->told = cls_pipeline_reset(inquirer->pipeline);
}

static void no_reset_in_a_host_function(void **state) {
    (void)state;
    struct inquirer inquirer = {.pipeline = pipeline_make(2)};
    cls_stream stream = rig_stream();
    add(inquirer.pipeline, "idle", NULL, NULL, stage_nothing, NULL);
    OK(cls_pipeline_execute_iteration(inquirer.pipeline));
    OK(cls_stream_launch_host_async(stream, reset_inside, &inquirer));
    OK(cls_stream_synchronize(stream));
    EXPECT(CLS_ERROR_WOULD_DEADLOCK, inquirer.told);
    OK(cls_pipeline_execute_iteration(inquirer.pipeline));
    OK(cls_pipeline_destroy(inquirer.pipeline));
    OK(cls_stream_destroy(stream));
}

/* One thread is in a stage's function while another calls the pipeline, which must wait for the first. */
struct at_once {
    cls_pipeline pipeline;
    struct gate gate;
    cls_status executed, reset;
};

static cls_status stage_at_gate(const cls_stage_run *run, void *gate) {
    (void)run;
    gate_hold(gate);
    return CLS_SUCCESS;
}

static bool submit_or_disturb(void *arg, unsigned i) {
    struct at_once *at_once = arg;
    if (i == 0)
        return cls_pipeline_execute_iteration(at_once->pipeline) == CLS_SUCCESS;
    const bool came = sem_comes(&at_once->gate.entered);
    at_once->executed = cls_pipeline_execute_iteration(at_once->pipeline);
    at_once->reset = cls_pipeline_reset(at_once->pipeline);
    gate_open(&at_once->gate);
    return came;
}

static void one_thread_submits_at_a_time(void **state) {
    (void)state;
    struct at_once at_once = {.pipeline = pipeline_make(2)};
    cls_pipeline_statistics statistics = CLS_PIPELINE_STATISTICS_INIT;
    gate_init(&at_once.gate);
    add(at_once.pipeline, "waits", NULL, NULL, stage_at_gate, &at_once.gate);
    assert_int_equal(team_run(2, submit_or_disturb, &at_once), 0);
    EXPECT(CLS_ERROR_INVALID_STATE, at_once.executed);
    EXPECT(CLS_ERROR_INVALID_STATE, at_once.reset);
    OK(cls_pipeline_get_statistics(at_once.pipeline, &statistics));
    assert_int_equal(statistics.iterations, 1);
    OK(cls_pipeline_reset(at_once.pipeline));
    OK(cls_pipeline_destroy(at_once.pipeline));
    gate_destroy(&at_once.gate);
}

/* One thread resets, which waits for the second stage; the other iterates meanwhile. */
struct resetting {
    cls_pipeline pipeline;
    struct gate gate;
    _Atomic unsigned submitted, done;
};

static void count_late(void *arg) {
    struct resetting *resetting = arg;
    nap_ms(200);
    resetting->done++;
}

static cls_status stage_counts(const cls_stage_run *run, void *arg) {
    struct resetting *resetting = arg;
    if (!run->iteration)
        return CLS_SUCCESS;
    resetting->submitted++;
    return cls_stream_launch_host_async(run->stream, count_late, resetting);
}

static cls_status stage_held_at_first(const cls_stage_run *run, void *gate) {
    return run->iteration ? CLS_SUCCESS
                          : cls_stream_launch_host_async(run->stream, gate_hold, gate);
}

static bool reset_or_iterate(void *arg, unsigned i) {
    struct resetting *resetting = arg;
    if (!i)
        return !cls_pipeline_reset(resetting->pipeline) && resetting->done == resetting->submitted;
    nap_ms(50);
    const cls_status status = cls_pipeline_execute_iteration(resetting->pipeline);
    gate_open(&resetting->gate);
    return status == CLS_SUCCESS || status == CLS_ERROR_INVALID_STATE;
}

/* Also not on a stream of the caller's, which it does not reset. */
static void a_reset_leaves_no_work_behind(void **state) {
    (void)state;
    struct resetting resetting = {.pipeline = pipeline_make(2)};
    cls_stage counts = stage_of("counts", stage_counts);
    gate_init(&resetting.gate);
    counts.stream = rig_stream();
    counts.arg = &resetting;
    OK(cls_pipeline_add_stage(resetting.pipeline, &counts));
    add(resetting.pipeline, "held", NULL, NULL, stage_held_at_first, &resetting.gate);
    OK(cls_pipeline_execute_iteration(resetting.pipeline));
    assert_int_equal(team_run(2, reset_or_iterate, &resetting), 0);
    OK(cls_pipeline_destroy(resetting.pipeline));
    OK(cls_stream_synchronize(counts.stream));
    OK(cls_stream_destroy(counts.stream));
    gate_destroy(&resetting.gate);
}

static void destroy_with_work_pending(void **state) {
    (void)state;
    static struct run_data data;
    data.ms = 2;
    memset(data.out, 0, sizeof data.out);
    cls_pipeline pipeline = three_stages(&data, 2);
    for (int i = 0; i < 5; i++)
        OK(cls_pipeline_execute_iteration(pipeline));
    OK(cls_pipeline_destroy(pipeline));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_pipeline_execute_iteration(pipeline));
    for (int i = 0; i < 2000 && *(volatile uint32_t *)&data.out[4] != data.in[4] * 3 + 1; i++)
        nap_ms(5);
    assert_int_equal(data.out[4], data.in[4] * 3 + 1);
}

static void bad_stages_and_buffers(void **state) {
    (void)state;
    cls_pipeline pipeline = pipeline_make(2);
    cls_stage stage = CLS_STAGE_INIT;
    const char *lost = "lost";
    char longest[80];
    memset(longest, 'n', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    EXPECT(CLS_ERROR_INVALID_STATE, cls_pipeline_execute_iteration(pipeline));
    add_buffer(pipeline, "x", CLS_PIPELINE_INTERNAL);
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_pipeline_add_buffer(pipeline, "x", BYTES, NULL, CLS_PIPELINE_INTERNAL));
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_pipeline_add_buffer(pipeline, longest, BYTES, NULL, CLS_PIPELINE_INTERNAL));
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_pipeline_add_buffer(pipeline, "y", 0, NULL, CLS_PIPELINE_INTERNAL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_pipeline_add_stage(pipeline, &stage));
    stage.name = "a";
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_pipeline_add_stage(pipeline, &stage));
    stage.fn = stage_nothing;
    stage.inputs = &lost;
    stage.n_inputs = 1;
    EXPECT(CLS_ERROR_NOT_FOUND, cls_pipeline_add_stage(pipeline, &stage));
    const char *many[CLS_PIPELINE_MAX_STAGE_BUFFERS + 1];
    for (int i = 0; i <= CLS_PIPELINE_MAX_STAGE_BUFFERS; i++)
        many[i] = "x";
    stage.inputs = many;
    stage.n_inputs = CLS_PIPELINE_MAX_STAGE_BUFFERS + 1;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_pipeline_add_stage(pipeline, &stage));
    assert_non_null(strstr(cls_last_error_detail(), "more than 16"));
    stage.n_inputs--;
    OK(cls_pipeline_add_stage(pipeline, &stage));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_pipeline_add_stage(pipeline, &stage));
    OK(cls_pipeline_destroy(pipeline));
}

static void stages_and_buffers_have_limits(void **state) {
    (void)state;
    cls_pipeline pipeline = pipeline_make(2);
    const cls_stage one_more = stage_of("one more", stage_nothing);
    char name[16];
    for (int i = 0; i < CLS_PIPELINE_MAX_BUFFERS; i++) {
        snprintf(name, sizeof name, "b%d", i);
        add_buffer(pipeline, name, CLS_PIPELINE_INTERNAL);
    }
    EXPECT(CLS_ERROR_LIMIT,
           cls_pipeline_add_buffer(pipeline, "one more", BYTES, NULL, CLS_PIPELINE_INTERNAL));
    for (int i = 0; i < CLS_PIPELINE_MAX_STAGES; i++) {
        snprintf(name, sizeof name, "s%d", i);
        add(pipeline, name, NULL, NULL, stage_nothing, NULL);
    }
    EXPECT(CLS_ERROR_LIMIT, cls_pipeline_add_stage(pipeline, &one_more));
    OK(cls_pipeline_execute_iteration(pipeline));
    OK(cls_pipeline_destroy(pipeline));
}

static void a_stage_has_a_stream_of_its_context(void **state) {
    (void)state;
    cls_pipeline pipeline = pipeline_make(2);
    cls_stage stage = stage_of("elsewhere", stage_nothing);
    cls_context other;
    OK(cls_context_create(NULL, &other));
    OK(cls_stream_create(other, NULL, &stage.stream));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_pipeline_add_stage(pipeline, &stage));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_pipeline_execute_iteration(pipeline)); /* no stage */
    OK(cls_stream_destroy(stage.stream));
    OK(cls_context_destroy(other));
    OK(cls_pipeline_destroy(pipeline));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failure_ends_the_iteration_and_reset_heals),
        cmocka_unit_test(reset_waits_for_who_asks_for_the_pipeline),
        cmocka_unit_test(no_reset_in_a_host_function),
        cmocka_unit_test(one_thread_submits_at_a_time),
        cmocka_unit_test(a_reset_leaves_no_work_behind),
        cmocka_unit_test(destroy_with_work_pending),
        cmocka_unit_test(bad_stages_and_buffers),
        cmocka_unit_test(stages_and_buffers_have_limits),
        cmocka_unit_test(a_stage_has_a_stream_of_its_context),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
