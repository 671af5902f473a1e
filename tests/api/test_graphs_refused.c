/* SPDX-License-Identifier: MIT */
/* Graphs: what a capture refuses, what becomes of it then, captures that are left open, and failures of launches. */
#include "../support/rig.h"

#include <pthread.h>
#include <stdlib.h>

#include <clstream/graph.h>
#include <clstream/managed.h>
#include <clstream/mempool.h>
#include <clstream/timeline.h>

/* A captured stream, and one beside it that is captured by nobody, with work of its own. */
static cls_stream captured, beside;
static cls_buffer cells;
static cls_event event;

static int begin(void **state) {
    (void)state;
    captured = rig_named("main");
    beside = rig_named("beside");
    cells = rig_cells(8);
    event = rig_event();
    OK(cls_stream_begin_capture(captured, "step"));
    OK(rig_step(captured, cells, 0, 3, 1, 0));
    return 0;
}

static int end(void **state) {
    (void)state;
    OK(cls_stream_destroy(captured));
    OK(cls_stream_destroy(beside));
    OK(cls_event_destroy(event));
    OK(cls_buffer_destroy(cells));
    return 0;
}

static cls_capture_state state_of(cls_stream stream) {
    cls_capture_info info = CLS_CAPTURE_INFO_INIT;
    OK(cls_stream_get_capture(stream, &info));
    return info.state;
}

/* The capture is invalid, says why to each submission and at its end, and the stream works again. Others work all along.
 */
static void expect_invalid(const char *reason) {
    cls_graph graph = (cls_graph)&graph;
    assert_int_equal(state_of(captured), CLS_CAPTURE_INVALID);
    EXPECT(CLS_ERROR_INVALID_STATE, rig_step(captured, cells, 0, 3, 1, 0));
    expect_detail(reason);
    OK(rig_step(beside, cells, 4, 3, 1, 0));
    OK(cls_stream_synchronize(beside));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_end_capture(captured, &graph));
    expect_detail(reason);
    expect_detail("step");
    assert_ptr_equal(graph, (cls_graph)&graph);
    assert_int_equal(state_of(captured), CLS_CAPTURE_NONE);
    OK(cls_stream_synchronize(captured));
    assert_int_equal(rig_cell(cells, 0), 0);
    OK(rig_step(captured, cells, 0, 3, 1, 0));
    OK(cls_stream_synchronize(captured));
    assert_int_equal(rig_cell(cells, 0), 1);
}

static void test_synchronize(void **state) {
    (void)state;
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_synchronize(captured));
    expect_invalid("wait for the stream");
}

static void test_wait(void **state) {
    (void)state;
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_wait(captured, 1000));
    expect_invalid("wait for the stream");
}

static void test_query(void **state) {
    (void)state;
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_query(captured));
    expect_invalid("cls_stream_query");
}

static void test_blocking_copy(void **state) {
    (void)state;
    uint32_t out[2] = {7, 7};
    EXPECT(CLS_ERROR_INVALID_STATE, cls_copy_d2h(out, cells, 0, 8, captured));
    assert_int_equal(out[0], 7);
    expect_invalid("waits for its command");
}

static void test_query_of_an_event(void **state) {
    (void)state;
    OK(cls_event_record(event, captured));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_event_query(event));
    expect_invalid("captured event");
}

static void test_wait_for_an_event(void **state) {
    (void)state;
    OK(cls_event_record(event, captured));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_event_synchronize(event));
    expect_invalid("captured event");
}

static void test_wait_for_work_outside(void **state) {
    (void)state;
    OK(cls_event_record(event, beside));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_wait_event(captured, event));
    expect_invalid("outside");
}

static void test_joining_another_capture(void **state) {
    (void)state;
    cls_stream third = rig_stream();
    cls_graph graph;
    OK(cls_stream_begin_capture(third, "third"));
    OK(rig_step(third, cells, 2, 3, 1, 0));
    OK(cls_event_record(event, third));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_wait_event(captured, event));
    expect_invalid("another capture");
    OK(cls_stream_end_capture(third, &graph)); /* it is not affected */
    OK(cls_graph_destroy(graph));
    OK(cls_stream_destroy(third));
}

