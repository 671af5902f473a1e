/* SPDX-License-Identifier: MIT */
/* A driver that cannot say how far a command is: the command counts as failed, but the caller's memory is not
 * given back before the driver is done with it, nor any memory that it uses where that is not to be known
 * either. */
#include "../support/test.h"

#include <string.h>

#include "driver/device.h"
#include "driver/quirk.h"
#include "latest_kernel.h"
#include "silent_driver.h"

static void test_a_download_is_over_when_it_returns(void **state) {
    static uint32_t words[CELLS], later[CELLS];
    struct world world;
    (void)state;
    world_open(&world);
    silent.queries_fail = true;
    assert_int_not_equal(cls_copy_d2h(words, world.cells, 0, BYTES, world.stream), CLS_SUCCESS);
    silent.queries_fail = false;
    assert_true(seen.refused > 0);
    memcpy(later, words, sizeof words);
    nap(500);
    assert_memory_equal(words, later, sizeof words);
    world_close(&world);
}

static void test_pinned_memory_stays_until_what_writes_it_is_known_to_be_over(void **state) {
    struct world world;
    void *pinned, *other;
    (void)state;
    world_open(&world);
    assert_int_equal(cls_host_alloc(world.context, BYTES, &pinned), CLS_SUCCESS);
    assert_int_equal(cls_host_alloc(world.context, BYTES, &other), CLS_SUCCESS);
    silent.queries_fail = silent.waits_fail = true;
    assert_int_equal(cls_copy_d2h_async(pinned, world.cells, 0, BYTES, world.stream), CLS_SUCCESS);
    assert_int_not_equal(cls_stream_synchronize(world.stream), CLS_SUCCESS);
    seen.unmapped = 0; /* the probes have pinned memory too */
    assert_int_equal(cls_host_free(pinned), CLS_SUCCESS);
    nap(50);
    assert_int_equal(seen.unmapped, 0);
    assert_int_equal(cls_host_free(other), CLS_SUCCESS);
    assert_int_equal(cls_host_trim(world.context, 0), CLS_SUCCESS);
    assert_int_equal(seen.unmapped, 1);
    silent.queries_fail = silent.waits_fail = false;
    for (int i = 0; i < 5000 && seen.unmapped < 2; i++) { /* the context keeps what was freed */
        nap(1);
        assert_int_equal(cls_host_trim(world.context, 0), CLS_SUCCESS);
    }
    assert_int_equal(seen.unmapped, 2);
    world_close(&world);
}

/* Of two commands of an out-of-order stream the driver tells nothing of the first, which waits for another
 * stream's work: the second waits for the first all the same. */
static void test_what_nobody_tells_of_is_waited_for(void **state) {
    struct world world;
    cls_stream second;
    cls_event begun;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    (void)state;
    config.order = CLS_ORDER_OUT_OF_ORDER;
    world_open(&world);
    if (cls_stream_create(world.context, &config, &second) != CLS_SUCCESS) {
        world_close(&world);
        print_message("the device has no out-of-order queues\n");
        skip();
    }
    assert_int_equal(cls_event_create(world.context, NULL, &begun), CLS_SUCCESS);
    assert_int_equal(cls_event_record(begun, world.stream), CLS_SUCCESS);
    assert_int_equal(cls_stream_wait_event(second, begun), CLS_SUCCESS);
    assert_int_equal(launch(world.kernel, world.cells, 1, second), CLS_SUCCESS);
    silent.about = latest_kernel;
    silent.queries_fail = silent.waits_fail = true;
    for (unsigned ms = 0; ms < 60; ms += 2) {
        cls_stream_query(second);
        nap(2);
    }
    /* A machine at work may have been away for so long that the first stream's work is over. */
    const cls_status status = launch(world.kernel, world.cells, 1, second);
    const bool pending = cls_stream_query(world.stream) == CLS_NOT_READY;
    assert_true(seen.refused > 0);
    assert_true((!status && latest_kernel_waits_for(silent.about)) || !pending);
    silent.queries_fail = silent.waits_fail = false;
    silent.about = NULL;
    assert_int_equal(cls_stream_reset(second), CLS_SUCCESS);
    assert_int_equal(cls_event_destroy(begun), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(second), CLS_SUCCESS);
    world_close(&world);
}

/* Until a stream sees nothing in flight any more. */
static void see_it_off(cls_stream stream) {
    cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
    for (unsigned ms = 0; ms < 10000 && (!ms || counters.in_flight); ms++) {
        cls_stream_query(stream);
        assert_int_equal(cls_stream_get_counters(stream, &counters), CLS_SUCCESS);
        nap(1);
    }
    assert_int_equal(counters.in_flight, 0);
}

