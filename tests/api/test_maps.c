/* SPDX-License-Identifier: MIT */
/* Maps of buffers for the host, in the order of a stream. */
#include "../support/rig.h"

#include <string.h>

#include <clstream/mempool.h>

enum { CELLS = 4096, BYTES = CELLS * 4 };

static cls_stream stream;
static cls_buffer cells;

static int setup(void **state) {
    (void)state;
    stream = rig_stream();
    cells = rig_cells(CELLS);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    cls_buffer_destroy(cells);
    OK(cls_stream_destroy(stream));
    return 0;
}

/* Maps cells `from` to `from + n - 1`. */
static cls_status map(cls_map_access access, size_t from, size_t n, uint32_t **out) {
    return cls_buffer_map_async(cells, access, from * 4, n * 4, stream, (void **)out);
}

static void test_a_map_comes_after_the_stream_and_before_what_follows(void **state) {
    uint32_t *at = NULL;
    (void)state;
    OK(rig_set(stream, cells, 7, 70, 20));
    OK(map(CLS_MAP_READ_WRITE, 5, 10, &at));
    assert_non_null(at);
    OK(cls_stream_synchronize(stream));
    assert_int_equal(at[2], 70);
    at[2] = 5;
    at[9] = 6;
    OK(cls_buffer_unmap_async(cells, at, stream));
    OK(rig_step(stream, cells, 7, 10, 1, 0));
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(cells, 7), 51);
    assert_int_equal(rig_cell(cells, 14), 6);
    assert_int_equal(rig_cell(cells, 4), 0);
    assert_int_equal(rig_cell(cells, 15), 0);
}

static void test_the_pointer_is_known_while_the_stream_is_held(void **state) {
    struct gate gate;
    uint32_t *at = NULL;
    (void)state;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(rig_set(stream, cells, 0, 9, 0));
    OK(map(CLS_MAP_READ, 0, CELLS, &at));
    assert_non_null(at);
    gate_open(&gate);
    OK(cls_stream_synchronize(stream));
    assert_int_equal(at[0], 9);
    OK(cls_buffer_unmap_async(cells, at, stream));
    OK(cls_stream_synchronize(stream));
    gate_destroy(&gate);
}

static void test_a_write_keeps_what_the_host_leaves(void **state) {
    uint32_t *at;
    (void)state;
    OK(rig_set(stream, cells, 1, 11, 0));
    OK(rig_set(stream, cells, 2, 22, 0));
    OK(cls_buffer_map(cells, CLS_MAP_WRITE, 4, 8, stream, (void **)&at));
    at[0] = 1;
    OK(cls_buffer_unmap(cells, at, stream));
    assert_int_equal(rig_cell(cells, 1), 1);
    assert_int_equal(rig_cell(cells, 2), 22);
}

static void test_an_invalidating_map_writes_all(void **state) {
    uint32_t *at;
    (void)state;
    OK(rig_set(stream, cells, 0, 3, 0));
    OK(cls_buffer_map(cells, CLS_MAP_WRITE_INVALIDATE, 0, 4, stream, (void **)&at));
    *at = 4;
    OK(cls_buffer_unmap(cells, at, stream));
    assert_int_equal(rig_cell(cells, 0), 4);
}

/* Odd ranges of memory of each kind, by values. */
static void fill_and_read(cls_buffer buffer, size_t bytes) {
    static const size_t offsets[] = {0, 1, 3, 64, 129};
    unsigned char *at;
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        const size_t offset = offsets[i], n = bytes - offset - i;
        OK(cls_buffer_map(buffer, CLS_MAP_WRITE_INVALIDATE, offset, n, stream, (void **)&at));
        for (size_t k = 0; k < n; k++)
            at[k] = (unsigned char)(k * 7 + i);
        OK(cls_buffer_unmap_async(buffer, at, stream));
        OK(cls_buffer_map(buffer, CLS_MAP_READ, offset, n, stream, (void **)&at));
        for (size_t k = 0; k < n; k++)
            assert_int_equal(at[k], (unsigned char)(k * 7 + i));
        OK(cls_buffer_unmap(buffer, at, stream));
    }
}

