/* SPDX-License-Identifier: MIT */
/* Pipelines of stages: what orders are refused, that overlapping iterations stay apart, statistics. */
#include <math.h>
#include <string.h>

#include "pipelines.h"

/* --- order --- */

static void orders_are_checked(void **state) {
    (void)state;
    cls_pipeline pipeline = pipeline_make(2);
    add_buffer(pipeline, "x", CLS_PIPELINE_INTERNAL);
    add_buffer(pipeline, "y", CLS_PIPELINE_INTERNAL);
    add(pipeline, "last", "y", NULL, stage_nothing, NULL);
    add(pipeline, "middle", "x", "y", stage_nothing, NULL);
    add(pipeline, "first", NULL, "x", stage_nothing, NULL);
    EXPECT(CLS_ERROR_INVALID_STATE, cls_pipeline_execute_iteration(pipeline));
    assert_non_null(strstr(cls_last_error_detail(), "'last' reads 'y'"));
    const char *good[] = {"first", "middle", "last"}, *wrong[] = {"middle", "first", "last"};
    const char *twice[] = {"first", "first", "last"}, *unknown[] = {"first", "middle", "lost"};
    EXPECT(CLS_ERROR_INVALID_STATE, cls_pipeline_set_order(pipeline, wrong, 3));
    assert_non_null(strstr(cls_last_error_detail(), "'middle' reads 'x'"));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_pipeline_set_order(pipeline, twice, 3));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_pipeline_set_order(pipeline, unknown, 3));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_pipeline_set_order(pipeline, good, 2));
    OK(cls_pipeline_set_order(pipeline, good, 3));
    OK(cls_pipeline_execute_iteration(pipeline));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_pipeline_set_order(pipeline, good, 3));
    EXPECT(CLS_ERROR_INVALID_STATE,
           cls_pipeline_add_buffer(pipeline, "z", BYTES, NULL, CLS_PIPELINE_INTERNAL));
    const cls_stage late = stage_of("late", stage_nothing);
    EXPECT(CLS_ERROR_INVALID_STATE, cls_pipeline_add_stage(pipeline, &late));
    OK(cls_pipeline_reset(pipeline));
    OK(cls_pipeline_set_order(pipeline, good, 3));
    OK(cls_pipeline_add_stage(pipeline, &late));
    OK(cls_pipeline_destroy(pipeline));
}

static void cycles_are_named(void **state) {
    (void)state;
    cls_pipeline pipeline = pipeline_make(2);
    const char *order[] = {"a", "b", "c"};
    add_buffer(pipeline, "x", CLS_PIPELINE_INTERNAL);
    add_buffer(pipeline, "y", CLS_PIPELINE_INTERNAL);
    add_buffer(pipeline, "z", CLS_PIPELINE_INTERNAL);
    add(pipeline, "a", "z", "x", stage_nothing, NULL);
    add(pipeline, "b", "x", "y", stage_nothing, NULL);
    add(pipeline, "c", "y", "z", stage_nothing, NULL);
    EXPECT(CLS_ERROR_DEADLOCK, cls_pipeline_set_order(pipeline, order, 3));
    const char *detail = cls_last_error_detail();
    assert_true(strstr(detail, "'a'") && strstr(detail, "'b'") && strstr(detail, "'c'"));
    EXPECT(CLS_ERROR_DEADLOCK, cls_pipeline_execute_iteration(pipeline));
    OK(cls_pipeline_destroy(pipeline));
}

static cls_status stage_set(const cls_stage_run *run, void *arg) {
    return rig_set(run->stream, run->outputs[0], 0, *(uint32_t *)arg, 1);
}

static cls_status stage_triple_and_one(const cls_stage_run *run, void *arg) {
    (void)arg;
    return rig_step(run->stream, run->outputs[0], 0, 3, 1, 1);
}

static cls_status stage_get(const cls_stage_run *run, void *arg) {
    uint32_t *out = arg;
    return cls_copy_d2h_async(&out[run->iteration], run->inputs[0], 0, 4, run->stream);
}

