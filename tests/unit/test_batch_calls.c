/* SPDX-License-Identifier: MIT */
/*
 * What batches ask of the driver: calls counted as they are made. Transfers and launches of a chain, and what
 * is built, when and by which process.
 */
#include "../support/test.h"

#include <stdatomic.h>
#include <stdbool.h>

#include <clstream.h>
#include <clstream/opencl.h>

#include "child.h"
#include "scratch.h"
#include "wrapped_launch.h"

static atomic_uint writes, reads, launches, sources;

cl_int __real_clEnqueueWriteBuffer(cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *,
                                   cl_uint, const cl_event *, cl_event *);
cl_int __wrap_clEnqueueWriteBuffer(cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *,
                                   cl_uint, const cl_event *, cl_event *);
cl_int __wrap_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking,
                                   size_t offset, size_t bytes, const void *from, cl_uint n,
                                   const cl_event *waits, cl_event *event) {
    atomic_fetch_add(&writes, 1);
    return __real_clEnqueueWriteBuffer(queue, memory, blocking, offset, bytes, from, n, waits,
                                       event);
}

cl_int __real_clEnqueueReadBuffer(cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *,
                                  cl_uint, const cl_event *, cl_event *);
cl_int __wrap_clEnqueueReadBuffer(cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *,
                                  cl_uint, const cl_event *, cl_event *);
cl_int __wrap_clEnqueueReadBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking,
                                  size_t offset, size_t bytes, void *to, cl_uint n,
                                  const cl_event *waits, cl_event *event) {
    atomic_fetch_add(&reads, 1);
    return __real_clEnqueueReadBuffer(queue, memory, blocking, offset, bytes, to, n, waits, event);
}

cl_int launch_instead(const struct wrapped_launch *call) {
    atomic_fetch_add(&launches, 1);
    return launch_really(call);
}

cl_program __real_clCreateProgramWithSource(cl_context, cl_uint, const char **, const size_t *,
                                            cl_int *);
cl_program __wrap_clCreateProgramWithSource(cl_context, cl_uint, const char **, const size_t *,
                                            cl_int *);
cl_program __wrap_clCreateProgramWithSource(cl_context context, cl_uint n, const char **text,
                                            const size_t *length, cl_int *code) {
    atomic_fetch_add(&sources, 1);
    return __real_clCreateProgramWithSource(context, n, text, length, code);
}

enum { COUNT = 4096 };

static float data[COUNT], out[COUNT], other[COUNT];

/* The probes of a first use have calls of their own. */
static void forget(void) {
    atomic_store(&writes, 0);
    atomic_store(&reads, 0);
    atomic_store(&launches, 0);
    atomic_store(&sources, 0);
}

static cls_status record(cls_batch batch, double factor, size_t count, cls_value *x, cls_value *y) {
    cls_status status = cls_batch_upload(batch, data, CLS_F32, count, x);
    if (!status)
        status = cls_batch_relu(batch, *x, y);
    if (!status)
        status = cls_batch_scale(batch, *y, factor, y);
    return status;
}

static bool is_right(double factor, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (out[i] != (data[i] > 0 ? data[i] : 0) * (float)factor)
            return false;
    return true;
}

/* relu, scale, add of a device array: as single calls 6 transfers, here 2, and one launch. */
static int moves_data_once(void *arg) {
    cls_batch batch;
    cls_value x, y, b;
    cls_buffer bias;
    (void)arg;
    CHECK(!cls_buffer_from_host(NULL, other, sizeof other, &bias));
    CHECK(!cls_batch_create(NULL, NULL, &batch));
    CHECK(!record(batch, 2, COUNT, &x, &y));
    CHECK(!cls_batch_array(batch, cls_array_of(bias, CLS_F32, COUNT), &b));
    CHECK(!cls_batch_add(batch, y, b, &y));
    CHECK(!cls_batch_prepare(batch));
    forget();
    CHECK(!cls_batch_execute(batch, NULL));
    CHECK(!cls_batch_read(batch, y, out));
    CHECK(is_right(2, COUNT));
    CHECK(atomic_load(&writes) == 1);
    CHECK(atomic_load(&reads) == 1);
    CHECK(atomic_load(&launches) == 1);
    CHECK(atomic_load(&sources) == 0);
    CHECK(!cls_batch_destroy(batch));
    CHECK(!cls_buffer_destroy(bias));
    return 0;
}

static void test_a_chain_is_two_transfers_and_one_launch(void **state) {
    (void)state;
    assert_int_equal(child_run(moves_data_once, NULL), 0);
}

/* Executes a structure in a fresh process; tells what was built from source for it. */
static int builds(void *arg) {
    const unsigned *wanted = arg;
    cls_batch batch;
    cls_value x, y;
    CHECK(!cls_batch_create(NULL, NULL, &batch));
    CHECK(!record(batch, 2, COUNT, &x, &y));
    forget();
    CHECK(!cls_batch_execute(batch, NULL));
    CHECK(atomic_load(&sources) == *wanted);
    CHECK(!cls_batch_read(batch, y, out));
    CHECK(is_right(2, COUNT));

    forget();
    for (size_t i = 0; i < COUNT; i++)
        data[i] += 1;
    CHECK(!cls_batch_bind_upload(batch, x, data));
    CHECK(!cls_batch_execute(batch, NULL));
    CHECK(!cls_batch_read(batch, y, out));
    CHECK(is_right(2, COUNT));
    CHECK(!cls_batch_destroy(batch));

    /* the same structure with another number and count */
    CHECK(!cls_batch_create(NULL, NULL, &batch));
    CHECK(!record(batch, 3, COUNT - 100, &x, &y));
    CHECK(!cls_batch_execute(batch, NULL));
    CHECK(!cls_batch_read(batch, y, out));
    CHECK(is_right(3, COUNT - 100));
    CHECK(!cls_batch_destroy(batch));
    CHECK(atomic_load(&sources) == 0);
    return 0;
}

static void test_the_second_process_builds_nothing(void **state) {
    unsigned first = 1, second = 0;
    (void)state;
    assert_int_equal(child_run(builds, &first), 0);
    assert_int_equal(child_run(builds, &second), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_chain_is_two_transfers_and_one_launch, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(test_the_second_process_builds_nothing, scratch_setup,
                                        scratch_teardown),
    };
    for (int i = 0; i < COUNT; i++) {
        data[i] = (float)(i % 13 - 6);
        other[i] = 0;
    }
    return cmocka_run_group_tests_name("batch_calls", tests, NULL, NULL);
}
