/* SPDX-License-Identifier: MIT */
/* Unified memory: one allocation for the host's pointer and the device's commands. */
#include "../support/rig.h"

#include <stdlib.h>
#include <string.h>

#include <clstream/batch.h>
#include <clstream/managed.h>

enum { WORDS = 1024, BYTES = WORDS * 4 };

static cls_managed_kind kind(void) {
    cls_managed_kind kind = CLS_MANAGED_NONE;
    OK(cls_managed_get_kind(rig.context, &kind));
    return kind;
}

#define SKIP_WITHOUT_SHARED_MEMORY() \
    if (kind() == CLS_MANAGED_NONE)  \
    SKIP_BECAUSE("the device shares no memory with the host")

/* Writes by the host, works on it on the device, reads by the host; by turns, as coarse sharing needs. */
static void take_turns(void) {
    cls_stream stream = rig_stream();
    cls_buffer cells = NULL;
    uint32_t *words = NULL;
    OK(cls_managed_alloc(rig.context, BYTES, &cells, (void **)&words));
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = i;
    for (uint32_t round = 1; round <= 3; round++) {
        OK(cls_prefetch_async(cells, CLS_TO_DEVICE, stream));
        OK(rig_step(stream, cells, 5, 2, 1, 3));
        OK(rig_step(stream, cells, WORDS - 1, 1, 1, 0));
        OK(cls_prefetch_async(cells, CLS_TO_HOST, stream));
        OK(cls_stream_synchronize(stream));
        assert_int_equal(words[5], 11);
        assert_int_equal(words[WORDS - 1], WORDS - 1 + round);
        assert_int_equal(words[7], 7 + round - 1);
        words[5] = 5;
        words[7]++;
    }
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

static void test_host_and_device_take_turns(void **state) {
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    take_turns();
}

static void test_copies_and_sizes(void **state) {
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    cls_buffer cells, plain = rig_cells(WORDS);
    uint32_t *words = NULL, *again = NULL, back = 0;
    size_t bytes = 0;
    OK(cls_managed_alloc(rig.context, BYTES, &cells, (void **)&words));
    OK(cls_buffer_get_size(cells, &bytes));
    assert_int_equal(bytes, BYTES);
    OK(cls_managed_get_host(cells, (void **)&again));
    assert_ptr_equal(again, words);
    words[3] = 33;
    OK(cls_prefetch(cells, CLS_TO_DEVICE, NULL));
    OK(cls_copy_d2d(plain, 0, cells, 0, BYTES, NULL));
    OK(cls_copy_d2h(&back, plain, 12, 4, NULL));
    assert_int_equal(back, 33);
    back = 44;
    OK(cls_copy_h2d(cells, 16, &back, 4, NULL));
    OK(cls_prefetch(cells, CLS_TO_HOST, NULL));
    assert_int_equal(words[4], 44);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_managed_get_host(plain, (void **)&again));
    OK(cls_buffer_destroy(cells));
    OK(cls_buffer_destroy(plain));
}

/* Fine: the host sees what is done, without handing anything over. */
static void test_fine_sharing_needs_no_turns(void **state) {
    (void)state;
    if (kind() != CLS_MANAGED_FINE)
        SKIP_BECAUSE("the device shares no memory at a fine grain");
    cls_stream stream = rig_stream();
    cls_buffer cells;
    uint32_t *words = NULL;
    OK(cls_managed_alloc(rig.context, BYTES, &cells, (void **)&words));
    words[1] = 20;
    OK(rig_step(stream, cells, 1, 2, 2, 5));
    OK(cls_stream_synchronize(stream));
    assert_int_equal(words[1], 42);
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

/* Coarse, also where the device could do better: forgotten prefetches are found. */
static void test_coarse_sharing_is_by_turns(void **state) {
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    cls_stream stream = rig_stream();
    cls_buffer cells;
    uint32_t word = 0;
    assert_int_equal(kind(), CLS_MANAGED_COARSE);
    take_turns();
    OK(cls_managed_alloc(rig.context, BYTES, &cells, NULL));
    EXPECT(CLS_ERROR_INVALID_STATE, rig_step(stream, cells, 0, 1, 1, 0));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_copy_h2d(cells, 0, &word, 4, stream));
    OK(cls_prefetch_async(cells, CLS_TO_HOST, stream)); /* it is there */
    OK(cls_prefetch_async(cells, CLS_TO_DEVICE, stream));
    OK(cls_prefetch_async(cells, CLS_TO_DEVICE, stream));
    OK(rig_set(stream, cells, 0, 1, 0));
    OK(cls_prefetch_async(cells, CLS_TO_HOST, stream));
    EXPECT(CLS_ERROR_INVALID_STATE, rig_set(stream, cells, 0, 1, 0));
    OK(cls_stream_synchronize(stream));
    /* A refused prefetch leaves it where it is. */
    OK(rig_fail(stream, "fails", -5));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_prefetch_async(cells, CLS_TO_DEVICE, stream));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_copy_h2d(cells, 0, &word, 4, NULL));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

