/* SPDX-License-Identifier: MIT */
/* The user's own OpenCL beside the library: objects wrapped, events handed out and taken in. */
#include "../support/rig.h"

#include <pthread.h>
#include <string.h>

/* Contexts, queues and memory that the test made itself. */
static struct own {
    cl_context context;
    cl_device_id device;
    cls_context wrapped;
} own;

static int setup(void **state) {
    cl_device_id device;
    cl_int code;
    if (rig_setup(state) || cls_context_get_cl(rig.context, NULL, &device))
        return -1;
    own.device = device;
    own.context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    return code || cls_context_wrap(own.context, device, &own.wrapped);
}

static int teardown(void **state) {
    return cls_context_destroy(own.wrapped) || clReleaseContext(own.context) || rig_teardown(state);
}

static cl_event user_event(cl_context context) {
    cl_int code;
    cl_event event = clCreateUserEvent(context, &code);
    assert_int_equal(code, CL_SUCCESS);
    return event;
}

static cl_context rig_cl(void) {
    cl_context context;
    OK(cls_context_get_cl(rig.context, &context, NULL));
    return context;
}

static cl_uint references(cl_context context) {
    cl_uint count = 0;
    assert_int_equal(
        clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, NULL), 0);
    return count;
}

static void test_a_wrapped_context_is_the_callers(void **state) {
    (void)state;
    cl_context context;
    cl_device_id device;
    OK(cls_context_get_cl(own.wrapped, &context, &device));
    assert_ptr_equal(context, own.context);
    assert_ptr_equal(device, own.device);
    cl_uint before = references(own.context);
    cls_context once_more;
    OK(cls_context_wrap(own.context, own.device, &once_more));
    assert_true(references(own.context) > before);
    OK(cls_context_destroy(once_more));
    double until = now_ms() + 20000;
    while (references(own.context) > before && now_ms() < until)
        nap_ms(5);
    assert_int_equal(references(own.context), before);
}

static void test_a_wrapped_buffer_is_the_callers_memory(void **state) {
    (void)state;
    cl_int code;
    uint32_t words[4] = {1, 2, 3, 4}, seen[4] = {0};
    cl_command_queue queue = clCreateCommandQueue(own.context, own.device, 0, &code);
    assert_int_equal(code, CL_SUCCESS);
    cl_mem memory = clCreateBuffer(own.context, CL_MEM_COPY_HOST_PTR, 16, words, &code), same;
    assert_int_equal(code, CL_SUCCESS);
    cls_buffer buffer;
    size_t bytes = 0;
    OK(cls_buffer_wrap(own.wrapped, memory, &buffer));
    OK(cls_buffer_get_cl(buffer, &same));
    assert_ptr_equal(same, memory);
    OK(cls_buffer_get_size(buffer, &bytes));
    assert_int_equal(bytes, 16);
    OK(cls_buffer_to_host(buffer, seen, 16));
    assert_memory_equal(seen, words, 16);
    words[2] = 33;
    OK(cls_copy_h2d(buffer, 8, &words[2], 4, NULL));
    OK(cls_buffer_destroy(buffer)); /* the caller's reference is left */
    memset(seen, 0, 16);
    assert_int_equal(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, 16, seen, 0, NULL, NULL), 0);
    assert_memory_equal(seen, words, 16);
    assert_int_equal(clReleaseMemObject(memory), 0);
    assert_int_equal(clReleaseCommandQueue(queue), 0);
}

static void test_memory_of_another_context_is_not_wrapped(void **state) {
    (void)state;
    cl_int code;
    cl_mem foreign = clCreateBuffer(own.context, 0, 16, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    cls_buffer buffer = (cls_buffer)&own;
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_buffer_wrap(rig.context, foreign, &buffer));
    assert_ptr_equal(buffer, &own);
    assert_int_equal(clReleaseMemObject(foreign), 0);
    cls_context context = (cls_context)&own;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_context_wrap(NULL, own.device, &context));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_context_wrap(own.context, NULL, &context));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_context_wrap(own.context, own.device, NULL));
    cls_stream stream = (cls_stream)&own;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_wrap(own.wrapped, NULL, &stream));
    cl_command_queue queue = clCreateCommandQueue(own.context, own.device, 0, &code);
    assert_int_equal(code, CL_SUCCESS);
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_stream_wrap(rig.context, queue, &stream));
    assert_ptr_equal(stream, &own);
    assert_ptr_equal(context, &own);
    assert_int_equal(clReleaseCommandQueue(queue), 0);
}

