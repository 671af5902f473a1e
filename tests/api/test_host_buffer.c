/* SPDX-License-Identifier: MIT */
/* Pinned host memory as a buffer: kernels, fills and copies use the bytes that the host has a pointer to. */
#include "../support/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/check.h>
#include <clstream/managed.h>

enum { WORDS = 5000, BYTES = WORDS * 4 };

static uint32_t *words;
static cls_buffer buffer;

static int setup(void **state) {
    (void)state;
    OK(cls_host_alloc(rig.context, BYTES, (void **)&words));
    OK(cls_host_buffer(words, &buffer));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    OK(cls_host_free(words));
    return unsetenv("CLSTREAM_MANAGED");
}

static int setup_by_turns(void **state) {
    return setenv("CLSTREAM_MANAGED", "coarse", 1) || setup(state);
}

/* Whether host and device own the bytes in turns. */
static bool takes_turns(void) {
    const cls_status status = cls_fill_async(buffer, 0, 4, "\0\0\0", 4, NULL);
    OK(cls_context_synchronize(rig.context));
    assert_true(status == CLS_SUCCESS || status == CLS_ERROR_INVALID_STATE);
    return status != CLS_SUCCESS;
}

static void test_it_is_one_handle_for_the_same_bytes(void **state) {
    cls_buffer again = NULL;
    void *host = NULL;
    size_t bytes = 0;
    (void)state;
    OK(cls_host_buffer(words, &again));
    assert_ptr_equal(again, buffer);
    OK(cls_buffer_get_size(buffer, &bytes));
    assert_int_equal(bytes, BYTES);
    OK(cls_managed_get_host(buffer, &host));
    assert_ptr_equal(host, words);
}

/* What a program does that runs on every device. */
static void test_host_and_device_work_on_the_same_bytes(void **state) {
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(WORDS);
    (void)state;
    for (uint32_t round = 1; round < 5; round++) {
        const uint32_t pattern = 7 * round;
        words[0] = round;
        words[WORDS - 1] = 100 + round;
        OK(cls_prefetch_async(buffer, CLS_TO_DEVICE, stream));
        OK(rig_step(stream, buffer, WORDS - 1, 3, 1, 1));
        OK(cls_fill_async(buffer, 4, 16, &pattern, 4, stream));
        OK(cls_copy_d2d_async(cells, 0, buffer, 0, BYTES, stream));
        OK(rig_step(stream, cells, 1, 1, 5, 0));
        OK(cls_copy_d2d_async(buffer, 400, cells, 0, 40, stream));
        OK(cls_prefetch_async(buffer, CLS_TO_HOST, stream));
        OK(cls_stream_synchronize(stream));
        assert_int_equal(words[WORDS - 1], 3 * (100 + round) + 1);
        assert_int_equal(words[1], pattern);
        assert_int_equal(words[100], round);
        assert_int_equal(words[101], pattern + 5);
        assert_int_equal(rig_cell(cells, WORDS - 1), words[WORDS - 1]);
    }
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

static void test_a_cpu_needs_no_turns(void **state) {
    (void)state;
    if (takes_turns())
        SKIP_BECAUSE("host and device own pinned memory in turns here");
    for (uint32_t round = 0; round < 3; round++) {
        words[9] = round;
        OK(rig_step(NULL, buffer, 9, 2, 1, 1));
        OK(cls_context_synchronize(rig.context));
        assert_int_equal(words[9], 2 * round + 1);
    }
}

static void test_by_turns_the_host_owns_it_first(void **state) {
    (void)state;
    assert_true(takes_turns());
    assert_non_null(strstr(cls_last_error_detail(), "prefetch it to the device"));
    test_host_and_device_work_on_the_same_bytes(state);
    OK(cls_prefetch_async(buffer, CLS_TO_DEVICE, NULL)); /* and is freed as the device's */
}

/* By address as before: the buffer takes nothing away. */
static void test_copies_by_address_still_work(void **state) {
    cls_buffer cells = rig_cells(WORDS);
    (void)state;
    words[3] = 33;
    OK(cls_copy_h2d_async(cells, 0, words, BYTES, NULL));
    OK(rig_step(NULL, cells, 3, 1, 1, 0));
    OK(cls_copy_d2h(words, cells, 0, BYTES, NULL));
    assert_int_equal(words[3], 34);
    OK(cls_buffer_destroy(cells));
}

static void test_freeing_waits_for_kernels_and_ends_the_handle(void **state) {
    cls_stream stream = rig_stream();
    uint32_t *memory;
    cls_buffer own, stale;
    cls_event event = rig_event();
    (void)state;
    OK(cls_host_alloc(rig.context, 64, (void **)&memory));
    OK(cls_host_buffer(memory, &own));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_destroy(own));
    assert_non_null(strstr(cls_last_error_detail(), "cls_host_free"));
    OK(cls_prefetch_async(own, CLS_TO_DEVICE, stream));
    OK(rig_set(stream, own, 0, 1, 30));
    OK(cls_event_record(event, stream));
    OK(cls_host_free(memory));
    OK(cls_event_query(event));
    EXPECT(CLS_ERROR_INVALID_HANDLE, rig_set(stream, own, 0, 1, 0));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_host_buffer(memory, &stale));
    OK(cls_event_destroy(event));
    OK(cls_stream_destroy(stream));
}

