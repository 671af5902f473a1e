/* SPDX-License-Identifier: MIT */
/* What ends in _async returns before the work is done; what does not has completed on return. */
#include "../support/rig.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES = 8 << 20, WORDS = BYTES / 4 };

/* Everything that the calls under test need; one for the program. */
static struct stage {
    cls_stream stream, other;
    cls_buffer a, b;
    uint32_t *pageable;
    void *pinned;
    cls_event event;
    unsigned ran;
    sem_t done;
} stage;

static int stage_setup(void **state) {
    if (rig_setup(state))
        return -1;
    stage.pageable = calloc(1, BYTES);
    return !stage.pageable || cls_stream_create(rig.context, NULL, &stage.stream) ||
           cls_stream_create(rig.context, NULL, &stage.other) ||
           cls_buffer_create(rig.context, BYTES, &stage.a) ||
           cls_buffer_create(rig.context, BYTES, &stage.b) ||
           cls_host_alloc(rig.context, BYTES, &stage.pinned) ||
           cls_event_create(rig.context, NULL, &stage.event) || sem_init(&stage.done, 0, 0);
}

static int stage_teardown(void **state) {
    free(stage.pageable);
    return cls_host_free(stage.pinned) || cls_buffer_destroy(stage.a) ||
           cls_buffer_destroy(stage.b) || cls_stream_destroy(stage.stream) ||
           cls_stream_destroy(stage.other) || cls_event_destroy(stage.event) || rig_teardown(state);
}

static const cls_rect rect = {1000, 64, 0, 4096, 16, 2048, 0, 0, 0};

static cls_status h2d_pageable(void *arg) {
    return cls_copy_h2d_async(stage.a, 0, stage.pageable, BYTES, arg);
}
static cls_status d2h_pageable(void *arg) {
    return cls_copy_d2h_async(stage.pageable, stage.a, 0, BYTES, arg);
}
static cls_status h2d_small(void *arg) {
    return cls_copy_h2d_async(stage.a, 4, stage.pageable, 4, arg);
}
static cls_status d2h_small(void *arg) {
    return cls_copy_d2h_async(stage.pageable, stage.a, 4, 4, arg);
}
static cls_status h2d_pinned(void *arg) {
    return cls_copy_h2d_async(stage.a, 0, stage.pinned, BYTES, arg);
}
static cls_status d2h_pinned(void *arg) {
    return cls_copy_d2h_async(stage.pinned, stage.a, 0, BYTES, arg);
}
static cls_status d2d(void *arg) { return cls_copy_d2d_async(stage.a, 0, stage.b, 0, BYTES, arg); }
static cls_status rect_h2d(void *arg) {
    return cls_copy_rect_h2d_async(stage.a, stage.pageable, &rect, arg);
}
static cls_status rect_d2h(void *arg) {
    return cls_copy_rect_d2h_async(stage.pageable, stage.a, &rect, arg);
}
static cls_status rect_d2d(void *arg) {
    return cls_copy_rect_d2d_async(stage.a, stage.b, &rect, arg);
}
static cls_status fill(void *arg) {
    return cls_fill_async(stage.a, 0, BYTES, "0123456789abcdef", 16, arg);
}
static cls_status prefetch_there(void *arg) {
    return cls_prefetch_async(stage.a, CLS_TO_DEVICE, arg);
}
static cls_status prefetch_back(void *arg) { return cls_prefetch_async(stage.a, CLS_TO_HOST, arg); }
static cls_status launch(void *arg) { return rig_step(arg, stage.a, 0, 1, 1, 1); }
static cls_status record(void *arg) { return cls_event_record(stage.event, arg); }
static cls_status wait_event(void *arg) {
    cls_status status = cls_event_record(stage.event, arg);
    return status ? status : cls_stream_wait_event(stage.other, stage.event);
}
static void count(void *arg) { ++*(unsigned *)arg; }
static void count_callback(cls_stream stream, cls_status status, void *arg) {
    (void)stream;
    *(unsigned *)arg += !status;
}
static cl_int count_foreign(cl_command_queue queue, void *arg) {
    (void)queue;
    ++*(unsigned *)arg;
    return CL_SUCCESS;
}
static cls_status host(void *arg) { return cls_stream_launch_host_async(arg, count, &stage.ran); }
static cls_status callback(void *arg) {
    return cls_stream_add_callback(arg, count_callback, &stage.ran);
}
static cls_status foreign(void *arg) {
    return cls_stream_foreign_async(arg, "count", count_foreign, &stage.ran);
}

static const struct subject {
    const char *name;
    cls_status (*call)(void *stream);
    unsigned runs; /* on the host, each time */
} subjects[] = {
    {"upload from pageable memory", h2d_pageable, 0},
    {"download to pageable memory", d2h_pageable, 0},
    {"upload of 4 bytes", h2d_small, 0},
    {"download of 4 bytes", d2h_small, 0},
    {"upload from pinned memory", h2d_pinned, 0},
    {"download to pinned memory", d2h_pinned, 0},
    {"copy on the device", d2d, 0},
    {"rectangle to the device", rect_h2d, 0},
    {"rectangle to the host", rect_d2h, 0},
    {"rectangle on the device", rect_d2d, 0},
    {"fill", fill, 0},
    {"prefetch to the device", prefetch_there, 0},
    {"prefetch to the host", prefetch_back, 0},
    {"launch", launch, 0},
    {"record", record, 0},
    {"record and wait", wait_event, 0},
    {"host function", host, 1},
    {"callback", callback, 1},
    {"foreign call", foreign, 1},
};

