/* SPDX-License-Identifier: MIT */
/* Graphs: what is captured and launched does the same as what is submitted, bit for bit. */
#include "../support/rig.h"

#include <string.h>

#include <clstream/batch.h>
#include <clstream/binary.h>
#include <clstream/blas.h>
#include <clstream/graph.h>
#include <clstream/mempool.h>
#include <clstream/reduce.h>
#include <clstream/timeline.h>
#include <clstream/unary.h>

enum { CELLS = 256, BYTES = 4 * CELLS };

static cls_capture_info capture_of(cls_stream stream) {
    cls_capture_info info = CLS_CAPTURE_INFO_INIT;
    OK(cls_stream_get_capture(stream, &info));
    return info;
}

/* --- what is captured, against the same submitted --- */

/* What a part of a test works on, and where its results go. */
struct work {
    cls_stream stream, other;
    cls_event forked, joined;
    cls_buffer a, b;
    uint32_t in[CELLS], out[CELLS];
    float greatest[2];
};

static void work_begin(struct work *work) {
    memset(work, 0, sizeof *work);
    work->stream = rig_stream();
    work->other = rig_stream();
    work->forked = rig_event();
    work->joined = rig_event();
    work->a = rig_cells(CELLS);
    work->b = rig_cells(CELLS);
    for (uint32_t i = 0; i < CELLS; i++)
        work->in[i] = i * 2654435761u >> 7;
}

static void work_end(struct work *work) {
    OK(cls_event_destroy(work->forked));
    OK(cls_event_destroy(work->joined));
    OK(cls_buffer_destroy(work->a));
    OK(cls_buffer_destroy(work->b));
    OK(cls_stream_destroy(work->stream));
    OK(cls_stream_destroy(work->other));
}

typedef void part_fn(struct work *work);

static void launches(struct work *work) {
    for (uint32_t i = 0; i < 40; i++)
        OK(rig_step(work->stream, work->a, i % 3, 3, i, i == 20 ? 0.5 : 0));
}

static void copies(struct work *work) {
    OK(cls_copy_h2d_async(work->a, 0, work->in, BYTES, work->stream));
    OK(cls_copy_d2d_async(work->b, 4, work->a, 0, BYTES - 4, work->stream));
    OK(rig_step(work->stream, work->b, 7, 5, 1, 0));
    OK(cls_copy_d2h_async(work->out, work->b, 0, BYTES, work->stream));
    OK(cls_copy_h2h_async(work->out, work->in, 4, work->stream));
}

static void fills(struct work *work) {
    const uint32_t nine = 9;
    const uint64_t pair = 0x0123456789abcdef;
    OK(cls_fill_async(work->a, 0, BYTES, &nine, 4, work->stream));
    OK(cls_fill_async(work->a, 64, 128, &pair, 8, work->stream));
    OK(rig_step(work->stream, work->a, 20, 3, 1, 0));
}

static void prefetches(struct work *work) {
    OK(cls_copy_h2d_async(work->a, 0, work->in, BYTES, work->stream));
    OK(cls_prefetch_async(work->a, CLS_TO_DEVICE, work->stream));
    OK(rig_step(work->stream, work->a, 7, 5, 1, 0));
    OK(cls_prefetch_async(work->a, CLS_TO_HOST, work->stream));
    OK(cls_copy_d2h_async(work->out, work->a, 0, BYTES, work->stream));
}

static void rectangles(struct work *work) {
    const cls_rect rect = {.width = 20,
                           .height = 5,
                           .depth = 2,
                           .dst_offset = 8,
                           .dst_pitch = 32,
                           .dst_slice_pitch = 256,
                           .src_offset = 4,
                           .src_pitch = 24,
                           .src_slice_pitch = 192};
    const uint32_t seven = 7;
    OK(cls_copy_rect_h2d_async(work->a, work->in, &rect, work->stream));
    OK(cls_copy_rect_d2d_async(work->b, work->a, &rect, work->stream));
    OK(cls_fill_rect_async(work->b, &rect, &seven, 4, work->stream));
    OK(cls_copy_rect_d2d_async(work->a, work->b, &rect, work->stream));
    OK(cls_copy_rect_d2h_async(work->out, work->a, &rect, work->stream));
    OK(cls_copy_rect_h2h_async(work->out, work->in, &rect, work->stream));
}

