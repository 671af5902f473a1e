/* SPDX-License-Identifier: MIT */
/* What pipelines tell of their times, by stages whose work is a nap: of which instant, and of whom. */
#include <math.h>

#include <clstream/pipeline.h>

#include "../support/rig.h"

static cls_pipeline pipeline_make(unsigned depth) {
    cls_pipeline_config config = CLS_PIPELINE_CONFIG_INIT;
    cls_pipeline pipeline;
    config.depth = depth;
    OK(cls_pipeline_create(rig.context, &config, &pipeline));
    OK(cls_pipeline_add_buffer(pipeline, "x", 64, NULL, CLS_PIPELINE_INTERNAL));
    return pipeline;
}

static void nap(void *ms) { nap_ms(*(const unsigned *)ms); }

static cls_status stage_naps(const cls_stage_run *run, void *ms) {
    return cls_stream_launch_host_async(run->stream, nap, ms);
}

/* A stage on `stream`, or on its own; `in` and `out` may be NULL. */
static void add(cls_pipeline pipeline, const char *name, const char *in, const char *out,
                cls_stream stream, cls_stage_fn fn, void *arg) {
    cls_stage stage = CLS_STAGE_INIT;
    stage.name = name;
    stage.inputs = &in;
    stage.n_inputs = in != NULL;
    stage.outputs = &out;
    stage.n_outputs = out != NULL;
    stage.stream = stream;
    stage.fn = fn;
    stage.arg = arg;
    OK(cls_pipeline_add_stage(pipeline, &stage));
}

static cls_pipeline_statistics of_all(cls_pipeline pipeline) {
    cls_pipeline_statistics all = CLS_PIPELINE_STATISTICS_INIT;
    OK(cls_pipeline_get_statistics(pipeline, &all));
    return all;
}

static cls_stage_statistics of_stage(cls_pipeline pipeline, const char *name) {
    cls_stage_statistics one = CLS_STAGE_STATISTICS_INIT;
    OK(cls_pipeline_get_stage_statistics(pipeline, name, &one));
    return one;
}

/* Of stages a and b that were never at work at once, in `n` iterations that were all timed. */
static void expect_share_of_both(cls_pipeline pipeline, unsigned n) {
    const cls_pipeline_statistics all = of_all(pipeline);
    const double busy = of_stage(pipeline, "a").busy_ms + of_stage(pipeline, "b").busy_ms;
    assert_int_equal(all.timed, n);
    assert_true(fabs(all.utilisation * all.average_ms * n - busy) < 1e-3 * busy);
}

/* The device's clock is not the host's to the last digit. */
enum { PAUSE = 40, PAUSE_SEEN = 35 };

static void time_begins_with_whichever_stage_is_first(void **state) {
    (void)state;
    unsigned ms = 10;
    struct gate gate;
    cls_stream late = rig_stream(), early = rig_stream();
    cls_pipeline pipeline = pipeline_make(2);
    gate_init(&gate);
    add(pipeline, "a", NULL, NULL, late, stage_naps, &ms);
    add(pipeline, "b", NULL, NULL, early, stage_naps, &ms);
    OK(cls_stream_launch_host_async(late, gate_hold, &gate));
    OK(cls_pipeline_execute_iteration(pipeline));
    OK(cls_stream_synchronize(early));
    nap_ms(PAUSE);
    gate_open(&gate);
    OK(cls_pipeline_synchronize(pipeline));
    assert_true(of_all(pipeline).average_ms >= PAUSE_SEEN + of_stage(pipeline, "b").busy_ms);
    expect_share_of_both(pipeline, 1);
    OK(cls_pipeline_destroy(pipeline));
    OK(cls_stream_destroy(late));
    OK(cls_stream_destroy(early));
    gate_destroy(&gate);
}

static void a_stage_waits_only_between_its_runs(void **state) {
    (void)state;
    unsigned ms = PAUSE;
    cls_pipeline pipeline = pipeline_make(2);
    add(pipeline, "a", NULL, "x", NULL, stage_naps, &ms);
    add(pipeline, "b", "x", NULL, NULL, stage_naps, &ms);
    OK(cls_pipeline_execute_iteration(pipeline));
    OK(cls_pipeline_synchronize(pipeline));
    assert_int_equal(of_stage(pipeline, "b").runs, 1);
    assert_true(of_stage(pipeline, "a").wait_ms == 0 && of_stage(pipeline, "b").wait_ms == 0);
    OK(cls_pipeline_execute_iteration(pipeline));
    OK(cls_pipeline_synchronize(pipeline));
    assert_true(of_stage(pipeline, "a").wait_ms >= PAUSE_SEEN);
    assert_true(of_stage(pipeline, "b").wait_ms >= PAUSE_SEEN);
    OK(cls_pipeline_destroy(pipeline));
}

