/* SPDX-License-Identifier: MIT */
/* Kernel arguments that are a part of a buffer: what the kernel sees, what is refused, and who keeps what. */
#include "../support/rig.h"

#include <stdlib.h>
#include <string.h>

#include <clstream.h>

enum { PARTS = 4 };

static const char source[] = "kernel void number(global uint *out, uint from) {\n"
                             "    out[get_global_id(0)] = from + (uint)get_global_id(0);\n"
                             "}\n"
                             "kernel void take(global uint *out, global const uint *in) {\n"
                             "    out[get_global_id(0)] = in[get_global_id(0)];\n"
                             "}\n";

static struct world {
    cls_program program;
    cls_kernel number, take;
    size_t align; /* bytes */
    size_t cells; /* of a part */
} w;

static int setup(void **state) {
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    size_t device;
    if (rig_setup(state))
        return -1;
    OK(cls_context_get_device(rig.context, &device));
    OK(cls_device_get_info(device, &info));
    w.align = info.base_align;
    w.cells = w.align < 64 ? 16 : w.align / 4;
    OK(cls_program_from_source(rig.context, source, "parts.cl", NULL, &w.program));
    OK(cls_kernel_create(w.program, "number", &w.number));
    OK(cls_kernel_create(w.program, "take", &w.take));
    return 0;
}

static int teardown(void **state) {
    OK(cls_kernel_destroy(w.number));
    OK(cls_kernel_destroy(w.take));
    OK(cls_program_destroy(w.program));
    return rig_teardown(state);
}

static cls_arg part_of(cls_buffer buffer, size_t part) {
    return cls_arg_buffer_at(buffer, part * w.cells * 4, w.cells * 4);
}

static cls_status number(cls_stream stream, cls_arg out, uint32_t from) {
    const cls_launch launch = cls_launch_1d(w.cells);
    const cls_arg args[] = {out, cls_arg_u32(from)};
    return cls_kernel_launch_async(w.number, &launch, args, 2, stream);
}

/* Skips where the driver does not find sub-buffers, once that is seen to be said. */
static void need_parts(void) {
    if (rig_has_capability("sub_buffer_arguments"))
        return;
    const cls_buffer cells = rig_cells(PARTS * w.cells);
    EXPECT(CLS_ERROR_UNSUPPORTED, number(NULL, part_of(cells, 1), 1));
    OK(cls_buffer_destroy(cells));
    rig_need("sub_buffer_arguments");
}

/* Each part has the numbers from `from[part]` on; 0 is nothing. */
static void expect_parts(const uint32_t *cells, const uint32_t *from) {
    for (size_t part = 0; part < PARTS; part++)
        for (size_t i = 0; i < w.cells; i++)
            assert_int_equal(cells[part * w.cells + i], from[part] ? from[part] + i : 0);
}

static void test_the_pointer_is_to_the_part(void **state) {
    (void)state;
    need_parts();
    static const uint32_t from[] = {0, 100, 0, 7};
    const cls_buffer cells = rig_cells(PARTS * w.cells);
    uint32_t *seen = calloc(PARTS * w.cells, 4);
    OK(number(NULL, part_of(cells, 1), 100));
    OK(number(NULL, part_of(cells, 3), 7));
    OK(cls_buffer_to_host(cells, seen, PARTS * w.cells * 4));
    expect_parts(seen, from);
    OK(cls_buffer_destroy(cells));
    free(seen);
}

/* What a launch was told before is not taken for what it is told now. */
static void test_parts_and_buffers_take_turns(void **state) {
    (void)state;
    need_parts();
    static const uint32_t from[] = {300, 0, 0, 200};
    const cls_buffer cells = rig_cells(PARTS * w.cells);
    uint32_t *seen = calloc(PARTS * w.cells, 4);
    for (int round = 0; round < 20; round++) {
        OK(number(NULL, cls_arg_buffer(cells), 100));
        OK(number(NULL, part_of(cells, 3), 200));
        OK(number(NULL, cls_arg_buffer(cells), 300));
    }
    OK(cls_buffer_to_host(cells, seen, PARTS * w.cells * 4));
    expect_parts(seen, from);
    OK(cls_buffer_destroy(cells));
    free(seen);
}