static void operations(struct work *work) {
    const cls_array a = cls_array_of(work->a, CLS_F32, CELLS),
                    b = cls_array_of(work->b, CLS_F32, CELLS),
                    one = cls_array_of(work->a, CLS_F32, 1);
    static float numbers[CELLS];
    for (int i = 0; i < CELLS; i++)
        numbers[i] = (float)i / 7 - 3;
    OK(cls_copy_h2d_async(work->a, 0, numbers, BYTES, work->stream));
    OK(cls_unary_async(CLS_UNARY_RELU, a, b, work->stream));
    OK(cls_binary_async(CLS_BINARY_ADD, a, b, a, work->stream));
    OK(cls_unary_param_async(CLS_UNARY_SCALE, a, b, 1.5, work->stream));
    OK(cls_reduce_async(CLS_REDUCE_MAX, b, one, work->stream));
    OK(cls_copy_d2h_async(work->greatest, work->a, 0, sizeof work->greatest, work->stream));
}

/* A diamond: the other stream works on b meanwhile, from what a was, and is joined. */
static void diamond(struct work *work) {
    OK(rig_set(work->stream, work->a, 0, 5, 1));
    OK(cls_event_record(work->forked, work->stream));
    OK(cls_stream_wait_event(work->other, work->forked));
    OK(cls_copy_d2d_async(work->b, 0, work->a, 0, 4, work->other));
    OK(rig_step(work->other, work->b, 0, 3, 1, 2));
    OK(cls_event_record(work->joined, work->other));
    OK(rig_step(work->stream, work->a, 1, 7, 3, 1));
    OK(cls_stream_wait_event(work->stream, work->joined));
    OK(cls_copy_d2d_async(work->a, 8, work->b, 0, 4, work->stream));
    OK(rig_step(work->stream, work->a, 2, 2, 1, 0));
}

/* The same diamond by values of a timeline. */
static cls_timeline order;
static uint64_t newest_value;

static void diamond_of_timelines(struct work *work) {
    const uint64_t forked = newest_value + 1, joined = newest_value + 3;
    newest_value = joined;
    OK(rig_set(work->stream, work->a, 0, 5, 1));
    OK(cls_stream_signal_timeline(work->stream, order, forked));
    OK(cls_stream_wait_timeline(work->other, order, forked));
    OK(cls_copy_d2d_async(work->b, 0, work->a, 0, 4, work->other));
    OK(rig_step(work->other, work->b, 0, 3, 1, 2));
    OK(cls_stream_signal_timeline(work->other, order, joined));
    OK(rig_step(work->stream, work->a, 1, 7, 3, 1));
    OK(cls_stream_wait_timeline(work->stream, order, joined - 1)); /* the higher value will do */
    OK(cls_copy_d2d_async(work->a, 8, work->b, 0, 4, work->stream));
    OK(rig_step(work->stream, work->a, 2, 2, 1, 0));
}

static void add_one(void *cell) { ++*(uint32_t *)cell; }

static void host_functions(struct work *work) {
    OK(cls_copy_d2h_async(work->out, work->a, 0, 8, work->stream));
    OK(cls_stream_launch_host_async(work->stream, add_one, work->out));
    OK(cls_copy_h2d_async(work->a, 0, work->out, 8, work->stream));
    OK(rig_step(work->stream, work->a, 0, 3, 1, 0));
}

static void scratch(struct work *work) {
    cls_buffer more;
    OK(cls_malloc_async(work->stream, BYTES, &more));
    OK(cls_copy_h2d_async(more, 0, work->in, BYTES, work->stream));
    OK(rig_step(work->stream, more, 3, 3, 1, 1));
    OK(cls_copy_d2d_async(work->b, 0, more, 0, BYTES, work->stream));
    OK(cls_free_async(more, work->stream));
}

