/* SPDX-License-Identifier: MIT */
/* Graphs while a profiler runs: each launch has its nodes, and the ranges in which they were captured. */
#include "profilers.h"

#include <string.h>

#include <clstream/blas.h>
#include <clstream/graph.h>
#include <clstream/unary.h>

enum { CELLS = 8, LAUNCHES = 2 };

static void push(const char *name) { OK(cls_range_push(name)); }

static void pop(void) { OK(cls_range_pop()); }

/* In `step`: two of `layer`, one command each, and a command of its own; then one outside. */
static void submit_step(cls_stream stream, cls_buffer cells) {
    push("step");
    for (unsigned i = 0; i < 2; i++) {
        push("layer");
        OK(rig_step(stream, cells, i, 3, 1, 0));
        pop();
    }
    OK(rig_step(stream, cells, 2, 3, 1, 0));
    pop();
    OK(rig_step(stream, cells, 3, 3, 1, 0));
}

/* `around` is open at the capture's beginning and no range of it. */
static cls_graph_exec capture_step(cls_stream stream, cls_buffer cells) {
    push("around");
    OK(cls_stream_begin_capture(stream, "graph"));
    submit_step(stream, cells);
    cls_graph_exec exec = rig_end_capture(stream);
    pop();
    return exec;
}

/* All ranges of that name, in the order of their ends. */
static unsigned ranges_of(cls_profile profile, const char *name, cls_profile_record *out) {
    const size_t count = summary_of(profile).records;
    unsigned found = 0;
    for (size_t i = 0; i < count; i++) {
        const cls_profile_record record = record_at(profile, i);
        if (record.type == CLS_RECORD_RANGE && !strcmp(record.label, name))
            out[found++] = record;
    }
    return found;
}

static unsigned kernels_within(cls_profile profile, const cls_profile_record *range) {
    const size_t count = summary_of(profile).records;
    unsigned found = 0;
    for (size_t i = 0; i < count; i++) {
        const cls_profile_record record = record_at(profile, i);
        found += record.type == CLS_RECORD_COMMAND && record.kind == CLS_COMMAND_KERNEL &&
                 record.submitted_ns >= range->start_ns && record.end_ns <= range->end_ns;
    }
    return found;
}

static void expect_ranges(cls_profile profile, unsigned launches) {
    cls_profile_record steps[LAUNCHES], layers[2 * LAUNCHES], none[1];
    assert_int_equal(ranges_of(profile, "step", steps), launches);
    assert_int_equal(ranges_of(profile, "layer", layers), 2 * launches);
    assert_int_equal(ranges_of(profile, "around", none), 0);
    for (unsigned i = 0; i < launches; i++) {
        const cls_profile_record *layer = &layers[2 * i], *step = &steps[i];
        assert_true(step->start_ns <= layer[0].start_ns);
        assert_true(layer[0].end_ns <= layer[1].start_ns);
        assert_true(layer[1].end_ns <= step->end_ns);
        assert_true(!i || steps[i - 1].end_ns <= step->start_ns);
    }
}

