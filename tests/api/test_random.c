/* SPDX-License-Identifier: MIT */
/* Generators as objects of streams: their state is memory, and a draw is work like any other. */
#include "../support/rig.h"

#include <stdlib.h>
#include <string.h>

#include <clstream/random.h>

enum { COUNT = 64, BYTES = COUNT * 4, COUNTERS = COUNT / 4, LAUNCHES = 3 };

static cls_stream stream;
static cls_buffer cells;
static cls_random generator;

static int begin(void **state) {
    (void)state;
    stream = rig_stream();
    cells = rig_cells(COUNT);
    OK(cls_random_create(rig.context, 12345, &generator));
    return 0;
}

static int finish(void **state) {
    (void)state;
    if (generator)
        OK(cls_random_destroy(generator));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
    return 0;
}

static cls_array all_cells(void) { return cls_array_of(cells, CLS_U32, COUNT); }

static void set_offset(uint64_t offset) {
    const cls_random_state state = {12345, 0, offset};
    OK(cls_random_set_state(generator, &state, stream));
}

static uint64_t offset_now(void) {
    cls_random_state state = {0, 0, 0};
    OK(cls_random_get_state(generator, &state, stream));
    assert_true(state.seed == 12345 && state.sequence == 0);
    return state.offset;
}

/* Draws number `which` of COUNT words each, from offset 0. */
static void draw_number(unsigned which, uint32_t *out) {
    set_offset((uint64_t)which * COUNTERS);
    OK(cls_random_integers(generator, all_cells(), 0, stream));
    OK(cls_copy_d2h(out, cells, 0, BYTES, stream));
}

static void test_starts_with_its_seed(void **state) {
    uint32_t first[COUNT], again[COUNT];
    (void)state;
    assert_true(offset_now() == 0);
    OK(cls_random_integers(generator, all_cells(), 0, stream));
    assert_true(offset_now() == COUNTERS);
    OK(cls_copy_d2h(again, cells, 0, BYTES, stream));
    draw_number(0, first);
    assert_memory_equal(first, again, BYTES);
}

static void test_each_launch_draws_anew(void **state) {
    uint32_t wanted[COUNT], got[COUNT];
    cls_graph_exec exec;
    (void)state;
    OK(cls_stream_begin_capture(stream, "draw"));
    OK(cls_random_integers_async(generator, all_cells(), 0, stream));
    exec = rig_end_capture(stream);
    assert_true(offset_now() == 0);
    for (unsigned i = 0; i < LAUNCHES; i++) {
        set_offset((uint64_t)i * COUNTERS);
        OK(cls_graph_launch(exec, stream));
        assert_true(offset_now() == (uint64_t)(i + 1) * COUNTERS);
        OK(cls_copy_d2h(got, cells, 0, BYTES, stream));
        draw_number(i, wanted);
        assert_memory_equal(got, wanted, BYTES);
    }
    OK(cls_graph_exec_destroy(exec));
}

/* Launches one after the other, of a graph with a draw, a copy and another draw. */
static void test_launches_continue(void **state) {
    uint32_t wanted[COUNT], got[2 * LAUNCHES][COUNT];
    cls_buffer kept;
    cls_graph_exec exec;
    (void)state;
    OK(cls_buffer_create(rig.context, BYTES, &kept));
    OK(cls_stream_begin_capture(stream, "draws"));
    OK(cls_random_integers_async(generator, all_cells(), 0, stream));
    OK(cls_copy_d2d_async(kept, 0, cells, 0, BYTES, stream));
    OK(cls_random_integers_async(generator, all_cells(), 0, stream));
    exec = rig_end_capture(stream);
    for (unsigned i = 0; i < LAUNCHES; i++) {
        OK(cls_graph_launch_async(exec, stream));
        OK(cls_copy_d2h_async(got[2 * i], kept, 0, BYTES, stream));
        OK(cls_copy_d2h_async(got[2 * i + 1], cells, 0, BYTES, stream));
    }
    OK(cls_stream_synchronize(stream));
    assert_true(offset_now() == 2 * LAUNCHES * COUNTERS);
    for (unsigned i = 0; i < 2 * LAUNCHES; i++) {
        draw_number(i, wanted);
        assert_memory_equal(got[i], wanted, BYTES);
    }
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(kept));
}

static void test_a_captured_state_is_set_by_each_launch(void **state) {
    const cls_random_state seventh = {12345, 0, 7};
    cls_graph_exec exec;
    (void)state;
    OK(cls_stream_begin_capture(stream, "state"));
    OK(cls_random_set_state_async(generator, &seventh, stream));
    OK(cls_random_integers_async(generator, all_cells(), 0, stream));
    exec = rig_end_capture(stream);
    for (unsigned i = 0; i < LAUNCHES; i++) {
        OK(cls_graph_launch(exec, stream));
        assert_true(offset_now() == 7 + COUNTERS);
    }
    OK(cls_graph_exec_destroy(exec));
}

