/* SPDX-License-Identifier: MIT */
/* Profilers: what is recorded of commands, what is reported of them, and bad input. */
#include "profilers.h"

#include <string.h>

#include <clstream/mempool.h>

/* Timestamps of one device may be coarse. */
enum { COARSE_NS = 2000 };

static void check_monotonic(const cls_profile_record *record) {
    assert_true(record->queued_ns > 0);
    assert_true(record->queued_ns <= record->submitted_ns);
    assert_true(record->submitted_ns <= record->start_ns);
    assert_true(record->start_ns <= record->end_ns);
}

static void test_records_what_a_stream_did(void **state) {
    uint32_t words[1024] = {0};
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1024);
    uint64_t before = cls_profiler_now();
    cls_profiler profiler = started();
    (void)state;
    OK(cls_copy_h2d_async(cells, 0, words, sizeof words, stream));
    for (unsigned i = 0; i < 5; i++)
        OK(rig_step(stream, cells, 0, 1, 1, 0.2));
    OK(cls_copy_d2h_async(words, cells, 0, sizeof words, stream));
    OK(cls_stream_synchronize(stream));
    OK(cls_profiler_stop(profiler));
    cls_profile profile = snapshot(profiler);
    cls_profile_stream report = stream_of(profile, stream);
    assert_int_equal(words[0], 5);
    assert_int_equal(summary_of(profile).records, 7);
    assert_int_equal(report.commands, 7);
    assert_int_equal(report.kinds[CLS_COMMAND_KERNEL].count, 5);
    assert_int_equal(report.kinds[CLS_COMMAND_COPY_H2D].bytes, sizeof words);
    assert_int_equal(report.kinds[CLS_COMMAND_COPY_D2H].bytes, sizeof words);
    assert_true(report.memory_peak >= sizeof words);
    assert_true(report.busy_ns > 0 && report.latency_ns > 0);
    for (unsigned i = 0; i < 7; i++) {
        cls_profile_record record = command_of(profile, stream, i);
        check_monotonic(&record);
        assert_true(record.queued_ns >= before && record.end_ns <= cls_profiler_now());
        assert_int_equal(record.status, CLS_SUCCESS);
        if (!rig_has_capability("timestamps_sane"))
            assert_true(record.clock != CLS_CLOCK_DEVICE);
        assert_string_equal(record.label, i == 0 ? "copy_h2d" : i == 6 ? "copy_d2h" : "advance");
    }
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
    end(profile, profiler);
}

/* `later` comes after `earlier` on the device: by its own clock where it has one. */
static void check_order(const cls_profile_record *earlier, const cls_profile_record *later) {
    bool device = earlier->clock == CLS_CLOCK_DEVICE && later->clock == CLS_CLOCK_DEVICE;
    if (device)
        assert_true(earlier->device_ns[3] <= later->device_ns[2] + COARSE_NS);
    else
        assert_true(earlier->queued_ns <= later->queued_ns);
}

static void test_dependent_commands_come_in_order(void **state) {
    cls_stream first = rig_stream(), second = rig_stream();
    cls_buffer cells = rig_cells(4);
    cls_event event = rig_event();
    struct gate gate;
    cls_profiler profiler = started();
    (void)state;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(first, gate_hold, &gate));
    OK(rig_set(first, cells, 0, 3, 3));
    OK(cls_event_record(event, first));
    OK(cls_stream_wait_event(second, event));
    OK(rig_step(second, cells, 0, 5, 1, 1));
    OK(rig_step(second, cells, 0, 2, 0, 1));
    gate_open(&gate);
    OK(cls_stream_synchronize(second));
    cls_profile profile = snapshot(profiler);
    cls_profile_record producer = command_of(profile, first, 1);
    cls_profile_record consumer = command_of(profile, second, 0);
    cls_profile_record next = command_of(profile, second, 1);
    assert_int_equal(rig_cell(cells, 0), 32);
    check_order(&producer, &consumer);
    check_order(&consumer, &next);
    if (!rig_runs_inline()) {
        assert_int_equal(consumer.n_dependencies, 1);
        assert_int_equal(consumer.dependencies[0].stream, producer.stream);
        assert_int_equal(consumer.dependencies[0].position, producer.position);
    }
    assert_int_equal(next.n_dependencies, 0);
    gate_destroy(&gate);
    OK(cls_event_destroy(event));
    OK(cls_stream_destroy(first));
    OK(cls_stream_destroy(second));
    OK(cls_buffer_destroy(cells));
    end(profile, profiler);
}

static void nap_5(void *arg) {
    (void)arg;
    nap_ms(5);
}

static void on_done(cls_stream stream, cls_status status, void *arg) {
    (void)stream;
    (void)status;
    (void)arg;
}