/* A stream on the caller's queue keeps its order, whatever the queue does. */
static void test_a_wrapped_queue_serves_a_stream(void **state) {
    (void)state;
    const cl_command_queue_properties kinds[] = {0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
                                                 CL_QUEUE_PROFILING_ENABLE};
    for (size_t i = 0; i < 3; i++) {
        cl_int code;
        cl_command_queue queue = clCreateCommandQueue(rig_cl(), own.device, kinds[i], &code);
        if (code)
            continue; /* no out-of-order queue on this device */
        cls_stream stream;
        if (i == 1 && !rig_has_capability("events_in_queue")) {
            EXPECT(CLS_ERROR_UNSUPPORTED, cls_stream_wrap(rig.context, queue, &stream));
            assert_int_equal(clReleaseCommandQueue(queue), CL_SUCCESS);
            continue;
        }
        cls_stream_info info = {.size = sizeof info};
        cls_buffer cells = rig_cells(1);
        cls_event event = rig_event();
        cls_stream other = rig_stream();
        uint32_t expected = 0;
        OK(cls_stream_wrap(rig.context, queue, &stream));
        OK(cls_stream_get_info(stream, &info));
        assert_int_equal(info.order, i == 1 ? CLS_ORDER_OUT_OF_ORDER : CLS_ORDER_IN_ORDER);
        assert_int_equal(!!info.timing, i == 2);
        for (uint32_t k = 0; k < 50; k++) {
            OK(rig_step(stream, cells, 0, 3, k, k % 20 ? 0 : 3));
            expected = expected * 3 + k;
        }
        OK(cls_event_record(event, stream));
        OK(cls_stream_wait_event(other, event));
        OK(rig_step(other, cells, 0, 3, 1, 0));
        OK(cls_stream_synchronize(other));
        assert_int_equal(rig_cell(cells, 0), expected * 3 + 1);
        OK(cls_stream_destroy(stream));
        OK(cls_stream_destroy(other));
        OK(cls_event_destroy(event));
        OK(cls_buffer_destroy(cells));
        assert_int_equal(clFinish(queue), CL_SUCCESS); /* the caller's own still */
        assert_int_equal(clReleaseCommandQueue(queue), CL_SUCCESS);
    }
}

/* --- events handed out --- */

static void test_a_handed_out_event_completes_with_the_work(void **state) {
    (void)state;
    rig_need("events_across_queues"); /* by the caller's own commands here */
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    cls_event event = rig_event();
    cl_mem memory;
    cl_event handed = NULL;
    cl_command_queue queue = rig_own_queue();
    EXPECT(CLS_ERROR_INVALID_STATE, cls_event_get_cl(event, &handed));
    assert_null(handed);
    OK(cls_buffer_get_cl(cells, &memory));
    for (uint32_t i = 1; i <= 10; i++) {
        uint32_t seen = 0;
        OK(rig_set(stream, cells, 0, i, 5));
        OK(cls_event_record(event, stream));
        OK(cls_event_get_cl(event, &handed));
        assert_int_equal(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, 4, &seen, 1, &handed, NULL),
                         0);
        assert_int_equal(seen, i);
        assert_int_equal(clReleaseEvent(handed), CL_SUCCESS);
        OK(cls_stream_synchronize(stream));
        OK(cls_event_get_cl(event, &handed)); /* of work that is done */
        assert_int_equal(clWaitForEvents(1, &handed), CL_SUCCESS);
        assert_int_equal(clReleaseEvent(handed), CL_SUCCESS);
    }
    assert_int_equal(clReleaseCommandQueue(queue), CL_SUCCESS);
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
    OK(cls_event_destroy(event));
}

static sleeper waiter;

static void *open_later(void *gate) {
    await_sleeper(&waiter);
    gate_open(gate);
    return NULL;
}

