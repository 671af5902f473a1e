/* SPDX-License-Identifier: MIT */
/* Copies of a device group that fail halfway: what is on its way by then is in nobody's way. */
#include "../support/test.h"

#include <string.h>

#include <semaphore.h>

#include <clstream.h>

enum { DEVICES = 2, CHUNK = 4096, CHUNKS = 4, BYTES = CHUNK * CHUNKS };

static int uploads_left = -1; /* until the one that fails; below 0: none does */

cls_status __real_cls_copy_h2d_async(cls_buffer to, size_t offset, const void *from, size_t bytes,
                                     cls_stream stream);
cls_status __wrap_cls_copy_h2d_async(cls_buffer to, size_t offset, const void *from, size_t bytes,
                                     cls_stream stream);

cls_status __wrap_cls_copy_h2d_async(cls_buffer to, size_t offset, const void *from, size_t bytes,
                                     cls_stream stream) {
    if (uploads_left >= 0 && uploads_left-- == 0)
        return CLS_ERROR_OUT_OF_MEMORY;
    return __real_cls_copy_h2d_async(to, offset, from, bytes, stream);
}

/* Contexts of one NVIDIA device are linked: their copies would use no uploads. */
cls_status __wrap_cls_context_can_share(cls_context context, cls_context other,
                                        cls_share_info *info);

cls_status __wrap_cls_context_can_share(cls_context context, cls_context other,
                                        cls_share_info *info) {
    (void)context;
    (void)other;
    info->kind = CLS_SHARE_NONE;
    return CLS_SUCCESS;
}

static struct pair {
    cls_context contexts[DEVICES];
    cls_device_group group;
    cls_device_streams streams[DEVICES];
    cls_buffer buffers[DEVICES];
    sem_t open;
} pair;

static void ok(cls_status status) { assert_int_equal(status, CLS_SUCCESS); }

static int set_up(void **state) {
    cls_device_group_config config = CLS_DEVICE_GROUP_CONFIG_INIT;
    (void)state;
    config.chunk_bytes = CHUNK;
    sem_init(&pair.open, 0, 0);
    for (int d = 0; d < DEVICES; d++) {
        ok(cls_context_create(NULL, &pair.contexts[d]));
        ok(cls_buffer_create(pair.contexts[d], BYTES, &pair.buffers[d]));
    }
    ok(cls_device_group_create(pair.contexts, DEVICES, &config, &pair.group));
    for (unsigned d = 0; d < DEVICES; d++)
        ok(cls_device_group_get_streams(pair.group, d, &pair.streams[d]));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    ok(cls_device_group_destroy(pair.group));
    for (int d = 0; d < DEVICES; d++) {
        ok(cls_buffer_destroy(pair.buffers[d]));
        ok(cls_context_destroy(pair.contexts[d]));
    }
    sem_destroy(&pair.open);
    return 0;
}

static void fill(int d, unsigned char value) {
    ok(cls_fill_async(pair.buffers[d], 0, BYTES, &value, 1, pair.streams[d].compute));
}

static void hold(void *open) {
    while (sem_wait(open))
        continue;
}

static cls_status copy(void) {
    return cls_device_group_copy_async(pair.group, (cls_device_range){1, pair.buffers[1], 0},
                                       (cls_device_range){0, pair.buffers[0], 0}, BYTES);
}

static cls_status reduce(void) {
    const cls_array arrays[DEVICES] = {cls_array_of(pair.buffers[0], CLS_U8, BYTES),
                                       cls_array_of(pair.buffers[1], CLS_U8, BYTES)};
    return cls_device_group_all_reduce_async(pair.group, CLS_REDUCE_SUM, arrays);
}

/* With the downloads held back what the compute streams are given after the failure would overtake them. */
static void fail_halfway(cls_status (*call)(void), int uploads) {
    static unsigned char got[BYTES];
    for (int left = 0; left < uploads; left++) {
        for (int d = 0; d < DEVICES; d++) {
            fill(d, 1);
            ok(cls_stream_launch_host_async(pair.streams[d].download, hold, &pair.open));
        }
        uploads_left = left;
        assert_int_equal(call(), CLS_ERROR_OUT_OF_MEMORY);
        assert_int_equal(uploads_left, -1);
        for (int d = 0; d < DEVICES; d++)
            fill(d, (unsigned char)(5 + d));
        for (int d = 0; d < DEVICES; d++)
            assert_int_equal(cls_stream_query(pair.streams[d].compute), CLS_NOT_READY);
        for (int d = 0; d < DEVICES; d++)
            sem_post(&pair.open);
        ok(cls_device_group_synchronize(pair.group));
        for (int d = 0; d < DEVICES; d++) {
            ok(cls_copy_d2h(got, pair.buffers[d], 0, BYTES, pair.streams[d].compute));
            for (int i = 0; i < BYTES; i++)
                assert_int_equal(got[i], 5 + d);
        }
    }
}

static void test_a_copy_that_fails_halfway(void **state) {
    (void)state;
    fail_halfway(copy, CHUNKS);
}

static void test_a_reduction_that_fails_halfway(void **state) {
    (void)state;
    fail_halfway(reduce, 2 * CHUNKS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_copy_that_fails_halfway),
        cmocka_unit_test(test_a_reduction_that_fails_halfway),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