static int call_marker(cl_command_queue queue, void *arg) {
    (void)queue;
    add_one(arg);
    return 0;
}

static void foreign_calls(struct work *work) {
    OK(rig_step(work->stream, work->a, 0, 3, 1, 1));
    OK(cls_stream_foreign_async(work->stream, "count", call_marker, work->out));
    OK(rig_step(work->stream, work->a, 0, 3, 1, 0));
}

/* Of a batch that was executed before: relu(a) * 3 + a into b, its greatest into a. */
static void batches(struct work *work) {
    const cls_array a = cls_array_of(work->a, CLS_F32, CELLS),
                    b = cls_array_of(work->b, CLS_F32, CELLS);
    static float numbers[CELLS];
    cls_batch batch;
    cls_value x, y, greatest;
    for (int i = 0; i < CELLS; i++)
        numbers[i] = (float)i - 100;
    OK(cls_copy_h2d_async(work->a, 0, numbers, BYTES, work->stream));
    OK(cls_batch_create(rig.context, NULL, &batch));
    OK(cls_batch_array(batch, a, &x));
    OK(cls_batch_relu(batch, x, &y));
    OK(cls_batch_scale(batch, y, 3, &y));
    OK(cls_batch_add(batch, y, x, &y));
    OK(cls_batch_store(batch, y, b));
    OK(cls_batch_reduce(batch, CLS_REDUCE_MAX, y, &greatest));
    OK(cls_batch_keep(batch, greatest));
    OK(cls_batch_execute_async(batch, work->stream));
    OK(cls_batch_destroy(batch));
    OK(cls_unary_async(CLS_UNARY_NEG, b, a, work->stream));
}

/* A product of two matrices of 8 by 8 in a, into b. */
static void products(struct work *work) {
    enum { SIDE = 8, HALF = SIDE * SIDE };
    static float numbers[2 * HALF];
    const cls_matrix a = cls_matrix_of(work->a, CLS_F32, SIDE, SIDE),
                     b = cls_matrix_at(work->a, CLS_F32, HALF, SIDE, SIDE),
                     c = cls_matrix_of(work->b, CLS_F32, SIDE, SIDE);
    for (int i = 0; i < 2 * HALF; i++)
        numbers[i] = (float)(i % 7);
    OK(cls_copy_h2d_async(work->a, 0, numbers, sizeof numbers, work->stream));
    OK(cls_gemm_async(a, b, c, NULL, work->stream));
    OK(cls_unary_async(CLS_UNARY_NEG, cls_array_of(work->b, CLS_F32, HALF),
                       cls_array_of(work->b, CLS_F32, HALF), work->stream));
}

enum { ROUNDS = 3 };

static void run_eagerly(part_fn *part, struct work *work) {
    work_begin(work);
    for (int round = 0; round < ROUNDS; round++)
        part(work);
    OK(cls_stream_synchronize(work->stream));
}

static void run_captured(part_fn *part, struct work *work) {
    work_begin(work);
    OK(cls_stream_begin_capture(work->stream, "part"));
    part(work);
    assert_int_equal(rig_cell(work->a, 0), 0); /* nothing has run */
    cls_graph_exec exec = rig_end_capture(work->stream);
    for (int round = 0; round < ROUNDS; round++)
        OK(cls_graph_launch_async(exec, work->stream));
    OK(cls_stream_synchronize(work->stream));
    OK(cls_graph_exec_destroy(exec));
}

static void expect_equal(const struct work *x, const struct work *y) {
    for (size_t i = 0; i < CELLS; i++) {
        assert_int_equal(rig_cell(x->a, i), rig_cell(y->a, i));
        assert_int_equal(rig_cell(x->b, i), rig_cell(y->b, i));
    }
    assert_memory_equal(x->out, y->out, sizeof x->out);
    assert_memory_equal(x->greatest, y->greatest, sizeof x->greatest);
}