static void test_a_stream_that_is_not_joined(void **state) {
    (void)state;
    cls_graph graph;
    OK(cls_event_record(event, captured));
    OK(cls_stream_wait_event(beside, event));
    OK(rig_step(beside, cells, 1, 3, 1, 0));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_end_capture(captured, &graph));
    expect_detail("'beside' was not joined");
    assert_int_equal(state_of(beside), CLS_CAPTURE_NONE);
    OK(cls_stream_synchronize(beside));
    OK(cls_stream_synchronize(captured));
    assert_int_equal(rig_cell(cells, 1), 0);
}

static void test_a_stream_without_nodes_needs_no_join(void **state) {
    (void)state;
    cls_graph graph;
    OK(cls_event_record(event, captured));
    OK(cls_stream_wait_event(beside, event));
    OK(cls_stream_end_capture(captured, &graph));
    OK(cls_graph_destroy(graph));
}

static void test_timelines(void **state) {
    (void)state;
    cls_timeline timeline;
    OK(cls_timeline_create(NULL, &timeline));
    OK(cls_stream_signal_timeline(captured, timeline, 3));
    OK(cls_stream_signal_timeline(beside, timeline, 5));
    OK(cls_stream_synchronize(beside));
    OK(cls_stream_wait_timeline(captured, timeline, 5)); /* reached already */
    OK(cls_stream_wait_timeline(beside, timeline, 4));   /* likewise: it does not join */
    assert_int_equal(state_of(beside), CLS_CAPTURE_NONE);
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_wait_timeline(captured, timeline, 6));
    expect_invalid("outside");
    OK(cls_timeline_destroy(timeline));
}

static void test_the_signal_of_another_capture(void **state) {
    (void)state;
    cls_timeline timeline;
    cls_stream third = rig_stream();
    cls_graph graph;
    OK(cls_timeline_create(NULL, &timeline));
    OK(cls_stream_begin_capture(third, "third"));
    OK(cls_stream_signal_timeline(third, timeline, 1));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_wait_timeline(captured, timeline, 1));
    expect_invalid("another capture");
    OK(cls_stream_end_capture(third, &graph));
    OK(cls_graph_destroy(graph));
    OK(cls_stream_destroy(third));
    OK(cls_timeline_destroy(timeline));
}

/* The capture of `captured` is refused the free, and the buffer is as it was. */
static void expect_no_free(cls_buffer memory) {
    size_t bytes;
    EXPECT(CLS_ERROR_INVALID_STATE, cls_free_async(memory, captured));
    expect_invalid("free");
    OK(cls_buffer_get_size(memory, &bytes));
    OK(cls_free_async(memory, beside));
}

static void test_freeing_memory_from_outside(void **state) {
    (void)state;
    cls_buffer memory;
    OK(cls_malloc_async(beside, 64, &memory));
    expect_no_free(memory);
}

static void test_freeing_a_buffer_from_outside(void **state) {
    (void)state;
    cls_buffer memory;
    OK(cls_buffer_create(rig.context, 64, &memory));
    expect_no_free(memory);
}

static void test_freeing_memory_of_an_ended_capture(void **state) {
    (void)state;
    cls_buffer memory;
    OK(cls_stream_begin_capture(beside, "first"));
    OK(cls_malloc_async(beside, 64, &memory));
    OK(cls_graph_exec_destroy(rig_end_capture(beside)));
    expect_no_free(memory);
}

