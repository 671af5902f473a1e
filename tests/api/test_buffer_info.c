/* SPDX-License-Identifier: MIT */
/* What a buffer says of its memory: one of each kind. */
#include "../support/alike.h"

#include <unistd.h>

#include <clstream/graph.h>
#include <clstream/managed.h>
#include <clstream/mempool.h>
#include <clstream/opencl.h>
#include <clstream/triple_buffer.h>

enum { BYTES = 1000 };

static cls_buffer_info info_of(cls_buffer buffer) {
    cls_buffer_info info = CLS_BUFFER_INFO_INIT;
    OK(cls_buffer_get_info(buffer, &info));
    assert_int_equal(info.size, sizeof info);
    assert_int_equal(info.reserved, 0);
    return info;
}

/* Its kind, and the rest as most buffers have it. */
static void expect_plain(cls_buffer buffer, cls_buffer_kind kind) {
    const cls_buffer_info info = info_of(buffer);
    assert_int_equal(info.kind, kind);
    assert_ptr_equal(info.context, rig.context);
    assert_int_equal(info.bytes, BYTES);
    assert_null(info.host);
    assert_null(info.pool);
    assert_false(info.shareable);
    assert_false(info.owned);
}

static void test_device_memory(void **state) {
    cls_buffer buffer = NULL;
    (void)state;
    OK(cls_buffer_create(rig.context, BYTES, &buffer));
    expect_plain(buffer, CLS_BUFFER_OWN);
    OK(cls_buffer_destroy(buffer));
}

static void test_a_wrapped_cl_mem(void **state) {
    cls_buffer buffer = NULL, wrapped = NULL;
    cl_mem memory = NULL;
    (void)state;
    OK(cls_buffer_create(rig.context, BYTES, &buffer));
    OK(cls_buffer_get_cl(buffer, &memory));
    OK(cls_buffer_wrap(rig.context, memory, &wrapped));
    expect_plain(wrapped, CLS_BUFFER_WRAPPED);
    OK(cls_buffer_destroy(wrapped));
    OK(cls_buffer_destroy(buffer));
}

static void expect_pool(cls_buffer buffer, cls_mempool pool, int shareable) {
    const cls_buffer_info info = info_of(buffer);
    assert_int_equal(info.kind, CLS_BUFFER_POOL);
    assert_ptr_equal(info.context, rig.context);
    assert_int_equal(info.bytes, BYTES);
    assert_ptr_equal(info.pool, pool);
    assert_null(info.host);
    assert_int_equal(!!info.shareable, shareable);
    assert_false(info.owned);
}

static void test_memory_of_a_pool_names_it_while_it_lives(void **state) {
    cls_stream stream = rig_stream();
    cls_mempool standard = NULL, pool = NULL;
    cls_buffer a = NULL, b = NULL;
    (void)state;
    OK(cls_mempool_default(rig.context, &standard));
    OK(cls_mempool_create(rig.context, NULL, &pool));
    OK(cls_malloc_async(stream, BYTES, &a));
    OK(cls_mempool_malloc_async(pool, stream, BYTES, &b));
    expect_pool(a, standard, 0);
    expect_pool(b, pool, 0);
    OK(cls_mempool_destroy(pool));
    expect_pool(b, NULL, 0);
    OK(cls_free_async(b, stream));
    OK(cls_free_async(a, stream));
    OK(cls_stream_destroy(stream));
}

static void test_memory_of_a_capture_is_of_no_pool(void **state) {
    cls_stream stream = rig_stream();
    cls_buffer buffer = NULL;
    cls_graph graph = NULL;
    (void)state;
    OK(cls_stream_begin_capture(stream, NULL));
    OK(cls_malloc_async(stream, BYTES, &buffer));
    expect_plain(buffer, CLS_BUFFER_CAPTURED);
    OK(cls_free_async(buffer, stream));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_destroy(graph));
    OK(cls_stream_destroy(stream));
}

static void test_unified_memory_has_the_hosts_pointer(void **state) {
    cls_managed_kind kind = CLS_MANAGED_NONE;
    cls_buffer buffer = NULL;
    void *host = NULL;
    (void)state;
    OK(cls_managed_get_kind(rig.context, &kind));
    if (kind == CLS_MANAGED_NONE)
        SKIP_BECAUSE("the device shares no memory with the host");
    OK(cls_managed_alloc(rig.context, BYTES, &buffer, &host));
    const cls_buffer_info info = info_of(buffer);
    assert_int_equal(info.kind, CLS_BUFFER_UNIFIED);
    assert_ptr_equal(info.host, host);
    assert_int_equal(info.bytes, BYTES);
    assert_false(info.owned);
    OK(cls_buffer_destroy(buffer));
}

