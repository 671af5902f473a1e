/* SPDX-License-Identifier: MIT */
/* Memory that is allocated and freed in a capture: laid out by lifetime, in one block of each executable graph. */
#include "../support/rig.h"

#include <string.h>

#include <clstream/batch.h>
#include <clstream/blas.h>
#include <clstream/graph.h>
#include <clstream/mempool.h>
#include <clstream/reduce.h>
#include <clstream/unary.h>

enum { CELLS = 4096, BYTES = 4 * CELLS, LINKS = 12, ROUNDS = 3 };

struct world {
    cls_stream stream, other;
    cls_event forked, joined;
    cls_buffer in, out;
    uint32_t host[CELLS];
};

static int begin(void **state) {
    static struct world world;
    world = (struct world){.stream = rig_named("main"), .other = rig_stream()};
    world.forked = rig_event();
    world.joined = rig_event();
    world.in = rig_cells(CELLS);
    world.out = rig_cells(CELLS);
    *state = &world;
    return 0;
}

static int end(void **state) {
    struct world *world = *state;
    OK(cls_event_destroy(world->forked));
    OK(cls_event_destroy(world->joined));
    OK(cls_buffer_destroy(world->in));
    OK(cls_buffer_destroy(world->out));
    OK(cls_stream_destroy(world->stream));
    OK(cls_stream_destroy(world->other));
    return 0;
}

/* Whether memory may be parts of one block; else each buffer has its own, and all of them are counted. */
static bool in_parts(void) {
    return rig_has_capability("sub_buffer_arguments") && rig_has_capability("sub_buffer_copies");
}

static void expect_arena(cls_graph_exec exec, uint64_t shared, uint64_t separate, uint64_t least) {
    const cls_graph_statistics statistics = rig_graph_statistics(exec);
    assert_int_equal(statistics.arena_bytes, in_parts() ? shared : separate);
    assert_int_equal(statistics.arena_least_bytes, least);
}

static cls_buffer allocate(cls_stream stream) {
    cls_buffer buffer;
    OK(cls_malloc_async(stream, BYTES, &buffer));
    return buffer;
}

static void copy(cls_buffer to, cls_buffer from, cls_stream stream) {
    OK(cls_copy_d2d_async(to, 0, from, 0, BYTES, stream));
}

static void give(const struct world *world, uint32_t value) {
    OK(cls_fill_async(world->in, 0, BYTES, &value, 4, world->stream));
}

/* out = in * 2^LINKS, through a buffer a link. */
static void submit_chain(const struct world *world) {
    cls_buffer from = world->in;
    for (int i = 0; i < LINKS; i++) {
        const cls_buffer to = allocate(world->stream);
        copy(to, from, world->stream);
        OK(rig_step(world->stream, to, 5, 2, 0, 0));
        if (i)
            OK(cls_free_async(from, world->stream));
        from = to;
    }
    copy(world->out, from, world->stream);
    OK(cls_free_async(from, world->stream));
}

static void test_a_chain_takes_the_least(void **state) {
    struct world *world = *state;
    OK(cls_stream_begin_capture(world->stream, "chain"));
    submit_chain(world);
    cls_graph_exec exec = rig_end_capture(world->stream);
    expect_arena(exec, 2 * BYTES, LINKS * BYTES, 2 * BYTES);
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        give(world, i);
        OK(cls_graph_launch_async(exec, world->stream));
        OK(cls_copy_d2h(world->host, world->out, 0, BYTES, world->stream));
        for (uint32_t k = 0; k < CELLS; k++)
            assert_int_equal(world->host[k], k == 5 ? i << LINKS : i);
    }
    OK(cls_graph_exec_destroy(exec));
}

/* Each branch has a value of its own until the join, behind which there is memory again. */
static void test_branches_share_nothing(void **state) {
    struct world *world = *state;
    OK(cls_stream_begin_capture(world->stream, "branches"));
    OK(cls_event_record(world->forked, world->stream));
    OK(cls_stream_wait_event(world->other, world->forked));
    const cls_buffer here = allocate(world->stream), there = allocate(world->other);
    copy(here, world->in, world->stream);
    OK(rig_step(world->stream, here, 0, 3, 1, 3));
    copy(there, world->in, world->other);
    OK(rig_step(world->other, there, 0, 5, 2, 3));
    OK(cls_copy_d2d_async(world->out, 4, there, 0, 4, world->other));
    OK(cls_free_async(there, world->other));
    OK(cls_event_record(world->joined, world->other));
    OK(cls_stream_wait_event(world->stream, world->joined));
    const cls_buffer later = allocate(world->stream);
    copy(later, here, world->stream);
    OK(cls_copy_d2d_async(world->out, 0, later, 0, 4, world->stream));
    OK(cls_free_async(here, world->stream));
    OK(cls_free_async(later, world->stream));
    cls_graph_exec exec = rig_end_capture(world->stream);
    expect_arena(exec, 2 * BYTES, 3 * BYTES, 2 * BYTES);
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        give(world, i);
        OK(cls_graph_launch_async(exec, world->stream));
        OK(cls_copy_d2h(world->host, world->out, 0, 8, world->stream));
        assert_int_equal(world->host[0], 3 * i + 1);
        assert_int_equal(world->host[1], 5 * i + 2);
    }
    OK(cls_graph_exec_destroy(exec));
}

