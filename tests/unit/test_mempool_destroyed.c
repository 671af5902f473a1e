/* SPDX-License-Identifier: MIT */
/* Memory of destroyed pools goes back to the driver though nobody waits for the streams that freed it. */
#include "../support/test.h"

#include <stdbool.h>
#include <time.h>

#include <clstream.h>

#include "memory/mempool.h"

#include "../support/patience.h"

enum { BYTES = 1 << 20, SOON_S = 60, LOOK_NS = 1000 * 1000 };

/* A stream that is held until the timeline is at 1, and a buffer that its work writes. */
struct world {
    cls_stream stream;
    cls_timeline timeline;
    cls_mempool handle;
    struct mempool *pool; /* retained: its figures outlive the handle */
    cls_buffer buffer;
};

static void open_world(struct world *world) {
    const cls_timeline_config config = CLS_TIMELINE_CONFIG_INIT;
    OK(cls_stream_create(NULL, NULL, &world->stream));
    OK(cls_timeline_create(&config, &world->timeline));
    OK(cls_mempool_create(NULL, NULL, &world->handle));
    OK(mempool_get(world->handle, &world->pool));
    OK(cls_mempool_malloc_async(world->handle, world->stream, BYTES, &world->buffer));
    OK(cls_stream_wait_timeline(world->stream, world->timeline, 1));
}

static void work(const struct world *world) {
    const uint32_t one = 1;
    OK(cls_fill_async(world->buffer, 0, BYTES, &one, sizeof one, world->stream));
}

/* Waits, by looking alone. */
static bool all_goes_back(const struct world *world) {
    const struct timespec look = {0, LOOK_NS};
    watchdog(SOON_S);
    while (atomic_load(&world->pool->reserved))
        nanosleep(&look, NULL);
    watchdog(0);
    return true;
}

static void close_world(struct world *world) {
    assert_int_equal(atomic_load(&world->pool->reserved), BYTES);
    OK(cls_timeline_signal(world->timeline, 1));
    assert_true(all_goes_back(world));
    mempool_put(world->pool);
    OK(cls_timeline_destroy(world->timeline));
}

static void test_what_is_freed_before(void **state) {
    struct world world;
    (void)state;
    open_world(&world);
    work(&world);
    OK(cls_free_async(world.buffer, world.stream));
    OK(cls_mempool_destroy(world.handle));
    close_world(&world);
    OK(cls_stream_destroy(world.stream));
}

static void test_what_is_freed_behind(void **state) {
    struct world world;
    (void)state;
    open_world(&world);
    work(&world);
    OK(cls_mempool_destroy(world.handle));
    OK(cls_free_async(world.buffer, world.stream));
    close_world(&world);
    OK(cls_stream_destroy(world.stream));
}

/* No command is there to end, only a wait. */
static void test_behind_a_wait_alone(void **state) {
    (void)state;
    for (int before = 0; before < 2; before++) {
        struct world world;
        open_world(&world);
        if (before)
            OK(cls_free_async(world.buffer, world.stream));
        OK(cls_mempool_destroy(world.handle));
        if (!before)
            OK(cls_free_async(world.buffer, world.stream));
        close_world(&world);
        OK(cls_stream_destroy(world.stream));
    }
}

/* An event keeps the stream, whose handle is gone. */
static void test_of_a_destroyed_stream(void **state) {
    struct world world;
    cls_event event;
    (void)state;
    OK(cls_event_create(NULL, NULL, &event));
    open_world(&world);
    work(&world);
    OK(cls_free_async(world.buffer, world.stream));
    OK(cls_event_record(event, world.stream));
    OK(cls_mempool_destroy(world.handle));
    OK(cls_stream_destroy(world.stream));
    close_world(&world);
    OK(cls_event_destroy(event));
}

/* The stream is never seen idle, nor asked about. */
static void test_of_a_busy_stream(void **state) {
    const struct timespec look = {0, LOOK_NS};
    const uint32_t two = 2;
    struct world world;
    cls_buffer other;
    (void)state;
    OK(cls_buffer_create(NULL, BYTES, &other));
    open_world(&world);
    work(&world);
    OK(cls_free_async(world.buffer, world.stream));
    OK(cls_mempool_destroy(world.handle));
    OK(cls_timeline_signal(world.timeline, 1));
    watchdog(SOON_S);
    while (atomic_load(&world.pool->reserved)) {
        for (int i = 0; i < 10; i++)
            OK(cls_fill_async(other, 0, BYTES, &two, sizeof two, world.stream));
        nanosleep(&look, NULL);
    }
    watchdog(0);
    mempool_put(world.pool);
    OK(cls_stream_destroy(world.stream));
    OK(cls_timeline_destroy(world.timeline));
    OK(cls_buffer_destroy(other));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_freed_before), cmocka_unit_test(test_what_is_freed_behind),
        cmocka_unit_test(test_behind_a_wait_alone), cmocka_unit_test(test_of_a_destroyed_stream),
        cmocka_unit_test(test_of_a_busy_stream)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