/* The graph keeps the state of a generator that is destroyed. */
static void test_destroyed_while_it_draws(void **state) {
    uint32_t wanted[2][COUNT], got[2][COUNT];
    cls_graph_exec exec;
    (void)state;
    draw_number(0, wanted[0]);
    draw_number(1, wanted[1]);
    set_offset(0);
    OK(cls_stream_begin_capture(stream, "draw"));
    OK(cls_random_integers_async(generator, all_cells(), 0, stream));
    exec = rig_end_capture(stream);
    OK(cls_random_integers_async(generator, all_cells(), 0, stream));
    OK(cls_random_destroy(generator));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_random_destroy(generator));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_random_integers(generator, all_cells(), 0, stream));
    generator = NULL;
    OK(cls_copy_d2h(got[0], cells, 0, BYTES, stream));
    OK(cls_graph_launch(exec, stream));
    OK(cls_copy_d2h(got[1], cells, 0, BYTES, stream));
    assert_memory_equal(got, wanted, sizeof got);
    OK(cls_graph_exec_destroy(exec));
}

static void test_nothing_is_drawn_of_no_elements(void **state) {
    (void)state;
    rig_need("rounding");
    OK(cls_random_normal(generator, cls_array_of(cells, CLS_F32, 0), 0, 1, stream));
    assert_true(offset_now() == 0);
}

/* --- threads on one stream: no two draws have the same numbers --- */

enum { THREADS = 4, DRAWS = 50 };
static uint32_t drawn[THREADS][DRAWS][4];

static bool draw_some(void *arg, unsigned i) {
    cls_buffer own;
    (void)arg;
    if (cls_buffer_create(rig.context, 16, &own))
        return false;
    for (unsigned k = 0; k < DRAWS; k++)
        if (cls_random_integers_async(generator, cls_array_of(own, CLS_U32, 4), 0, stream) ||
            cls_copy_d2h_async(drawn[i][k], own, 0, 16, stream))
            return false;
    return !cls_stream_synchronize(stream) && !cls_buffer_destroy(own);
}

static int compare(const void *a, const void *b) { return memcmp(a, b, sizeof drawn[0][0]); }

static void test_draws_of_threads_do_not_mix(void **state) {
    static uint32_t wanted[THREADS * DRAWS][4];
    cls_buffer all;
    (void)state;
    OK(cls_buffer_create(rig.context, sizeof wanted, &all));
    OK(cls_random_integers(generator, cls_array_of(all, CLS_U32, THREADS * DRAWS * 4), 0, stream));
    OK(cls_copy_d2h(wanted, all, 0, sizeof wanted, stream));
    OK(cls_buffer_destroy(all));
    set_offset(0);
    assert_int_equal(team_run(THREADS, draw_some, NULL), 0);
    qsort(wanted, THREADS * DRAWS, sizeof *wanted, compare);
    qsort(drawn, THREADS * DRAWS, sizeof *wanted, compare);
    assert_memory_equal(drawn, wanted, sizeof wanted);
}

/* --- failures --- */

static void test_a_failed_stream_draws_nothing(void **state) {
    (void)state;
    OK(rig_fail(stream, "failing", CL_OUT_OF_RESOURCES));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_random_integers_async(generator, all_cells(), 0, stream));
    OK(cls_stream_reset(stream));
    assert_true(offset_now() == 0);
}

static void test_refused(void **state) {
    cls_array floats = cls_array_of(cells, CLS_F32, COUNT),
              bytes = cls_array_of(cells, CLS_U8, COUNT);
    cls_array none = {0}, part = cls_array_at(cells, CLS_F32, 1, COUNT - 1);
    (void)state;
    rig_need("rounding");
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_random_create(rig.context, 0, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_random_uniform(generator, floats, 1, 1, stream));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_random_uniform(generator, floats, 1, 1 + 1e-12, stream));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_random_uniform(generator, floats, -3e38, 3e38, stream));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_random_normal(generator, floats, 0, -1, stream));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_random_normal(generator, bytes, 0, 1, stream));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_random_integers(generator, bytes, 257, stream));
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_random_integers(generator, floats, 2, stream));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_random_bernoulli(generator, bytes, 1.5, stream));
    EXPECT(CLS_ERROR_OVERLAP, cls_dropout(generator, cls_array_of(cells, CLS_F32, COUNT - 1), none,
                                          part, 0.5, stream));
    EXPECT(CLS_ERROR_OVERLAP, cls_dropout(generator, floats, bytes, floats, 0.5, stream));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_dropout(generator, floats, none, part, 0.5, stream));
    assert_true(offset_now() == 0);
}

static void create_inside(void *status) {
    cls_random made;
    *(cls_status *)status = cls_random_create(rig.context, 0, &made);
}

static void test_created_in_a_host_function(void **state) {
    cls_status status = CLS_SUCCESS;
    (void)state;
    OK(cls_stream_launch_host_async(stream, create_inside, &status));
    OK(cls_stream_synchronize(stream));
    EXPECT(CLS_ERROR_WOULD_DEADLOCK, status);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, finish)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(starts_with_its_seed),
        TEST(each_launch_draws_anew),
        TEST(launches_continue),
        TEST(a_captured_state_is_set_by_each_launch),
        TEST(destroyed_while_it_draws),
        TEST(nothing_is_drawn_of_no_elements),
        TEST(draws_of_threads_do_not_mix),
        TEST(a_failed_stream_draws_nothing),
        TEST(refused),
        TEST(created_in_a_host_function),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