static void test_pinned_memory_keeps_its_buffer(void **state) {
    cls_buffer buffer = NULL;
    void *memory = NULL;
    (void)state;
    OK(cls_host_alloc(rig.context, BYTES, &memory));
    const cls_status status = cls_host_buffer(memory, &buffer);
    if (!status) {
        const cls_buffer_info info = info_of(buffer);
        assert_int_equal(info.kind, CLS_BUFFER_PINNED);
        assert_ptr_equal(info.host, memory);
        assert_int_equal(info.bytes, BYTES);
        assert_true(info.owned);
    }
    OK(cls_host_free(memory));
    if (status)
        SKIP_BECAUSE("the driver's pinned memory cannot be a buffer");
}

static void test_a_buffer_of_an_object_is_owned(void **state) {
    cls_triple_buffer ring = NULL;
    cls_stream stream = rig_stream();
    cls_slot slot;
    (void)state;
    OK(cls_triple_buffer_create(rig.context, BYTES, NULL, &ring));
    OK(cls_triple_buffer_upload_slot(ring, stream, &slot));
    const cls_buffer_info info = info_of(slot.buffer);
    assert_int_equal(info.kind, CLS_BUFFER_OWN);
    assert_true(info.owned);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_destroy(slot.buffer));
    OK(cls_triple_buffer_destroy(ring));
    OK(cls_stream_destroy(stream));
}

/* --- shared memory --- */

static void expect_shared(cls_buffer buffer, cls_context context, cls_buffer_kind kind) {
    const cls_buffer_info info = info_of(buffer);
    assert_int_equal(info.kind, kind);
    assert_ptr_equal(info.context, context);
    assert_int_equal(info.bytes, BYTES);
    assert_true(info.shareable);
    assert_null(info.pool);
    assert_null(info.host);
    assert_false(info.owned);
}

static void test_shareable_memory_and_its_other_handles(void **state) {
    cls_context other = alike_context(1);
    cls_buffer near = NULL, opened = NULL, imported = NULL;
    int fd = -1;
    (void)state;
    OK(cls_buffer_create_shareable(rig.context, BYTES, &near));
    OK(cls_buffer_open(other, near, &opened));
    OK(cls_buffer_export(near, &fd));
    OK(cls_buffer_import(rig.context, fd, BYTES, &imported));
    assert_int_equal(close(fd), 0);
    expect_shared(near, rig.context, CLS_BUFFER_SHAREABLE);
    expect_shared(opened, other, CLS_BUFFER_OPENED);
    expect_shared(imported, rig.context, CLS_BUFFER_OPENED);
    OK(cls_buffer_destroy(imported));
    OK(cls_buffer_destroy(opened));
    OK(cls_buffer_destroy(near));
    OK(cls_context_destroy(other));
}

static void test_memory_of_a_shareable_pool(void **state) {
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
    cls_context other = alike_context(1);
    cls_stream stream = rig_stream();
    cls_mempool pool = NULL;
    cls_buffer near = NULL, opened = NULL;
    (void)state;
    config.shareable = 1;
    OK(cls_mempool_create(rig.context, &config, &pool));
    OK(cls_mempool_malloc_async(pool, stream, BYTES, &near));
    OK(cls_buffer_open(other, near, &opened));
    expect_pool(near, pool, 1);
    expect_shared(opened, other, CLS_BUFFER_OPENED);
    OK(cls_buffer_destroy(opened));
    OK(cls_free_async(near, stream));
    OK(cls_mempool_destroy(pool));
    OK(cls_stream_destroy(stream));
    OK(cls_context_destroy(other));
}

/* --- bad arguments --- */

static void test_refusals_write_nothing(void **state) {
    cls_buffer_info info = CLS_BUFFER_INFO_INIT;
    cls_context context = NULL;
    cls_buffer buffer = NULL;
    (void)state;
    info.bytes = 77;
    OK(cls_context_create(NULL, &context));
    OK(cls_buffer_create(context, BYTES, &buffer));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_get_info(buffer, NULL));
    info.size = sizeof info + 8;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_get_info(buffer, &info));
    info.size = sizeof info;
    OK(cls_context_destroy(context));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_buffer_get_info(buffer, &info));
    OK(cls_buffer_destroy(buffer));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_buffer_get_info(buffer, &info));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_buffer_get_info(NULL, &info));
    assert_int_equal(info.bytes, 77);
}

#define SHARED(name) SHARED_TEST(name, NULL, NULL)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_memory),
        cmocka_unit_test(test_a_wrapped_cl_mem),
        cmocka_unit_test(test_memory_of_a_pool_names_it_while_it_lives),
        cmocka_unit_test(test_memory_of_a_capture_is_of_no_pool),
        cmocka_unit_test(test_unified_memory_has_the_hosts_pointer),
        cmocka_unit_test(test_pinned_memory_keeps_its_buffer),
        cmocka_unit_test(test_a_buffer_of_an_object_is_owned),
        SHARED(test_shareable_memory_and_its_other_handles),
        SHARED(test_memory_of_a_shareable_pool),
        cmocka_unit_test(test_refusals_write_nothing),
    };
    return cmocka_run_group_tests(tests, alike_setup, rig_teardown);
}