static void test_async_calls_return_while_work_ahead_runs(void **state) {
    (void)state;
    if (rig_runs_inline())
        SKIP_BECAUSE("this driver runs commands inside the flush");
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        const struct subject *subject = &subjects[i];
        stage.ran = 0;
        if (!rig_returns_early(stage.stream, subject->call, stage.stream)) {
            print_error("%s waits for the work ahead\n", subject->name);
            fail();
        }
        assert_true(subject->runs ? stage.ran > 0 : stage.ran == 0);
    }
}

/* The host memory is read when the copy's turn comes, and what was there before the call arrives. */
static void test_pageable_data_arrives_behind_a_long_kernel(void **state) {
    (void)state;
    for (uint32_t i = 0; i < WORDS; i++)
        stage.pageable[i] = i * 2654435761u;
    OK(rig_set(stage.stream, stage.a, 0, 1, 20));
    OK(cls_copy_h2d_async(stage.a, 0, stage.pageable, BYTES, stage.stream));
    OK(rig_step(stage.stream, stage.a, 5, 1, 1, 20));
    OK(cls_copy_d2d_async(stage.b, 0, stage.a, 0, BYTES, stage.stream));
    OK(cls_stream_synchronize(stage.stream));
    memset(stage.pageable, 0, BYTES);
    OK(cls_copy_d2h_async(stage.pageable, stage.b, 0, BYTES, stage.stream));
    OK(cls_stream_synchronize(stage.stream));
    stage.pageable[5]--;
    for (uint32_t i = 0; i < WORDS; i++)
        if (stage.pageable[i] != i * 2654435761u)
            fail_msg("word %u is %u", i, stage.pageable[i]);
}

static void test_blocking_calls_have_completed(void **state) {
    (void)state;
    uint32_t value = 0, four = 4;
    cls_launch shape = cls_launch_1d(1);
    cls_arg args[5] = {cls_arg_buffer(stage.a), cls_arg_u32(0), cls_arg_u32(1), cls_arg_u32(3),
                       cls_arg_u32(1000)};
    for (int i = 0; i < 10; i++) {
        OK(cls_fill(stage.a, 0, 64, &four, 4, stage.stream));
        OK(cls_stream_query(stage.stream));
        OK(rig_step(stage.stream, stage.a, 0, 1, 1, 10));
        OK(cls_kernel_launch(rig.step, &shape, args, 5, stage.stream));
        OK(cls_stream_query(stage.stream));
        OK(rig_step(stage.stream, stage.a, 0, 1, 1, 10));
        OK(cls_copy_d2d(stage.b, 0, stage.a, 0, 64, stage.stream));
        OK(cls_stream_query(stage.stream));
        OK(rig_step(stage.stream, stage.b, 0, 1, 1, 10));
        OK(cls_copy_d2h(&value, stage.b, 0, 4, stage.stream));
        assert_int_equal(value, 4 + 1 + 3 + 1 + 1);
        value = 100;
        OK(cls_copy_h2d(stage.b, 0, &value, 4, stage.stream));
        value = 0;
        OK(cls_copy_d2h(&value, stage.b, 0, 4, stage.stream));
        assert_int_equal(value, 100);
        OK(rig_step(stage.stream, stage.b, 0, 1, 1, 5));
        OK(cls_prefetch(stage.b, CLS_TO_DEVICE, stage.stream));
        OK(cls_stream_query(stage.stream));
    }
}

static void test_submitting_never_waits_for_a_gate(void **state) {
    (void)state;
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(stage.stream, gate_hold, &gate));
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        OK(subjects[i].call(stage.stream));
    /* more than any bound on work in flight */
    for (unsigned i = 0; i < 3000; i++)
        OK(rig_step(stage.stream, stage.a, 0, 1, 1, 0));
    EXPECT(CLS_NOT_READY, cls_stream_query(stage.stream));
    OK(cls_stream_destroy(stage.stream));
    gate_open(&gate);
    OK(cls_context_synchronize(rig.context));
    OK(cls_stream_create(rig.context, NULL, &stage.stream));
    gate_destroy(&gate);
}

static void test_waits_with_a_timeout_give_up_and_the_work_goes_on(void **state) {
    (void)state;
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(stage.stream, gate_hold, &gate));
    OK(rig_set(stage.stream, stage.a, 0, 77, 0));
    OK(cls_event_record(stage.event, stage.stream));
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(stage.stream, 1000 * 1000));
    EXPECT(CLS_ERROR_TIMEOUT, cls_event_wait(stage.event, 1000 * 1000));
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(stage.stream, 0));
    gate_open(&gate);
    OK(cls_stream_wait(stage.stream, UINT64_MAX));
    OK(cls_event_wait(stage.event, 0));
    assert_int_equal(rig_cell(stage.a, 0), 77);
    gate_destroy(&gate);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_async_calls_return_while_work_ahead_runs),
        cmocka_unit_test(test_pageable_data_arrives_behind_a_long_kernel),
        cmocka_unit_test(test_blocking_calls_have_completed),
        cmocka_unit_test(test_submitting_never_waits_for_a_gate),
        cmocka_unit_test(test_waits_with_a_timeout_give_up_and_the_work_goes_on),
    };
    return cmocka_run_group_tests(tests, stage_setup, stage_teardown);
}
