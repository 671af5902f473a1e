/* SPDX-License-Identifier: MIT */
/*
 * Addresses of buffers of every kind: a kernel reads and writes through them what calls by handle read and write; they stay
 * the same.
 */
#include "../support/rig.h"

#include <stdlib.h>
#include <string.h>

#include <clstream.h>
#include <clstream/opencl.h>

enum { CELLS = 1000, BYTES = CELLS * 4 };

static const char source[] = "kernel void add_at(ulong at, uint n, uint what) {\n"
                             "    global uint *cells = (global uint *)at;\n"
                             "    if (get_global_id(0) < n)\n"
                             "        cells[get_global_id(0)] += what;\n"
                             "}\n";

static struct world {
    cls_program program;
    cls_kernel add_at;
} w;

static int setup(void **state) {
    if (rig_setup(state))
        return -1;
    OK(cls_program_from_source(rig.context, source, "addresses.cl", NULL, &w.program));
    OK(cls_kernel_create(w.program, "add_at", &w.add_at));
    return 0;
}

static int teardown(void **state) {
    OK(cls_kernel_destroy(w.add_at));
    OK(cls_program_destroy(w.program));
    return rig_teardown(state);
}

static uint64_t address_of(cls_buffer buffer) {
    uint64_t address = 0, again = 0;
    OK(cls_buffer_get_address(buffer, &address));
    assert_true(address != 0);
    OK(cls_buffer_get_address(buffer, &again));
    assert_true(again == address);
    return address;
}

/* --- buffers of every kind --- */

static void expect_added(cls_buffer buffer, const char *kind) {
    const cls_stream stream = rig_stream();
    uint32_t cells[CELLS];
    const uint32_t seven = 7;
    OK(cls_fill_async(buffer, 0, BYTES, &seven, sizeof seven, stream));
    OK(cls_stream_synchronize(stream));
    const cls_launch launch = cls_launch_1d(CELLS);
    const cls_arg args[] = {cls_arg_u64(address_of(buffer)), cls_arg_u32(CELLS), cls_arg_u32(100)};
    OK(cls_kernel_launch(w.add_at, &launch, args, 3, stream));
    OK(cls_copy_d2h(cells, buffer, 0, BYTES, stream));
    for (uint32_t i = 0; i < CELLS; i++)
        if (cells[i] != 107)
            fail_msg("%s: cell %u is %u", kind, i, cells[i]);
    OK(cls_stream_destroy(stream));
}

static void test_own(void **state) {
    (void)state;
    rig_need("addresses");
    cls_buffer buffer;
    OK(cls_buffer_create(rig.context, BYTES, &buffer));
    expect_added(buffer, "own");
    OK(cls_buffer_destroy(buffer));
}

/* Slots of a pool are parts of one buffer, and are given again with their addresses. */
static void test_of_a_pool(void **state) {
    (void)state;
    rig_need("addresses");
    enum { SLOTS = 5 };
    const cls_stream stream = rig_stream();
    cls_buffer slots[SLOTS];
    uint64_t at[SLOTS];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < SLOTS; i++) {
            OK(cls_malloc_async(stream, BYTES, &slots[i]));
            expect_added(slots[i], "of a pool");
            at[i] = address_of(slots[i]);
            for (int j = 0; j < i; j++)
                assert_true(at[j] + BYTES <= at[i] || at[i] + BYTES <= at[j]);
        }
        for (int i = 0; i < SLOTS; i++)
            OK(cls_free_async(slots[i], stream));
    }
    OK(cls_stream_destroy(stream));
}