/* Whose place the next capture takes. */
static void test_freeing_memory_of_the_capture_before(void **state) {
    cls_stream third = rig_stream(), fourth = rig_stream();
    cls_buffer memory;
    cls_graph graph;
    (void)state;
    OK(cls_stream_begin_capture(third, "third"));
    OK(cls_malloc_async(third, 4096, &memory));
    OK(cls_stream_end_capture(third, &graph));
    OK(cls_stream_begin_capture(fourth, "fourth"));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_free_async(memory, fourth));
    OK(cls_stream_reset(fourth));
    OK(cls_free_async(memory, beside));
    OK(cls_graph_destroy(graph));
    OK(cls_stream_destroy(third));
    OK(cls_stream_destroy(fourth));
}

/* Whose launches are not ordered with those of this capture's graph. */
static void test_freeing_memory_of_another_capture(void **state) {
    (void)state;
    cls_stream third = rig_stream();
    cls_buffer memory;
    OK(cls_stream_begin_capture(third, "third"));
    OK(cls_malloc_async(third, 64, &memory));
    expect_no_free(memory);
    OK(cls_graph_exec_destroy(rig_end_capture(third)));
    OK(cls_stream_destroy(third));
}

static void test_freeing_all_memory(void **state) {
    (void)state;
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_free_all_async(captured, CLS_FREE_IN_ORDER));
    expect_invalid("free");
}

/* Its memory is the capture's all the same, though nodes have it for themselves no more. */
static void test_memory_whose_cl_mem_was_asked_for_is_freed(void **state) {
    (void)state;
    cls_buffer memory;
    cl_mem raw;
    OK(cls_malloc_async(captured, 64, &memory));
    OK(cls_buffer_get_cl(memory, &raw));
    OK(cls_free_async(memory, captured));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_free_async(memory, captured));
    assert_int_equal(state_of(captured), CLS_CAPTURE_ACTIVE);
    OK(cls_graph_exec_destroy(rig_end_capture(captured)));
}

/* --- what leaves a capture as it is --- */

/* It would hand the memory over at the call, and at no launch; the host keeps it. */
static void test_prefetching_coarse_memory(void **state) {
    (void)state;
    cls_buffer shared;
    OK(cls_context_synchronize(rig.context));
    assert_int_equal(setenv("CLSTREAM_MANAGED", "coarse", 1), 0);
    const cls_status there = cls_managed_alloc(rig.context, 64, &shared, NULL);
    assert_int_equal(unsetenv("CLSTREAM_MANAGED"), 0);
    if (there == CLS_ERROR_UNSUPPORTED)
        SKIP_BECAUSE("the device shares no memory with the host");
    OK(there);
    OK(cls_prefetch(shared, CLS_TO_DEVICE, beside));
    OK(cls_prefetch(shared, CLS_TO_HOST, beside));
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_prefetch_async(shared, CLS_TO_DEVICE, captured));
    EXPECT(CLS_ERROR_INVALID_STATE, rig_step(beside, shared, 0, 3, 1, 0));
    expect_invalid("prefetch");
    OK(cls_prefetch(shared, CLS_TO_DEVICE, captured));
    OK(rig_step(captured, shared, 0, 3, 1, 0));
    OK(cls_stream_synchronize(captured));
    OK(cls_buffer_destroy(shared));
}

static void test_bad_arguments_are_not_recorded(void **state) {
    (void)state;
    cls_graph graph;
    cls_capture_info info = CLS_CAPTURE_INFO_INIT;
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_copy_d2d_async(cells, 0, cells, 1 << 20, 4, captured));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_begin_capture(captured, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_end_capture(captured, NULL));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_end_capture(beside, &graph));
    OK(cls_stream_get_capture(captured, &info));
    assert_int_equal(info.state, CLS_CAPTURE_ACTIVE);
    assert_int_equal(info.nodes, 1);
    assert_string_equal(info.name, "step");
    OK(cls_stream_end_capture(captured, &graph));
    OK(cls_graph_destroy(graph));
}