static void test_bad_pointers(void **state) {
    cls_buffer untouched = NULL;
    int on_stack;
    (void)state;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_host_buffer(words + 25, &untouched));
    assert_non_null(strstr(cls_last_error_detail(), "100 bytes inside"));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_host_buffer(&on_stack, &untouched));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_host_buffer(NULL, &untouched));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_host_buffer(words, NULL));
    assert_null(untouched);
}

static void test_a_destroyed_context(void **state) {
    cls_context context;
    cls_buffer made, untouched = NULL;
    void *memory, *other;
    (void)state;
    OK(cls_context_create(NULL, &context));
    OK(cls_host_alloc(context, 64, &memory));
    OK(cls_host_alloc(context, 64, &other));
    OK(cls_host_buffer(memory, &made));
    OK(cls_context_destroy(context));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_host_buffer(other, &untouched));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_host_buffer(memory, &untouched));
    assert_null(untouched);
    OK(cls_host_free(memory));
    OK(cls_host_free(other));
}

static bool ask(void *arg, unsigned i) {
    cls_buffer *got = arg;
    return !cls_host_buffer(words, &got[i]);
}

static void test_threads_get_one_handle(void **state) {
    cls_buffer got[8] = {NULL};
    (void)state;
    OK(cls_host_free(words));
    OK(cls_host_alloc(rig.context, BYTES, (void **)&words));
    assert_int_equal(team_run(8, ask, got), 0);
    for (int i = 1; i < 8; i++)
        assert_ptr_equal(got[i], got[0]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TEST_BY_TURNS(name) \
    { #name " by turns", name, setup_by_turns, teardown, NULL }

static char why[512]; /* the driver is wrong about what such a buffer relies on */

/* On one that forgets sub-buffers' origins, the alignment of a block decides: blocks are not aligned alike. */
static cls_status try_some(void) {
    enum { BLOCKS = 16 };
    void *blocks[BLOCKS] = {NULL};
    cls_buffer tried;
    cls_status status = CLS_SUCCESS;
    for (int i = 0; i < BLOCKS && !status; i++)
        if (!cls_host_alloc(NULL, BYTES, &blocks[i]))
            status = cls_host_buffer(blocks[i], &tried);
    if (status)
        snprintf(why, sizeof why, "%s", cls_last_error_detail());
    for (int i = 0; i < BLOCKS; i++)
        OK(cls_host_free(blocks[i]));
    return status;
}

static void test_the_driver_is_wrong(void **state) {
    (void)state;
    SKIP_BECAUSE("%s", why);
}

int main(void) {
    const struct CMUnitTest refused[] = {cmocka_unit_test(test_the_driver_is_wrong)};
    if (try_some() == CLS_ERROR_UNSUPPORTED)
        return cmocka_run_group_tests(refused, NULL, NULL);
    const struct CMUnitTest tests[] = {
        TEST(test_it_is_one_handle_for_the_same_bytes),
        TEST(test_host_and_device_work_on_the_same_bytes),
        TEST(test_a_cpu_needs_no_turns),
        TEST_BY_TURNS(test_by_turns_the_host_owns_it_first),
        TEST(test_copies_by_address_still_work),
        TEST_BY_TURNS(test_copies_by_address_still_work),
        TEST(test_freeing_waits_for_kernels_and_ends_the_handle),
        TEST_BY_TURNS(test_freeing_waits_for_kernels_and_ends_the_handle),
        TEST(test_bad_pointers),
        TEST(test_a_destroyed_context),
        TEST(test_threads_get_one_handle),
        TEST_BY_TURNS(test_threads_get_one_handle),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