static void test_host_functions_are_timed_where_they_run(void **state) {
    struct gate gate;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    cls_profiler profiler = started();
    (void)state;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    gate_await(&gate);
    OK(cls_stream_launch_host_async(stream, nap_5, NULL));
    OK(rig_set(stream, cells, 0, 1, 0));
    OK(cls_stream_add_callback(stream, on_done, NULL));
    uint64_t opened = cls_profiler_now();
    gate_open(&gate);
    OK(cls_stream_synchronize(stream));
    cls_profile profile = snapshot(profiler);
    cls_profile_record host = command_of(profile, stream, 1);
    cls_profile_record kernel = command_of(profile, stream, 2);
    cls_profile_record callback = command_of(profile, stream, 3);
    assert_int_equal(host.kind, CLS_COMMAND_HOST);
    assert_int_equal(host.clock, CLS_CLOCK_HOST);
    assert_true(host.end_ns - host.start_ns >= 5000000);
    assert_true(host.queued_ns <= opened && host.start_ns >= opened);
    assert_int_equal(callback.kind, CLS_COMMAND_CALLBACK);
    check_monotonic(&host);
    check_monotonic(&kernel);
    check_monotonic(&callback);
    /* The kernel was queued behind the gate, and with the driver only after the host function. */
    assert_true(kernel.queued_ns <= opened && kernel.submitted_ns >= host.end_ns);
    assert_true(callback.start_ns >= kernel.submitted_ns);
    gate_destroy(&gate);
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
    end(profile, profiler);
}

static void test_failed_commands_say_so(void **state) {
    cls_stream stream = rig_stream(), other = rig_stream();
    struct gate gate;
    cls_buffer cells = rig_cells(1);
    cls_profiler profiler = started();
    (void)state;
    gate_init(&gate);
    OK(rig_set(stream, cells, 0, 1, 0));
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(rig_fail(stream, "the bad one", CL_INVALID_VALUE));
    OK(rig_set(stream, cells, 0, 2, 0));
    gate_open(&gate);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    OK(rig_set(other, cells, 0, 3, 0));
    OK(cls_stream_synchronize(other));
    cls_profile profile = snapshot(profiler);
    assert_int_equal(command_of(profile, stream, 0).status, CLS_SUCCESS);
    assert_int_equal(command_of(profile, stream, 2).status, CLS_ERROR_COMMAND_FAILED);
    assert_string_equal(command_of(profile, stream, 2).label, "the bad one");
    assert_int_equal(command_of(profile, stream, 3).status, CLS_ERROR_COMMAND_FAILED);
    assert_int_equal(command_of(profile, other, 0).status, CLS_SUCCESS);
    assert_int_equal(stream_of(profile, stream).failed, 2);
    assert_int_equal(summary_of(profile).failed, 2);
    gate_destroy(&gate);
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(other));
    OK(cls_buffer_destroy(cells));
    end(profile, profiler);
}

static void test_operations_are_counted_by_label(void **state) {
    cls_profile_operation operation = CLS_PROFILE_OPERATION_INIT;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    cls_profiler profiler = started();
    uint32_t word = 0;
    size_t index, n = 0;
    (void)state;
    for (unsigned i = 0; i < 9; i++)
        OK(rig_step(stream, cells, 0, 1, 1, 0.1));
    OK(cls_copy_d2h_async(&word, cells, 0, sizeof word, stream));
    OK(cls_stream_synchronize(stream));
    cls_profile profile = snapshot(profiler);
    OK(cls_profile_find_stream(profile, stream, &index));
    for (; cls_profile_get_operation(profile, index, n, &operation) == CLS_SUCCESS; n++) {
        bool kernel = operation.kind == CLS_COMMAND_KERNEL;
        assert_string_equal(operation.label, kernel ? "advance" : "copy_d2h");
        assert_int_equal(operation.count, kernel ? 9 : 1);
        assert_true(operation.min_ns <= operation.p50_ns && operation.p50_ns <= operation.p99_ns);
        assert_true(operation.p99_ns <= operation.max_ns);
        assert_true(operation.max_ns <= operation.total_ns);
    }
    assert_int_equal(n, 2);
    OK(cls_profile_get_operation(profile, CLS_PROFILE_ALL, 1, &operation));
    EXPECT(CLS_ERROR_OUT_OF_RANGE,
           cls_profile_get_operation(profile, CLS_PROFILE_ALL, 2, &operation));
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
    end(profile, profiler);
}

static uint64_t memory_at(cls_profiler profiler, cls_stream stream, cls_buffer cells) {
    OK(cls_profiler_clear(profiler));
    OK(rig_set(stream, cells, 0, 1, 0));
    OK(cls_stream_synchronize(stream));
    cls_profile profile = snapshot(profiler);
    uint64_t peak = stream_of(profile, stream).memory_peak;
    OK(cls_profile_destroy(profile));
    return peak;
}

