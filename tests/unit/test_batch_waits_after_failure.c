/* SPDX-License-Identifier: MIT */
/* One of a batch's own streams fails with work on it that is still to end: what comes after waits for that end. */
#include "../support/trust.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <clstream.h>
#include <clstream/opencl.h>

#include "batch/batch.h"
#include "stream/failure.h"
#include "stream/stream.h"
#include "stream/wait.h"

enum { COUNT = 1 << 16, SOON_NS = 30 * 1000 * 1000 };

/* Leaves a command on the queue that waits for the test's event. */
static cl_int enqueue_gated(cl_command_queue queue, void *gate) {
    return clEnqueueMarkerWithWaitList(queue, 1, gate, NULL);
}

static cl_int refuse(cl_command_queue queue, void *unused) {
    (void)queue;
    (void)unused;
    return CL_OUT_OF_RESOURCES;
}

struct two_lanes {
    cls_context context;
    cls_stream stream;
    cls_buffer from, to;
    cls_batch batch;
    cl_event gate;
    atomic_bool opened;
};

/* Two chains that have nothing to do with each other, the second one's result stored. */
static void two_lanes_open(struct two_lanes *t) {
    cls_value in, one, chains[2];
    const float number = 1;
    cl_context cl;
    cl_int code;
    float *zeros = calloc(2 * COUNT, sizeof *zeros);
    assert_non_null(zeros);
    t->opened = false;
    OK(cls_context_create(NULL, &t->context));
    OK(cls_stream_create(t->context, NULL, &t->stream));
    OK(cls_buffer_from_host(t->context, zeros, 2 * COUNT * sizeof *zeros, &t->from));
    OK(cls_buffer_create(t->context, COUNT * sizeof *zeros, &t->to));
    free(zeros);
    OK(cls_batch_create(t->context, NULL, &t->batch));
    OK(cls_batch_scalar(t->batch, CLS_F32, &number, &one));
    for (unsigned i = 0; i < 2; i++) {
        OK(cls_batch_array(t->batch, cls_array_of(t->from, CLS_F32, COUNT + i), &in));
        OK(cls_batch_add(t->batch, in, one, &chains[i]));
        OK(cls_batch_reduce(t->batch, CLS_REDUCE_SUM, chains[i], &chains[i]));
    }
    OK(cls_context_get_cl(t->context, &cl, NULL));
    t->gate = clCreateUserEvent(cl, &code);
    assert_int_equal(code, CL_SUCCESS);
}

static void two_lanes_close(struct two_lanes *t) {
    assert_int_equal(clReleaseEvent(t->gate), CL_SUCCESS);
    OK(cls_batch_destroy(t->batch));
    OK(cls_buffer_destroy(t->from));
    OK(cls_buffer_destroy(t->to));
    OK(cls_stream_destroy(t->stream));
    OK(cls_context_destroy(t->context));
}

static void fail_own_stream(struct two_lanes *t) {
    struct batch *batch;
    OK(batch_enter(t->batch, &batch));
    assert_non_null(batch->streams[0]);
    struct stream *own = batch->streams[0];
    object_retain(&own->object);
    OK(batch_leave(batch, CLS_SUCCESS));
    cls_stream handle = object_handle(&own->object);
    OK(cls_stream_foreign_async(handle, "gated", enqueue_gated, &t->gate));
    OK(cls_stream_foreign_async(handle, "fails", refuse, NULL));
    while (!stream_poison(own))
        stream_poll(own);
    stream_put(own);
}

static bool hangs_behind_user_events(void) {
    cls_quirk quirk;
    size_t device;
    OK(cls_context_get_device(NULL, &device));
    for (size_t i = 0; cls_device_get_quirk(device, i, &quirk) == CLS_SUCCESS; i++)
        if (strcmp(quirk.name, "flush_runs_commands") == 0)
            return true;
    return false;
}

/* Until the gate is opened there is work on the stream that has failed. */
static void two_lanes_fail(struct two_lanes *t) {
    if (hangs_behind_user_events()) {
        print_message("this driver hangs in the flush of a command that waits for a user event\n");
        skip();
    }
    trust_need(NULL, "rounding"); /* of sums */
    two_lanes_open(t);
    OK(cls_batch_execute(t->batch, t->stream));
    fail_own_stream(t);
}

static void test_the_next_execution_waits(void **state) {
    struct two_lanes t;
    (void)state;
    two_lanes_fail(&t);
    for (int i = 0; i < 2; i++) {
        OK(cls_batch_execute_async(t.batch, t.stream));
        assert_int_equal(cls_stream_wait(t.stream, SOON_NS), CLS_ERROR_TIMEOUT);
    }
    assert_int_equal(clSetUserEventStatus(t.gate, CL_COMPLETE), CL_SUCCESS);
    OK(cls_stream_synchronize(t.stream));
    two_lanes_close(&t);
}

static void *open_soon(void *argument) {
    struct two_lanes *t = argument;
    const struct timespec soon = {.tv_nsec = SOON_NS};
    nanosleep(&soon, NULL);
    t->opened = true;
    clSetUserEventStatus(t->gate, CL_COMPLETE);
    return NULL;
}

/* So that what a failed execution was to upload is the program's again. */
static void test_the_context_waits_for_what_is_left(void **state) {
    struct two_lanes t;
    pthread_t opener;
    (void)state;
    two_lanes_fail(&t);
    assert_int_equal(pthread_create(&opener, NULL, open_soon, &t), 0);
    const cls_status status = cls_context_synchronize(t.context);
    assert_true(t.opened);
    assert_int_not_equal(status, CLS_SUCCESS);
    assert_int_equal(pthread_join(opener, NULL), 0);
    two_lanes_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_context_waits_for_what_is_left),
        cmocka_unit_test(test_the_next_execution_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