static void test_work_that_is_held_has_no_event_yet(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    cls_event event = rig_event();
    cl_event handed = NULL;
    pthread_t thread;
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(rig_set(stream, cells, 0, 6, 5));
    OK(cls_event_record(event, stream));
    EXPECT(CLS_NOT_READY, cls_event_get_cl(event, &handed));
    EXPECT(CLS_ERROR_TIMEOUT, cls_event_wait_cl(event, 1000000, &handed));
    assert_null(handed);
    assert_int_equal(pthread_create(&thread, NULL, open_later, &gate), 0);
    sleeper_here(&waiter);
    OK(cls_event_wait_cl(event, UINT64_MAX, &handed));
    pthread_join(thread, NULL);
    assert_int_equal(clWaitForEvents(1, &handed), CL_SUCCESS);
    assert_int_equal(clReleaseEvent(handed), CL_SUCCESS);
    OK(cls_event_synchronize(event));
    assert_int_equal(rig_cell(cells, 0), 6);
    OK(cls_stream_synchronize(stream));
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
    OK(cls_event_destroy(event));
    gate_destroy(&gate);
}

static void test_failed_work_hands_out_its_error(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_event event = rig_event();
    cl_event handed = NULL;
    OK(rig_fail(stream, "fails", -5));
    OK(cls_event_record(event, stream));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_event_get_cl(event, &handed));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_event_wait_cl(event, 1000000, &handed));
    assert_null(handed);
    OK(cls_stream_destroy(stream));
    OK(cls_event_destroy(event));
}

/* --- events taken in --- */

static void *set_later(void *event) {
    nap_ms(20);
    clSetUserEventStatus(event, CL_COMPLETE);
    return NULL;
}

static void test_a_user_event_holds_a_stream(void **state) {
    (void)state;
    for (uint32_t i = 1; i <= 5; i++) {
        cls_stream stream = rig_stream(), other = rig_stream();
        cls_buffer cells = rig_cells(2);
        cls_event event = rig_event();
        cl_event gate = user_event(rig_cl());
        pthread_t thread;
        OK(rig_set(stream, cells, 0, i, 1));
        OK(cls_stream_wait_cl(stream, gate));
        OK(rig_step(stream, cells, 0, 10, 1, 0));
        OK(cls_event_record(event, stream));
        OK(cls_stream_wait_event(other, event));
        OK(rig_step(other, cells, 0, 10, 2, 0));
        EXPECT(CLS_NOT_READY, cls_stream_query(stream));
        EXPECT(CLS_NOT_READY, cls_stream_query(other));
        EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(stream, 1000000));
        assert_int_equal(pthread_create(&thread, NULL, set_later, gate), 0);
        OK(cls_stream_synchronize(other));
        assert_int_equal(rig_cell(cells, 0), (i * 10 + 1) * 10 + 2);
        pthread_join(thread, NULL);
        assert_int_equal(clReleaseEvent(gate), CL_SUCCESS);
        OK(cls_stream_destroy(stream));
        OK(cls_stream_destroy(other));
        OK(cls_event_destroy(event));
        OK(cls_buffer_destroy(cells));
    }
}

/* The wait keeps the event, nobody but the driver sets it, and nobody polls: it runs all the same. */
static void test_an_event_of_the_callers_queue_holds_a_stream(void **state) {
    (void)state;
    cl_command_queue queue = rig_own_queue();
    for (uint32_t i = 1; i <= 5; i++) {
        cls_stream stream = rig_stream();
        cls_buffer cells = rig_cells(1);
        cl_mem memory;
        cl_event written;
        OK(cls_buffer_get_cl(cells, &memory));
        assert_int_equal(clEnqueueWriteBuffer(queue, memory, CL_FALSE, 0, 4, &i, 0, NULL, &written),
                         0);
        assert_int_equal(clFlush(queue), CL_SUCCESS);
        OK(cls_stream_wait_cl(stream, written));
        assert_int_equal(clReleaseEvent(written), CL_SUCCESS);
        OK(rig_step(stream, cells, 0, 10, 1, 0));
        OK(cls_stream_synchronize(stream));
        assert_int_equal(rig_cell(cells, 0), i * 10 + 1);
        OK(cls_stream_destroy(stream));
        OK(cls_buffer_destroy(cells));
    }
    assert_int_equal(clReleaseCommandQueue(queue), CL_SUCCESS);
}