/* Which lies in a buffer of the pool's itself. */
static void test_parts_of_stream_ordered_memory(void **state) {
    (void)state;
    need_parts();
    static const uint32_t from[] = {11, 0, 22, 0};
    const cls_stream stream = rig_stream();
    const size_t bytes = PARTS * w.cells * 4;
    cls_buffer ahead, memory;
    uint32_t *seen = calloc(PARTS * w.cells, 4);
    OK(cls_malloc_async(stream, bytes, &ahead));
    OK(cls_malloc_async(stream, bytes, &memory));
    OK(cls_fill_async(ahead, 0, bytes, "", 1, stream));
    OK(cls_fill_async(memory, 0, bytes, "", 1, stream));
    OK(number(stream, part_of(memory, 0), 11));
    OK(number(stream, part_of(memory, 2), 22));
    OK(cls_copy_d2h_async(seen, memory, 0, bytes, stream));
    OK(cls_free_async(memory, stream));
    OK(cls_free_async(ahead, stream));
    OK(cls_stream_synchronize(stream));
    expect_parts(seen, from);
    OK(cls_stream_destroy(stream));
    free(seen);
}

/* Copies parts of `in` to buffers of their own, one on each stream, then waits for the streams in that order. */
static void take_parts(cls_buffer in, const size_t parts[3][2], const cls_buffer outs[3],
                       const cls_stream streams[3], const unsigned order[3]) {
    for (unsigned i = 0; i < 3; i++) {
        const cls_launch launch = cls_launch_1d(parts[i][1] * w.cells);
        const cls_arg args[] = {
            cls_arg_buffer(outs[i]),
            cls_arg_buffer_at(in, parts[i][0] * w.cells * 4, parts[i][1] * w.cells * 4)};
        OK(cls_kernel_launch_async(w.take, &launch, args, 2, streams[i]));
    }
    for (unsigned i = 0; i < 3; i++)
        OK(cls_stream_synchronize(streams[order[i]]));
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(rig_cell(outs[i], 0), 1 + parts[i][0] * w.cells);
        assert_int_equal(rig_cell(outs[i], parts[i][1] * w.cells - 1),
                         (parts[i][0] + parts[i][1]) * w.cells);
    }
}

/* Whichever is given back first: a driver may crash when that is the older one. */
static void test_overlapping_parts_end_in_any_order(void **state) {
    /* The first and the number of the quarters of a buffer. */
    static const size_t shapes[][3][2] = {
        {{0, 4}, {1, 1}, {2, 2}}, /* two in one */
        {{0, 4}, {1, 3}, {2, 1}}, /* nested */
        {{0, 2}, {1, 2}, {2, 2}}, /* a chain */
        {{0, 4}, {0, 2}, {0, 1}}, /* of one start */
        {{1, 2}, {0, 4}, {1, 2}}, /* around another, and of one range */
        {{2, 1}, {0, 1}, {1, 1}}, /* disjoint */
    };
    static const unsigned orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    (void)state;
    need_parts();
    const cls_buffer in = rig_cells(PARTS * w.cells);
    const cls_launch launch = cls_launch_1d(PARTS * w.cells);
    const cls_arg args[] = {cls_arg_buffer(in), cls_arg_u32(1)};
    cls_buffer outs[3];
    cls_stream streams[3];
    for (unsigned i = 0; i < 3; i++) {
        outs[i] = rig_cells(PARTS * w.cells);
        streams[i] = rig_stream();
    }
    OK(cls_kernel_launch(w.number, &launch, args, 2, streams[0]));
    for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++) {
        const cls_stream one[3] = {streams[0], streams[0], streams[0]};
        for (size_t order = 0; order < sizeof orders / sizeof *orders; order++)
            take_parts(in, shapes[shape], outs, streams, orders[order]);
        take_parts(in, shapes[shape], outs, one, orders[0]);
    }
    for (unsigned i = 0; i < 3; i++) {
        OK(cls_buffer_destroy(outs[i]));
        OK(cls_stream_destroy(streams[i]));
    }
    OK(cls_buffer_destroy(in));
}