static cl_int fail_late(cl_command_queue queue, void *gate) {
    (void)queue;
    gate_hold(gate);
    return -5;
}

static cl_int hold(cl_command_queue queue, void *gate) {
    (void)queue;
    gate_hold(gate);
    return 0;
}

/* Has the stream hold a prefetch, and drop it. */
static cls_status drop_prefetch(cls_stream stream, cls_buffer cells, cls_location where) {
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_foreign_async(stream, "fails late", fail_late, &gate));
    OK(cls_prefetch_async(cells, where, stream));
    gate_open(&gate);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    gate_destroy(&gate);
    return cls_stream_reset(stream);
}

/* What a poisoned stream drops hands nothing over, and may be asked for again. */
static void test_a_dropped_prefetch_hands_nothing_over(void **state) {
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    cls_stream stream = rig_stream();
    cls_buffer cells;
    uint32_t *words = NULL;
    OK(cls_managed_alloc(rig.context, BYTES, &cells, (void **)&words));
    for (uint32_t round = 1; round <= 2; round++) {
        words[0] = 7 * round;
        OK(drop_prefetch(stream, cells, CLS_TO_DEVICE));
        EXPECT(CLS_ERROR_INVALID_STATE, rig_step(stream, cells, 0, 2, 1, 0));
        OK(cls_prefetch_async(cells, CLS_TO_DEVICE, stream));
        OK(rig_step(stream, cells, 0, 2, 1, 0));
        OK(drop_prefetch(stream, cells, CLS_TO_HOST));
        OK(rig_step(stream, cells, 0, 2, 1, 0));
        OK(cls_prefetch(cells, CLS_TO_HOST, stream));
        assert_int_equal(words[0], (7 * round * 2 + 1) * 2 + 1);
    }
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

/* Prefetches of several streams: each comes behind the one before it, and what becomes of that is nothing to it. */
static void test_prefetches_take_turns_across_streams(void **state) {
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    cls_stream first = rig_stream(), second = rig_stream();
    cls_buffer cells;
    uint32_t *words = NULL;
    struct gate gate;
    for (int fails = 0; fails < 2; fails++) {
        OK(cls_managed_alloc(rig.context, BYTES, &cells, (void **)&words));
        words[0] = 20;
        gate_init(&gate);
        OK(cls_stream_foreign_async(first, "holds", fails ? fail_late : hold, &gate));
        OK(cls_prefetch_async(cells, CLS_TO_DEVICE, first));
        OK(cls_prefetch_async(cells, CLS_TO_DEVICE, second));
        EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(second, 50000000));
        gate_open(&gate);
        EXPECT(fails ? CLS_ERROR_COMMAND_FAILED : CLS_SUCCESS, cls_stream_synchronize(first));
        OK(rig_step(second, cells, 0, 2, 2, 0));
        OK(cls_prefetch_async(cells, CLS_TO_HOST, second));
        OK(cls_stream_synchronize(second));
        assert_int_equal(words[0], 42);
        OK(cls_stream_reset(first));
        gate_destroy(&gate);
        OK(cls_buffer_destroy(cells));
    }
    OK(cls_stream_destroy(first));
    OK(cls_stream_destroy(second));
}

/* It is whose the newest one says that is still to come, if any. */
static void test_a_refused_prefetch_leaves_one_that_is_pending(void **state) {
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    cls_stream first = rig_stream(), second = rig_stream();
    cls_buffer cells;
    uint32_t *words = NULL;
    struct gate gate;
    OK(cls_managed_alloc(rig.context, BYTES, &cells, (void **)&words));
    words[0] = 20;
    gate_init(&gate);
    OK(rig_fail(second, "fails", -5));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(second));
    OK(cls_stream_launch_host_async(first, gate_hold, &gate));
    OK(cls_prefetch_async(cells, CLS_TO_DEVICE, first));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_prefetch_async(cells, CLS_TO_HOST, second));
    OK(rig_step(first, cells, 0, 2, 2, 0));
    OK(cls_prefetch_async(cells, CLS_TO_HOST, first));
    gate_open(&gate);
    OK(cls_stream_synchronize(first));
    assert_int_equal(words[0], 42);
    gate_destroy(&gate);
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(first));
    OK(cls_stream_destroy(second));
}

