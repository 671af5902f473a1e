/* SPDX-License-Identifier: MIT */
/* A stream that changes over to a profiled queue keeps the one before as long as it has work on it, however many
 * queues are idle. */
#include "../support/test.h"

#include "silent_driver.h"
#include "wrapped_launch.h"

enum { OTHERS = 32, TRIES = 8 };

/* The queue of the latest kernel, and whether it was released since. */
static _Atomic(cl_command_queue) latest;
static atomic_bool released;

cl_int __real_clReleaseCommandQueue(cl_command_queue queue);
cl_int __wrap_clReleaseCommandQueue(cl_command_queue queue);

cl_int launch_instead(const struct wrapped_launch *call) {
    atomic_store(&latest, call->queue);
    atomic_store(&released, false);
    return launch_really(call);
}

cl_int __wrap_clReleaseCommandQueue(cl_command_queue queue) {
    if (queue == atomic_load(&latest))
        atomic_store(&released, true);
    return __real_clReleaseCommandQueue(queue);
}

/* As many queues as are kept idle, and more. */
static void come_and_go(cls_context context) {
    cls_stream streams[OTHERS];
    for (unsigned i = 0; i < OTHERS; i++)
        assert_int_equal(cls_stream_create(context, NULL, &streams[i]), CLS_SUCCESS);
    for (unsigned i = 0; i < OTHERS; i++)
        assert_int_equal(cls_stream_destroy(streams[i]), CLS_SUCCESS);
}

/* Whether the kernel was still at work when its stream had changed over; its queue is there then. */
static bool change_over(const struct world *world, cls_event event, uint32_t rounds) {
    cls_stream stream;
    assert_int_equal(cls_stream_create(world->context, NULL, &stream), CLS_SUCCESS);
    come_and_go(world->context);
    assert_int_equal(launch(world->kernel, world->cells, rounds, stream), CLS_SUCCESS);
    assert_int_equal(cls_event_record(event, stream), CLS_SUCCESS);
    const bool gone = atomic_load(&released), pending = cls_event_query(event) == CLS_NOT_READY;
    assert_false(gone && pending);
    assert_int_equal(cls_stream_synchronize(stream), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(stream), CLS_SUCCESS);
    return pending;
}

static void test_a_queue_with_work_on_it_stays(void **state) {
    cls_event_config config = CLS_EVENT_CONFIG_INIT;
    struct world world;
    cls_event event;
    (void)state;
    config.timed = 1;
    assert_int_equal(cls_context_create(NULL, &world.context), CLS_SUCCESS);
    const uint32_t rounds = world_make(&world, NULL);
    assert_int_equal(cls_event_create(world.context, &config, &event), CLS_SUCCESS);
    bool pending = false;
    for (unsigned i = 0; i < TRIES && !pending; i++)
        pending = change_over(&world, event, rounds);
    assert_true(pending);
    assert_int_equal(cls_event_destroy(event), CLS_SUCCESS);
    world_close(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_queue_with_work_on_it_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