/* Each reads what the other one writes, but behind the first stage there is an order for them. */
static void stages_in_place_are_no_cycle(void **state) {
    (void)state;
    cls_pipeline pipeline = pipeline_make(2);
    uint32_t in = 5, out[6] = {0};
    const char *wrong[] = {"a", "set", "b", "get"}, *good[] = {"set", "b", "a", "get"};
    add_buffer(pipeline, "x", CLS_PIPELINE_INTERNAL);
    add(pipeline, "a", "x", "x", stage_triple_and_one, NULL);
    add(pipeline, "b", "x", "x", stage_triple_and_one, NULL);
    EXPECT(CLS_ERROR_DEADLOCK, cls_pipeline_execute_iteration(pipeline)); /* nobody begins */
    add(pipeline, "set", NULL, "x", stage_set, &in);
    add(pipeline, "get", "x", NULL, stage_get, out);
    EXPECT(CLS_ERROR_INVALID_STATE, cls_pipeline_set_order(pipeline, wrong, 4));
    assert_non_null(strstr(cls_last_error_detail(), "'a' reads 'x'"));
    OK(cls_pipeline_set_order(pipeline, good, 4));
    for (int i = 0; i < 6; i++)
        OK(cls_pipeline_execute_iteration(pipeline));
    OK(cls_pipeline_synchronize(pipeline));
    for (int i = 0; i < 6; i++)
        assert_int_equal(out[i], (5 * 3 + 1) * 3 + 1);
    OK(cls_pipeline_destroy(pipeline));
}

static void external_and_feedback_need_no_writer(void **state) {
    (void)state;
    cls_pipeline pipeline = pipeline_make(2);
    const char *order[] = {"a", "b"};
    add_buffer(pipeline, "given", CLS_PIPELINE_EXTERNAL);
    add_buffer(pipeline, "x", CLS_PIPELINE_INTERNAL);
    add_buffer(pipeline, "back", CLS_PIPELINE_FEEDBACK);
    cls_stage stage = CLS_STAGE_INIT;
    const char *inputs[] = {"given", "back"}, *x = "x", *back = "back";
    stage.name = "a";
    stage.inputs = inputs;
    stage.n_inputs = 2;
    stage.outputs = &x;
    stage.n_outputs = 1;
    stage.fn = stage_nothing;
    OK(cls_pipeline_add_stage(pipeline, &stage));
    add(pipeline, "b", x, back, stage_nothing, NULL);
    OK(cls_pipeline_set_order(pipeline, order, 2));
    OK(cls_pipeline_execute_iteration(pipeline));
    OK(cls_pipeline_destroy(pipeline));
}

/* --- overlapping iterations --- */

static void iterations_stay_apart(void **state) {
    (void)state;
    static struct run_data data;
    for (unsigned depth = 1; depth <= 4; depth++) {
        data.ms = 1;
        cls_pipeline pipeline = three_stages(&data, depth);
        for (unsigned i = 0; i < ROUNDS; i++) {
            data.in[i] = 10 * i + depth;
            OK(cls_pipeline_execute_iteration(pipeline));
        }
        OK(cls_pipeline_synchronize(pipeline));
        for (unsigned i = 0; i < ROUNDS; i++)
            assert_int_equal(data.out[i], data.in[i] * 3 + 1);
        OK(cls_pipeline_destroy(pipeline));
    }
}

/* x(i) = 2 x(i - 1) + 1, through the buffer of the iteration before. */
static cls_status stage_feed(const cls_stage_run *run, void *arg) {
    const struct run_data *data = arg;
    cls_status status = cls_copy_d2d_async(run->outputs[0], 0, run->inputs[0], 0, 4, run->stream);
    return status ? status : rig_step(run->stream, run->outputs[0], 0, 2, 1, data->ms);
}

static void feedback_is_of_the_last_iteration(void **state) {
    (void)state;
    struct run_data data = {.ms = 1};
    cls_pipeline pipeline = pipeline_make(3);
    cls_buffer first, last;
    const uint32_t zero = 0;
    add_buffer(pipeline, "x", CLS_PIPELINE_FEEDBACK);
    add(pipeline, "feed", "x", "x", stage_feed, &data);
    OK(cls_pipeline_get_buffer(pipeline, "x", 2, &first)); /* that of iteration -1 */
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_destroy(first));
    OK(cls_fill(first, 0, BYTES, &zero, 4, NULL));
    for (int i = 0; i < 10; i++)
        OK(cls_pipeline_execute_iteration(pipeline));
    OK(cls_pipeline_synchronize(pipeline));
    OK(cls_pipeline_get_buffer(pipeline, "x", 9, &last));
    assert_int_equal(rig_cell(last, 0), 1023);
    OK(cls_pipeline_destroy(pipeline));
}

/* x(i) = 100 + i, which the reader is told one iteration later: by a copy of its own, or before the writer. */
static cls_status stage_number(const cls_stage_run *run, void *arg) {
    (void)arg;
    return rig_set(run->stream, run->outputs[0], 0, 100 + (uint32_t)run->iteration, 1);
}