/* A later launch uses the same buffer, and is seen to end. */
static void test_what_a_lost_launch_uses_is_kept(void **state) {
    cls_stream second;
    cls_buffer cells;
    struct world world;
    (void)state;
    world_open(&world);
    assert_int_equal(cls_stream_create(world.context, NULL, &second), CLS_SUCCESS);
    assert_int_equal(cls_buffer_create(world.context, BYTES, &cells), CLS_SUCCESS);
    assert_int_equal(cls_buffer_get_cl(cells, &seen.watched), CLS_SUCCESS);
    seen.released = 0;
    assert_int_equal(launch(world.kernel, cells, 1, second), CLS_SUCCESS);
    silent.about = latest_kernel;
    assert_int_equal(launch(world.kernel, cells, 1, second), CLS_SUCCESS);
    if (!silent.about || silent.about == latest_kernel) {
        print_message("launches have no events of their own\n");
    } else {
        silent.queries_fail = silent.waits_fail = true;
        see_it_off(second);
    }
    const bool lost = cls_stream_query(second) < 0; /* or it was over before */
    assert_int_equal(cls_buffer_destroy(cells), CLS_SUCCESS);
    assert_int_equal(lost ? seen.released : 0, 0);
    silent.queries_fail = silent.waits_fail = false;
    silent.about = NULL;
    assert_int_equal(cls_stream_reset(second), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(second), CLS_SUCCESS);
    wait_until(&seen.released, 1);
    seen.watched = NULL;
    world_close(&world);
}

/* Until its stream sees nothing of a launch that the driver does not tell of. */
static bool lose_launch(struct world *world, cls_buffer cells, cls_stream stream) {
    assert_int_equal(launch(world->kernel, cells, 1, stream), CLS_SUCCESS);
    silent.about = latest_kernel;
    silent.queries_fail = silent.waits_fail = silent.about != NULL;
    see_it_off(stream);
    return cls_stream_query(stream) < 0; /* or it was over before */
}

/* Neither to its stream nor to others, long after the stream was reset. */
static void test_memory_of_a_lost_launch_is_not_given_again(void **state) {
    cls_stream second, third;
    cls_buffer cells, again, elsewhere;
    cl_mem memory, memories[2];
    struct world world;
    (void)state;
    world_open(&world);
    assert_int_equal(cls_stream_create(world.context, NULL, &second), CLS_SUCCESS);
    assert_int_equal(cls_stream_create(world.context, NULL, &third), CLS_SUCCESS);
    assert_int_equal(cls_malloc_async(second, BYTES, &cells), CLS_SUCCESS);
    assert_int_equal(cls_buffer_get_cl(cells, &memory), CLS_SUCCESS);
    const bool lost = lose_launch(&world, cells, second);
    assert_int_equal(cls_stream_reset(second), CLS_SUCCESS);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(launch(world.kernel, world.cells, 1, second), CLS_SUCCESS);
    assert_int_equal(cls_free_async(cells, second), CLS_SUCCESS);
    assert_int_equal(cls_malloc_async(second, BYTES, &again), CLS_SUCCESS);
    assert_int_equal(cls_malloc_async(third, BYTES, &elsewhere), CLS_SUCCESS);
    assert_int_equal(cls_buffer_get_cl(again, &memories[0]), CLS_SUCCESS);
    assert_int_equal(cls_buffer_get_cl(elsewhere, &memories[1]), CLS_SUCCESS);
    assert_true(!lost || (memories[0] != memory && memories[1] != memory));
    silent.queries_fail = silent.waits_fail = false;
    silent.about = NULL;
    assert_int_equal(cls_free_async(again, second), CLS_SUCCESS);
    assert_int_equal(cls_free_async(elsewhere, third), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(second), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(third), CLS_SUCCESS);
    world_close(&world);
}

/* On a driver whose status says that it completed. */
static void test_a_callers_event_that_only_waiting_tells_of_poisons(void **state) {
    struct device *device;
    struct world world;
    cl_context context;
    cl_int code;
    (void)state;
    world_open(&world);
    assert_int_equal(device_find(NULL, &device), CLS_SUCCESS);
    assert_int_equal(cls_stream_synchronize(world.stream), CLS_SUCCESS);
    assert_int_equal(cls_context_get_cl(world.context, &context, NULL), CLS_SUCCESS);
    cl_event event = clCreateUserEvent(context, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clSetUserEventStatus(event, CL_COMPLETE), CL_SUCCESS);
    const unsigned quirks = device->quirks;
    device->quirks |= QUIRK_STATUS_LIES;
    silent.about = event;
    silent.waits_fail = true;
    assert_int_equal(cls_stream_wait_cl(world.stream, event), CLS_SUCCESS);
    assert_int_equal(launch(world.kernel, world.cells, 1, world.stream), CLS_SUCCESS);
    assert_int_equal(cls_stream_synchronize(world.stream), CLS_ERROR_COMMAND_FAILED);
    assert_int_equal(cls_stream_reset(world.stream), CLS_SUCCESS);
    /* And where nothing follows the wait. */
    assert_int_equal(cls_stream_wait_cl(world.stream, event), CLS_SUCCESS);
    assert_int_equal(cls_stream_query(world.stream), CLS_ERROR_COMMAND_FAILED);
    assert_int_equal(cls_stream_reset(world.stream), CLS_SUCCESS);
    silent.waits_fail = false;
    silent.about = NULL;
    device->quirks = quirks;
    assert_int_equal(clReleaseEvent(event), CL_SUCCESS);
    world_close(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_nobody_tells_of_is_waited_for),
        cmocka_unit_test(test_what_a_lost_launch_uses_is_kept),
        cmocka_unit_test(test_memory_of_a_lost_launch_is_not_given_again),
        cmocka_unit_test(test_a_callers_event_that_only_waiting_tells_of_poisons),
        cmocka_unit_test(test_a_download_is_over_when_it_returns),
        cmocka_unit_test(test_pinned_memory_stays_until_what_writes_it_is_known_to_be_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