/* Two branches, one after the other in the capture but not ordered, each with a value: both are alive at once. */
static void test_unordered_values_do_not_share(void **state) {
    struct world *world = *state;
    OK(cls_stream_begin_capture(world->stream, "unordered"));
    OK(cls_event_record(world->forked, world->stream));
    OK(cls_stream_wait_event(world->other, world->forked));
    const cls_buffer here = allocate(world->stream);
    copy(here, world->in, world->stream);
    OK(cls_free_async(here, world->stream));
    const cls_buffer there = allocate(world->other);
    copy(there, world->in, world->other);
    OK(cls_free_async(there, world->other));
    OK(cls_event_record(world->joined, world->other));
    OK(cls_stream_wait_event(world->stream, world->joined));
    cls_graph_exec exec = rig_end_capture(world->stream);
    expect_arena(exec, 2 * BYTES, 2 * BYTES, BYTES);
    OK(cls_graph_exec_destroy(exec));
}

/* All kinds of nodes that rebind use a place: copies of all directions, rectangles, fills, parts as arguments,
 * operations with scratch memory of their own. */
static void submit_all_kinds(struct world *world) {
    const cls_rect rect = {.width = 64, .height = 4, .depth = 1, .dst_pitch = 128, .src_pitch = 64};
    const size_t align = 4096;
    const uint32_t seven = 7;
    const cls_buffer a = allocate(world->stream), b = allocate(world->stream);
    OK(cls_copy_h2d_async(a, 0, world->host, BYTES, world->stream));
    OK(cls_fill_async(b, 0, BYTES, &seven, 4, world->stream));
    OK(cls_copy_rect_d2d_async(b, a, &rect, world->stream));
    const cls_arg args[] = {cls_arg_buffer_at(b, align, align), cls_arg_u32(0), cls_arg_u32(3),
                            cls_arg_u32(1), cls_arg_u32(1)};
    const cls_launch one = {1, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, NULL, 0};
    OK(cls_kernel_launch_async(rig.step, &one, args, 5, world->stream));
    copy(world->out, b, world->stream);
    OK(cls_unary_param_async(CLS_UNARY_ADD_SCALAR, cls_array_of(b, CLS_I32, CELLS),
                             cls_array_of(b, CLS_I32, CELLS), 1, world->stream));
    OK(cls_reduce_async(CLS_REDUCE_SUM, cls_array_of(b, CLS_I32, CELLS),
                        cls_array_of(a, CLS_I64, 1), world->stream));
    OK(cls_copy_d2d_async(world->out, 0, a, 0, 4, world->stream));
    OK(cls_copy_d2h_async(&world->host[1], a, 0, 4, world->stream));
    OK(cls_free_async(a, world->stream));
    OK(cls_free_async(b, world->stream));
}

static void test_all_kinds_of_nodes(void **state) {
    struct world *world = *state;
    static uint32_t want[2][CELLS], got[CELLS];
    memset(world->host, 0, sizeof world->host);
    for (int i = 0; i < 2; i++) {
        submit_all_kinds(world);
        OK(cls_copy_d2h(want[i], world->out, 0, BYTES, world->stream));
    }
    assert_memory_not_equal(want[0], want[1], BYTES);
    memset(world->host, 0, sizeof world->host);
    OK(cls_stream_begin_capture(world->stream, "kinds"));
    submit_all_kinds(world);
    cls_graph_exec exec = rig_end_capture(world->stream);
    assert_true(rig_graph_statistics(exec).arena_bytes >= 2 * BYTES);
    for (int i = 0; i < 2; i++) {
        OK(cls_graph_launch(exec, world->stream));
        OK(cls_copy_d2h(got, world->out, 0, BYTES, world->stream));
        assert_memory_equal(got, want[i], BYTES);
    }
    OK(cls_graph_exec_destroy(exec));
}

