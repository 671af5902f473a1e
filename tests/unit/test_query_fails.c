/* SPDX-License-Identifier: MIT */
/* A driver that cannot say how far a command is: the command counts as failed, but the caller's memory is not
 * given back before the driver is done with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <clstream.h>
#include <clstream/opencl.h>

enum { CELLS = 1 << 16 };

static const char source[] = "kernel void slow(global uint *cells, uint rounds) {\n"
                             "    uint x = rounds | 1u;\n"
                             "    for (uint i = 0; i < rounds; i++) {\n"
                             "        x ^= x << 13; x ^= x >> 17; x ^= x << 5;\n"
                             "    }\n"
                             "    cells[get_global_id(0)] = x | 1u;\n"
                             "}\n";

static atomic_bool armed;
static atomic_uint refused;

cl_int __real_clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *value,
                             size_t *needed);
cl_int __wrap_clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *value,
                             size_t *needed);

cl_int __wrap_clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *value,
                             size_t *needed) {
    if (!armed)
        return __real_clGetEventInfo(event, what, size, value, needed);
    refused++;
    return CL_OUT_OF_RESOURCES;
}

static void nap(long ms) {
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static cls_status launch(cls_kernel kernel, cls_buffer cells, uint32_t rounds, cls_stream stream) {
    const cls_launch shape = cls_launch_1d(16);
    const cls_arg args[] = {cls_arg_buffer(cells), cls_arg_u32(rounds)};
    return cls_kernel_launch_async(kernel, &shape, args, 2, stream);
}

/* So many rounds that a kernel takes about a fifth of a second. */
static uint32_t slow_rounds(cls_kernel kernel, cls_buffer cells, cls_stream stream) {
    for (uint32_t rounds = 1 << 16; rounds < 1u << 30; rounds *= 2) {
        double start = seconds();
        assert_int_equal(launch(kernel, cells, rounds, stream), CLS_SUCCESS);
        assert_int_equal(cls_stream_synchronize(stream), CLS_SUCCESS);
        if (seconds() - start > 0.2)
            return rounds;
    }
    return 1u << 30;
}

static void test_a_download_is_over_when_it_returns(void **state) {
    static uint32_t words[CELLS], later[CELLS];
    cls_context context;
    cls_stream stream;
    cls_program program;
    cls_kernel kernel;
    cls_buffer cells;
    const uint32_t zero = 0;
    (void)state;
    assert_int_equal(cls_context_create(NULL, &context), CLS_SUCCESS);
    assert_int_equal(cls_stream_create(context, NULL, &stream), CLS_SUCCESS);
    assert_int_equal(cls_program_from_source(context, source, "slow.cl", NULL, &program),
                     CLS_SUCCESS);
    assert_int_equal(cls_kernel_create(program, "slow", &kernel), CLS_SUCCESS);
    assert_int_equal(cls_buffer_create(context, sizeof words, &cells), CLS_SUCCESS);
    const uint32_t rounds = slow_rounds(kernel, cells, stream);
    assert_int_equal(cls_fill(cells, 0, sizeof words, &zero, 4, stream), CLS_SUCCESS);
    assert_int_equal(launch(kernel, cells, rounds, stream), CLS_SUCCESS);
    armed = true;
    assert_int_not_equal(cls_copy_d2h(words, cells, 0, sizeof words, stream), CLS_SUCCESS);
    armed = false;
    assert_true(refused > 0);
    memcpy(later, words, sizeof words);
    nap(500);
    assert_memory_equal(words, later, sizeof words);
    assert_int_equal(cls_stream_reset(stream), CLS_SUCCESS);
    assert_int_equal(cls_kernel_destroy(kernel), CLS_SUCCESS);
    assert_int_equal(cls_program_destroy(program), CLS_SUCCESS);
    assert_int_equal(cls_buffer_destroy(cells), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(stream), CLS_SUCCESS);
    assert_int_equal(cls_context_destroy(context), CLS_SUCCESS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_download_is_over_when_it_returns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