/* --- foreign calls --- */

struct foreign {
    cl_mem memory;
    uint32_t values[32];
    unsigned next;
};

/* cells[0] = cells[1], then cells[1] = a new value, on the stream's companion queue. */
static cl_int shift(cl_command_queue queue, void *arg) {
    struct foreign *foreign = arg;
    uint32_t *value = &foreign->values[foreign->next++];
    cl_int code =
        clEnqueueCopyBuffer(queue, foreign->memory, foreign->memory, 4, 0, 4, 0, NULL, NULL);
    return code
               ? code
               : clEnqueueWriteBuffer(queue, foreign->memory, CL_FALSE, 4, 4, value, 0, NULL, NULL);
}

static void test_foreign_calls_keep_the_order(void **state) {
    (void)state;
    cls_stream stream = rig_stream(), other = rig_stream();
    cls_buffer cells = rig_cells(3);
    cls_event event = rig_event();
    struct foreign foreign = {.next = 0};
    uint32_t cell[2] = {0, 0};
    OK(cls_buffer_get_cl(cells, &foreign.memory));
    for (uint32_t i = 0; i < 32; i++) {
        foreign.values[i] = 1000 + i;
        OK(rig_step(stream, cells, 0, 3, i, i % 8 ? 0 : 3));
        OK(cls_stream_foreign_async(stream, "shift", shift, &foreign));
        OK(rig_step(stream, cells, 1, 2, 1, i % 8 == 4 ? 3 : 0));
        if (i % 4 == 1) { /* and what another stream does is waited for */
            OK(cls_event_record(event, stream));
            OK(cls_stream_wait_event(other, event));
            OK(rig_step(other, cells, 1, 1, 5, 2));
            OK(cls_event_record(event, other));
            OK(cls_stream_wait_event(stream, event));
        }
        cell[0] = cell[1];
        cell[1] = (1000 + i) * 2 + 1;
        if (i % 4 == 1)
            cell[1] += 5;
    }
    OK(cls_stream_synchronize(stream));
    assert_int_equal(foreign.next, 32);
    assert_int_equal(rig_cell(cells, 0), cell[0]);
    assert_int_equal(rig_cell(cells, 1), cell[1]);
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(other));
    OK(cls_event_destroy(event));
    OK(cls_buffer_destroy(cells));
}

static cl_int hold_foreign(cl_command_queue queue, void *arg) {
    (void)queue;
    gate_hold(arg);
    return CL_SUCCESS;
}

static void test_a_long_foreign_call_holds_nobody_else(void **state) {
    (void)state;
    cls_stream stream = rig_stream(), other = rig_stream();
    cls_buffer cells = rig_cells(2);
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_foreign_async(stream, NULL, hold_foreign, &gate));
    OK(rig_set(stream, cells, 0, 1, 0));
    gate_await(&gate);
    OK(rig_set(other, cells, 1, 2, 1));
    OK(cls_stream_synchronize(other));
    EXPECT(CLS_NOT_READY, cls_stream_query(stream));
    gate_open(&gate);
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(cells, 0), 1);
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(other));
    OK(cls_buffer_destroy(cells));
    gate_destroy(&gate);
}

/* More foreign calls than may be in flight. */
static void test_many_foreign_calls(void **state) {
    (void)state;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream stream;
    cls_buffer cells = rig_cells(2);
    struct foreign foreign = {.next = 0};
    config.max_in_flight = 4;
    OK(cls_buffer_get_cl(cells, &foreign.memory));
    OK(cls_stream_create(rig.context, &config, &stream));
    for (unsigned i = 0; i < 300; i++) {
        if (i % 32 == 0) {
            OK(cls_stream_synchronize(stream));
            foreign.next = 0;
        }
        foreign.values[i % 32] = i;
        if (i % 32 == 5)
            OK(rig_set(stream, cells, 0, 1, 3));
        OK(cls_stream_foreign_async(stream, NULL, shift, &foreign));
    }
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(cells, 0), 298);
    assert_int_equal(rig_cell(cells, 1), 299);
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
}

