/* SPDX-License-Identifier: MIT */
/* A batch's read that is refused for want of memory has submitted nothing: the host's memory is the caller's. */
#include "../support/test.h"

#include <semaphore.h>

#include <clstream.h>

#include "failing_memory.h"

enum { COUNT = 64, STREAMS = 8, MOST_ALLOCATIONS = 100 };

static void await(void *opens) { sem_wait(opens); }

static uint64_t downloads(cls_stream stream) {
    cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
    assert_int_equal(cls_stream_get_counters(stream, &counters), CLS_SUCCESS);
    return counters.commands[CLS_COMMAND_COPY_D2H];
}

/* Each allocation of the read fails, until none is left to. */
static unsigned read_at_last(cls_batch batch, cls_value value, float *out, cls_stream stream) {
    cls_status status = CLS_ERROR_OUT_OF_MEMORY;
    unsigned refused = 0;
    for (int i = 0; status && i < MOST_ALLOCATIONS; i++) {
        allocations_left = i;
        status = cls_batch_read_async(batch, value, out, stream);
        allocations_left = -1;
        assert_true(!status || status == CLS_ERROR_OUT_OF_MEMORY);
        assert_int_equal(downloads(stream), !status);
        refused += status != CLS_SUCCESS;
    }
    assert_int_equal(status, CLS_SUCCESS);
    return refused;
}

static void test_a_refused_read_reads_nothing(void **state) {
    static float in[COUNT], out[STREAMS][COUNT];
    cls_stream streams[STREAMS];
    cls_value x, y;
    cls_batch batch;
    unsigned refused = 0;
    sem_t opens;
    (void)state;
    for (int i = 0; i < COUNT; i++)
        in[i] = (float)i;
    sem_init(&opens, 0, 0);
    for (int i = 0; i < STREAMS; i++)
        assert_int_equal(cls_stream_create(NULL, NULL, &streams[i]), CLS_SUCCESS);
    assert_int_equal(cls_batch_create(NULL, NULL, &batch), CLS_SUCCESS);
    assert_int_equal(cls_batch_upload(batch, in, CLS_F32, COUNT, &x), CLS_SUCCESS);
    assert_int_equal(cls_batch_binary(batch, CLS_BINARY_ADD, x, x, &y), CLS_SUCCESS);
    assert_int_equal(cls_stream_launch_host_async(streams[0], await, &opens), CLS_SUCCESS);
    assert_int_equal(cls_batch_execute_async(batch, streams[0]), CLS_SUCCESS);
    for (int i = 1; i < STREAMS; i++)
        refused += read_at_last(batch, y, out[i], streams[i]);
    assert_true(refused > 0);
    sem_post(&opens);
    for (int i = 0; i < STREAMS; i++)
        assert_int_equal(cls_stream_synchronize(streams[i]), CLS_SUCCESS);
    for (int i = 1; i < STREAMS; i++)
        assert_true(out[i][1] == 2 && out[i][COUNT - 1] == 2 * (COUNT - 1));
    assert_int_equal(cls_batch_destroy(batch), CLS_SUCCESS);
    for (int i = 0; i < STREAMS; i++)
        assert_int_equal(cls_stream_destroy(streams[i]), CLS_SUCCESS);
    sem_destroy(&opens);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_refused_read_reads_nothing)};
    return cmocka_run_group_tests_name("batch_read_refused", tests, NULL, NULL);
}
