/* SPDX-License-Identifier: MIT */
/* Graphs that are changed while launches of them wait, run, are refused or are dropped: each launch does what was bound at
 * its call, and keeps the memory for it. */
#include "../support/effort.h"
#include "../support/rig.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <clstream/graph.h>
#include <clstream/managed.h>
#include <clstream/mempool.h>
#include <clstream/timeline.h>

enum { CELLS = 64, BYTES = 4 * CELLS };

/* The graph adds to cell 0 of `cells`: node 0. */
static cls_stream stream, elsewhere, narrow; /* `narrow` holds one command that waits */
static cls_buffer cells, other;
static cls_graph_exec exec;
static cls_timeline timeline;

static int begin(void **state) {
    (void)state;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    stream = rig_named("main");
    elsewhere = rig_named("elsewhere");
    config.fifo_limit = 1;
    OK(cls_stream_create(rig.context, &config, &narrow));
    OK(cls_timeline_create(NULL, &timeline));
    cells = rig_cells(CELLS);
    other = rig_cells(CELLS);
    OK(cls_stream_begin_capture(stream, "changed"));
    OK(rig_step(stream, cells, 0, 3, 1, 0));
    exec = rig_end_capture(stream);
    return 0;
}

static int end(void **state) {
    (void)state;
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(cells));
    OK(cls_buffer_destroy(other));
    OK(cls_timeline_destroy(timeline));
    OK(cls_stream_destroy(narrow));
    OK(cls_stream_destroy(elsewhere));
    OK(cls_stream_destroy(stream));
    return 0;
}

/* Pinned memory that is a buffer belongs to one of host and device at a time. */
static int begin_coarse(void **state) {
    return setenv("CLSTREAM_MANAGED", "coarse", 1) || begin(state);
}
static int end_coarse(void **state) { return end(state) || unsetenv("CLSTREAM_MANAGED"); }

/* The arguments of rig_step's kernel. */
static cls_status set_step(cls_graph_exec of, cls_buffer in, uint32_t factor, uint32_t add) {
    const cls_launch one = cls_launch_1d(1);
    const cls_arg args[] = {cls_arg_buffer(in), cls_arg_u32(0), cls_arg_u32(factor),
                            cls_arg_u32(add), cls_arg_u32(1)};
    return cls_graph_set_args(of, 0, &one, args, 5);
}

static void fail_once_open(void *gate) {
    gate_hold(gate);
    cls_host_function_fail("on purpose");
}

/* --- what a launch does --- */

/* A launch waits; the next one is refused, since its stream holds a command that waits already. */
static void test_a_refused_launch_leaves_the_one_that_waits_alone(void **state) {
    (void)state;
    OK(cls_stream_wait_timeline(stream, timeline, 1));
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_stream_wait_timeline(narrow, timeline, 1));
    OK(rig_set(narrow, other, 1, 1, 0));
    EXPECT(CLS_ERROR_LIMIT, cls_graph_launch_async(exec, narrow));
    OK(cls_graph_bind(exec, cells, other));
    OK(cls_graph_launch_async(exec, elsewhere));
    OK(cls_timeline_signal(timeline, 1));
    OK(cls_stream_synchronize(elsewhere));
    OK(cls_stream_synchronize(narrow));
    assert_int_equal(rig_cell(cells, 0), 1);
    assert_int_equal(rig_cell(other, 0), 1);
    OK(cls_stream_synchronize(stream));
}