static void test_ranges_of_a_capture(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(CELLS);
    cls_graph_exec exec = capture_step(stream, cells);
    OK(cls_graph_launch(exec, stream)); /* nobody profiles it */
    cls_profiler profiler = started();
    for (unsigned i = 0; i < LAUNCHES; i++)
        OK(cls_graph_launch(exec, stream));
    cls_profile profile = snapshot(profiler);
    expect_ranges(profile, LAUNCHES);
    end(profile, profiler);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

/* The graph of a launch that is captured brings its ranges, inside those that are open. */
static void test_ranges_of_a_graph_in_a_graph(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(CELLS);
    cls_graph_exec inner = capture_step(stream, cells);
    cls_profile_record outer[1];
    OK(cls_stream_begin_capture(stream, "outer"));
    push("outer");
    OK(cls_graph_launch_async(inner, stream));
    pop();
    cls_graph_exec exec = rig_end_capture(stream);
    cls_profiler profiler = started();
    OK(cls_graph_launch(exec, stream));
    cls_profile profile = snapshot(profiler);
    expect_ranges(profile, 1);
    assert_int_equal(ranges_of(profile, "outer", outer), 1);
    end(profile, profiler);
    OK(cls_graph_exec_destroy(inner));
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

/* A node keeps its range with other arguments. */
static void test_ranges_of_changed_nodes(void **state) {
    (void)state;
    const cls_launch one = cls_launch_1d(1);
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(CELLS);
    const cls_arg args[] = {cls_arg_buffer(cells), cls_arg_u32(5), cls_arg_u32(2), cls_arg_u32(7),
                            cls_arg_u32(1)};
    cls_graph_exec exec = capture_step(stream, cells);
    OK(cls_graph_set_args(exec, 1, &one, args, 5));
    cls_profiler profiler = started();
    OK(cls_graph_launch(exec, stream));
    cls_profile profile = snapshot(profiler);
    expect_ranges(profile, 1);
    assert_int_equal(rig_cell(cells, 5), 7);
    end(profile, profiler);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

static void test_a_range_covers_its_nodes(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(CELLS);
    cls_profile_record range[1];
    OK(cls_stream_begin_capture(stream, "graph"));
    push("all");
    for (unsigned i = 0; i < CELLS; i++)
        OK(rig_step(stream, cells, i, 3, 1, 0));
    pop();
    cls_graph_exec exec = rig_end_capture(stream);
    cls_profiler profiler = started();
    OK(cls_graph_launch(exec, stream));
    cls_profile profile = snapshot(profiler);
    assert_int_equal(ranges_of(profile, "all", range), 1);
    assert_int_equal(kernels_within(profile, range), CELLS);
    end(profile, profiler);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

enum { SIDE = 4 };

/* In `layer` a product, in `active` two operations. */
static cls_graph_exec capture_fused(cls_stream stream, cls_buffer x, cls_buffer y) {
    const cls_matrix in = cls_matrix_of(x, CLS_F32, SIDE, SIDE);
    const cls_array out = cls_array_of(y, CLS_F32, SIDE * SIDE);
    OK(cls_stream_begin_capture(stream, "fused"));
    push("layer");
    OK(cls_gemm_async(in, in, cls_matrix_of(y, CLS_F32, SIDE, SIDE), NULL, stream));
    pop();
    push("active");
    OK(cls_unary_async(CLS_UNARY_NEG, out, out, stream));
    OK(cls_unary_async(CLS_UNARY_ABS, out, out, stream));
    pop();
    return rig_end_fused(stream);
}

static unsigned kernels_named(cls_profile profile, const char *name) {
    const size_t count = summary_of(profile).records;
    unsigned found = 0;
    for (size_t i = 0; i < count; i++) {
        const cls_profile_record record = record_at(profile, i);
        found += record.type == CLS_RECORD_COMMAND && record.kind == CLS_COMMAND_KERNEL &&
                 !strcmp(record.label, name);
    }
    return found;
}

static void test_ranges_of_fused_nodes(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer x = rig_cells(SIDE * SIDE), y = rig_cells(SIDE * SIDE);
    cls_profile_record range[1];
    cls_graph_exec exec = capture_fused(stream, x, y);
    cls_profiler profiler = started();
    OK(cls_graph_launch(exec, stream));
    cls_profile profile = snapshot(profiler);
    assert_int_equal(ranges_of(profile, "layer", range), 1);
    assert_int_equal(ranges_of(profile, "active", range), 1);
    assert_int_equal(kernels_named(profile, "gemm_f32"), 1);
    end(profile, profiler);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(x));
    OK(cls_buffer_destroy(y));
    OK(cls_stream_destroy(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges_of_a_capture),
        cmocka_unit_test(test_ranges_of_a_graph_in_a_graph),
        cmocka_unit_test(test_ranges_of_changed_nodes),
        cmocka_unit_test(test_a_range_covers_its_nodes),
        cmocka_unit_test(test_ranges_of_fused_nodes),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
