/* SPDX-License-Identifier: MIT */
/* Memory that two threads free at once, and that goes back to the driver between: the later one is told that its
 * handle is stale. */
#include "../support/test.h"

#include <clstream.h>

#include "stream/stream.h"

/* What is freed, on another stream, when a stream is about to be entered; NULL: nothing. */
static struct freed_before {
    cls_buffer buffer;
    cls_stream stream;
    cls_mempool pool;
} before;

cls_status __real_stream_enter_to_return(cls_stream handle, const struct context *owner,
                                         struct stream **out);
cls_status __wrap_stream_enter_to_return(cls_stream handle, const struct context *owner,
                                         struct stream **out);

cls_status __wrap_stream_enter_to_return(cls_stream handle, const struct context *owner,
                                         struct stream **out) {
    const struct freed_before now = before;
    before.buffer = NULL;
    if (now.buffer) {
        assert_int_equal(cls_free_async(now.buffer, now.stream), CLS_SUCCESS);
        assert_int_equal(cls_stream_synchronize(now.stream), CLS_SUCCESS);
        assert_int_equal(cls_mempool_trim(now.pool, 0), CLS_SUCCESS);
    }
    return __real_stream_enter_to_return(handle, owner, out);
}

static void test_the_later_one_has_a_stale_handle(void **state) {
    cls_mempool_statistics stats = CLS_MEMPOOL_STATISTICS_INIT;
    cls_stream streams[2];
    (void)state;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(cls_stream_create(NULL, NULL, &streams[i]), CLS_SUCCESS);
    assert_int_equal(cls_mempool_create(NULL, NULL, &before.pool), CLS_SUCCESS);
    cls_buffer buffer;
    assert_int_equal(cls_mempool_malloc_async(before.pool, streams[0], 64, &buffer), CLS_SUCCESS);
    before.stream = streams[0];
    before.buffer = buffer;
    assert_int_equal(cls_free_async(buffer, streams[1]), CLS_ERROR_INVALID_HANDLE);
    assert_int_equal(cls_mempool_get_statistics(before.pool, &stats), CLS_SUCCESS);
    assert_int_equal(stats.reserved, 0);
    assert_int_equal(cls_mempool_destroy(before.pool), CLS_SUCCESS);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(cls_stream_destroy(streams[i]), CLS_SUCCESS);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_later_one_has_a_stale_handle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