/* The next one is dropped, since its stream fails. The one after that comes behind the first all the same. */
static void test_launches_keep_their_order_where_one_is_dropped(void **state) {
    (void)state;
    const cls_stream failing = rig_stream();
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_wait_timeline(stream, timeline, 1));
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_stream_launch_host_async(failing, fail_once_open, &gate));
    OK(cls_graph_launch_async(exec, failing));
    gate_open(&gate);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(failing));
    OK(set_step(exec, cells, 5, 3));
    OK(cls_graph_launch_async(exec, elsewhere));
    OK(cls_stream_reset(failing));
    OK(set_step(exec, cells, 7, 2));
    OK(cls_graph_launch_async(exec, failing));
    EXPECT(CLS_NOT_READY, cls_stream_query(elsewhere));
    OK(cls_timeline_signal(timeline, 1));
    OK(cls_stream_synchronize(failing));
    assert_int_equal(rig_cell(cells, 0), ((0 * 3 + 1) * 5 + 3) * 7 + 2);
    OK(cls_stream_synchronize(stream));
    OK(cls_stream_synchronize(elsewhere));
    OK(cls_stream_destroy(failing));
    gate_destroy(&gate);
}

/* A capture takes the nodes as they are now, whatever the launches before are waiting for. */
static void test_a_capture_beside_a_launch_that_waits(void **state) {
    (void)state;
    OK(cls_stream_wait_timeline(stream, timeline, 1));
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_graph_bind(exec, cells, other));
    OK(cls_stream_begin_capture(elsewhere, "outer"));
    OK(cls_graph_launch_async(exec, elsewhere));
    OK(cls_graph_launch_async(exec, elsewhere));
    cls_graph_exec outer = rig_end_capture(elsewhere);
    OK(cls_graph_bind(exec, cells, cells));
    OK(cls_graph_launch(outer, elsewhere));
    assert_int_equal(rig_cell(other, 0), 4);
    OK(cls_timeline_signal(timeline, 1));
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(cells, 0), 1);
    OK(cls_graph_exec_destroy(outer));
}

/* --- callbacks of launches that are dropped --- */

static void count_call(cls_stream of, cls_status status, void *counter) {
    (void)of;
    atomic_fetch_add((_Atomic unsigned *)counter, status == CLS_ERROR_COMMAND_FAILED);
}

static cls_graph capture_callback(_Atomic unsigned *counter) {
    cls_graph graph;
    OK(cls_stream_begin_capture(stream, "calls"));
    OK(cls_stream_add_callback(stream, count_call, counter));
    OK(cls_stream_end_capture(stream, &graph));
    return graph;
}

static void test_dropped_launches_call_the_callbacks_of_their_call(void **state) {
    (void)state;
    static _Atomic unsigned calls[2];
    cls_graph graphs[2] = {capture_callback(&calls[0]), capture_callback(&calls[1])};
    cls_graph_exec calling;
    OK(cls_graph_instantiate(graphs[0], NULL, &calling));
    OK(cls_stream_wait_timeline(stream, timeline, 1));
    OK(cls_graph_launch_async(calling, stream));
    OK(cls_graph_update(calling, graphs[1]));
    OK(cls_graph_launch_async(calling, stream));
    OK(cls_graph_launch_async(calling, stream));
    OK(cls_graph_set_enabled(calling, 0, 0));
    OK(cls_graph_launch_async(calling, stream));
    OK(cls_timeline_fail(timeline, "producer", "on purpose"));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    OK(cls_stream_reset(stream)); /* all of it has retired */
    assert_int_equal(atomic_load(&calls[0]), 1);
    assert_int_equal(atomic_load(&calls[1]), 2);
    OK(cls_graph_exec_destroy(calling));
    OK(cls_graph_destroy(graphs[0]));
    OK(cls_graph_destroy(graphs[1]));
}

/* --- memory that launches use --- */

struct freeing {
    void *memory;
    sleeper thread;
    atomic_bool done;
};

static void *free_memory(void *arg) {
    struct freeing *freeing = arg;
    sleeper_here(&freeing->thread);
    cls_host_free(freeing->memory);
    atomic_store(&freeing->done, true);
    return NULL;
}

/* Frees pinned memory on another thread, which has to wait until the timeline opens. */
static void expect_free_waits(void *memory) {
    struct freeing freeing = {.memory = memory};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, free_memory, &freeing), 0);
    await_sleeper(&freeing.thread);
    assert_false(atomic_load(&freeing.done));
    OK(cls_timeline_signal(timeline, 1));
    pthread_join(thread, NULL);
}

