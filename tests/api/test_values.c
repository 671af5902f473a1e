/* SPDX-License-Identifier: MIT */
/* Streams that wait for a value in memory, and write one. */
#include "../support/rig.h"

#include <stdlib.h>
#include <string.h>

#include <clstream/managed.h>
#include <clstream/timeline.h>

enum { MS = 1000000, WORDS = 16 };
static const uint64_t ALL = UINT64_MAX;

/* Memory that host and device use at the same time. */
static cls_buffer flags;
static uint32_t *words;

static int make_flags(void **state) {
    cls_managed_kind kind = CLS_MANAGED_NONE;
    if (rig_setup(state))
        return -1;
    if (cls_managed_get_kind(rig.context, &kind) || kind != CLS_MANAGED_FINE)
        return 0;
    return cls_managed_alloc(rig.context, WORDS * sizeof *words, &flags, (void **)&words);
}

static int free_flags(void **state) {
    if (flags && cls_buffer_destroy(flags))
        return -1;
    return rig_teardown(state);
}

#define NEED_FLAGS()                                                 \
    if (!flags)                                                      \
        SKIP_BECAUSE("the device shares no memory at a fine grain"); \
    memset(words, 0, WORDS * sizeof *words)

static void store(unsigned i, uint32_t value) {
    __atomic_store_n(&words[i], value, __ATOMIC_RELEASE);
}

static cls_status await(cls_stream stream, unsigned i, uint32_t value,
                        cls_value_condition condition) {
    return cls_stream_wait_value(stream, flags, i * sizeof *words, 4, value, ALL, condition);
}

static void test_a_stream_waits_for_a_store(void **state) {
    (void)state;
    NEED_FLAGS();
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    OK(await(stream, 3, 5, CLS_VALUE_GEQ));
    OK(rig_set(stream, cells, 0, 7, 0));
    EXPECT(CLS_NOT_READY, cls_stream_query(stream));
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(stream, 20 * MS));
    assert_non_null(strstr(cls_last_error_detail(), "offset 12"));
    assert_non_null(strstr(cls_last_error_detail(), "at least 0x5; they hold 0x0"));
    store(3, 4);
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(stream, 20 * MS));
    store(3, 6);
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(cells, 0), 7);
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

/* By a stream of each kind of command. */
static void test_a_stream_waits_for_another(void **state) {
    (void)state;
    NEED_FLAGS();
    cls_stream from = rig_stream(), to = rig_stream();
    cls_buffer cells = rig_cells(1), source = rig_cells(1);
    OK(rig_set(from, source, 0, 3, 0));
    for (unsigned i = 0; i < 3; i++)
        OK(await(to, i, i + 1, CLS_VALUE_EQ));
    OK(rig_step(to, cells, 0, 10, 1, 0));
    OK(rig_set(from, cells, 0, 4, 10));
    OK(cls_stream_write_value(from, flags, 0, 4, 1));
    OK(rig_set(from, flags, 1, 2, 0));
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(to, 20 * MS));
    OK(cls_copy_d2d_async(flags, 8, source, 0, 4, from));
    OK(cls_stream_synchronize(to));
    assert_int_equal(rig_cell(cells, 0), 41);
    OK(cls_buffer_destroy(cells));
    OK(cls_buffer_destroy(source));
    OK(cls_stream_destroy(from));
    OK(cls_stream_destroy(to));
}

/* The memory is looked at behind the stream's earlier work. */
static void test_a_wait_comes_after_earlier_work(void **state) {
    (void)state;
    NEED_FLAGS();
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    store(0, 1);
    OK(rig_set(stream, cells, 0, 1, 20));
    OK(cls_stream_write_value(stream, flags, 0, 4, 2));
    OK(await(stream, 0, 1, CLS_VALUE_EQ));
    assert_true(counter_comes((const _Atomic unsigned *)&words[0], 2));
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(stream, 20 * MS));
    store(0, 1);
    OK(cls_stream_synchronize(stream));
    /* What the memory holds later is nothing to a wait that is over. */
    store(0, 9);
    OK(cls_stream_query(stream));
    OK(rig_set(stream, cells, 0, 2, 0));
    OK(cls_stream_synchronize(stream));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