static void test_ranges_of_each_kind_of_memory(void **state) {
    cls_buffer slots[3], pinned;
    void *host;
    (void)state;
    fill_and_read(cells, BYTES);
    for (int i = 0; i < 3; i++)
        OK(cls_malloc_async(stream, 1000, &slots[i]));
    for (int i = 0; i < 3; i++)
        fill_and_read(slots[i], 1000);
    for (int i = 0; i < 3; i++)
        OK(cls_free_async(slots[i], stream));
    OK(cls_host_alloc(rig.context, 1000, &host));
    if (!cls_host_buffer(host, &pinned)) {
        OK(cls_prefetch_async(pinned, CLS_TO_DEVICE, stream));
        fill_and_read(pinned, 1000);
    }
    OK(cls_stream_synchronize(stream));
    OK(cls_host_free(host));
}

static void test_pinned_memory_is_mapped_where_it_is(void **state) {
    cls_buffer pinned;
    char *host, *at;
    (void)state;
    OK(cls_host_alloc(rig.context, 64, (void **)&host));
    if (cls_host_buffer(host, &pinned) || cls_fill_async(pinned, 0, 4, "\0\0\0", 4, stream)) {
        OK(cls_host_free(host));
        SKIP_BECAUSE("host and device do not use the same bytes here");
    }
    OK(cls_buffer_map(pinned, CLS_MAP_READ_WRITE, 16, 8, stream, (void **)&at));
    assert_ptr_equal(at, host + 16);
    OK(cls_buffer_unmap(pinned, at, stream));
    OK(cls_host_free(host));
}

static void test_overlaps_with_a_writing_map_are_refused(void **state) {
    uint32_t *a, *b, *untouched = NULL;
    (void)state;
    OK(map(CLS_MAP_READ, 0, 8, &a));
    OK(map(CLS_MAP_READ, 4, 8, &b));
    EXPECT(CLS_ERROR_INVALID_STATE, map(CLS_MAP_WRITE, 7, 8, &untouched));
    assert_non_null(strstr(cls_last_error_detail(), "mapped for reading"));
    OK(cls_buffer_unmap_async(cells, a, stream));
    OK(cls_buffer_unmap_async(cells, b, stream));
    OK(map(CLS_MAP_WRITE, 7, 8, &a));
    EXPECT(CLS_ERROR_INVALID_STATE, map(CLS_MAP_READ, 14, 1, &untouched));
    assert_non_null(strstr(cls_last_error_detail(), "bytes 28 to 59"));
    assert_null(untouched);
    OK(map(CLS_MAP_WRITE, 15, 1, &b));
    OK(cls_stream_synchronize(stream));
    OK(cls_buffer_unmap_async(cells, a, stream));
    OK(cls_buffer_unmap_async(cells, b, stream));
    OK(map(CLS_MAP_READ, 7, 9, &a)); /* at once, in stream order */
    OK(cls_buffer_unmap_async(cells, a, stream));
}

static void test_a_map_ends_once(void **state) {
    uint32_t *at;
    int on_stack;
    cls_buffer other = rig_cells(4);
    (void)state;
    OK(map(CLS_MAP_WRITE, 0, 4, &at));
    OK(cls_stream_synchronize(stream));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_unmap_async(other, at, stream));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_unmap_async(cells, at + 1, stream));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_unmap_async(cells, &on_stack, stream));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_unmap_async(cells, NULL, stream));
    OK(cls_buffer_unmap_async(cells, at, stream));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_unmap_async(cells, at, stream));
    assert_non_null(strstr(cls_last_error_detail(), "no map of the buffer begins at"));
    OK(cls_buffer_destroy(other));
}

static void test_bad_arguments(void **state) {
    uint32_t *untouched = NULL;
    (void)state;
    EXPECT(CLS_ERROR_INVALID_VALUE, map((cls_map_access)0, 0, 1, &untouched));
    EXPECT(CLS_ERROR_INVALID_VALUE, map((cls_map_access)5, 0, 1, &untouched));
    EXPECT(CLS_ERROR_INVALID_VALUE, map(CLS_MAP_READ, 0, 0, &untouched));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_map(cells, CLS_MAP_READ, 0, 4, stream, NULL));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, map(CLS_MAP_READ, CELLS, 1, &untouched));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, map(CLS_MAP_READ, 1, CELLS, &untouched));
    assert_null(untouched);
    OK(map(CLS_MAP_WRITE, 0, CELLS, &untouched)); /* nothing is mapped */
    OK(cls_buffer_unmap_async(cells, untouched, stream));
}