static cls_pipeline number_back(unsigned depth, cls_buffer given, uint32_t *out) {
    cls_pipeline pipeline = pipeline_make(depth);
    OK(cls_pipeline_add_buffer(pipeline, "x", BYTES, given, CLS_PIPELINE_FEEDBACK));
    add(pipeline, "write", NULL, "x", stage_number, NULL);
    add(pipeline, "read", "x", NULL, stage_get, out);
    return pipeline;
}

static void expect_the_last(cls_pipeline pipeline, const uint32_t *out) {
    for (int i = 0; i < 6; i++)
        OK(cls_pipeline_execute_iteration(pipeline));
    OK(cls_pipeline_synchronize(pipeline));
    for (uint32_t i = 1; i < 6; i++)
        assert_int_equal(out[i], 100 + i - 1);
    OK(cls_pipeline_destroy(pipeline));
}

static void feedback_of_one_copy_is_read_first(void **state) {
    (void)state;
    static const char *const read_first[] = {"read", "write"};
    uint32_t out[6];
    cls_buffer cells = rig_cells(BYTES / 4);
    for (unsigned depth = 2; depth <= 3; depth++)
        expect_the_last(number_back(depth, NULL, out), out);
    for (int given = 0; given <= 1; given++) {
        cls_pipeline pipeline = number_back(1, given ? cells : NULL, out);
        EXPECT(CLS_ERROR_INVALID_STATE, cls_pipeline_execute_iteration(pipeline));
        assert_non_null(strstr(cls_last_error_detail(), "'write' has written"));
        OK(cls_pipeline_set_order(pipeline, read_first, 2));
        expect_the_last(pipeline, out);
    }
    OK(cls_buffer_destroy(cells));
}

/* The caller's buffer is one for all iterations, and the stages are kernels on one stream of the caller's. */
static void kernels_and_a_chosen_stream(void **state) {
    (void)state;
    static const char source[] =
        "kernel void add(global const uint *in, global uint *out, uint value) {\n"
        "    out[get_global_id(0)] = in[get_global_id(0)] + value;\n}\n";
    cls_pipeline pipeline = pipeline_make(2);
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(BYTES / 4);
    cls_program program;
    cls_stage stage = CLS_STAGE_INIT;
    const char *x = "x", *y = "y";
    cls_arg value = cls_arg_u32(1);
    OK(cls_program_from_source(rig.context, source, NULL, NULL, &program));
    OK(cls_kernel_create(program, "add", &stage.kernel));
    OK(cls_pipeline_add_buffer(pipeline, x, 0, cells, CLS_PIPELINE_EXTERNAL));
    add_buffer(pipeline, y, CLS_PIPELINE_INTERNAL);
    stage.launch = cls_launch_1d(BYTES / 4);
    stage.args = &value;
    stage.n_args = 1;
    stage.stream = stream;
    stage.name = "there";
    stage.inputs = &x, stage.outputs = &y;
    stage.n_inputs = stage.n_outputs = 1;
    OK(cls_pipeline_add_stage(pipeline, &stage));
    value = cls_arg_u32(10);
    stage.name = "back";
    stage.stream = NULL;
    stage.inputs = &y, stage.outputs = &x;
    OK(cls_pipeline_add_stage(pipeline, &stage));
    for (int i = 0; i < 25; i++)
        OK(cls_pipeline_execute_iteration(pipeline));
    OK(cls_pipeline_synchronize(pipeline));
    assert_int_equal(rig_cell(cells, 7), 25 * 11);
    OK(cls_pipeline_destroy(pipeline));
    OK(cls_kernel_destroy(stage.kernel));
    OK(cls_program_destroy(program));
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
}

/* --- statistics --- */

enum { RUNS = 12 };

/* What holds of the numbers however the work happened to run. */
static void expect_consistent(const cls_pipeline_statistics *all,
                              const cls_stage_statistics stages[3]) {
    static const char *const names[] = {"upload", "work", "download"};
    int most = 0;
    assert_int_equal(all->iterations, RUNS);
    assert_int_equal(all->timed, RUNS);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(stages[i].runs, RUNS);
        assert_true(stages[i].busy_ms >= 0 && stages[i].wait_ms >= 0);
        assert_true(fabs(stages[i].average_ms * RUNS - stages[i].busy_ms) <=
                    1e-6 * stages[i].busy_ms);
        if (stages[i].busy_ms > stages[most].busy_ms)
            most = i;
    }
    assert_string_equal(all->bottleneck, names[most]);
    assert_true(stages[0].wait_ms > 0);
    assert_true(all->average_ms > 0 && all->per_second > 0);
    assert_true(fabs(all->average_ms * all->per_second - 1000) < 1);
    assert_true(all->utilisation > 0 && all->utilisation <= 1);
}