static void compare(part_fn *part) {
    static struct work eager, captured;
    run_eagerly(part, &eager);
    run_captured(part, &captured);
    expect_equal(&eager, &captured);
    work_end(&eager);
    work_end(&captured);
}

#define COMPARES(name)                      \
    static void test_##name(void **state) { \
        (void)state;                        \
        compare(name);                      \
    }

COMPARES(launches)
COMPARES(copies)
COMPARES(fills)
COMPARES(prefetches)
COMPARES(rectangles)
COMPARES(operations)
COMPARES(diamond)
COMPARES(host_functions)
COMPARES(scratch)
COMPARES(foreign_calls)
COMPARES(batches)

static void test_timelines(void **state) {
    (void)state;
    cls_timeline_info info = CLS_TIMELINE_INFO_INIT;
    cls_stream stream = rig_stream();
    OK(cls_timeline_create(NULL, &order));
    newest_value = 0;
    compare(diamond_of_timelines);
    OK(cls_timeline_get_info(order, &info));
    assert_int_equal(info.value, newest_value - 3); /* no launch of the graph has signalled */
    assert_int_equal(info.queued, info.value);
    OK(cls_stream_wait_timeline(stream, order, newest_value)); /* the capture is over */
    OK(cls_timeline_signal(order, newest_value));
    OK(cls_stream_synchronize(stream));
    OK(cls_timeline_destroy(order));
    OK(cls_stream_destroy(stream));
}

static void test_products(void **state) {
    (void)state;
    compare(products);
}

/* --- the plan --- */

static void test_the_plan_keeps_no_implied_dependency(void **state) {
    (void)state;
    struct work work;
    work_begin(&work);
    OK(cls_stream_begin_capture(work.stream, NULL));
    diamond(&work);
    const cls_capture_info info = capture_of(work.other);
    assert_int_equal(info.state, CLS_CAPTURE_ACTIVE);
    assert_int_equal(info.nodes, 6);
    assert_int_equal(info.streams, 2);
    assert_false(info.is_origin);
    OK(cls_stream_wait_event(work.stream, work.forked)); /* implied by all */
    OK(rig_step(work.stream, work.a, 3, 2, 1, 0));
    cls_graph_exec exec = rig_end_capture(work.stream);
    const cls_graph_statistics statistics = rig_graph_statistics(exec);
    assert_int_equal(statistics.nodes, 7);
    assert_int_equal(statistics.edges, 7);
    assert_int_equal(statistics.streams, 2);
    assert_true(statistics.one_command);
    assert_int_equal(capture_of(work.other).state, CLS_CAPTURE_NONE);
    OK(cls_graph_exec_destroy(exec));
    work_end(&work);
}

static void test_a_graph_without_nodes_does_nothing(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    OK(cls_stream_begin_capture(stream, "nothing"));
    cls_graph_exec exec = rig_end_capture(stream);
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_graph_launch(exec, NULL));
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_graph_statistics(exec).launches, 2);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_stream_destroy(stream));
}

/* --- a launch is one command --- */

static cls_graph_exec capture_steps(cls_stream stream, cls_buffer cells, unsigned n, double ms) {
    OK(cls_stream_begin_capture(stream, "steps"));
    for (uint32_t i = 0; i < n; i++)
        OK(rig_step(stream, cells, 0, 3, i, ms));
    return rig_end_capture(stream);
}

static uint32_t after_steps(uint32_t value, unsigned n) {
    for (uint32_t i = 0; i < n; i++)
        value = value * 3 + i;
    return value;
}

