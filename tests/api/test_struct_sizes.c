/* SPDX-License-Identifier: MIT */
/*
 * Structs that begin with their size, of the sizes that older and newer headers give them: what an older program
 * does not know is left at its default, and never written. tests/unit/headers.sh finds a struct without a row.
 */
#include "config.h"

#include "../support/nothing.h"
#include "../support/rig.h"

#include <stdlib.h>
#include <string.h>

#include <clstream.h>

enum { MOST = 4096, JUNK = 0xA5 };

static struct world {
    cls_stream a, b;
    cls_buffer cells;
    cls_batch batch;
    cls_value value;
    cls_timeline timeline;
    cls_task_graph graph;
    cls_coordinator coordinator;
    cls_pool pool;
    cls_mempool mempool;
    cls_pipeline pipeline;
    cls_managed_context managed;
    cls_async_coordinator async;
    cls_triple_buffer ring;
    cls_profile profile;
    cls_device_group group;
    cls_graph captured;
    cls_graph_exec exec;
} w;

static cls_status work_stage(const cls_stage_run *run, void *arg) {
    (void)arg;
    return rig_set(run->stream, w.cells, 0, 1, 0);
}

static cls_status work_task(cls_stream stream, void *arg) {
    (void)arg;
    return rig_set(stream, w.cells, 1, 1, 0);
}

/* Two writes of the same bytes that nothing orders, under a profiler: the checker keeps a finding. */
static void make_profile(void) {
    cls_profiler profiler;
    OK(cls_profiler_create(NULL, &profiler));
    OK(cls_profiler_start(profiler));
    OK(cls_fill_async(w.cells, 0, 4, "", 1, w.a));
    OK(cls_fill_async(w.cells, 0, 4, "", 1, w.b));
    OK(cls_stream_synchronize(w.a));
    OK(cls_stream_synchronize(w.b));
    OK(cls_profiler_stop(profiler));
    OK(cls_profiler_snapshot(profiler, &w.profile));
    OK(cls_profiler_destroy(profiler));
}

static int setup(void **state) {
    const float one = 1;
    cls_task task = CLS_TASK_INIT;
    cls_stage stage = CLS_STAGE_INIT;
    cls_context context;
    if (rig_setup(state))
        return -1;
    w.a = rig_stream();
    w.b = rig_stream();
    w.cells = rig_cells(64);
    task.fn = work_task;
    stage.name = "stage";
    stage.fn = work_stage;
    OK(cls_stream_begin_capture(w.a, NULL));
    OK(rig_set(w.a, w.cells, 0, 1, 0));
    OK(cls_stream_end_capture(w.a, &w.captured));
    OK(cls_graph_instantiate(w.captured, NULL, &w.exec));
    OK(cls_batch_create(rig.context, NULL, &w.batch));
    OK(cls_batch_scalar(w.batch, CLS_F32, &one, &w.value));
    OK(cls_timeline_create(NULL, &w.timeline));
    OK(cls_timeline_signal(w.timeline, 7));
    OK(cls_coordinator_create(NULL, &w.coordinator));
    OK(cls_coordinator_add_stream(w.coordinator, w.a, NULL));
    OK(cls_task_graph_create(w.coordinator, &w.graph));
    OK(cls_task_graph_add(w.graph, &task, NULL));
    OK(cls_pool_create(rig.context, NULL, &w.pool));
    OK(cls_mempool_create(rig.context, NULL, &w.mempool));
    OK(cls_pipeline_create(rig.context, NULL, &w.pipeline));
    OK(cls_pipeline_add_stage(w.pipeline, &stage));
    OK(cls_managed_context_create(NULL, 1, &w.managed));
    OK(cls_managed_context_get_context(w.managed, &context));
    OK(cls_triple_buffer_create(context, 64, NULL, &w.ring));
    OK(cls_async_coordinator_create(rig.context, NULL, &w.async));
    OK(cls_device_group_create(&rig.context, 1, NULL, &w.group));
    make_profile();
    return 0;
}