static void test_other_work_goes_on(void **state) {
    (void)state;
    cls_graph graph;
    cls_buffer memory;
    OK(cls_malloc_async(beside, 64, &memory));
    OK(rig_step(beside, cells, 4, 3, 1, 0));
    OK(cls_free_async(memory, beside));
    OK(cls_context_synchronize(rig.context));
    OK(cls_stream_query(beside));
    assert_int_equal(rig_cell(cells, 4), 1);
    assert_int_equal(state_of(captured), CLS_CAPTURE_ACTIVE);
    OK(cls_stream_end_capture(captured, &graph));
    OK(cls_graph_destroy(graph));
}

struct synchronizer {
    pthread_t thread;
    sleeper sleeper;
    cls_status status;
};

static void *synchronize_context(void *arg) {
    struct synchronizer *own = arg;
    sleeper_here(&own->sleeper);
    own->status = cls_context_synchronize(rig.context);
    return NULL;
}

/* A stream on which a synchronization of the context waits for room: it is captured meanwhile. */
static void test_a_capture_that_begins_during_a_synchronization(void **state) {
    (void)state;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    struct synchronizer other = {.status = CLS_ERROR_DRIVER};
    struct gate gate, last;
    cls_stream full, behind;
    gate_init(&gate);
    gate_init(&last);
    config.fifo_limit = 1;
    OK(cls_stream_create(rig.context, &config, &full));
    behind = rig_stream();
    OK(cls_stream_launch_host_async(behind, gate_hold, &last));
    OK(cls_event_record(event, behind));
    OK(cls_stream_launch_host_async(full, gate_hold, &gate));
    OK(cls_stream_wait_event(full, event));
    assert_int_equal(pthread_create(&other.thread, NULL, synchronize_context, &other), 0);
    await_sleeper(&other.sleeper);
    OK(cls_stream_begin_capture(full, "meanwhile"));
    OK(rig_step(full, cells, 0, 3, 1, 0));
    gate_open(&gate);
    gate_open(&last);
    assert_int_equal(pthread_join(other.thread, NULL), 0);
    OK(other.status);
    assert_int_equal(state_of(full), CLS_CAPTURE_ACTIVE);
    OK(cls_graph_exec_destroy(rig_end_capture(full)));
    OK(cls_stream_destroy(full));
    OK(cls_stream_destroy(behind));
    gate_destroy(&gate);
    gate_destroy(&last);
}

/* Memory that was freed behind a wait which no command carries yet: another stream would need a mark there. */
static void test_memory_is_not_inserted_behind_a_captured_stream(void **state) {
    (void)state;
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
    cls_stream owner = rig_stream(), held = rig_stream();
    cls_mempool pool;
    cls_buffer memory;
    struct gate gate;
    gate_init(&gate);
    config.reuse = CLS_REUSE_INSERT;
    OK(cls_mempool_create(rig.context, &config, &pool));
    OK(cls_mempool_malloc_async(pool, owner, 4096, &memory));
    OK(cls_stream_launch_host_async(held, gate_hold, &gate));
    OK(cls_event_record(event, held));
    OK(cls_stream_wait_event(owner, event));
    OK(cls_free_async(memory, owner));
    OK(cls_stream_begin_capture(owner, "owner"));
    OK(cls_mempool_malloc_async(pool, beside, 4096, &memory));
    EXPECT(CLS_NOT_READY, cls_stream_query_frees(owner));
    assert_int_equal(state_of(owner), CLS_CAPTURE_ACTIVE);
    OK(cls_graph_exec_destroy(rig_end_capture(owner)));
    gate_open(&gate);
    OK(cls_stream_synchronize(owner));
    OK(cls_stream_query_frees(owner));
    OK(cls_free_async(memory, beside));
    OK(cls_mempool_destroy(pool));
    OK(cls_stream_destroy(owner));
    OK(cls_stream_destroy(held));
    gate_destroy(&gate);
}