static void test_memory_of_buffers_and_pools_is_followed(void **state) {
    enum { BYTES = 1 << 20 };
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1), buffer, slot;
    cls_profiler profiler = started();
    cls_mempool pool;
    (void)state;
    uint64_t before = memory_at(profiler, stream, cells);
    OK(cls_buffer_create(rig.context, BYTES, &buffer));
    assert_int_equal(memory_at(profiler, stream, cells), before + BYTES);
    OK(cls_buffer_destroy(buffer));
    assert_int_equal(memory_at(profiler, stream, cells), before);
    OK(cls_mempool_create(rig.context, NULL, &pool));
    OK(cls_mempool_malloc_async(pool, stream, BYTES, &slot));
    assert_true(memory_at(profiler, stream, cells) >= before + BYTES);
    OK(cls_free_async(slot, stream));
    OK(cls_stream_synchronize(stream));
    OK(cls_mempool_destroy(pool));
    assert_int_equal(memory_at(profiler, stream, cells), before);
    OK(cls_profiler_destroy(profiler));
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
}

static void test_bad_input(void **state) {
    cls_profiler_config config = CLS_PROFILER_CONFIG_INIT;
    cls_profile_record record = CLS_PROFILE_RECORD_INIT;
    cls_profile_summary summary = CLS_PROFILE_SUMMARY_INIT;
    cls_profile_stream stream = CLS_PROFILE_STREAM_INIT;
    cls_profile_operation operation = CLS_PROFILE_OPERATION_INIT;
    cls_profile_overlap overlap = CLS_PROFILE_OVERLAP_INIT;
    cls_profiler profiler = NULL;
    cls_profile profile = NULL;
    size_t index = 99;
    (void)state;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_profiler_create(NULL, NULL));
    config.capacity = SIZE_MAX;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_profiler_create(&config, &profiler));
    config.size = 1;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_profiler_create(&config, &profiler));
    assert_null(profiler);
    OK(cls_profiler_create(NULL, &profiler));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_profiler_snapshot(profiler, NULL));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_profiler_snapshot((cls_profiler)rig.context, &profile));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_profiler_start(NULL));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_profiler_stop(NULL));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_profiler_clear(NULL));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_profiler_destroy(NULL));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_profiler_add(NULL, "x", 1, 1, 0));
    OK(cls_profiler_snapshot(profiler, &profile));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_profile_get_record(profile, 0, &record));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_profile_get_stream(profile, 0, &stream));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_profile_get_operation(profile, 0, 0, &operation));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_profile_get_stream_overlap(profile, 0, 0, &overlap));
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_profile_get_kind_overlap(profile, CLS_COMMAND_HOST, CLS_COMMAND_KERNEL, &overlap));
    OK(cls_profile_get_kind_overlap(profile, CLS_COMMAND_KERNEL, CLS_COMMAND_KERNEL, &overlap));
    assert_true(overlap.achieved == 1 && overlap.possible_ns == 0);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_profile_get_record(profile, 0, NULL));
    record.size = summary.size = 3;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_profile_get_record(profile, 0, &record));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_profile_get_summary(profile, &summary));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_profile_find_stream(profile, NULL, NULL));
    cls_stream unseen = rig_stream();
    EXPECT(CLS_ERROR_NOT_FOUND, cls_profile_find_stream(profile, unseen, &index));
    assert_int_equal(index, 99);
    OK(cls_stream_destroy(unseen));
    OK(cls_profile_destroy(profile));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_profile_destroy(profile));
    summary.size = sizeof summary;
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_profile_get_summary(profile, &summary));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_profile_export(profile, "x.json", CLS_PROFILE_AUTO));
    OK(cls_profiler_destroy(profiler));
    assert_string_equal(cls_hold_name((cls_hold)77), "?");
    assert_string_equal(cls_hold_name(CLS_HOLD_WIDTH), "width");
    assert_string_equal(cls_command_kind_name((cls_command_kind)77), "?");
    for (int kind = 0; kind < CLS_COMMAND_KINDS; kind++)
        assert_true(strcmp(cls_command_kind_name((cls_command_kind)kind), "?") != 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_what_a_stream_did),
        cmocka_unit_test(test_dependent_commands_come_in_order),
        cmocka_unit_test(test_host_functions_are_timed_where_they_run),
        cmocka_unit_test(test_failed_commands_say_so),
        cmocka_unit_test(test_operations_are_counted_by_label),
        cmocka_unit_test(test_memory_of_buffers_and_pools_is_followed),
        cmocka_unit_test(test_bad_input),
    };
    return cmocka_run_group_tests_name("profiler", tests, rig_setup, rig_teardown);
}