static int teardown(void **state) {
    OK(cls_profile_destroy(w.profile));
    OK(cls_device_group_destroy(w.group));
    OK(cls_async_coordinator_destroy(w.async));
    OK(cls_triple_buffer_destroy(w.ring));
    OK(cls_managed_context_destroy(w.managed));
    OK(cls_pipeline_destroy(w.pipeline));
    OK(cls_mempool_destroy(w.mempool));
    OK(cls_pool_destroy(w.pool));
    OK(cls_task_graph_destroy(w.graph));
    OK(cls_coordinator_destroy(w.coordinator));
    OK(cls_timeline_destroy(w.timeline));
    OK(cls_batch_destroy(w.batch));
    OK(cls_graph_exec_destroy(w.exec));
    OK(cls_graph_destroy(w.captured));
    OK(cls_buffer_destroy(w.cells));
    OK(cls_stream_destroy(w.a));
    OK(cls_stream_destroy(w.b));
    return rig_teardown(state);
}

/* --- what calls fill in --- */

static cls_status step(const cls_buffered_step *given, cls_step_telemetry *out) {
    static char bytes[64];
    static cls_compute compute = CLS_COMPUTE_INIT;
    cls_buffered_step own = CLS_BUFFERED_STEP_INIT;
    cls_async_coordinator coordinator;
    compute.fn = compute_nothing;
    own.slots = w.ring;
    own.in = own.out = bytes;
    own.in_bytes = own.out_bytes = sizeof bytes;
    own.compute = &compute;
    cls_status status =
        cls_managed_context_triple_buffered_step(w.managed, given ? given : &own, out);
    OK(cls_managed_context_get_coordinator(w.managed, &coordinator));
    OK(cls_async_coordinator_synchronize_all(coordinator));
    return status;
}

static cls_status tell_gemm(void *out) {
    const cls_matrix m = cls_matrix_of(w.cells, CLS_F32, 1, 1),
                     c = cls_matrix_at(w.cells, CLS_F32, 1, 1, 1);
    return cls_gemm_explain(m, m, c, NULL, w.a, out);
}

/* Without VkFFT there is no plan to ask. */
#ifdef HAVE_VKFFT
#define FFT_RESULT(row) row(cls_fft_plan_info, tell_plan(out))

static cls_status tell_plan(void *out) {
    cls_fft_config config = CLS_FFT_CONFIG_INIT;
    cls_fft_plan plan;
    config.lengths[0] = 8;
    OK(cls_fft_plan_create(rig.context, &config, &plan));
    const cls_status status = cls_fft_plan_get_info(plan, out);
    OK(cls_fft_plan_destroy(plan));
    return status;
}
#else
#define FFT_RESULT(row)
#endif

#define POINTER_RESULT(row) row(cls_pointer_info, cls_pointer_get_info(&w, out))

#define RESULTS(row)                                                                               \
    row(cls_device_info, cls_device_get_info(0, out)) row(                                         \
        cls_device_group_statistics,                                                               \
        cls_device_group_get_statistics(                                                           \
            w.group, out)) row(cls_share_info,                                                     \
                               cls_context_can_share(NULL, NULL,                                   \
                                                     out)) row(cls_kernel_info,                    \
                                                               cls_kernel_get_info(rig.step, out)) \
        row(cls_kernel_arg_info, cls_kernel_get_arg_info(rig.step, 0, out)) row(                   \
            cls_buffer_info, cls_buffer_get_info(w.cells, out)) row(cls_stream_info,               \
                                                                    cls_stream_get_info(w.a, out)) \
            row(cls_stream_counters, cls_stream_get_counters(w.a, out)) row(                       \
                cls_stream_memory,                                                                 \
                cls_stream_get_memory(w.a, out)) row(cls_graph_memory,                             \
                                                     cls_context_get_graph_memory(NULL, out))      \
                row(cls_mempool_config, cls_mempool_get_config(w.mempool, out)) row(               \
                    cls_gemm_explanation,                                                          \
                    tell_gemm(out)) row(cls_mempool_statistics,                                    \
                                        cls_mempool_get_statistics(w.mempool, out))                \
                    row(cls_timeline_info, cls_timeline_get_info(w.timeline, out)) row(            \
                        cls_task_info, cls_task_graph_get_info(w.graph, 0, out))                   \
                        row(cls_pool_info, cls_pool_get_info(w.pool, out)) row(                    \
                            cls_pool_advice, cls_pool_optimize(w.pool, out))                       \
                            row(cls_value_info, cls_batch_get_value(w.batch, w.value, out)) row(   \
                                cls_batch_statistics,                                              \
                                cls_batch_get_statistics(                                          \
                                    w.batch, out)) row(cls_graph_node_info,                        \
                                                       cls_graph_get_node(w.captured, 0, out))     \
                                row(cls_graph_statistics,                                          \
                                    cls_graph_get_statistics(                                      \
                                        w.exec,                                                    \
                                        out)) row(cls_graph_difference,                            \
                                                  cls_graph_compare(w.exec, w.captured, out))      \
                                    row(cls_capture_info, cls_stream_get_capture(w.a, out)) row(   \
                                        cls_pipeline_statistics,                                   \
                                        cls_pipeline_get_statistics(                               \
                                            w.pipeline,                                            \
                                            out)) row(cls_stage_statistics,                        \
                                                      cls_pipeline_get_stage_statistics(           \
                                                          w.pipeline, "stage", out))               \
                                        row(cls_check_counts, cls_check_get_counts(out)) row(      \
                                            cls_check_finding, cls_check_get_finding(0, out))      \
                                            row(cls_profile_record,                                \
                                                cls_profile_get_record(w.profile, 0, out))         \
                                                row(cls_profile_summary,                           \
                                                    cls_profile_get_summary(w.profile, out))       \
                                                    row(cls_profile_stream,                        \
                                                        cls_profile_get_stream(w.profile, 0, out)) \
                                                        row(cls_profile_operation,                 \
                                                            cls_profile_get_operation(             \
                                                                w.profile, CLS_PROFILE_ALL, 0,     \
                                                                out))                              \
                                                            row(cls_profile_overlap,               \
                                                                cls_profile_get_stream_overlap(    \
                                                                    w.profile, 0, 1, out))         \
                                                                row(cls_step_telemetry,            \
                                                                    step(NULL, out))               \
                                                                    POINTER_RESULT(row)            \
                                                                        FFT_RESULT(row)

