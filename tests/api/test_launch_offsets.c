/* SPDX-License-Identifier: MIT */
/* Launches with a global offset: where their work-items are, also in graphs and in two parts, and which are refused. */
#include "../support/rig.h"

#include <stdio.h>
#include <string.h>

enum { SIDE = 8, CELLS = SIDE * SIDE * SIDE, FAR = 1000 };

static const char source[] =
    "kernel void place(global uint *out, uint side) {\n"
    "    size_t i = (get_global_id(2) * side + get_global_id(1)) * side + get_global_id(0);\n"
    "    out[i] += 1 + (uint)i;\n"
    "}\n"
    "kernel __attribute__((reqd_work_group_size(4, 1, 1))) void fours(global uint *out) {\n"
    "    out[get_global_id(0)] = (uint)(get_global_offset(0) * 1000 + get_group_id(0) * 10 +\n"
    "                                   get_local_id(0));\n"
    "}\n";

static cls_program program;
static cls_kernel place, fours;

static int setup(void **state) {
    if (rig_setup(state))
        return -1;
    OK(cls_program_from_source(rig.context, source, "offsets.cl", NULL, &program));
    OK(cls_kernel_create(program, "place", &place));
    OK(cls_kernel_create(program, "fours", &fours));
    return 0;
}

static int teardown(void **state) {
    return cls_kernel_destroy(place) || cls_kernel_destroy(fours) || cls_program_destroy(program) ||
           rig_teardown(state);
}

static cls_launch launch_at(cls_launch launch, size_t x, size_t y, size_t z) {
    const size_t offset[3] = {x, y, z};
    memcpy(launch.offset, offset, sizeof offset);
    return launch;
}

static cls_status submit(const cls_launch *shape, cls_buffer cells, cls_stream stream) {
    const cls_arg args[] = {cls_arg_buffer(cells), cls_arg_u32(SIDE)};
    return cls_kernel_launch_async(place, shape, args, 2, stream);
}

/* That `times` launches of this shape have counted in the cells, and in no others. */
static void expect_box(cls_buffer cells, const cls_launch *shape, unsigned times) {
    uint32_t seen[CELLS];
    OK(cls_buffer_to_host(cells, seen, sizeof seen));
    for (size_t i = 0; i < CELLS; i++) {
        const size_t at[3] = {i % SIDE, i / SIDE % SIDE, i / SIDE / SIDE};
        bool inside = true;
        for (unsigned d = 0; d < 3; d++) {
            const bool used = d < shape->dims;
            const size_t from = used ? shape->offset[d] : 0, n = used ? shape->global[d] : 1;
            inside &= at[d] >= from && at[d] < from + n;
        }
        const uint32_t wanted = inside ? times * (uint32_t)(1 + i) : 0;
        if (seen[i] != wanted)
            fail_msg("cell %zu is %u, not %u", i, (unsigned)seen[i], (unsigned)wanted);
    }
}

static void test_work_items_count_from_the_offset(void **state) {
    (void)state;
    rig_need("launch_offsets");
    const cls_launch shapes[] = {
        launch_at(cls_launch_1d(5), 3, SIZE_MAX, SIZE_MAX), launch_at(cls_launch_2d(4, 3), 2, 5, 9),
        launch_at(cls_launch_2d(4, 3), 0, 5, 0), launch_at(cls_launch_3d(4, 2, 6), 1, 6, 2),
        launch_at(cls_launch_3d(8, 2, 1), 0, 0, 7)};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int with_local = 0; with_local < 2; with_local++) {
            cls_launch shape = shapes[i];
            cls_buffer cells = rig_cells(CELLS);
            for (unsigned d = 0; d < shape.dims && with_local; d++)
                shape.local[d] = d || shape.global[0] % 4 ? 1 : 4;
            OK(submit(&shape, cells, NULL));
            OK(submit(&shape, cells, NULL));
            expect_box(cells, &shape, 2);
            OK(cls_buffer_destroy(cells));
        }
}

/* One without is as before. */
static void test_a_plain_launch_follows(void **state) {
    (void)state;
    rig_need("launch_offsets");
    const cls_launch far = launch_at(cls_launch_1d(4), 4, 0, 0), plain = cls_launch_1d(4);
    cls_buffer first = rig_cells(CELLS), second = rig_cells(CELLS);
    OK(submit(&far, first, NULL));
    OK(submit(&plain, second, NULL));
    expect_box(first, &far, 1);
    expect_box(second, &plain, 1);
    OK(cls_buffer_destroy(first));
    OK(cls_buffer_destroy(second));
}

static void test_groups_count_from_zero(void **state) {
    (void)state;
    rig_need("launch_offsets");
    const cls_launch shape = launch_at(cls_launch_1d(8), 3, 0, 0);
    cls_buffer cells = rig_cells(11);
    const cls_arg args[] = {cls_arg_buffer(cells)};
    uint32_t seen[11];
    OK(cls_kernel_launch(fours, &shape, args, 1, NULL));
    OK(cls_buffer_to_host(cells, seen, sizeof seen));
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(seen[3 + i], 3000 + i / 4 * 10 + i % 4);
    OK(cls_buffer_destroy(cells));
}

