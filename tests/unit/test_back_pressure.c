/* SPDX-License-Identifier: MIT */
/* A submission that finds as much in flight as may be waits for some of it, once: where nothing has retired
 * since, the next ones go to the FIFO without a wait. */
#include "../support/test.h"

#include "silent_driver.h"
#include "stream/stream.h"

enum { BOUND = 4, MORE = 16, TRIES = 20 };

static unsigned waits; /* of this thread: nobody else submits */

bool __real_stream_await(struct stream *stream, uint64_t position, uint64_t deadline);
bool __wrap_stream_await(struct stream *stream, uint64_t position, uint64_t deadline);

bool __wrap_stream_await(struct stream *stream, uint64_t position, uint64_t deadline) {
    waits++;
    return __real_stream_await(stream, position, deadline);
}

static cls_stream_counters counters_of(cls_stream stream) {
    cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
    assert_int_equal(cls_stream_get_counters(stream, &counters), CLS_SUCCESS);
    return counters;
}

/* The waits of submissions behind a slow kernel and as much as fits beside it; `*pending`: nothing retired
 * meanwhile. */
static unsigned waits_behind(const struct world *world, uint32_t rounds, bool *pending) {
    for (unsigned i = 0; i < BOUND; i++)
        assert_int_equal(launch(world->kernel, world->cells, i ? 1 : rounds, world->stream),
                         CLS_SUCCESS);
    waits = 0;
    const uint64_t before = counters_of(world->stream).completed;
    for (unsigned i = 0; i < MORE; i++)
        assert_int_equal(launch(world->kernel, world->cells, 1, world->stream), CLS_SUCCESS);
    const unsigned counted = waits;
    *pending = counters_of(world->stream).completed == before;
    assert_int_equal(cls_stream_synchronize(world->stream), CLS_SUCCESS);
    return counted;
}

static void test_one_wait_until_something_retires(void **state) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    struct world world;
    (void)state;
    config.max_in_flight = BOUND;
    assert_int_equal(cls_context_create(NULL, &world.context), CLS_SUCCESS);
    const uint32_t rounds = world_make(&world, &config);
    unsigned seen_pending = 0;
    for (unsigned tries = 0; tries < TRIES && seen_pending < 2; tries++) {
        bool pending;
        const unsigned counted = waits_behind(&world, rounds, &pending);
        assert_true(!pending || counted == 1);
        seen_pending += pending;
    }
    assert_int_equal(seen_pending, 2);
    world_close(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_wait_until_something_retires)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