#define GETTER(type, call) \
    static cls_status get_##type(void *out) { return call; }
RESULTS(GETTER)

static const struct result {
    const char *type;
    size_t size;
    cls_status (*get)(void *out);
} results[] = {
#define RESULT(type, call) {#type, sizeof(type), get_##type},
    RESULTS(RESULT)};

/* What a compiler leaves between two fields, for alignment, has no value. */
static const struct gap {
    const char *type;
    size_t from, to;
} gaps[] = {
#define GAP(type, field, next) \
    { #type, offsetof(type, field) + sizeof(((type *)0)->field), offsetof(type, next) }
    GAP(cls_device_info, driver_version, global_memory),
    GAP(cls_share_info, kind, gb_per_s),
    GAP(cls_value_info, dtype, count),
    GAP(cls_graph_node_info, label, bytes),
    GAP(cls_graph_difference, kind, node),
    GAP(cls_timeline_info, status, signaller),
    GAP(cls_check_counts, on, commands),
    GAP(cls_profile_record, hold, held_ns),
    GAP(cls_profile_record, small_groups, failed_by),
    GAP(cls_profile_operation, kind, count),
};

static void clear_gaps(const char *type, unsigned char *bytes) {
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++)
        if (!strcmp(gaps[i].type, type))
            memset(bytes + gaps[i].from, 0, gaps[i].to - gaps[i].from);
}

/* Whose fields say something of the call itself. */
static bool differs_each_time(const struct result *result) {
    return result->get == get_cls_step_telemetry;
}

static cls_status get_sized(const struct result *result, size_t size, unsigned char *out) {
    memset(out, JUNK, MOST);
    memcpy(out, &size, sizeof size);
    return result->get(out);
}

static bool is_junk(const unsigned char *bytes, size_t from) {
    for (size_t i = from; i < MOST; i++)
        if (bytes[i] != JUNK)
            return false;
    return true;
}

static bool is_alike(const struct result *result, size_t size, unsigned char *part,
                     unsigned char *whole) {
    clear_gaps(result->type, part);
    clear_gaps(result->type, whole);
    return !memcmp(part + sizeof size, whole + sizeof size, size - sizeof size);
}