/* A size without divisors goes to most drivers in two parts. */
static void test_a_size_without_divisors(void **state) {
    (void)state;
    enum { ITEMS = 10007 };
    rig_need("launch_offsets");
    const cls_launch shape = launch_at(cls_launch_1d(ITEMS), FAR, 0, 0);
    cls_buffer cells = rig_cells(FAR + ITEMS + 1);
    uint32_t *seen = calloc(FAR + ITEMS + 1, sizeof *seen);
    assert_non_null(seen);
    OK(submit(&shape, cells, NULL));
    OK(cls_buffer_to_host(cells, seen, (FAR + ITEMS + 1) * sizeof *seen));
    for (uint32_t i = 0; i < FAR + ITEMS + 1; i++)
        assert_int_equal(seen[i], i < FAR || i == FAR + ITEMS ? 0 : i + 1);
    free(seen);
    OK(cls_buffer_destroy(cells));
}

static cls_graph capture(cls_stream stream, const cls_launch *shape, cls_buffer cells) {
    cls_graph graph;
    OK(cls_stream_begin_capture(stream, "offsets"));
    OK(submit(shape, cells, stream));
    OK(cls_stream_end_capture(stream, &graph));
    return graph;
}

static void expect_replay(cls_graph_exec exec, cls_stream stream, cls_buffer cells,
                          const cls_launch *shape) {
    const uint32_t zero = 0;
    OK(cls_fill_async(cells, 0, CELLS * sizeof zero, &zero, sizeof zero, stream));
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_stream_synchronize(stream));
    expect_box(cells, shape, 2);
}

static void test_graphs_keep_and_change_it(void **state) {
    (void)state;
    rig_need("launch_offsets");
    const cls_launch here = launch_at(cls_launch_2d(4, 3), 2, 5, 0);
    const cls_launch there = launch_at(cls_launch_2d(4, 3), 1, 1, 0);
    const cls_launch plain = cls_launch_2d(4, 3);
    const cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(CELLS);
    const cls_arg args[] = {cls_arg_buffer(cells), cls_arg_u32(SIDE)};
    cls_graph graph = capture(stream, &here, cells), other = capture(stream, &plain, cells);
    cls_graph_exec exec;
    OK(cls_graph_instantiate(graph, NULL, &exec));
    expect_replay(exec, stream, cells, &here);
    OK(cls_graph_set_args(exec, 0, &there, args, 2));
    expect_replay(exec, stream, cells, &there);
    OK(cls_graph_update(exec, other));
    expect_replay(exec, stream, cells, &plain);
    OK(cls_graph_update(exec, graph));
    expect_replay(exec, stream, cells, &here);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    OK(cls_graph_destroy(other));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

static void test_an_offset_past_what_the_device_counts_is_refused(void **state) {
    (void)state;
    const cls_launch bad[] = {launch_at(cls_launch_1d(2), SIZE_MAX - 1, 0, 0),
                              launch_at(cls_launch_2d(1, 3), 0, SIZE_MAX - 2, 0),
                              launch_at(cls_launch_3d(1, 1, 1), 0, 0, SIZE_MAX)};
    cls_buffer cells = rig_cells(CELLS);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        EXPECT(CLS_ERROR_INVALID_VALUE, submit(&bad[i], cells, NULL));
        assert_non_null(strstr(cls_last_error_detail(), "offset"));
    }
    const cls_launch none = launch_at(cls_launch_1d(0), SIZE_MAX, 0, 0), plain = cls_launch_1d(1);
    OK(submit(&none, cells, NULL));
    OK(submit(&plain, cells, NULL));
    expect_box(cells, &plain, 1);
    OK(cls_buffer_destroy(cells));
}

static void test_a_driver_that_ignores_it_is_not_asked(void **state) {
    (void)state;
    const cls_launch shape = launch_at(cls_launch_1d(4), 3, 0, 0);
    cls_buffer cells = rig_cells(CELLS);
    if (!rig_has_quirk("launch_offsets"))
        SKIP_BECAUSE("this driver counts from the offset");
    EXPECT(CLS_ERROR_UNSUPPORTED, submit(&shape, cells, NULL));
    assert_non_null(strstr(cls_last_error_detail(), "launch_offsets"));
    OK(cls_buffer_destroy(cells));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_work_items_count_from_the_offset),
        cmocka_unit_test(test_a_plain_launch_follows),
        cmocka_unit_test(test_groups_count_from_zero),
        cmocka_unit_test(test_a_size_without_divisors),
        cmocka_unit_test(test_graphs_keep_and_change_it),
        cmocka_unit_test(test_an_offset_past_what_the_device_counts_is_refused),
        cmocka_unit_test(test_a_driver_that_ignores_it_is_not_asked),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
