/* SPDX-License-Identifier: MIT */
/* What a stream remembers of failures that it was reset from costs its later work nothing. */
#include "../support/test.h"

#include <clstream.h>
#include <clstream/opencl.h>

#include "stream/failure.h"
#include "stream/stream.h"

enum { FAILURES = 3 };

static cl_int fails(cl_command_queue queue, void *arg) {
    (void)queue;
    (void)arg;
    return CL_OUT_OF_RESOURCES;
}

static void test_old_failures_are_not_asked_about_later_work(void **state) {
    cls_stream handle;
    struct stream *stream;
    uint64_t failed[FAILURES];
    (void)state;
    assert_int_equal(cls_stream_create(NULL, NULL, &handle), CLS_SUCCESS);
    assert_int_equal(stream_get(handle, NULL, &stream), CLS_SUCCESS);
    for (int i = 0; i < FAILURES; i++) {
        assert_int_equal(cls_stream_foreign_async(handle, "fails", fails, NULL), CLS_SUCCESS);
        assert_int_equal(cls_stream_synchronize(handle), CLS_ERROR_COMMAND_FAILED);
        failed[i] = atomic_load(&stream_poison(stream)->first);
        assert_int_equal(cls_stream_reset(handle), CLS_SUCCESS);
    }
    for (int i = 0; i < FAILURES; i++)
        assert_non_null(stream_failure_at(stream, failed[i]));
    /* Whoever goes on from the newest of them crashes. */
    struct failure *newest = atomic_load(&stream->failures), *older = newest->older;
    newest->older = (struct failure *)(uintptr_t)sizeof(struct failure);
    assert_null(stream_failure_at(stream, stream->submitted + 1));
    newest->older = older;
    stream_put(stream);
    assert_int_equal(cls_stream_destroy(handle), CLS_SUCCESS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_old_failures_are_not_asked_about_later_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