static void test_wrapped(void **state) {
    (void)state;
    rig_need("addresses");
    cl_context cl;
    cl_device_id device;
    cl_int code;
    cls_buffer buffer;
    OK(cls_context_get_cl(rig.context, &cl, &device));
    cl_mem memory = clCreateBuffer(cl, CL_MEM_READ_WRITE, BYTES, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    OK(cls_buffer_wrap(rig.context, memory, &buffer));
    expect_added(buffer, "wrapped");
    OK(cls_buffer_destroy(buffer));
    clReleaseMemObject(memory);
}

static void test_shareable_and_opened(void **state) {
    (void)state;
    rig_need("addresses");
    cls_context other;
    cls_buffer buffer, opened;
    const cls_status status = cls_buffer_create_shareable(rig.context, BYTES, &buffer);
    if (status == CLS_ERROR_UNSUPPORTED)
        SKIP_BECAUSE("the device has no shareable memory");
    OK(status);
    expect_added(buffer, "shareable");
    OK(cls_context_create(NULL, &other));
    OK(cls_buffer_open(other, buffer, &opened));
    assert_true(address_of(opened) != 0);
    OK(cls_buffer_destroy(opened));
    OK(cls_context_destroy(other));
    OK(cls_buffer_destroy(buffer));
}

static void test_unified(void **state) {
    (void)state;
    rig_need("addresses");
    cls_buffer buffer;
    uint64_t address;
    const cls_status status = cls_managed_alloc(rig.context, BYTES, &buffer, NULL);
    if (status == CLS_ERROR_UNSUPPORTED)
        SKIP_BECAUSE("the device has no unified memory");
    OK(status);
    const cls_status asked = cls_buffer_get_address(buffer, &address);
    assert_true(asked == CLS_SUCCESS || asked == CLS_ERROR_INVALID_STATE);
    OK(cls_prefetch_async(buffer, CLS_TO_DEVICE, NULL));
    expect_added(buffer, "unified");
    OK(cls_buffer_destroy(buffer));
}

static void test_pinned(void **state) {
    (void)state;
    rig_need("addresses");
    void *host;
    cls_buffer buffer;
    OK(cls_host_alloc(rig.context, BYTES, &host));
    const cls_status status = cls_host_buffer(host, &buffer);
    if (status == CLS_SUCCESS) {
        OK(cls_prefetch_async(buffer, CLS_TO_DEVICE, NULL));
        expect_added(buffer, "pinned");
    }
    OK(cls_host_free(host));
    if (status)
        SKIP_BECAUSE("pinned memory is no buffer on this device");
}

/* --- what is refused --- */

static void test_without_the_trust_there_are_none(void **state) {
    (void)state;
    uint64_t address = 5;
    if (rig_has_capability("addresses"))
        SKIP_BECAUSE("the device has addresses");
    const cls_buffer cells = rig_cells(1);
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_buffer_get_address(cells, &address));
    expect_detail("addresses: ");
    assert_true(address == 5);
    OK(cls_buffer_destroy(cells));
}

static void test_memory_of_captures_has_none(void **state) {
    (void)state;
    rig_need("addresses");
    const cls_stream stream = rig_stream();
    cls_buffer buffer;
    cls_graph graph;
    uint64_t address = 5;
    OK(cls_stream_begin_capture(stream, "memory"));
    OK(cls_malloc_async(stream, BYTES, &buffer));
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_buffer_get_address(buffer, &address));
    assert_true(address == 5);
    OK(cls_free_async(buffer, stream));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_destroy(graph));
    OK(cls_stream_destroy(stream));
}

static void ask(void *buffer) { address_of(buffer); }

static void test_host_functions_may_ask(void **state) {
    (void)state;
    rig_need("addresses");
    const cls_stream stream = rig_stream();
    const cls_buffer cells = rig_cells(CELLS);
    OK(cls_stream_launch_host_async(stream, ask, cells));
    OK(cls_stream_synchronize(stream));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_of_a_pool),
        cmocka_unit_test(test_wrapped),
        cmocka_unit_test(test_shareable_and_opened),
        cmocka_unit_test(test_unified),
        cmocka_unit_test(test_pinned),
        cmocka_unit_test(test_without_the_trust_there_are_none),
        cmocka_unit_test(test_memory_of_captures_has_none),
        cmocka_unit_test(test_host_functions_may_ask),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