/* One set of runs, where the middle stage has `ms` of work: whether that was the longest. Iterations that overlap
 * may hold each other up in the midst of a stage; those that are `apart` only what else the machine does. */
static bool work_is_longest(double ms, bool apart) {
    static struct run_data data;
    static const char *const names[] = {"upload", "work", "download"};
    cls_pipeline_statistics all = CLS_PIPELINE_STATISTICS_INIT;
    cls_stage_statistics stages[3] = {CLS_STAGE_STATISTICS_INIT, CLS_STAGE_STATISTICS_INIT,
                                      CLS_STAGE_STATISTICS_INIT};
    data.ms = ms;
    cls_pipeline pipeline = three_stages(&data, 3);
    OK(cls_pipeline_get_statistics(pipeline, &all));
    assert_int_equal(all.timed, 0);
    assert_string_equal(all.bottleneck, "");
    for (int i = 0; i < RUNS; i++) {
        OK(cls_pipeline_execute_iteration(pipeline));
        if (apart)
            OK(cls_pipeline_synchronize(pipeline));
    }
    OK(cls_pipeline_synchronize(pipeline));
    OK(cls_pipeline_get_statistics(pipeline, &all));
    for (int i = 0; i < 3; i++)
        OK(cls_pipeline_get_stage_statistics(pipeline, names[i], &stages[i]));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_pipeline_get_stage_statistics(pipeline, "none", &stages[0]));
    expect_consistent(&all, stages);
    OK(cls_pipeline_reset(pipeline));
    OK(cls_pipeline_get_statistics(pipeline, &all));
    assert_int_equal(all.iterations, 0);
    assert_int_equal(all.timed, 0);
    OK(cls_pipeline_destroy(pipeline));
    return stages[1].busy_ms > stages[0].busy_ms && stages[1].busy_ms > stages[2].busy_ms;
}

static void statistics_add_up(void **state) {
    bool longest = false;
    (void)state;
    work_is_longest(8, false);
    for (double ms = 8; ms < 1000 && !longest; ms *= 4)
        longest = work_is_longest(ms, true);
    assert_true(longest);
}

enum { BURST = 192, BURSTS = 3 };

static cls_status stage_in_bursts(const cls_stage_run *run, void *arg) {
    return run->iteration % BURST ? CLS_SUCCESS
                                  : cls_stream_launch_host_async(run->stream, gate_hold, arg);
}

/* Of a burst the first 64 are timed; the last of all that are is the 64th of the last burst. By the timed ones alone
 * the average would be more than twice as long; the device's clock is not the host's to the last digit. */
static void untimed_iterations_count(void **state) {
    (void)state;
    cls_pipeline_statistics all = CLS_PIPELINE_STATISTICS_INIT;
    cls_pipeline pipeline = pipeline_make(2);
    struct gate gate;
    gate_init(&gate);
    add(pipeline, "only", NULL, NULL, stage_in_bursts, &gate);
    const double start = now_ms();
    for (int burst = 0; burst < BURSTS; burst++) {
        for (int i = 0; i < BURST; i++)
            OK(cls_pipeline_execute_iteration(pipeline));
        nap_ms(20);
        gate_open(&gate);
        OK(cls_pipeline_synchronize(pipeline));
    }
    const double took = now_ms() - start;
    OK(cls_pipeline_get_statistics(pipeline, &all));
    assert_int_equal(all.iterations, BURSTS * BURST);
    assert_int_equal(all.timed, BURSTS * 64);
    assert_true(all.average_ms * ((BURSTS - 1) * BURST + 64) <= 1.5 * took);
    assert_true(all.utilisation > 0 && all.utilisation <= 1);
    OK(cls_pipeline_destroy(pipeline));
    gate_destroy(&gate);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_are_checked),
        cmocka_unit_test(cycles_are_named),
        cmocka_unit_test(stages_in_place_are_no_cycle),
        cmocka_unit_test(external_and_feedback_need_no_writer),
        cmocka_unit_test(iterations_stay_apart),
        cmocka_unit_test(feedback_is_of_the_last_iteration),
        cmocka_unit_test(feedback_of_one_copy_is_read_first),
        cmocka_unit_test(kernels_and_a_chosen_stream),
        cmocka_unit_test(statistics_add_up),
        cmocka_unit_test(untimed_iterations_count),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