/* --- part of a device --- */

static void test_a_sub_device_is_wrapped_too(void **state) {
    (void)state;
    const cl_device_partition_property parts[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_device_id sub;
    cl_uint count = 0;
    cl_int code = clGetDeviceInfo(own.device, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, sizeof count,
                                  &count, NULL);
    if (code || count < 2)
        SKIP_BECAUSE("this device cannot be partitioned");
    assert_int_equal(clCreateSubDevices(own.device, parts, 0, NULL, &count), CL_SUCCESS);
    cl_device_id *subs = test_calloc(count, sizeof *subs);
    assert_int_equal(clCreateSubDevices(own.device, parts, count, subs, NULL), CL_SUCCESS);
    sub = subs[0];
    cl_context context = clCreateContext(NULL, 1, &sub, NULL, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    cls_context wrapped;
    cls_buffer buffer;
    uint32_t five = 5, seen = 0;
    OK(cls_context_wrap(context, sub, &wrapped));
    OK(cls_buffer_create(wrapped, 64, &buffer));
    OK(cls_fill_async(buffer, 0, 64, &five, 4, NULL));
    OK(cls_copy_d2h(&seen, buffer, 60, 4, NULL));
    assert_int_equal(seen, 5);
    OK(cls_buffer_destroy(buffer));
    OK(cls_context_destroy(wrapped));
    for (cl_uint i = 0; i < count; i++)
        clReleaseDevice(subs[i]);
    clReleaseContext(context);
    test_free(subs);
}

/* A cl_context may have several devices, a context of the library's has one: programs are built for it alone. */
static void test_a_queue_of_another_device_is_not_wrapped(void **state) {
    (void)state;
    const cl_device_partition_property parts[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_device_id subs[64];
    cl_uint count = 0;
    cl_int code = clGetDeviceInfo(own.device, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, sizeof count,
                                  &count, NULL);
    if (code || count < 2)
        SKIP_BECAUSE("this device cannot be partitioned");
    code = clCreateSubDevices(own.device, parts, 64, subs, &count);
    if (code || count < 2)
        SKIP_BECAUSE("this device is of more parts than the test takes");
    cl_context context = clCreateContext(NULL, 2, subs, NULL, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    cls_context wrapped;
    cls_stream stream, none = (cls_stream)&own;
    OK(cls_context_wrap(context, subs[0], &wrapped));
    cl_command_queue queues[2];
    for (int i = 0; i < 2; i++) {
        queues[i] = clCreateCommandQueue(context, subs[i], 0, &code);
        assert_int_equal(code, CL_SUCCESS);
    }
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_stream_wrap(wrapped, queues[1], &none));
    assert_ptr_equal(none, &own);
    OK(cls_stream_wrap(wrapped, queues[0], &stream));
    OK(cls_stream_destroy(stream));
    OK(cls_context_destroy(wrapped));
    for (int i = 0; i < 2; i++)
        clReleaseCommandQueue(queues[i]);
    for (cl_uint i = 0; i < count; i++)
        clReleaseDevice(subs[i]);
    clReleaseContext(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_wrapped_context_is_the_callers),
        cmocka_unit_test(test_a_wrapped_buffer_is_the_callers_memory),
        cmocka_unit_test(test_memory_of_another_context_is_not_wrapped),
        cmocka_unit_test(test_a_wrapped_queue_serves_a_stream),
        cmocka_unit_test(test_a_handed_out_event_completes_with_the_work),
        cmocka_unit_test(test_work_that_is_held_has_no_event_yet),
        cmocka_unit_test(test_failed_work_hands_out_its_error),
        cmocka_unit_test(test_a_user_event_holds_a_stream),
        cmocka_unit_test(test_an_event_of_the_callers_queue_holds_a_stream),
        cmocka_unit_test(test_foreign_calls_keep_the_order),
        cmocka_unit_test(test_a_long_foreign_call_holds_nobody_else),
        cmocka_unit_test(test_many_foreign_calls),
        cmocka_unit_test(test_a_sub_device_is_wrapped_too),
        cmocka_unit_test(test_a_queue_of_another_device_is_not_wrapped),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