/* A stage whose function refuses iteration 1, after it has submitted its work when that is not 0 ms. */
static cls_status stage_refuses(const cls_stage_run *run, void *ms) {
    const cls_status status = *(unsigned *)ms ? stage_naps(run, ms) : CLS_SUCCESS;
    return !status && run->iteration == 1 ? CLS_ERROR_IO : status;
}

static void execute_and_have_one_refused(cls_pipeline pipeline) {
    OK(cls_pipeline_execute_iteration(pipeline));
    EXPECT(CLS_ERROR_IO, cls_pipeline_execute_iteration(pipeline));
    OK(cls_pipeline_execute_iteration(pipeline));
    OK(cls_pipeline_synchronize(pipeline));
}

static void refused_iterations_count_and_their_work_is_no_wait(void **state) {
    (void)state;
    unsigned ms = PAUSE, none = 0;
    cls_pipeline pipeline = pipeline_make(2);
    add(pipeline, "a", NULL, "x", NULL, stage_naps, &ms);
    add(pipeline, "b", "x", NULL, NULL, stage_refuses, &none);
    const double start = now_ms();
    execute_and_have_one_refused(pipeline);
    const double took = now_ms() - start;
    const cls_pipeline_statistics all = of_all(pipeline);
    assert_int_equal(all.iterations, 3);
    assert_int_equal(all.timed, 2);
    assert_true(all.average_ms >= PAUSE_SEEN && all.average_ms * 3 <= 1.2 * took);
    assert_true(of_stage(pipeline, "a").wait_ms == 0 && of_stage(pipeline, "b").wait_ms == 0);
    assert_true(all.utilisation > 0.8);
    OK(cls_pipeline_destroy(pipeline));
}

/* Stage b, the slower one, is at work for the refused iteration too, behind the start of the next one's a. */
static void work_of_untimed_iterations_is_not_told_as_idle(void **state) {
    (void)state;
    unsigned shorter = 10, longer = 100;
    cls_pipeline pipeline = pipeline_make(4);
    add(pipeline, "a", NULL, "x", NULL, stage_naps, &shorter);
    add(pipeline, "b", "x", NULL, NULL, stage_refuses, &longer);
    execute_and_have_one_refused(pipeline);
    assert_int_equal(of_all(pipeline).timed, 2);
    assert_true(of_stage(pipeline, "b").wait_ms == 0);
    assert_true(of_all(pipeline).utilisation > 0.85);
    OK(cls_pipeline_destroy(pipeline));
}

/* All runs of stage a are over before the first of b, behind which b is held again. Its times are taken there: when
 * the statistics are asked for, or when an iteration comes for which there is no room else. */
static void times_are_taken_while_b_is_held(unsigned n, bool asked) {
    unsigned ms = 2;
    struct gate first, rest;
    cls_stream ahead = rig_stream(), held = rig_stream();
    cls_event behind = rig_event();
    cls_pipeline pipeline = pipeline_make(2);
    gate_init(&first);
    gate_init(&rest);
    add(pipeline, "a", NULL, NULL, ahead, stage_naps, &ms);
    add(pipeline, "b", NULL, NULL, held, stage_naps, &ms);
    OK(cls_stream_launch_host_async(held, gate_hold, &first));
    OK(cls_pipeline_execute_iteration(pipeline));
    OK(cls_event_record(behind, held));
    OK(cls_stream_launch_host_async(held, gate_hold, &rest));
    for (unsigned i = 1; i < n; i++)
        OK(cls_pipeline_execute_iteration(pipeline));
    OK(cls_stream_synchronize(ahead));
    gate_open(&first);
    OK(cls_event_synchronize(behind));
    if (asked)
        assert_int_equal(of_all(pipeline).timed, 1);
    else
        OK(cls_pipeline_execute_iteration(pipeline));
    OK(cls_stream_synchronize(ahead));
    gate_open(&rest);
    OK(cls_pipeline_synchronize(pipeline));
    expect_share_of_both(pipeline, asked ? n : n + 1);
    OK(cls_pipeline_destroy(pipeline));
    OK(cls_event_destroy(behind));
    OK(cls_stream_destroy(ahead));
    OK(cls_stream_destroy(held));
    gate_destroy(&first);
    gate_destroy(&rest);
}

static void who_asks_early_is_told_the_same_at_the_end(void **state) {
    (void)state;
    times_are_taken_while_b_is_held(8, true);
}

static void who_runs_on_is_told_the_same_at_the_end(void **state) {
    (void)state;
    times_are_taken_while_b_is_held(64, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_begins_with_whichever_stage_is_first),
        cmocka_unit_test(a_stage_waits_only_between_its_runs),
        cmocka_unit_test(refused_iterations_count_and_their_work_is_no_wait),
        cmocka_unit_test(work_of_untimed_iterations_is_not_told_as_idle),
        cmocka_unit_test(who_asks_early_is_told_the_same_at_the_end),
        cmocka_unit_test(who_runs_on_is_told_the_same_at_the_end),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