static void test_an_event_is_ordinary_again_once_recorded_outside(void **state) {
    (void)state;
    cls_graph graph;
    OK(cls_event_record(event, captured));
    OK(cls_stream_end_capture(captured, &graph));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_event_query(event));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_wait_event(beside, event));
    OK(cls_event_record(event, captured));
    OK(cls_event_synchronize(event));
    OK(cls_stream_wait_event(beside, event));
    OK(cls_graph_destroy(graph));
}

/* --- captures that are left open --- */

static void test_reset_ends_a_capture(void **state) {
    (void)state;
    cls_graph graph;
    OK(cls_stream_reset(captured));
    assert_int_equal(state_of(captured), CLS_CAPTURE_NONE);
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_end_capture(captured, &graph));
    OK(rig_step(captured, cells, 0, 3, 1, 0));
    OK(cls_stream_synchronize(captured));
    assert_int_equal(rig_cell(cells, 0), 1);
}

static void test_destroy_ends_a_capture(void **state) {
    (void)state;
    OK(cls_event_record(event, captured));
    OK(cls_stream_wait_event(beside, event));
    OK(rig_step(beside, cells, 1, 3, 1, 0));
    OK(cls_stream_destroy(captured));
    captured = rig_stream();
    assert_int_equal(state_of(beside), CLS_CAPTURE_NONE);
    OK(rig_step(beside, cells, 1, 3, 1, 0));
    OK(cls_stream_synchronize(beside));
    assert_int_equal(rig_cell(cells, 1), 1);
}

static void test_a_joined_stream_that_is_reset_makes_it_invalid(void **state) {
    (void)state;
    cls_graph graph;
    OK(cls_event_record(event, captured));
    OK(cls_stream_wait_event(beside, event));
    OK(cls_stream_reset(beside));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_end_capture(captured, &graph));
    expect_detail("reset");
}

/* With a node on a stream that is gone when the capture ends. */
static void fork_to_destroyed(const char *name, bool join) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream joined;
    config.name = name;
    OK(cls_stream_create(rig.context, &config, &joined));
    OK(cls_event_record(event, captured));
    OK(cls_stream_wait_event(joined, event));
    OK(rig_step(joined, cells, 0, 5, 1, 0));
    OK(cls_event_record(event, joined));
    OK(cls_stream_destroy(joined));
    if (join)
        OK(cls_stream_wait_event(captured, event));
}

static void test_a_joined_stream_that_is_destroyed_stays(void **state) {
    (void)state;
    fork_to_destroyed("gone", true);
    OK(rig_step(captured, cells, 0, 7, 1, 0));
    cls_graph_exec exec = rig_end_capture(captured);
    OK(cls_graph_launch(exec, captured));
    assert_int_equal(rig_cell(cells, 0), (1 * 5 + 1) * 7 + 1);
    OK(cls_graph_exec_destroy(exec));
}

static void test_a_destroyed_stream_has_to_be_joined(void **state) {
    (void)state;
    cls_graph graph;
    fork_to_destroyed("gone", false);
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_end_capture(captured, &graph));
    expect_detail("'gone' was not joined");
}

static void test_destroyed_streams_end_with_the_capture(void **state) {
    (void)state;
    fork_to_destroyed("gone", true);
    OK(cls_stream_reset(captured));
    assert_int_equal(state_of(captured), CLS_CAPTURE_NONE);
    OK(rig_step(captured, cells, 0, 3, 1, 0));
    OK(cls_context_synchronize(rig.context));
    assert_int_equal(rig_cell(cells, 0), 1);
}

/* --- failures of launches --- */

static int refuse(cl_command_queue queue, void *arg) {
    (void)queue;
    (void)arg;
    return -5;
}

static void note_status(cls_stream stream, cls_status status, void *arg) {
    (void)stream;
    *(cls_status *)arg = status;
}