/* out = (in as 8 x 8) squared, twice over, through two temporaries. */
static void test_products(void **state) {
    struct world *world = *state;
    float numbers[64], found[64];
    for (int i = 0; i < 64; i++)
        numbers[i] = i % 9 ? 0 : 3;
    OK(cls_stream_begin_capture(world->stream, "products"));
    const cls_buffer a = allocate(world->stream), b = allocate(world->stream);
    const cls_matrix in = cls_matrix_of(world->in, CLS_F32, 8, 8),
                     x = cls_matrix_of(a, CLS_F32, 8, 8), y = cls_matrix_of(b, CLS_F32, 8, 8);
    OK(cls_gemm_async(in, in, x, NULL, world->stream));
    OK(cls_gemm_async(x, x, y, NULL, world->stream));
    OK(cls_free_async(a, world->stream));
    copy(world->out, b, world->stream);
    OK(cls_free_async(b, world->stream));
    cls_graph_exec exec = rig_end_capture(world->stream);
    expect_arena(exec, 2 * BYTES, 2 * BYTES, 2 * BYTES);
    OK(cls_copy_h2d(world->in, 0, numbers, sizeof numbers, world->stream));
    OK(cls_graph_launch(exec, world->stream));
    OK(cls_copy_d2h(found, world->out, 0, sizeof found, world->stream));
    for (int i = 0; i < 64; i++)
        assert_true(found[i] == (i % 9 ? 0 : 81));
    OK(cls_graph_exec_destroy(exec));
}

/* --- what keeps memory of its own --- */

static int call_nothing(cl_command_queue queue, void *arg) {
    (void)queue;
    (void)arg;
    return 0;
}

static void test_other_buffers_stay_as_they_are(void **state) {
    struct world *world = *state;
    cl_mem memory;
    cls_batch batch;
    cls_value value;
    OK(cls_batch_create(rig.context, NULL, &batch));
    OK(cls_stream_begin_capture(world->stream, "others"));
    const cls_buffer kept = allocate(world->stream), known = allocate(world->stream),
                     shared = allocate(world->stream);
    copy(kept, world->in, world->stream);
    copy(known, kept, world->stream);
    OK(cls_buffer_get_cl(known, &memory));
    OK(cls_stream_foreign_async(world->stream, "call", call_nothing, memory));
    copy(shared, known, world->stream);
    OK(cls_batch_array(batch, cls_array_of(shared, CLS_I32, CELLS), &value));
    OK(cls_free_async(known, world->stream));
    OK(cls_free_async(shared, world->stream));
    cls_graph_exec exec = rig_end_capture(world->stream);
    expect_arena(exec, 0, 0, 0);
    give(world, 3);
    OK(cls_graph_launch(exec, world->stream));
    assert_int_equal(rig_cell(kept, 9), 3);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(kept));
    OK(cls_batch_destroy(batch));
}

/* --- several graphs --- */

/* Two of one graph run side by side. */
static void test_each_executable_graph_has_its_own(void **state) {
    struct world *world = *state;
    cls_graph graph;
    cls_graph_exec execs[2];
    cls_buffer outs[2] = {rig_cells(CELLS), rig_cells(CELLS)};
    OK(cls_stream_begin_capture(world->stream, "twice"));
    const cls_buffer inner = allocate(world->stream);
    OK(cls_copy_h2d_async(inner, 0, world->host, BYTES, world->stream));
    OK(rig_step(world->stream, inner, 0, 1, 1, 3));
    copy(world->out, inner, world->stream);
    OK(cls_free_async(inner, world->stream));
    OK(cls_stream_end_capture(world->stream, &graph));
    static uint32_t hosts[2][CELLS];
    for (uint32_t i = 0; i < 2; i++) {
        hosts[i][0] = 100 * i;
        OK(cls_graph_instantiate(graph, NULL, &execs[i]));
        OK(cls_graph_bind_host(execs[i], world->host, hosts[i]));
        OK(cls_graph_bind(execs[i], world->out, outs[i]));
    }
    OK(cls_graph_destroy(graph));
    OK(cls_graph_launch_async(execs[0], world->stream));
    OK(cls_graph_launch_async(execs[1], world->other));
    OK(cls_context_synchronize(rig.context));
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(rig_cell(outs[i], 0), 100 * i + 1);
        OK(cls_graph_exec_destroy(execs[i]));
        OK(cls_buffer_destroy(outs[i]));
    }
}

