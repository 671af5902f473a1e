/* SPDX-License-Identifier: MIT */
/* Memory that nothing uses any more is given back by a trim, and counted, also when the library's own threads
 * are slow: each of them rests after every lock that it leaves. */
#include "../support/test.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include <clstream.h>

#include "driver/caps.h"
#include "made_up_caps.h"
#include "stream/stream.h"

enum { BYTES = 1 << 20, REST_MS = 20, PATIENCE_MS = 60 * 1000 };

static atomic_bool slow;
static pthread_t host;

static void nap(long ms) {
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

int __real_pthread_mutex_unlock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock);

int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock) {
    int error = __real_pthread_mutex_unlock(lock);
    if (slow && !pthread_equal(pthread_self(), host))
        nap(REST_MS);
    return error;
}

struct world {
    cls_context context;
    cls_stream stream;
    cls_mempool pool;
};

/* The device stages what is read. */
static void staging(struct caps *caps) { caps->stage_reads = true; }

static void world_open(struct world *world) {
    assert_int_equal(cls_context_create(NULL, &world->context), CLS_SUCCESS);
    make_up_caps(world->context, staging);
    assert_int_equal(cls_stream_create(world->context, NULL, &world->stream), CLS_SUCCESS);
    assert_int_equal(cls_mempool_create(world->context, NULL, &world->pool), CLS_SUCCESS);
}

static void world_close(struct world *world) {
    slow = false;
    assert_int_equal(cls_mempool_destroy(world->pool), CLS_SUCCESS);
    assert_int_equal(cls_context_synchronize(world->context), CLS_SUCCESS);
    assert_int_equal(cls_context_destroy(world->context), CLS_SUCCESS);
}

static void check_nothing_is_kept(struct world *world) {
    cls_mempool_statistics stats = CLS_MEMPOOL_STATISTICS_INIT;
    assert_int_equal(cls_mempool_trim(world->pool, 0), CLS_SUCCESS);
    assert_int_equal(cls_mempool_get_statistics(world->pool, &stats), CLS_SUCCESS);
    assert_int_equal(stats.reserved, 0);
    assert_int_equal(stats.used, 0);
    assert_int_equal(stats.mallocs, 1);
    assert_int_equal(stats.frees, 1);
}

/* The copy is a worker's. */
static void test_of_a_command_that_a_worker_has_run(void **state) {
    static char to[BYTES];
    struct world world;
    cls_buffer buffer;
    (void)state;
    world_open(&world);
    assert_int_equal(cls_mempool_malloc_async(world.pool, world.stream, BYTES, &buffer),
                     CLS_SUCCESS);
    slow = true;
    assert_int_equal(cls_copy_d2h(to, buffer, 0, BYTES, world.stream), CLS_SUCCESS);
    assert_int_equal(cls_free_async(buffer, world.stream), CLS_SUCCESS);
    check_nothing_is_kept(&world);
    assert_int_equal(cls_stream_destroy(world.stream), CLS_SUCCESS);
    world_close(&world);
}

static void wait_for(void *gate) {
    for (unsigned ms = 0; !atomic_load((atomic_bool *)gate) && ms < PATIENCE_MS; ms++)
        nap(1);
}

/* The last to use the stream is a thread of the library, which is still at its end. */
static void test_of_a_stream_that_is_going(void **state) {
    struct world world;
    cls_buffer buffer;
    atomic_bool open = false;
    (void)state;
    world_open(&world);
    struct stream *inside = object_peek(&stream_pool, world.stream);
    assert_int_equal(cls_mempool_malloc_async(world.pool, world.stream, BYTES, &buffer),
                     CLS_SUCCESS);
    assert_int_equal(cls_stream_launch_host_async(world.stream, wait_for, &open), CLS_SUCCESS);
    assert_int_equal(cls_free_async(buffer, world.stream), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(world.stream), CLS_SUCCESS);
    slow = true;
    open = true;
    for (unsigned ms = 0; object_references(&inside->object) && ms < PATIENCE_MS; ms++)
        nap(1);
    assert_int_equal(object_references(&inside->object), 0);
    check_nothing_is_kept(&world);
    world_close(&world);
}

int main(void) {
    host = pthread_self();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_a_command_that_a_worker_has_run),
        cmocka_unit_test(test_of_a_stream_that_is_going),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