static void test_results_are_written_as_far_as_the_struct_reaches(void **state) {
    static _Alignas(16) unsigned char whole[MOST], part[MOST];
    (void)state;
    for (size_t r = 0; r < sizeof results / sizeof *results; r++) {
        const struct result *result = &results[r];
        OK(get_sized(result, result->size, whole));
        assert_true(is_junk(whole, result->size));
        for (size_t size = sizeof size; size <= result->size; size += sizeof size) {
            size_t said;
            OK(get_sized(result, size, part));
            memcpy(&said, part, sizeof said);
            if (said != size || !is_junk(part, size) ||
                (!differs_each_time(result) && !is_alike(result, size, part, whole)))
                fail_msg("a %s of %zu bytes", result->type, size);
        }
    }
}

/* --- what calls take --- */

#define MAKE(create, destroy, type, ...)            \
    type made;                                      \
    cls_status status = create(__VA_ARGS__, &made); \
    return status ? status : destroy(made)

static cls_status take_context(const void *in) {
    MAKE(cls_context_create, cls_context_destroy, cls_context, in);
}
static cls_status take_stream(const void *in) {
    MAKE(cls_stream_create, cls_stream_destroy, cls_stream, rig.context, in);
}
static cls_status take_event(const void *in) {
    MAKE(cls_event_create, cls_event_destroy, cls_event, rig.context, in);
}
static cls_status take_timeline(const void *in) {
    MAKE(cls_timeline_create, cls_timeline_destroy, cls_timeline, in);
}
static cls_status take_coordinator(const void *in) {
    MAKE(cls_coordinator_create, cls_coordinator_destroy, cls_coordinator, in);
}
static cls_status take_pool(const void *in) {
    MAKE(cls_pool_create, cls_pool_destroy, cls_pool, rig.context, in);
}
static cls_status take_mempool(const void *in) {
    MAKE(cls_mempool_create, cls_mempool_destroy, cls_mempool, rig.context, in);
}
static cls_status take_batch(const void *in) {
    MAKE(cls_batch_create, cls_batch_destroy, cls_batch, rig.context, in);
}
static cls_status take_graph(const void *in) {
    MAKE(cls_graph_instantiate, cls_graph_exec_destroy, cls_graph_exec, w.captured, in);
}
static cls_status take_ring(const void *in) {
    MAKE(cls_triple_buffer_create, cls_triple_buffer_destroy, cls_triple_buffer, rig.context, 64,
         in);
}
static cls_status take_async(const void *in) {
    MAKE(cls_async_coordinator_create, cls_async_coordinator_destroy, cls_async_coordinator,
         rig.context, in);
}
static cls_status take_prefetcher(const void *in) {
    MAKE(cls_prefetcher_create, cls_prefetcher_destroy, cls_prefetcher, rig.context, 64,
         load_nothing, NULL, in);
}
static cls_status take_pipeline(const void *in) {
    MAKE(cls_pipeline_create, cls_pipeline_destroy, cls_pipeline, rig.context, in);
}
static cls_status take_group(const void *in) {
    MAKE(cls_device_group_create, cls_device_group_destroy, cls_device_group, &rig.context, 1, in);
}
static cls_status take_profiler(const void *in) {
    MAKE(cls_profiler_create, cls_profiler_destroy, cls_profiler, in);
}

static cls_status take_request(const void *in) {
    cls_stream got;
    cls_status status = cls_pool_get_with(w.pool, in, &got);
    return status ? status : cls_pool_release(w.pool, got);
}

static cls_status take_scan(const void *in) {
    const cls_array elements = cls_array_of(w.cells, CLS_I32, 4);
    return cls_scan(CLS_SCAN_SUM, elements, elements, in, w.a);
}

static cls_status take_gemm(const void *in) {
    const cls_matrix m = {w.cells, CLS_F32, 0, 2, 2, 2, 0};
    cls_matrix out = m;
    out.offset = 8;
    return cls_gemm(m, m, out, in, w.a);
}

static cls_status take_sort(const void *in) {
    const cls_array keys = cls_array_of(w.cells, CLS_F32, 4);
    return cls_sort(keys, keys, in, w.a);
}

static cls_status take_optimizer(const void *in) {
    const cls_array parameter = cls_array_of(w.cells, CLS_F32, 4);
    cls_optimizer made;
    const cls_status status = cls_optimizer_create(rig.context, in, &parameter, 1, &made);
    if (status)
        return status == CLS_ERROR_UNSUPPORTED && !rig_has_capability("rounding") ? CLS_SUCCESS
                                                                                  : status;
    return cls_optimizer_destroy(made);
}