static cls_graph_exec capture_download(void *to) {
    OK(cls_stream_begin_capture(stream, "download"));
    OK(cls_copy_d2h_async(to, cells, 0, BYTES, stream));
    return rig_end_capture(stream);
}

static void alloc_pinned(void *pinned[3]) {
    for (int i = 0; i < 3; i++)
        OK(cls_host_alloc(rig.context, BYTES, &pinned[i]));
}

/* Two launches wait, each with other memory; a third piece is bound and never launched. */
static void test_freeing_pinned_memory_waits_for_launches_that_wait(void **state) {
    (void)state;
    void *pinned[3];
    alloc_pinned(pinned);
    cls_graph_exec download = capture_download(pinned[0]);
    OK(cls_stream_wait_timeline(stream, timeline, 1));
    OK(cls_graph_launch_async(download, stream));
    OK(cls_graph_bind_host(download, pinned[0], pinned[1]));
    OK(cls_graph_launch_async(download, stream));
    OK(cls_graph_bind_host(download, pinned[0], pinned[2]));
    OK(cls_host_free(pinned[2])); /* no launch uses it */
    expect_free_waits(pinned[1]);
    OK(cls_host_free(pinned[0]));
    OK(cls_stream_synchronize(stream));
    OK(cls_graph_exec_destroy(download));
}

/* The launch before the rebinding is with the driver, and so is the one behind it. */
static void test_freeing_pinned_memory_waits_for_launches_under_way(void **state) {
    (void)state;
    void *pinned[3];
    const cls_event event = rig_event();
    alloc_pinned(pinned);
    OK(cls_stream_begin_capture(stream, "slow download"));
    OK(rig_step(stream, cells, 0, 3, 1, 50));
    OK(cls_copy_d2h_async(pinned[0], cells, 0, BYTES, stream));
    cls_graph_exec download = rig_end_capture(stream);
    OK(cls_graph_launch_async(download, stream));
    OK(cls_event_record(event, stream));
    OK(cls_graph_bind_host(download, pinned[0], pinned[1]));
    OK(cls_graph_launch_async(download, stream));
    OK(cls_graph_bind_host(download, pinned[0], pinned[2]));
    OK(cls_host_free(pinned[0]));
    OK(cls_event_query(event));
    OK(cls_stream_synchronize(stream));
    assert_int_equal(((uint32_t *)pinned[1])[0], 4);
    OK(cls_stream_wait_timeline(stream, timeline, 1));
    OK(cls_graph_launch_async(download, stream));
    OK(cls_host_free(pinned[1])); /* no launch uses it any more */
    expect_free_waits(pinned[2]);
    OK(cls_stream_synchronize(stream));
    OK(cls_graph_exec_destroy(download));
    OK(cls_event_destroy(event));
}

/* Of the pinned memory that is a buffer too, and of nodes that are left out. */
static void test_freeing_pinned_buffers_waits_for_launches_that_use_them(void **state) {
    (void)state;
    void *pinned[3];
    cls_buffer buffers[3];
    alloc_pinned(pinned);
    for (int i = 0; i < 3; i++) {
        OK(cls_host_buffer(pinned[i], &buffers[i]));
        OK(cls_prefetch_async(buffers[i], CLS_TO_DEVICE, stream));
    }
    OK(cls_stream_begin_capture(stream, "pinned"));
    OK(rig_step(stream, buffers[0], 0, 0, 9, 0));
    OK(rig_step(stream, buffers[1], 0, 0, 9, 0));
    cls_graph_exec both = rig_end_capture(stream);
    OK(cls_graph_bind(both, buffers[0], buffers[2]));
    OK(cls_graph_set_enabled(both, 1, 0));
    OK(cls_stream_wait_timeline(stream, timeline, 1));
    OK(cls_graph_launch_async(both, stream));
    OK(cls_graph_bind(both, buffers[0], cells));
    OK(cls_host_free(pinned[0]));
    OK(cls_host_free(pinned[1]));
    expect_free_waits(pinned[2]);
    OK(cls_stream_synchronize(stream));
    OK(cls_graph_exec_destroy(both));
}