static void test_a_launch_keeps_its_place_in_its_stream(void **state) {
    (void)state;
    cls_stream stream = rig_stream(), reader = rig_stream();
    cls_buffer cells = rig_cells(2);
    cls_event event = rig_event();
    uint32_t seen = 0;
    cls_graph_exec exec = capture_steps(stream, cells, 10, 1);
    OK(rig_set(stream, cells, 0, 5, 20));
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_event_record(event, stream));
    OK(cls_stream_wait_event(reader, event));
    OK(cls_copy_d2h_async(&seen, cells, 0, 4, reader));
    OK(cls_stream_synchronize(reader));
    assert_int_equal(seen, after_steps(5, 10));
    OK(rig_step(stream, cells, 0, 2, 1, 0));
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(cells, 0), 2 * after_steps(5, 10) + 1);
    cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
    OK(cls_stream_get_counters(stream, &counters));
    assert_int_equal(counters.commands[CLS_COMMAND_GRAPH], 1);
    assert_int_equal(counters.commands[CLS_COMMAND_KERNEL], 2);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_event_destroy(event));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(reader));
}

static void test_launches_on_several_streams_keep_their_order(void **state) {
    (void)state;
    cls_stream streams[3] = {rig_stream(), rig_stream(), rig_stream()};
    cls_buffer cells = rig_cells(1);
    struct gate gate;
    uint32_t expected = 0;
    cls_graph_exec exec = capture_steps(streams[0], cells, 4, 0.5);
    gate_init(&gate);
    OK(cls_stream_launch_host_async(streams[0], gate_hold, &gate));
    for (int i = 0; i < 30; i++) {
        OK(cls_graph_launch_async(exec, streams[i % 3]));
        expected = after_steps(expected, 4);
    }
    gate_await(&gate);
    EXPECT(CLS_NOT_READY, cls_stream_query(streams[1]));
    OK(cls_graph_exec_destroy(exec)); /* submitted launches complete */
    gate_open(&gate);
    for (int i = 0; i < 3; i++)
        OK(cls_stream_synchronize(streams[i]));
    assert_int_equal(rig_cell(cells, 0), expected);
    gate_destroy(&gate);
    OK(cls_buffer_destroy(cells));
    for (int i = 0; i < 3; i++)
        OK(cls_stream_destroy(streams[i]));
}

enum { THREADS = 4, OF_EACH = 50 };

static bool launch_many(void *arg, unsigned i) {
    cls_graph_exec exec = *(cls_graph_exec *)arg;
    cls_stream stream = rig_stream();
    bool good = true;
    for (int k = 0; k < OF_EACH && good; k++)
        good = !cls_graph_set_enabled(exec, 1, (int)(i + (unsigned)k) % 2) &&
               !cls_graph_launch_async(exec, stream);
    return !cls_stream_synchronize(stream) && !cls_stream_destroy(stream) && good;
}

/* Node 0 counts; whether node 1 is in is each thread's to say, and nobody's to know. */
static void test_several_threads_launch_one_graph(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(2);
    OK(cls_stream_begin_capture(stream, "shared"));
    OK(rig_step(stream, cells, 0, 1, 1, 0));
    OK(rig_step(stream, cells, 1, 1, 1, 0));
    cls_graph_exec exec = rig_end_capture(stream);
    assert_int_equal(team_run(THREADS, launch_many, &exec), 0);
    assert_int_equal(rig_cell(cells, 0), THREADS * OF_EACH);
    assert_true(rig_cell(cells, 1) <= THREADS * OF_EACH);
    assert_int_equal(rig_graph_statistics(exec).launches, THREADS * OF_EACH);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

/* Names are kept for good, so those that the library gives are few. */
static void test_names_of_unnamed_graphs_come_again(void **state) {
    (void)state;
    enum { NAMES = 256 };
    cls_stream stream = rig_stream();
    char first[64] = "", now[64] = "";
    for (unsigned i = 0; i <= NAMES; i++) {
        cls_graph graph;
        OK(cls_stream_begin_capture(stream, NULL));
        snprintf(now, sizeof now, "%s", capture_of(stream).name);
        OK(cls_stream_end_capture(stream, &graph));
        OK(cls_graph_destroy(graph));
        if (i % NAMES)
            assert_string_not_equal(now, first);
        else if (i)
            assert_string_equal(now, first);
        else
            snprintf(first, sizeof first, "%s", now);
    }
    assert_int_equal(strncmp(first, "graph ", 6), 0);
    OK(cls_stream_destroy(stream));
}

static void test_a_graph_keeps_what_it_uses(void **state) {
    (void)state;
    cls_stream stream = rig_stream(), captured = rig_stream();
    cls_buffer cells = rig_cells(2), target = rig_cells(2);
    const uint32_t nine = 9;
    OK(cls_stream_begin_capture(captured, NULL));
    OK(cls_fill_async(cells, 0, 8, &nine, 4, captured));
    OK(rig_step(captured, cells, 1, 2, 1, 0));
    OK(cls_copy_d2d_async(target, 0, cells, 0, 8, captured));
    cls_graph_exec exec = rig_end_capture(captured);
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(captured));
    OK(cls_graph_launch(exec, stream));
    assert_int_equal(rig_cell(target, 0), 9);
    assert_int_equal(rig_cell(target, 1), 19);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(target));
    OK(cls_stream_destroy(stream));
}