static cls_status take_tuning(const void *in) {
    const cls_status status = cls_blas_set_tuning(0, CLS_F32, in, 0);
    return status == CLS_ERROR_UNSUPPORTED && !cls_blas_available() ? CLS_SUCCESS : status;
}

static cls_status take_transform(const void *in) {
    cls_fft_plan made;
    const cls_status status = cls_fft_plan_create(rig.context, in, &made);
    if (status)
        return status == CLS_ERROR_UNSUPPORTED && !cls_fft_available() ? CLS_SUCCESS : status;
    return cls_fft_plan_destroy(made);
}

static cls_status take_task(const void *in) { return cls_task_graph_add(w.graph, in, NULL); }

static cls_status take_stage(const void *in) {
    cls_pipeline made;
    OK(cls_pipeline_create(rig.context, NULL, &made));
    cls_status status = cls_pipeline_add_stage(made, in);
    OK(cls_pipeline_destroy(made));
    return status;
}

static cls_status take_compute(const void *in) {
    cls_status status = cls_async_coordinator_queue_compute(w.async, in, NULL, 0, NULL);
    OK(cls_async_coordinator_synchronize_all(w.async));
    return status;
}

static cls_status take_step(const void *in) {
    cls_step_telemetry telemetry = CLS_STEP_TELEMETRY_INIT;
    return step(in, &telemetry);
}

static const cls_task good_task = {
    sizeof good_task, NULL, CLS_ANY_STREAM, work_task, NULL, NULL, 0};
static const cls_gemm_config good_gemm = CLS_GEMM_CONFIG_INIT; /* `batches` may not be 0 */
static const cls_optimizer_config good_optimizer = CLS_OPTIMIZER_CONFIG_INIT; /* 0 is no kind */
static const cls_fft_config good_transform = {.size = sizeof good_transform,
                                              .dtype = CLS_F32,
                                              .directions = CLS_FFT_BOTH,
                                              .dims = 1,
                                              .lengths = {8, 1, 1},
                                              .batches = 1};
static const cls_stage good_stage = {.size = sizeof good_stage, .name = "s", .fn = work_stage};
static const cls_compute good_compute = {.size = sizeof good_compute, .fn = compute_nothing};