static void expect_met(bool met, size_t bytes, uint64_t memory, uint64_t value, uint64_t mask,
                       cls_value_condition condition) {
    cls_stream stream = rig_stream();
    memcpy(words, &memory, sizeof memory);
    OK(cls_stream_wait_value(stream, flags, 0, bytes, value, mask, condition));
    if (!met) {
        EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(stream, 5 * MS));
        memory = condition == CLS_VALUE_NOR ? 0 : condition == CLS_VALUE_AND ? ALL : value;
        memcpy(words, &memory, sizeof memory);
    }
    OK(cls_stream_synchronize(stream));
    OK(cls_stream_destroy(stream));
}

static void test_the_conditions(void **state) {
    (void)state;
    NEED_FLAGS();
    expect_met(true, 4, 0x80000001, 0x7fffffff, ALL, CLS_VALUE_GEQ); /* wrapped around */
    expect_met(false, 4, 0x7fffffff, 0x80000001, ALL, CLS_VALUE_GEQ);
    expect_met(true, 8, 1, UINT64_MAX, ALL, CLS_VALUE_GEQ);
    expect_met(false, 8, 0x80000001, UINT64_C(1) << 32, ALL, CLS_VALUE_GEQ);
    expect_met(true, 4, UINT64_C(7) << 32 | 5, 5, ALL, CLS_VALUE_EQ); /* the next word is another */
    expect_met(false, 8, UINT64_C(7) << 32 | 5, 5, ALL, CLS_VALUE_EQ);
    expect_met(true, 8, UINT64_C(7) << 32 | 5, 5, 0xffff, CLS_VALUE_EQ);
    expect_met(true, 4, 6, 3, ALL, CLS_VALUE_AND);
    expect_met(false, 4, 4, 3, ALL, CLS_VALUE_AND);
    expect_met(false, 4, 6, 3, 5, CLS_VALUE_AND);
    expect_met(true, 4, 0xfffffff0, 0x7, ALL, CLS_VALUE_NOR);
    expect_met(false, 4, 0xfffffff0, 0xf, ALL, CLS_VALUE_NOR);
    expect_met(false, 4, 0x5, 0, 0x5, CLS_VALUE_NOR);
}

static void test_writes_of_both_sizes(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(4);
    OK(cls_stream_write_value(stream, cells, 4, 4, 0x01020304));
    OK(cls_stream_write_value(stream, cells, 8, 8, UINT64_C(0x0a0b0c0d00000007)));
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(cells, 0), 0);
    assert_int_equal(rig_cell(cells, 1), 0x01020304);
    assert_int_equal(rig_cell(cells, 2), 7);
    assert_int_equal(rig_cell(cells, 3), 0x0a0b0c0d);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_write_value(stream, cells, 0, 2, 1));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_write_value(stream, cells, 4, 8, 1));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_write_value(stream, cells, 0, 4, UINT64_C(1) << 32));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_stream_write_value(stream, cells, 16, 4, 1));
    OK(cls_stream_synchronize(stream));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

/* Nothing else than the refusal happens. */
static void test_other_memory_is_refused(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(4);
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_stream_wait_value(stream, cells, 0, 4, 1, ALL, CLS_VALUE_EQ));
    assert_non_null(strstr(cls_last_error_detail(), "cls_managed_alloc"));
    EXPECT(CLS_ERROR_OUT_OF_RANGE,
           cls_stream_wait_value(stream, cells, 16, 4, 1, ALL, CLS_VALUE_EQ));
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_stream_wait_value(stream, cells, 0, 4, 1, UINT64_C(1) << 32, CLS_VALUE_EQ));
    OK(cls_stream_synchronize(stream));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

static void test_pinned_memory_of_a_cpu(void **state) {
    (void)state;
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    size_t device = 0;
    uint32_t *pinned = NULL;
    cls_buffer buffer;
    OK(cls_context_get_device(rig.context, &device));
    OK(cls_device_get_info(device, &info));
    OK(cls_host_alloc(rig.context, 64, (void **)&pinned));
    if (cls_host_buffer(pinned, &buffer)) {
        OK(cls_host_free(pinned));
        SKIP_BECAUSE("the driver's pinned memory is no buffer");
    }
    cls_stream stream = rig_stream();
    memset(pinned, 0, 64);
    const cls_status status = cls_stream_wait_value(stream, buffer, 8, 4, 1, ALL, CLS_VALUE_GEQ);
    if (info.type != CLS_DEVICE_CPU) {
        assert_int_equal(status, CLS_ERROR_UNSUPPORTED);
    } else {
        OK(status);
        EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(stream, 5 * MS));
        __atomic_store_n(&pinned[2], 1, __ATOMIC_RELEASE);
    }
    OK(cls_stream_synchronize(stream));
    OK(cls_host_free(pinned));
    OK(cls_stream_destroy(stream));
}