static void test_a_buffer_is_destroyed_while_it_is_mapped(void **state) {
    uint32_t *at;
    cls_buffer slot, again;
    (void)state;
    OK(rig_set(stream, cells, 0, 1, 30));
    OK(map(CLS_MAP_READ_WRITE, 0, CELLS, &at));
    OK(cls_buffer_destroy(cells));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_buffer_unmap_async(cells, at, stream));
    OK(cls_malloc_async(stream, 64, &slot));
    OK(cls_buffer_map_async(slot, CLS_MAP_WRITE, 0, 64, stream, (void **)&at));
    OK(cls_free_async(slot, stream));
    OK(cls_malloc_async(stream, 64, &again)); /* the same memory: no map of it is left */
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_unmap_async(again, at, stream));
    OK(cls_buffer_map_async(again, CLS_MAP_WRITE, 0, 64, stream, (void **)&at));
    OK(cls_buffer_unmap_async(again, at, stream));
    OK(cls_free_async(again, stream));
    OK(cls_stream_synchronize(stream));
}

static void test_a_poisoned_stream_leaves_the_map(void **state) {
    cls_stream other = rig_stream();
    uint32_t *at, *untouched = NULL;
    (void)state;
    OK(map(CLS_MAP_WRITE, 3, 1, &at));
    OK(cls_stream_synchronize(stream));
    *at = 33;
    OK(rig_fail(stream, "broken", CL_INVALID_VALUE));
    assert_true(cls_stream_synchronize(stream) < 0);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_buffer_unmap_async(cells, at, stream));
    EXPECT(CLS_ERROR_COMMAND_FAILED, map(CLS_MAP_READ, 0, 1, &untouched));
    EXPECT(CLS_ERROR_COMMAND_FAILED,
           cls_buffer_map(cells, CLS_MAP_READ, 0, 4, stream, (void **)&untouched));
    assert_null(untouched);
    OK(cls_buffer_unmap(cells, at, other));
    assert_int_equal(rig_cell(cells, 3), 33);
    OK(cls_stream_reset(stream));
    OK(cls_buffer_map(cells, CLS_MAP_READ, 12, 4, stream, (void **)&at));
    assert_int_equal(*at, 33);
    OK(cls_buffer_unmap_async(cells, at, stream));
    OK(cls_stream_destroy(other));
}

static void test_a_capture_refuses_maps(void **state) {
    uint32_t *untouched = NULL;
    cls_graph graph = NULL;
    (void)state;
    OK(cls_stream_begin_capture(stream, NULL));
    EXPECT(CLS_ERROR_INVALID_STATE, map(CLS_MAP_READ, 0, 1, &untouched));
    assert_non_null(strstr(cls_last_error_detail(), "the capture allows no map"));
    assert_true(cls_stream_end_capture(stream, &graph) < 0);
    assert_null(untouched);
    OK(map(CLS_MAP_WRITE, 0, 1, &untouched)); /* nothing is mapped */
    OK(cls_stream_begin_capture(stream, NULL));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_buffer_unmap_async(cells, untouched, stream));
    assert_true(cls_stream_end_capture(stream, &graph) < 0);
    OK(cls_buffer_unmap_async(cells, untouched, stream));
}

struct inside {
    cls_status blocking, map, unmap;
};

static void map_inside(void *arg) {
    struct inside *inside = arg;
    void *at = NULL;
    inside->blocking = cls_buffer_map(cells, CLS_MAP_WRITE, 0, 4, stream, &at);
    inside->map = cls_buffer_map_async(cells, CLS_MAP_WRITE_INVALIDATE, 0, 4, stream, &at);
    inside->unmap = cls_buffer_unmap_async(cells, at, stream);
}

static void test_host_functions_map_without_waiting(void **state) {
    struct inside inside;
    (void)state;
    OK(cls_stream_launch_host_async(stream, map_inside, &inside));
    OK(cls_stream_synchronize(stream));
    EXPECT(CLS_ERROR_WOULD_DEADLOCK, inside.blocking);
    OK(inside.map);
    OK(inside.unmap);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_map_comes_after_the_stream_and_before_what_follows),
        TEST(test_the_pointer_is_known_while_the_stream_is_held),
        TEST(test_a_write_keeps_what_the_host_leaves),
        TEST(test_an_invalidating_map_writes_all),
        TEST(test_ranges_of_each_kind_of_memory),
        TEST(test_pinned_memory_is_mapped_where_it_is),
        TEST(test_overlaps_with_a_writing_map_are_refused),
        TEST(test_a_map_ends_once),
        TEST(test_bad_arguments),
        TEST(test_a_buffer_is_destroyed_while_it_is_mapped),
        TEST(test_a_poisoned_stream_leaves_the_map),
        TEST(test_a_capture_refuses_maps),
        TEST(test_host_functions_map_without_waiting),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