/* --- many branches --- */

static void test_branches_run_and_join(void **state) {
    (void)state;
    enum { BRANCHES = 20, STEPS = 5 };
    cls_stream origin = rig_stream(), streams[BRANCHES];
    cls_event fork = rig_event(), joins[BRANCHES];
    cls_buffer cells = rig_cells(BRANCHES + 1);
    OK(cls_stream_begin_capture(origin, "branches"));
    OK(rig_step(origin, cells, BRANCHES, 3, 1, 0.2));
    OK(cls_event_record(fork, origin));
    for (uint32_t b = 0; b < BRANCHES; b++) {
        streams[b] = rig_stream();
        joins[b] = rig_event();
        OK(cls_stream_wait_event(streams[b], fork));
        OK(cls_copy_d2d_async(cells, 4 * b, cells, 4 * BRANCHES, 4, streams[b]));
        for (uint32_t i = 0; i < STEPS; i++)
            OK(rig_step(streams[b], cells, b, 3, i + b, 0.1));
        OK(cls_event_record(joins[b], streams[b]));
        OK(cls_stream_wait_event(origin, joins[b]));
    }
    OK(rig_step(origin, cells, BRANCHES, 2, 1, 0));
    cls_graph_exec exec = rig_end_capture(origin);
    assert_int_equal(rig_graph_statistics(exec).streams, 8);
    uint32_t seed = 0;
    for (int round = 0; round < 4; round++) {
        OK(cls_graph_launch(exec, origin));
        seed = seed * 3 + 1;
        for (uint32_t b = 0; b < BRANCHES; b++) {
            uint32_t value = seed;
            for (uint32_t i = 0; i < STEPS; i++)
                value = value * 3 + i + b;
            assert_int_equal(rig_cell(cells, b), value);
        }
        seed = seed * 2 + 1;
        assert_int_equal(rig_cell(cells, BRANCHES), seed);
    }
    OK(cls_graph_exec_destroy(exec));
    for (uint32_t b = 0; b < BRANCHES; b++) {
        OK(cls_stream_destroy(streams[b]));
        OK(cls_event_destroy(joins[b]));
    }
    OK(cls_event_destroy(fork));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(origin));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launches),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_fills),
        cmocka_unit_test(test_prefetches),
        cmocka_unit_test(test_rectangles),
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_diamond),
        cmocka_unit_test(test_host_functions),
        cmocka_unit_test(test_scratch),
        cmocka_unit_test(test_foreign_calls),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_timelines),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_the_plan_keeps_no_implied_dependency),
        cmocka_unit_test(test_a_graph_without_nodes_does_nothing),
        cmocka_unit_test(test_a_launch_keeps_its_place_in_its_stream),
        cmocka_unit_test(test_launches_on_several_streams_keep_their_order),
        cmocka_unit_test(test_several_threads_launch_one_graph),
        cmocka_unit_test(test_names_of_unnamed_graphs_come_again),
        cmocka_unit_test(test_a_graph_keeps_what_it_uses),
        cmocka_unit_test(test_branches_run_and_join),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