/* The wait keeps the memory, and a stream that is destroyed meanwhile waits on. */
static void test_destroyed_while_it_waits(void **state) {
    (void)state;
    NEED_FLAGS();
    cls_stream stream = rig_stream();
    cls_buffer own, cells = rig_cells(1);
    uint32_t *host = NULL;
    cls_event done = rig_event();
    OK(cls_managed_alloc(rig.context, 64, &own, (void **)&host));
    memset(host, 0, 64);
    OK(cls_stream_wait_value(stream, own, 0, 4, 1, ALL, CLS_VALUE_EQ));
    OK(cls_stream_write_value(stream, cells, 0, 4, 5));
    OK(cls_event_record(done, stream));
    OK(cls_buffer_destroy(own));
    OK(cls_stream_destroy(stream));
    EXPECT(CLS_ERROR_TIMEOUT, cls_event_wait(done, 5 * MS));
    __atomic_store_n(host, 1, __ATOMIC_RELEASE);
    OK(cls_event_synchronize(done));
    assert_int_equal(rig_cell(cells, 0), 5);
    OK(cls_event_destroy(done));
    OK(cls_buffer_destroy(cells));
}

/* A failure ahead of the wait ends the commands behind it; the wait is kept by a reset. */
static void test_a_failure_ahead_of_a_wait(void **state) {
    (void)state;
    NEED_FLAGS();
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    OK(rig_fail(stream, "fails", -5));
    cls_status status = await(stream, 0, 1, CLS_VALUE_EQ);
    OK(status);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    OK(cls_stream_reset(stream));
    OK(rig_set(stream, cells, 0, 6, 0));
    store(0, 1);
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(cells, 0), 6);
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

/* The check of waits for timelines with a signaller takes a wait for memory for one that may be met. */
static void test_beside_the_deadlock_check(void **state) {
    (void)state;
    NEED_FLAGS();
    cls_stream waits = rig_stream(), signals = rig_stream();
    cls_timeline timeline;
    cls_timeline_config config = CLS_TIMELINE_CONFIG_INIT;
    config.signaller = signals;
    OK(cls_timeline_create(&config, &timeline));
    OK(cls_stream_wait_timeline(waits, timeline, 1));
    OK(await(signals, 0, 1, CLS_VALUE_EQ));
    OK(cls_stream_signal_timeline(signals, timeline, 1));
    OK(cls_stream_wait_timeline(waits, timeline, 2));
    OK(await(waits, 1, 1, CLS_VALUE_EQ));
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(waits, 5 * MS));
    store(0, 1);
    store(1, 1);
    OK(cls_stream_signal_timeline(signals, timeline, 2));
    OK(cls_stream_synchronize(waits));
    OK(cls_timeline_destroy(timeline));
    OK(cls_stream_destroy(waits));
    OK(cls_stream_destroy(signals));
}

static void test_captures(void **state) {
    (void)state;
    NEED_FLAGS();
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    cls_graph graph = NULL;
    cls_graph_exec exec;
    OK(cls_stream_begin_capture(stream, NULL));
    OK(cls_stream_write_value(stream, cells, 0, 4, 8));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(cells, 0), 8);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    OK(cls_stream_begin_capture(stream, NULL));
    EXPECT(CLS_ERROR_INVALID_STATE, await(stream, 0, 1, CLS_VALUE_EQ));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_end_capture(stream, &graph));
    OK(cls_stream_synchronize(stream));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stream_waits_for_a_store),
        cmocka_unit_test(test_a_stream_waits_for_another),
        cmocka_unit_test(test_a_wait_comes_after_earlier_work),
        cmocka_unit_test(test_the_conditions),
        cmocka_unit_test(test_writes_of_both_sizes),
        cmocka_unit_test(test_other_memory_is_refused),
        cmocka_unit_test(test_pinned_memory_of_a_cpu),
        cmocka_unit_test(test_destroyed_while_it_waits),
        cmocka_unit_test(test_a_failure_ahead_of_a_wait),
        cmocka_unit_test(test_beside_the_deadlock_check),
        cmocka_unit_test(test_captures),
    };
    return cmocka_run_group_tests(tests, make_flags, free_flags);
}