/* A batch names the memory once, in any turn, and is executed in the device's. */
static void test_batches_take_turns(void **state) {
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    cls_buffer cells;
    cls_batch batch;
    cls_value in, twice;
    void *host;
    int32_t *out = calloc(1, BYTES);
    assert_non_null(out);
    OK(cls_managed_alloc(rig.context, BYTES, &cells, &host));
    for (int i = 0; i < WORDS; i++)
        ((int32_t *)host)[i] = i;
    OK(cls_batch_create(rig.context, NULL, &batch));
    OK(cls_batch_array(batch, cls_array_of(cells, CLS_I32, WORDS), &in));
    OK(cls_batch_scale(batch, in, 2, &twice));
    OK(cls_batch_prepare(batch));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_batch_execute_async(batch, NULL));
    OK(cls_batch_bind_array(batch, in, cls_array_of(cells, CLS_I32, WORDS)));
    OK(cls_prefetch(cells, CLS_TO_DEVICE, NULL));
    OK(cls_batch_execute(batch, NULL));
    OK(cls_prefetch(cells, CLS_TO_HOST, NULL));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_batch_execute_async(batch, NULL));
    OK(cls_prefetch(cells, CLS_TO_DEVICE, NULL));
    OK(cls_batch_execute(batch, NULL));
    OK(cls_batch_read(batch, twice, out));
    for (int i = 0; i < WORDS; i++)
        assert_int_equal(out[i], 2 * i);
    OK(cls_batch_destroy(batch));
    OK(cls_buffer_destroy(cells));
    free(out);
}

/* Submitted work keeps the memory. */
static void test_destroyed_with_work_pending(void **state) {
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    cls_stream stream = rig_stream();
    cls_buffer cells;
    struct gate gate;
    uint32_t seen = 0;
    gate_init(&gate);
    OK(cls_managed_alloc(rig.context, BYTES, &cells, NULL));
    OK(cls_prefetch_async(cells, CLS_TO_DEVICE, stream));
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(rig_set(stream, cells, 0, 9, 5));
    OK(cls_copy_d2h_async(&seen, cells, 0, 4, stream));
    OK(cls_buffer_destroy(cells));
    gate_open(&gate);
    OK(cls_stream_synchronize(stream));
    assert_int_equal(seen, 9);
    gate_destroy(&gate);
    OK(cls_stream_destroy(stream));
}

static void test_bad_input(void **state) {
    (void)state;
    SKIP_WITHOUT_SHARED_MEMORY();
    cls_buffer untouched = NULL;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_managed_alloc(rig.context, BYTES, NULL, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_managed_alloc(rig.context, 0, &untouched, NULL));
    EXPECT(CLS_ERROR_OUT_OF_DEVICE_MEMORY,
           cls_managed_alloc(rig.context, SIZE_MAX, &untouched, NULL));
    EXPECT(CLS_ERROR_INVALID_HANDLE,
           cls_managed_alloc((cls_context)(uintptr_t)8, 64, &untouched, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_managed_get_kind(rig.context, NULL));
    assert_null(untouched);
}

static void test_unsupported_elsewhere(void **state) {
    (void)state;
    cls_buffer untouched = NULL;
    if (kind() != CLS_MANAGED_NONE)
        SKIP_BECAUSE("the device shares memory with the host");
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_managed_alloc(rig.context, BYTES, &untouched, NULL));
    assert_null(untouched);
}

/* As on a device that shares at no fine grain. */
static int force_coarse(void **state) {
    (void)state;
    return setenv("CLSTREAM_MANAGED", "coarse", 1);
}

static int leave_coarse(void **state) {
    (void)state;
    return unsetenv("CLSTREAM_MANAGED");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_and_device_take_turns),
        cmocka_unit_test(test_copies_and_sizes),
        cmocka_unit_test(test_fine_sharing_needs_no_turns),
        cmocka_unit_test_setup_teardown(test_coarse_sharing_is_by_turns, force_coarse,
                                        leave_coarse),
        cmocka_unit_test_setup_teardown(test_a_dropped_prefetch_hands_nothing_over, force_coarse,
                                        leave_coarse),
        cmocka_unit_test_setup_teardown(test_prefetches_take_turns_across_streams, force_coarse,
                                        leave_coarse),
        cmocka_unit_test_setup_teardown(test_a_refused_prefetch_leaves_one_that_is_pending,
                                        force_coarse, leave_coarse),
        cmocka_unit_test_setup_teardown(test_batches_take_turns, force_coarse, leave_coarse),
        cmocka_unit_test(test_destroyed_with_work_pending),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_unsupported_elsewhere),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