/* The memory stays as long as the outer graph, which has its nodes. */
static void test_a_graph_in_a_graph_keeps_its_memory(void **state) {
    struct world *world = *state;
    OK(cls_stream_begin_capture(world->stream, "inner"));
    submit_chain(world);
    cls_graph_exec inner = rig_end_capture(world->stream);
    OK(cls_stream_begin_capture(world->stream, "outer"));
    OK(cls_graph_launch_async(inner, world->stream));
    OK(rig_step(world->stream, world->out, 5, 3, 1, 0));
    cls_graph_exec outer = rig_end_capture(world->stream);
    OK(cls_graph_exec_destroy(inner));
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        give(world, i);
        OK(cls_graph_launch(outer, world->stream));
        assert_int_equal(rig_cell(world->out, 5), (i << LINKS) * 3 + 1);
    }
    OK(cls_graph_exec_destroy(outer));
}

/* Both copies of the inner graph use its memory. */
static void test_copies_of_one_graph_keep_their_order(void **state) {
    struct world *world = *state;
    OK(cls_stream_begin_capture(world->stream, "inner"));
    submit_chain(world);
    cls_graph_exec inner = rig_end_capture(world->stream);
    OK(cls_stream_begin_capture(world->stream, "outer"));
    OK(cls_event_record(world->forked, world->stream));
    OK(cls_stream_wait_event(world->other, world->forked));
    OK(cls_graph_launch_async(inner, world->stream));
    OK(cls_graph_launch_async(inner, world->other));
    OK(cls_event_record(world->joined, world->other));
    OK(cls_stream_wait_event(world->stream, world->joined));
    cls_graph_exec outer = rig_end_capture(world->stream);
    OK(cls_graph_exec_destroy(inner));
    assert_int_equal(rig_graph_statistics(outer).streams, 1);
    give(world, 3);
    OK(cls_graph_launch(outer, world->stream));
    assert_int_equal(rig_cell(world->out, 5), 3 << LINKS);
    OK(cls_graph_exec_destroy(outer));
}

static cls_graph capture_of_size(const struct world *world, size_t bytes) {
    cls_graph graph;
    cls_buffer inner;
    OK(cls_stream_begin_capture(world->stream, "sized"));
    OK(cls_malloc_async(world->stream, bytes, &inner));
    OK(cls_copy_d2d_async(inner, 0, world->in, 0, bytes, world->stream));
    OK(cls_copy_d2d_async(world->out, 0, inner, 0, bytes, world->stream));
    OK(cls_free_async(inner, world->stream));
    OK(cls_stream_end_capture(world->stream, &graph));
    return graph;
}

static void test_an_update_brings_its_memory(void **state) {
    struct world *world = *state;
    cls_graph small = capture_of_size(world, BYTES / 4), large = capture_of_size(world, BYTES);
    cls_graph_exec exec;
    OK(cls_graph_instantiate(small, NULL, &exec));
    expect_arena(exec, BYTES / 4, BYTES / 4, BYTES / 4);
    give(world, 1);
    OK(cls_graph_launch_async(exec, world->stream));
    OK(cls_graph_update(exec, large));
    expect_arena(exec, BYTES, BYTES, BYTES);
    OK(cls_graph_destroy(small));
    OK(cls_graph_destroy(large));
    OK(cls_stream_synchronize(world->stream));
    assert_int_equal(rig_cell(world->out, CELLS / 4 - 1), 1);
    assert_int_equal(rig_cell(world->out, CELLS / 4), 0);
    OK(cls_graph_launch_async(exec, world->stream));
    OK(cls_stream_synchronize(world->stream));
    assert_int_equal(rig_cell(world->out, CELLS - 1), 1);
    OK(cls_graph_exec_destroy(exec));
}

/* A place can be bound to another buffer, by the handle that was captured. */
static void test_a_place_can_be_bound(void **state) {
    struct world *world = *state;
    cls_buffer inner, mine = rig_cells(CELLS);
    OK(cls_stream_begin_capture(world->stream, "bound"));
    inner = allocate(world->stream);
    copy(inner, world->in, world->stream);
    copy(world->out, inner, world->stream);
    OK(cls_free_async(inner, world->stream));
    cls_graph_exec exec = rig_end_capture(world->stream);
    give(world, 4);
    OK(cls_graph_bind(exec, inner, mine));
    OK(cls_graph_launch(exec, world->stream));
    assert_int_equal(rig_cell(mine, 1), 4);
    assert_int_equal(rig_cell(world->out, 1), 4);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(mine));
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_chain_takes_the_least),
        TEST(branches_share_nothing),
        TEST(unordered_values_do_not_share),
        TEST(all_kinds_of_nodes),
        TEST(products),
        TEST(other_buffers_stay_as_they_are),
        TEST(each_executable_graph_has_its_own),
        TEST(a_graph_in_a_graph_keeps_its_memory),
        TEST(copies_of_one_graph_keep_their_order),
        TEST(an_update_brings_its_memory),
        TEST(a_place_can_be_bound),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