/* Node 0 copies within one buffer where both sides are bound to it, which drivers refuse. Memory of the launch before that,
 * which is under way, is nobody else's. */
static void test_a_refused_launch_gives_no_memory_away(void **state) {
    (void)state;
    cls_buffer pooled, next, third = rig_cells(CELLS);
    OK(cls_malloc_async(stream, BYTES, &pooled));
    OK(rig_set(stream, pooled, 0, 0, 0));
    OK(cls_stream_begin_capture(stream, "refused"));
    OK(cls_copy_d2d_async(other, 0, cells, 0, BYTES, stream));
    OK(rig_step(stream, third, 0, 3, 1, 100));
    cls_graph_exec copying = rig_end_capture(stream);
    OK(cls_graph_bind(copying, third, pooled));
    OK(cls_graph_launch_async(copying, stream));
    OK(cls_graph_bind(copying, cells, other));
    const cls_status refused = cls_graph_launch_async(copying, stream);
    OK(cls_graph_bind(copying, cells, cells));
    OK(cls_graph_bind(copying, third, third));
    OK(cls_buffer_destroy(pooled));
    OK(cls_graph_launch_async(copying, stream));
    OK(cls_malloc_async(elsewhere, BYTES, &next));
    OK(rig_set(elsewhere, next, 0, 1000, 0));
    OK(cls_stream_synchronize(elsewhere));
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(next, 0), 1000);
    OK(cls_buffer_destroy(next));
    OK(cls_buffer_destroy(third));
    OK(cls_graph_exec_destroy(copying));
    if (!refused)
        SKIP_BECAUSE("this driver copies within one buffer from a place to itself");
}

/* --- changes that no launch has --- */

/* One change of each kind, of which the last round has the first buffer. */
static void change(cls_graph_exec many, cls_graph graph, unsigned i) {
    OK(cls_graph_update(many, graph));
    OK(set_step(many, i % 2 ? other : cells, 3, 1));
    OK(cls_graph_bind(many, i % 2 ? other : cells, cells));
    OK(cls_graph_set_enabled(many, i % 30, i % 2));
}

static void test_changes_before_a_launch_leave_memory_flat(void **state) {
    (void)state;
    const unsigned changes = effort_is_long() ? 16000 : 1000;
    cls_graph graph;
    cls_graph_exec many;
    rig_need_resident_memory();
    OK(cls_stream_begin_capture(stream, "many"));
    for (unsigned i = 0; i < 30; i++)
        OK(rig_step(stream, cells, 0, 1, 1, 0));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, NULL, &many));
    for (unsigned i = 0; i < changes / 4; i++)
        change(many, graph, i);
    const long before = rig_resident_pages();
    for (unsigned i = 0; i < changes; i++)
        change(many, graph, i);
    const long more = rig_resident_pages() - before;
    if (more > 1024)
        fail_msg("%ld pages more after %u changes", more, changes);
    OK(cls_graph_update(many, graph));
    OK(cls_graph_launch(many, stream));
    assert_int_equal(rig_cell(cells, 0), 30);
    OK(cls_graph_exec_destroy(many));
    OK(cls_graph_destroy(graph));
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_refused_launch_leaves_the_one_that_waits_alone),
        TEST(launches_keep_their_order_where_one_is_dropped),
        TEST(a_capture_beside_a_launch_that_waits),
        TEST(dropped_launches_call_the_callbacks_of_their_call),
        TEST(freeing_pinned_memory_waits_for_launches_that_wait),
        TEST(freeing_pinned_memory_waits_for_launches_under_way),
        TEST(freeing_pinned_buffers_waits_for_launches_that_use_them),
        {"test_freeing_pinned_buffers_of_the_device_waits_likewise",
         test_freeing_pinned_buffers_waits_for_launches_that_use_them, begin_coarse, end_coarse,
         NULL},
        TEST(a_refused_launch_gives_no_memory_away),
        TEST(changes_before_a_launch_leave_memory_flat),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