static void test_a_failed_node_poisons_the_stream_by_name(void **state) {
    (void)state;
    cls_graph graph;
    cls_graph_exec exec;
    cls_status told = CLS_SUCCESS;
    OK(cls_stream_foreign_async(captured, "unlucky", refuse, NULL));
    OK(rig_step(captured, cells, 1, 3, 1, 0));
    OK(cls_stream_add_callback(captured, note_status, &told));
    OK(cls_stream_end_capture(captured, &graph));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    for (int round = 0; round < 2; round++) {
        told = CLS_SUCCESS;
        OK(cls_graph_launch_async(exec, beside));
        OK(cls_event_record(event, beside));
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(beside));
        expect_detail("unlucky");
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_graph_launch_async(exec, beside));
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_event_query(event));
        assert_int_equal(told, CLS_ERROR_COMMAND_FAILED);
        OK(cls_stream_reset(beside));
    }
    OK(cls_stream_synchronize(captured));
    assert_int_equal(rig_cell(cells, 1), 0);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
}

static void test_a_launch_on_a_failed_stream_is_dropped(void **state) {
    (void)state;
    cls_graph graph;
    cls_graph_exec exec;
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_end_capture(captured, &graph));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    OK(cls_stream_launch_host_async(beside, gate_hold, &gate));
    OK(rig_fail(beside, "before", -5));
    OK(cls_graph_launch_async(exec, beside));
    gate_await(&gate);
    gate_open(&gate);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(beside));
    expect_detail("before");
    assert_int_equal(rig_cell(cells, 0), 0);
    OK(cls_graph_launch(exec, captured)); /* what failed there is no failure of this one */
    assert_int_equal(rig_cell(cells, 0), 1);
    OK(cls_stream_reset(beside));
    OK(cls_graph_launch(exec, beside));
    assert_int_equal(rig_cell(cells, 0), 4);
    gate_destroy(&gate);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
}

/* A capture that is still open when the process exits, and work that it holds: the exit is as any. */
static bool leave_open(void) {
    const uint32_t nine = 9;
    cls_stream stream;
    cls_buffer buffer;
    return !cls_stream_create(NULL, NULL, &stream) && !cls_buffer_create(NULL, 64, &buffer) &&
           !cls_stream_begin_capture(stream, "open") &&
           !cls_fill_async(buffer, 0, 64, &nine, 4, stream);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(synchronize),
        TEST(wait),
        TEST(query),
        TEST(blocking_copy),
        TEST(query_of_an_event),
        TEST(wait_for_an_event),
        TEST(wait_for_work_outside),
        TEST(joining_another_capture),
        TEST(a_stream_that_is_not_joined),
        TEST(a_stream_without_nodes_needs_no_join),
        TEST(timelines),
        TEST(the_signal_of_another_capture),
        TEST(freeing_memory_from_outside),
        TEST(freeing_a_buffer_from_outside),
        TEST(freeing_memory_of_an_ended_capture),
        TEST(freeing_memory_of_the_capture_before),
        TEST(freeing_memory_of_another_capture),
        TEST(freeing_all_memory),
        TEST(memory_whose_cl_mem_was_asked_for_is_freed),
        TEST(prefetching_coarse_memory),
        TEST(bad_arguments_are_not_recorded),
        TEST(other_work_goes_on),
        TEST(a_capture_that_begins_during_a_synchronization),
        TEST(memory_is_not_inserted_behind_a_captured_stream),
        TEST(an_event_is_ordinary_again_once_recorded_outside),
        TEST(reset_ends_a_capture),
        TEST(destroy_ends_a_capture),
        TEST(a_joined_stream_that_is_reset_makes_it_invalid),
        TEST(a_joined_stream_that_is_destroyed_stays),
        TEST(a_destroyed_stream_has_to_be_joined),
        TEST(destroyed_streams_end_with_the_capture),
        TEST(a_failed_node_poisons_the_stream_by_name),
        TEST(a_launch_on_a_failed_stream_is_dropped),
    };
    const int failed = cmocka_run_group_tests(tests, rig_setup, rig_teardown);
    return leave_open() ? failed : 1;
}