static void test_a_held_launch_keeps_its_part(void **state) {
    (void)state;
    need_parts();
    const cls_stream stream = rig_stream();
    const cls_buffer in = rig_cells(PARTS * w.cells), out = rig_cells(w.cells);
    const cls_launch launch = cls_launch_1d(w.cells);
    const cls_arg args[] = {cls_arg_buffer(out), part_of(in, 2)};
    struct gate gate;
    gate_init(&gate);
    OK(number(NULL, part_of(in, 2), 40));
    OK(cls_stream_synchronize(NULL));
    OK(cls_context_synchronize(rig.context));
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    for (int round = 0; round < 50; round++)
        OK(cls_kernel_launch_async(w.take, &launch, args, 2, stream));
    OK(cls_buffer_destroy(in));
    gate_open(&gate);
    OK(cls_stream_synchronize(stream));
    for (size_t i = 0; i < w.cells; i++)
        assert_int_equal(rig_cell(out, i), 40 + i);
    OK(cls_buffer_destroy(out));
    OK(cls_stream_destroy(stream));
    gate_destroy(&gate);
}

static void test_what_is_no_part_is_refused(void **state) {
    (void)state;
    need_parts();
    const size_t bytes = PARTS * w.cells * 4;
    const cls_buffer cells = rig_cells(bytes / 4);
    char offset[32], align[32];
    EXPECT(CLS_ERROR_INVALID_VALUE, number(NULL, cls_arg_buffer_at(cells, 0, 0), 1));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, number(NULL, cls_arg_buffer_at(cells, 0, bytes + 1), 1));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, number(NULL, cls_arg_buffer_at(cells, w.align, bytes), 1));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, number(NULL, cls_arg_buffer_at(cells, w.align, SIZE_MAX), 1));
    EXPECT(CLS_ERROR_INVALID_HANDLE, number(NULL, cls_arg_buffer_at(NULL, 0, 4), 1));
    if (number(NULL, cls_arg_buffer_at(cells, 4, bytes - 4), 1)) { /* not by address */
        snprintf(offset, sizeof offset, "byte %zu ", w.align + 4);
        snprintf(align, sizeof align, "multiples of %zu", w.align);
        EXPECT(CLS_ERROR_INVALID_VALUE, number(NULL, cls_arg_buffer_at(cells, w.align + 4, 4), 1));
        assert_non_null(strstr(cls_last_error_detail(), offset));
        assert_non_null(strstr(cls_last_error_detail(), align));
    }
    OK(number(NULL, part_of(cells, 0), 5));
    assert_int_equal(rig_cell(cells, 0), 5);
    OK(cls_buffer_destroy(cells));
}

/* The checker runs: see main. */
static uint64_t races_of(cls_arg a, cls_arg b) {
    const cls_stream one = rig_stream(), two = rig_stream();
    cls_check_counts before = CLS_CHECK_COUNTS_INIT, after = CLS_CHECK_COUNTS_INIT;
    OK(cls_check_get_counts(&before));
    OK(number(one, a, 1));
    OK(number(two, b, 1));
    OK(cls_stream_synchronize(one));
    OK(cls_stream_synchronize(two));
    OK(cls_check_get_counts(&after));
    OK(cls_stream_destroy(one));
    OK(cls_stream_destroy(two));
    return after.races + after.possible - before.races - before.possible;
}

static void test_the_race_checker_knows_the_bytes(void **state) {
    (void)state;
    need_parts();
    const cls_buffer cells = rig_cells(PARTS * w.cells);
    OK(cls_context_synchronize(rig.context));
    assert_int_equal(races_of(part_of(cells, 0), part_of(cells, 1)), 0);
    OK(cls_context_synchronize(rig.context));
    assert_int_equal(races_of(part_of(cells, 2), part_of(cells, 2)), 1);
    OK(cls_buffer_destroy(cells));
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_pointer_is_to_the_part),
        cmocka_unit_test(test_parts_and_buffers_take_turns),
        cmocka_unit_test(test_parts_of_stream_ordered_memory),
        cmocka_unit_test(test_overlapping_parts_end_in_any_order),
        cmocka_unit_test(test_a_held_launch_keeps_its_part),
        cmocka_unit_test(test_what_is_no_part_is_refused),
        cmocka_unit_test(test_the_race_checker_knows_the_bytes),
    };
    setenv("CLSTREAM_CHECK", "race", 1);
    return cmocka_run_group_tests(tests, setup, teardown);
}
