/* SPDX-License-Identifier: MIT */
/* Memory of the program's as pinned memory, and as a buffer of the same bytes. */
#include "../support/rig.h"

#include <stdlib.h>
#include <string.h>

#include <clstream/device.h>

enum { WORDS = 5000, BYTES = WORDS * 4 };

static char *block;     /* of the program's */
static uint32_t *words; /* in it, aligned and registered */
static uint32_t alignment;

static int setup_group(void **state) {
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    size_t device;
    int failed = rig_setup(state);
    if (failed || cls_context_get_device(rig.context, &device) ||
        cls_device_get_info(device, &info))
        return -1;
    alignment = info.base_align;
    block = malloc(BYTES + 2 * alignment);
    words = (uint32_t *)(void *)(block + (-(uintptr_t)block & (alignment - 1)));
    return block ? 0 : -1;
}

static int teardown_group(void **state) {
    free(block);
    return rig_teardown(state);
}

static int setup(void **state) {
    (void)state;
    cls_host_register(rig.context, words, BYTES); /* need_buffer says where it is refused */
    return 0;
}

static int teardown(void **state) {
    (void)state;
    cls_host_unregister(words);
    return unsetenv("CLSTREAM_MANAGED");
}

static int setup_by_turns(void **state) {
    return setenv("CLSTREAM_MANAGED", "coarse", 1) || setup(state);
}

static cls_buffer need_buffer(void) {
    cls_buffer buffer = NULL;
    if (cls_host_buffer(words, &buffer) == CLS_ERROR_INVALID_VALUE) {
        EXPECT(CLS_ERROR_UNSUPPORTED, cls_host_register(rig.context, words, BYTES));
        print_message("%s\n", cls_last_error_detail());
        skip();
    }
    assert_non_null(buffer);
    return buffer;
}

static void test_kernels_use_the_same_bytes(void **state) {
    cls_stream stream = rig_stream();
    cls_buffer buffer = need_buffer();
    (void)state;
    for (uint32_t round = 1; round < 4; round++) {
        words[0] = round;
        words[WORDS - 1] = 100 + round;
        OK(cls_prefetch_async(buffer, CLS_TO_DEVICE, stream));
        OK(rig_step(stream, buffer, WORDS - 1, 3, 1, 5));
        OK(cls_prefetch_async(buffer, CLS_TO_HOST, stream));
        OK(cls_stream_synchronize(stream));
        assert_int_equal(words[0], round);
        assert_int_equal(words[WORDS - 1], 3 * (100 + round) + 1);
    }
    OK(cls_stream_destroy(stream));
}

static void test_unregistering_waits(void **state) {
    cls_stream stream = rig_stream();
    cls_event event = rig_event();
    cls_buffer buffer = need_buffer();
    (void)state;
    words[3] = 5;
    OK(cls_prefetch_async(buffer, CLS_TO_DEVICE, stream));
    OK(rig_step(stream, buffer, 3, 2, 1, 30));
    OK(cls_prefetch_async(buffer, CLS_TO_HOST, stream));
    OK(cls_event_record(event, stream));
    OK(cls_host_unregister(words));
    OK(cls_event_query(event));
    assert_int_equal(words[3], 11);
    memset(words, 0x77, BYTES); /* it is the program's again */
    EXPECT(CLS_ERROR_INVALID_HANDLE, rig_set(stream, buffer, 0, 1, 0));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_host_unregister(words));
    OK(cls_event_destroy(event));
    OK(cls_stream_destroy(stream));
}

static void test_copies_by_address(void **state) {
    cls_buffer cells = rig_cells(WORDS);
    (void)state;
    need_buffer();
    words[3] = 33;
    OK(cls_copy_h2d_async(cells, 0, words, BYTES, NULL));
    OK(rig_step(NULL, cells, 3, 1, 1, 0));
    OK(cls_copy_d2h(words, cells, 0, BYTES, NULL));
    assert_int_equal(words[3], 34);
    OK(cls_buffer_destroy(cells));
}

static void test_what_is_refused(void **state) {
    (void)state;
    need_buffer();
    EXPECT(CLS_ERROR_INVALID_STATE, cls_host_register(rig.context, words, 64));
    EXPECT(CLS_ERROR_INVALID_STATE,
           cls_host_register(rig.context, (char *)words + alignment, alignment));
    assert_non_null(strstr(cls_last_error_detail(), "pinned already"));
    OK(cls_host_unregister(words));
    OK(cls_host_register(rig.context, (char *)words + alignment, alignment));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_host_register(rig.context, words, 2 * alignment));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_host_unregister(words));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_host_free((char *)words + alignment));
    OK(cls_host_unregister((char *)words + alignment));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_host_register(rig.context, (char *)words + 1, 64));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_host_register(rig.context, NULL, 64));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_host_register(rig.context, words, 0));
    EXPECT(CLS_ERROR_OUT_OF_DEVICE_MEMORY, cls_host_register(rig.context, words, SIZE_MAX));
    void *pinned;
    OK(cls_host_alloc(rig.context, 64, &pinned));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_host_unregister(pinned));
    OK(cls_host_free(pinned));
}

static void unregister_inside(void *status) { *(cls_status *)status = cls_host_unregister(words); }

static void test_host_functions_may_not(void **state) {
    cls_stream stream = rig_stream();
    cls_status status = CLS_SUCCESS;
    (void)state;
    need_buffer();
    OK(cls_stream_launch_host_async(stream, unregister_inside, &status));
    OK(cls_stream_synchronize(stream));
    OK(cls_stream_destroy(stream));
    EXPECT(CLS_ERROR_WOULD_DEADLOCK, status);
}

static void test_memory_outlives_its_context(void **state) {
    cls_context context;
    (void)state;
    need_buffer();
    OK(cls_host_unregister(words));
    OK(cls_context_create(NULL, &context));
    OK(cls_host_register(context, words, BYTES));
    OK(cls_context_destroy(context));
    OK(cls_host_unregister(words));
}

static void test_a_map_is_the_memory(void **state) {
    cls_buffer buffer = need_buffer();
    uint32_t *at;
    (void)state;
    if (cls_fill_async(buffer, 0, 4, "\0\0\0", 4, NULL))
        SKIP_BECAUSE("host and device own the memory in turns here");
    OK(cls_buffer_map(buffer, CLS_MAP_READ_WRITE, 16, 8, NULL, (void **)&at));
    assert_ptr_equal(at, words + 4);
    OK(cls_buffer_unmap(buffer, at, NULL));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TEST_BY_TURNS(name) \
    { #name " by turns", name, setup_by_turns, teardown, NULL }

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_kernels_use_the_same_bytes),
        TEST(test_unregistering_waits),
        TEST(test_copies_by_address),
        TEST(test_what_is_refused),
        TEST(test_host_functions_may_not),
        TEST(test_memory_outlives_its_context),
        TEST(test_a_map_is_the_memory),
        TEST_BY_TURNS(test_kernels_use_the_same_bytes),
        TEST_BY_TURNS(test_unregistering_waits),
        TEST_BY_TURNS(test_memory_outlives_its_context),
    };
    return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
