/* SPDX-License-Identifier: MIT */
/*
 * Who waits leaves the cores to a device that computes on them, and spins at first beside any other device. A thread of the
 * library that spins yields in each round, which is what these tests count.
 */
#include "../support/test.h"

#include "driver/device.h"
#include "driver/quirk.h"
#include "silent_driver.h"
#include "stream/context.h"
#include "stream/stream.h"
#include "stream/wait.h"

static atomic_uint yields;

void __real_system_yield(void);
void __wrap_system_yield(void);

void __wrap_system_yield(void) {
    yields++;
    __real_system_yield();
}

static struct device *device_of(cls_context handle) {
    struct context *context;
    assert_int_equal(context_get(handle, &context), CLS_SUCCESS);
    struct device *device = context->device;
    context_put(context);
    return device;
}

static unsigned quirks;

enum { LOOKS = 64 }; /* that find work pending, however fast the device is */

/* The world's device is taken to be of this type, and waits are the library's own, until its close. */
static void open_as(struct world *world, cls_device_type type, cls_device_type *was) {
    world_open(world);
    struct device *device = device_of(world->context);
    *was = device->info.type;
    device->info.type = type;
    quirks = device->quirks;
    device->quirks &= ~(unsigned)QUIRK_WAITER_COMPUTES;
    silent.running = LOOKS;
    yields = 0;
}

static void close_as(struct world *world, cls_device_type was) {
    silent.running = 0;
    device_of(world->context)->info.type = was;
    device_of(world->context)->quirks = quirks;
    world_close(world);
}

static void nap_20(void *unused) {
    (void)unused;
    nap(20);
}

/* --- waits: `wait` returns when the stream's work is done --- */

static void wait_for_device(struct world *world) {
    assert_int_equal(cls_stream_synchronize(world->stream), CLS_SUCCESS);
}

static void wait_for_host_function(struct world *world) {
    assert_int_equal(cls_stream_synchronize(world->stream), CLS_SUCCESS);
    yields = 0;
    assert_int_equal(cls_stream_launch_host_async(world->stream, nap_20, NULL), CLS_SUCCESS);
    assert_int_equal(cls_stream_synchronize(world->stream), CLS_SUCCESS);
}

/* It spins for so short a time that a slow machine may have none left after its first look. */
static void wait_for_first(struct world *world) {
    enum { TRIES = 16 };
    struct stream *stream;
    size_t which;
    assert_int_equal(stream_get(world->stream, NULL, &stream), CLS_SUCCESS);
    for (int i = 0; i < TRIES; i++) {
        assert_int_equal(launch(world->kernel, world->cells, 1, world->stream), CLS_SUCCESS);
        silent.running = LOOKS;
        const uint64_t position = stream_newest(stream);
        assert_int_equal(stream_wait_any(&stream, &position, 1, 0, WAIT_FOREVER, &which),
                         CLS_SUCCESS);
    }
    stream_put(stream);
}

static unsigned yields_of(void (*wait)(struct world *world), cls_device_type type) {
    cls_device_type was;
    struct world world;
    open_as(&world, type, &was);
    wait(&world);
    const unsigned counted = yields;
    close_as(&world, was);
    return counted;
}

static void test_a_wait_spins_beside_the_device(void **state) {
    (void)state;
    assert_int_not_equal(yields_of(wait_for_device, CLS_DEVICE_GPU), 0);
    assert_int_not_equal(yields_of(wait_for_host_function, CLS_DEVICE_GPU), 0);
    assert_int_not_equal(yields_of(wait_for_first, CLS_DEVICE_GPU), 0);
}

static void test_a_wait_takes_no_core_from_the_device(void **state) {
    (void)state;
    assert_int_equal(yields_of(wait_for_device, CLS_DEVICE_CPU), 0);
    assert_int_equal(yields_of(wait_for_host_function, CLS_DEVICE_CPU), 0);
    assert_int_equal(yields_of(wait_for_first, CLS_DEVICE_CPU), 0);
}

static void test_a_policy_that_spins_does_so_everywhere(void **state) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream stream;
    struct world world;
    cls_device_type was;
    (void)state;
    open_as(&world, CLS_DEVICE_CPU, &was);
    config.wait = CLS_WAIT_YIELD;
    assert_int_equal(cls_stream_create(world.context, &config, &stream), CLS_SUCCESS);
    assert_int_equal(cls_stream_launch_host_async(stream, nap_20, NULL), CLS_SUCCESS);
    assert_int_equal(cls_stream_synchronize(stream), CLS_SUCCESS);
    assert_int_not_equal(yields, 0);
    assert_int_equal(cls_stream_destroy(stream), CLS_SUCCESS);
    close_as(&world, was);
}

/* --- queries --- */

/* The yields of a query of each kind while the world's kernel runs. */
static void query_as(cls_device_type type, unsigned *of_stream, unsigned *of_event) {
    cls_device_type was;
    struct world world;
    cls_event event;
    open_as(&world, type, &was);
    assert_int_equal(cls_event_create(world.context, NULL, &event), CLS_SUCCESS);
    assert_int_equal(cls_event_record(event, world.stream), CLS_SUCCESS);
    yields = 0;
    const cls_status first = cls_stream_query(world.stream);
    *of_stream = yields;
    const cls_status second = cls_event_query(event);
    *of_event = yields - *of_stream;
    assert_int_equal(cls_event_destroy(event), CLS_SUCCESS);
    close_as(&world, was);
    assert_int_equal(first, CLS_NOT_READY);
    assert_int_equal(second, CLS_NOT_READY);
}

static void test_a_query_of_pending_work_yields_to_the_device(void **state) {
    unsigned of_stream, of_event;
    (void)state;
    query_as(CLS_DEVICE_CPU, &of_stream, &of_event);
    assert_int_equal(of_stream, 1);
    assert_int_equal(of_event, 1);
    query_as(CLS_DEVICE_GPU, &of_stream, &of_event);
    assert_int_equal(of_stream, 0);
    assert_int_equal(of_event, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_wait_spins_beside_the_device),
        cmocka_unit_test(test_a_wait_takes_no_core_from_the_device),
        cmocka_unit_test(test_a_policy_that_spins_does_so_everywhere),
        cmocka_unit_test(test_a_query_of_pending_work_yields_to_the_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