/* `least`: up to the last field without which the call has nothing to do. */
#define OPTIONS(type, take) \
    { #type, sizeof(type), sizeof(size_t), NULL, take }
#define NEEDS(type, last, good, take) \
    { #type, sizeof(type), offsetof(type, last) + sizeof((type *)0)->last, good, take }

static const struct options {
    const char *type;
    size_t size, least;
    const void *good;
    cls_status (*take)(const void *in);
} options[] = {
    OPTIONS(cls_context_config, take_context),
    OPTIONS(cls_stream_config, take_stream),
    OPTIONS(cls_event_config, take_event),
    OPTIONS(cls_timeline_config, take_timeline),
    OPTIONS(cls_coordinator_config, take_coordinator),
    OPTIONS(cls_pool_config, take_pool),
    OPTIONS(cls_pool_request, take_request),
    OPTIONS(cls_mempool_config, take_mempool),
    OPTIONS(cls_batch_config, take_batch),
    OPTIONS(cls_graph_config, take_graph),
    {"cls_gemm_config", sizeof(cls_gemm_config), sizeof(size_t), &good_gemm, take_gemm},
    OPTIONS(cls_sort_config, take_sort),
    OPTIONS(cls_blas_tuning, take_tuning),
    OPTIONS(cls_scan_config, take_scan),
    {"cls_optimizer_config", sizeof(cls_optimizer_config), sizeof(size_t), &good_optimizer,
     take_optimizer},
    NEEDS(cls_fft_config, batches, &good_transform, take_transform),
    OPTIONS(cls_triple_buffer_config, take_ring),
    OPTIONS(cls_async_coordinator_config, take_async),
    OPTIONS(cls_prefetcher_config, take_prefetcher),
    OPTIONS(cls_pipeline_config, take_pipeline),
    OPTIONS(cls_device_group_config, take_group),
    OPTIONS(cls_profiler_config, take_profiler),
    NEEDS(cls_task, fn, &good_task, take_task),
    NEEDS(cls_stage, fn, &good_stage, take_stage),
    NEEDS(cls_compute, fn, &good_compute, take_compute),
    NEEDS(cls_buffered_step, compute, NULL, take_step),
};

/* The struct in its first `size` bytes, and behind them what no call may read. */
static cls_status take_sized(const struct options *row, size_t size) {
    static _Alignas(16) unsigned char in[MOST];
    static char bytes[64];
    const cls_buffered_step good_step = {
        sizeof good_step, w.ring, bytes, sizeof bytes, bytes, sizeof bytes, &good_compute, 0, 0};
    const void *good = row->take == take_step ? &good_step : row->good;
    memset(in, 0, size);
    if (good)
        memcpy(in, good, size < row->size ? size : row->size);
    memset(in + size, JUNK, MOST - size);
    memcpy(in, &size, sizeof size);
    return row->take(in);
}

static void test_options_that_are_missing_are_the_defaults(void **state) {
    (void)state;
    for (size_t r = 0; r < sizeof options / sizeof *options; r++)
        for (size_t size = options[r].least; size < options[r].size; size += sizeof size)
            if (take_sized(&options[r], size))
                fail_msg("a %s of %zu bytes: %s", options[r].type, size, cls_last_error_detail());
}

static void test_a_shorter_stream_config_means_what_it_says(void **state) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream_info info = CLS_STREAM_INFO_INIT;
    cls_stream stream;
    (void)state;
    config.size = offsetof(cls_stream_config, priority);
    config.name = "short";
    config.wait = (cls_wait_policy)77;
    config.max_in_flight = 3;
    OK(cls_stream_create(rig.context, &config, &stream));
    OK(cls_stream_get_info(stream, &info));
    assert_string_equal(info.name, "short");
    assert_int_equal(info.wait, CLS_WAIT_AUTO);
    assert_int_equal(info.max_in_flight, 1024);
    OK(cls_stream_destroy(stream));
}

/* Defaults that are not 0. */
static void test_missing_options_are_not_zero_but_the_default(void **state) {
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
    (void)state;
    config.size = sizeof config.size;
    config.release_threshold = 5;
    config.reuse = 0;
    OK(cls_mempool_set_config(w.mempool, &config));
    config.size = sizeof config;
    OK(cls_mempool_get_config(w.mempool, &config));
    assert_true(config.release_threshold == SIZE_MAX);
    assert_int_equal(config.reuse, CLS_REUSE_FOLLOW_DONE);
}

/* --- what is no size --- */

static void expect_refused(const char *type, size_t size, cls_status got) {
    if (got != CLS_ERROR_INVALID_VALUE || !strstr(cls_last_error_detail(), type))
        fail_msg("a %s of %zu bytes is %s: %s", type, size, cls_status_string(got),
                 cls_last_error_detail());
}

static void test_other_sizes_are_refused(void **state) {
    static _Alignas(16) unsigned char out[MOST];
    (void)state;
    for (size_t r = 0; r < sizeof results / sizeof *results; r++) {
        const size_t full = results[r].size;
        const size_t sizes[] = {0, 1, sizeof full - 1, full - 1, full + 1, full + sizeof full};
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            expect_refused(results[r].type, sizes[i], get_sized(&results[r], sizes[i], out));
    }
    for (size_t r = 0; r < sizeof options / sizeof *options; r++) {
        const size_t full = options[r].size;
        expect_refused(options[r].type, full + 8, take_sized(&options[r], full + sizeof full));
        expect_refused(options[r].type, full + 1, take_sized(&options[r], full + 1));
    }
}

static void test_a_newer_header_is_named(void **state) {
    cls_stream_info info = CLS_STREAM_INFO_INIT;
    (void)state;
    info.size += sizeof info.size;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_get_info(w.a, &info));
    assert_non_null(strstr(cls_last_error_detail(), "newer header"));
    assert_non_null(strstr(cls_last_error_detail(), cls_version_string()));
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_are_written_as_far_as_the_struct_reaches),
        cmocka_unit_test(test_options_that_are_missing_are_the_defaults),
        cmocka_unit_test(test_a_shorter_stream_config_means_what_it_says),
        cmocka_unit_test(test_missing_options_are_not_zero_but_the_default),
        cmocka_unit_test(test_other_sizes_are_refused),
        cmocka_unit_test(test_a_newer_header_is_named),
    };
    setenv("CLSTREAM_CHECK", "race", 1);
    return cmocka_run_group_tests(tests, setup, teardown);
}
