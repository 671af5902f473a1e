/* SPDX-License-Identifier: MIT */
/* Where a driver aborts when launches of one kernel with unlike grids overlap, they wait for each other, and for
 * nothing else. The quirk is put on every device, whether it has it or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <clstream.h>

#include "driver/device.h"
#include "driver/quirk.h"

enum { AHEAD = 100, ROUNDS = 60000, WIDEST = 64 };

static const char source[] = "#define SLOW(name) \\\n"
                             "    kernel void name(global uint *words, uint rounds) { \\\n"
                             "        uint x = rounds | 1u; \\\n"
                             "        for (uint i = 0; i < rounds; i++) { \\\n"
                             "            x ^= x << 13; x ^= x >> 17; x ^= x << 5; \\\n"
                             "        } \\\n"
                             "        words[get_global_id(0)] = x | 1u; \\\n"
                             "    }\n"
                             "SLOW(slow)\n"
                             "SLOW(other)\n";

static cl_uint last_waits;

cl_int __real_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint count, const cl_event *waits,
                                     cl_event *event);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint count, const cl_event *waits,
                                     cl_event *event);

cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint count, const cl_event *waits,
                                     cl_event *event) {
    last_waits = count;
    return __real_clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, count, waits,
                                         event);
}

struct side {
    cls_context context;
    cls_stream busy, idle;
    cls_program program;
    cls_kernel slow, other;
    cls_buffer words[2];
};

static void open_side(struct side *side) {
    assert_int_equal(cls_context_create(NULL, &side->context), CLS_SUCCESS);
    assert_int_equal(cls_stream_create(side->context, NULL, &side->busy), CLS_SUCCESS);
    assert_int_equal(cls_stream_create(side->context, NULL, &side->idle), CLS_SUCCESS);
    assert_int_equal(
        cls_program_from_source(side->context, source, "slow.cl", NULL, &side->program),
        CLS_SUCCESS);
    assert_int_equal(cls_kernel_create(side->program, "slow", &side->slow), CLS_SUCCESS);
    assert_int_equal(cls_kernel_create(side->program, "other", &side->other), CLS_SUCCESS);
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            cls_buffer_create(side->context, WIDEST * sizeof(uint32_t), &side->words[i]),
            CLS_SUCCESS);
}

static void close_side(struct side *side) {
    assert_int_equal(cls_context_synchronize(side->context), CLS_SUCCESS);
    for (int i = 0; i < 2; i++)
        assert_int_equal(cls_buffer_destroy(side->words[i]), CLS_SUCCESS);
    assert_int_equal(cls_kernel_destroy(side->slow), CLS_SUCCESS);
    assert_int_equal(cls_kernel_destroy(side->other), CLS_SUCCESS);
    assert_int_equal(cls_program_destroy(side->program), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(side->busy), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(side->idle), CLS_SUCCESS);
    assert_int_equal(cls_context_destroy(side->context), CLS_SUCCESS);
}

static void launch(const struct side *side, cls_kernel kernel, cls_stream stream, size_t global,
                   size_t local, uint32_t rounds) {
    const cls_launch shape = {1, {global, 1, 1}, {local, local ? 1 : 0, local ? 1 : 0}};
    const cls_arg args[] = {cls_arg_buffer(side->words[stream == side->idle]), cls_arg_u32(rounds)};
    assert_int_equal(cls_kernel_launch_async(kernel, &shape, args, 2, stream), CLS_SUCCESS);
}

/* The waits of a launch on the idle stream, beside a busy one whose launches have `global` and `local` 1 or 0. */
static cl_uint waits_beside(const struct side *side, size_t busy_local, cls_kernel kernel,
                            size_t global, size_t local) {
    for (int i = 0; i < AHEAD; i++)
        launch(side, side->slow, side->busy, 8, busy_local, ROUNDS);
    launch(side, kernel, side->idle, global, local, 1);
    const cl_uint waits = last_waits;
    assert_int_equal(cls_context_synchronize(side->context), CLS_SUCCESS);
    return waits;
}

static void unlike_grids_wait_for_each_other(void **state) {
    struct side side;
    (void)state;
    open_side(&side);
    assert_int_not_equal(waits_beside(&side, 1, side.slow, 16, 1), 0);
    assert_int_not_equal(waits_beside(&side, 1, side.slow, 4, 1), 0);
    assert_int_not_equal(waits_beside(&side, 0, side.slow, 16, 0), 0);
    assert_int_not_equal(waits_beside(&side, 0, side.slow, 8, 1), 0);
    close_side(&side);
}

static void others_wait_for_nothing(void **state) {
    struct side side;
    (void)state;
    open_side(&side);
    assert_int_equal(waits_beside(&side, 1, side.slow, 8, 1), 0);
    assert_int_equal(waits_beside(&side, 0, side.slow, 8, 0), 0);
    assert_int_equal(waits_beside(&side, 1, side.slow, 16, 2), 0);
    assert_int_equal(waits_beside(&side, 1, side.other, 16, 1), 0);
    close_side(&side);
}

static void a_launch_of_another_context_waits_on_the_host(void **state) {
    struct side here, there;
    (void)state;
    open_side(&here);
    open_side(&there);
    for (int i = 0; i < AHEAD; i++)
        launch(&here, here.slow, here.busy, 8, 1, ROUNDS);
    launch(&there, there.slow, there.idle, 16, 1, 1);
    assert_int_equal(cls_stream_query(here.busy), CLS_SUCCESS);
    close_side(&here);
    close_side(&there);
}

static int put_the_quirk_on(void **state) {
    struct device *const *devices;
    size_t n;
    (void)state;
    if (device_list(&devices, &n) != CLS_SUCCESS)
        return -1;
    for (size_t i = 0; i < n; i++)
        devices[i]->quirks |= QUIRK_UNLIKE_GRIDS_ABORT;
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unlike_grids_wait_for_each_other),
        cmocka_unit_test(others_wait_for_nothing),
        cmocka_unit_test(a_launch_of_another_context_waits_on_the_host),
    };
    return cmocka_run_group_tests_name("grids", tests, put_the_quirk_on, NULL);
}
