/* SPDX-License-Identifier: MIT */
/* Stream-ordered memory from many threads: nobody is given what another still uses. */
#include "threads.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include <clstream/mempool.h>

static uint32_t next_number(uint64_t *random, uint32_t below) {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (uint32_t)(*random >> 16) % below;
}

static void end_pool(cls_mempool pool) {
    cls_mempool_statistics stats = CLS_MEMPOOL_STATISTICS_INIT;
    OK(cls_context_synchronize(rig.context));
    OK(cls_mempool_trim(pool, 0));
    OK(cls_mempool_get_statistics(pool, &stats));
    assert_int_equal(stats.used, 0);
    assert_int_equal(stats.reserved, 0);
    assert_int_equal(stats.mallocs, stats.frees);
    OK(cls_mempool_destroy(pool));
}

/* --- streams of their own, one pool --- */

struct shared {
    cls_mempool pool;
    unsigned rounds;
    _Atomic unsigned finished;
};

enum { KEPT = 6 };

/* Fills each buffer with a value of its own, and looks at both ends when it frees it. */
static bool churn(void *arg, unsigned thread) {
    struct shared *shared = arg;
    cls_stream stream;
    cls_buffer kept[KEPT] = {0};
    size_t words[KEPT];
    uint32_t values[KEPT], seen[2];
    uint64_t random = thread * 2654435761u + 88172645463325252u;
    CHECK(!cls_stream_create(rig.context, NULL, &stream));
    for (unsigned round = 0; round < shared->rounds; round++) {
        unsigned i = round % KEPT;
        if (kept[i]) {
            CHECK(!cls_copy_d2h_async(&seen[0], kept[i], 0, 4, stream));
            CHECK(!cls_copy_d2h_async(&seen[1], kept[i], words[i] * 4 - 4, 4, stream));
            CHECK(!cls_free_async(kept[i], stream));
            CHECK(!cls_stream_synchronize(stream));
            CHECK(seen[0] == values[i] && seen[1] == values[i]);
        }
        words[i] = 1 + next_number(&random, round % 5 ? 1000 : 40000);
        values[i] = thread << 24 | round;
        CHECK(!cls_mempool_malloc_async(shared->pool, stream, words[i] * 4, &kept[i]));
        CHECK(!cls_fill_async(kept[i], 0, words[i] * 4, &values[i], 4, stream));
    }
    CHECK(!cls_stream_free_all_async(stream, CLS_FREE_IN_ORDER));
    CHECK(!cls_stream_destroy(stream));
    atomic_fetch_add(&shared->finished, 1);
    return true;
}

/* One more thread that trims and asks all the time. */
static bool churn_or_trim(void *arg, unsigned thread) {
    struct shared *shared = arg;
    cls_mempool_statistics stats = CLS_MEMPOOL_STATISTICS_INIT;
    if (thread)
        return churn(arg, thread);
    while (atomic_load(&shared->finished) < THREADS - 1) {
        CHECK(!cls_mempool_trim(shared->pool, 0));
        CHECK(!cls_mempool_get_statistics(shared->pool, &stats));
        CHECK(stats.reserved <= stats.reserved_high);
        nap_ms(1);
    }
    return true;
}

static void churn_all(cls_reuse reuse, bool trimmed) {
    struct shared shared = {.rounds = rig_scale(1000, 30)};
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
    config.reuse = reuse;
    OK(cls_mempool_create(rig.context, &config, &shared.pool));
    assert_int_equal(team_run(THREADS, trimmed ? churn_or_trim : churn, &shared), 0);
    end_pool(shared.pool);
}

static void test_eight_streams_share_a_pool(void **state) {
    (void)state;
    SKIP_ON_SINGLE_THREADED_DRIVERS();
    churn_all(CLS_REUSE_FOLLOW_DONE, false);
}

static void test_dependencies_are_inserted_by_all(void **state) {
    (void)state;
    SKIP_ON_SINGLE_THREADED_DRIVERS();
    churn_all(CLS_REUSE_ALL, false);
}

static void test_one_thread_trims(void **state) {
    (void)state;
    SKIP_ON_SINGLE_THREADED_DRIVERS();
    churn_all(CLS_REUSE_FOLLOW_DONE, true);
}

/* --- one makes, the next one frees --- */

struct hand_over {
    cls_mempool pool;
    cls_stream streams[THREADS];
    cls_event events[THREADS];
    _Atomic(cls_buffer) box[THREADS];
    uint32_t *seen; /* of each thread and round */
    unsigned rounds;
};

/* Waits for a box to be full (or empty), which another thread sees to. */
static bool box_comes(_Atomic(cls_buffer) *box, bool full) {
    for (double until = now_ms() + 60e3; now_ms() < until; sched_yield())
        if ((atomic_load(box) != NULL) == full)
            return true;
    return false;
}

static bool make_and_pass_on(void *arg, unsigned thread) {
    struct hand_over *ring = arg;
    unsigned next = (thread + 1) % THREADS;
    cls_stream stream = ring->streams[thread];
    for (unsigned round = 0; round < ring->rounds; round++) {
        uint32_t value = thread * 1000 + round;
        cls_buffer buffer;
        CHECK(!cls_mempool_malloc_async(ring->pool, stream, 2000, &buffer));
        CHECK(!cls_fill_async(buffer, 0, 2000, &value, 4, stream));
        CHECK(box_comes(&ring->box[next], false));
        CHECK(!cls_event_record(ring->events[next], stream));
        atomic_store(&ring->box[next], buffer);
        CHECK(box_comes(&ring->box[thread], true));
        CHECK(!cls_stream_wait_event(stream, ring->events[thread]));
        buffer = atomic_exchange(&ring->box[thread], NULL);
        CHECK(
            !cls_copy_d2h_async(&ring->seen[thread * ring->rounds + round], buffer, 0, 4, stream));
        CHECK(!cls_free_async(buffer, stream));
    }
    return !cls_stream_synchronize(stream);
}

static void test_buffers_pass_from_stream_to_stream(void **state) {
    (void)state;
    SKIP_ON_SINGLE_THREADED_DRIVERS();
    struct hand_over ring = {.rounds = rig_scale(200, 20)};
    ring.seen = test_calloc(THREADS * ring.rounds, sizeof *ring.seen);
    OK(cls_mempool_create(rig.context, NULL, &ring.pool));
    for (unsigned i = 0; i < THREADS; i++) {
        ring.streams[i] = rig_stream();
        ring.events[i] = rig_event();
    }
    assert_int_equal(team_run(THREADS, make_and_pass_on, &ring), 0);
    for (unsigned i = 0; i < THREADS; i++)
        for (unsigned round = 0; round < ring.rounds; round++)
            assert_int_equal(ring.seen[i * ring.rounds + round],
                             (i + THREADS - 1) % THREADS * 1000 + round);
    end_pool(ring.pool);
    for (unsigned i = 0; i < THREADS; i++) {
        OK(cls_stream_destroy(ring.streams[i]));
        OK(cls_event_destroy(ring.events[i]));
    }
    test_free(ring.seen);
}

/* --- all free the same --- */

struct contested {
    cls_stream streams[THREADS];
    _Atomic(cls_buffer) buffer;
    _Atomic unsigned won, arrived;
    unsigned rounds;
};

static bool free_the_same(void *arg, unsigned thread) {
    struct contested *contested = arg;
    cls_stream stream = contested->streams[thread];
    for (unsigned round = 0; round < contested->rounds; round++) {
        if (thread == 0) {
            cls_buffer buffer;
            CHECK(!cls_malloc_async(stream, 64, &buffer));
            atomic_store(&contested->buffer, buffer);
        }
        for (unsigned phase = 0; phase < 2; phase++) {
            unsigned all = (2 * round + phase + 1) * THREADS;
            if (phase == 1) {
                cls_buffer buffer = atomic_load(&contested->buffer);
                cls_status status =
                    thread % 3 ? cls_free_async(buffer, stream) : cls_buffer_destroy(buffer);
                atomic_fetch_add(&contested->won, status == CLS_SUCCESS);
                CHECK(status == CLS_SUCCESS || status == CLS_ERROR_INVALID_HANDLE);
            }
            atomic_fetch_add(&contested->arrived, 1);
            while (atomic_load(&contested->arrived) < all)
                sched_yield();
        }
    }
    return true;
}

static void test_one_of_many_frees_wins(void **state) {
    (void)state;
    SKIP_ON_SINGLE_THREADED_DRIVERS();
    struct contested contested = {.rounds = 200};
    for (unsigned i = 0; i < THREADS; i++)
        contested.streams[i] = rig_stream();
    assert_int_equal(team_run(THREADS, free_the_same, &contested), 0);
    assert_int_equal(contested.won, contested.rounds);
    for (unsigned i = 0; i < THREADS; i++)
        OK(cls_stream_destroy(contested.streams[i]));
}

/* --- pools and streams come and go --- */

static bool come_and_go(void *arg, unsigned thread) {
    unsigned rounds = *(unsigned *)arg;
    cls_stream kept;
    CHECK(!cls_stream_create(rig.context, NULL, &kept));
    for (unsigned round = 0; round < rounds; round++) {
        cls_stream stream;
        cls_mempool pool;
        cls_buffer x, y;
        uint32_t value = round;
        CHECK(!cls_stream_create(rig.context, NULL, &stream));
        CHECK(!cls_mempool_create(rig.context, NULL, &pool));
        CHECK(!cls_mempool_malloc_async(pool, stream, 3000 + thread, &x));
        CHECK(!cls_mempool_malloc_async(pool, kept, 500000, &y));
        CHECK(!cls_fill_async(x, 0, 3000, &value, 4, stream));
        CHECK(!cls_fill_async(y, 0, 3000, &value, 4, kept));
        CHECK(!cls_free_async(x, stream));
        if (round % 2)
            CHECK(!cls_mempool_destroy(pool));
        CHECK(!cls_free_async(y, kept));
        CHECK(!cls_stream_destroy(stream));
        if (round % 2 == 0)
            CHECK(!cls_mempool_destroy(pool));
    }
    CHECK(!cls_stream_synchronize(kept));
    return !cls_stream_destroy(kept);
}

static void test_pools_and_streams_come_and_go(void **state) {
    (void)state;
    SKIP_ON_SINGLE_THREADED_DRIVERS();
    unsigned rounds = rig_scale(100, 10);
    assert_int_equal(team_run(THREADS, come_and_go, &rounds), 0);
}

/* --- the current pool --- */

struct current {
    cls_mempool pool, going;
    _Atomic unsigned arrived;
    unsigned rounds, lost, stale;
};

static void meet(struct current *current, unsigned all) {
    atomic_fetch_add(&current->arrived, 1);
    while (atomic_load(&current->arrived) < all)
        sched_yield();
}

/* What stands beside the setting of a pool: the pool that is set is destroyed; the one that is current is;
 * somebody asks where none is. */
enum { SAME_GOES, CURRENT_GOES, NONE, SETTINGS };

static bool begin_setting(struct current *current, unsigned setting) {
    CHECK(!cls_mempool_create(rig.context, NULL, &current->going));
    CHECK(!cls_context_set_mempool(rig.context, setting == SAME_GOES ? NULL : current->going));
    if (setting == NONE)
        CHECK(!cls_mempool_destroy(current->going));
    return true;
}

static bool set(const struct current *current, unsigned setting, unsigned pause) {
    const bool same = setting == SAME_GOES;
    for (volatile unsigned i = 0; i < pause; i++)
        continue;
    cls_status status = cls_context_set_mempool(rig.context, same ? current->going : current->pool);
    CHECK(!status || (same && status == CLS_ERROR_INVALID_HANDLE));
    return true;
}

static bool destroy_or_ask(const struct current *current, unsigned setting) {
    cls_mempool now;
    if (setting == NONE)
        CHECK(!cls_context_get_mempool(rig.context, &now));
    else
        CHECK(!cls_mempool_destroy(current->going));
    return true;
}

static bool look_at_current(struct current *current, unsigned setting) {
    cls_mempool_statistics stats = CLS_MEMPOOL_STATISTICS_INIT;
    cls_mempool now;
    CHECK(!cls_context_get_mempool(rig.context, &now));
    current->lost += setting != SAME_GOES && now != current->pool;
    current->stale += cls_mempool_get_statistics(now, &stats) != CLS_SUCCESS;
    return true;
}

static bool set_beside(void *arg, unsigned thread) {
    struct current *current = arg;
    bool well = true;
    for (unsigned round = 0; round < current->rounds; round++) {
        const unsigned setting = round % SETTINGS;
        if (thread == 0)
            well = begin_setting(current, setting) && well;
        meet(current, 4 * round + 2);
        well = (thread == 0 ? set(current, setting, round / SETTINGS % 512)
                            : destroy_or_ask(current, setting)) &&
               well;
        meet(current, 4 * round + 4);
        if (thread == 0)
            well = look_at_current(current, setting) && well;
    }
    return well;
}

static void test_the_pool_that_was_set_is_current(void **state) {
    (void)state;
    SKIP_ON_SINGLE_THREADED_DRIVERS();
    struct current current = {.rounds = 30000};
    OK(cls_mempool_create(rig.context, NULL, &current.pool));
    assert_int_equal(team_run(2, set_beside, &current), 0);
    assert_int_equal(current.lost, 0);
    assert_int_equal(current.stale, 0);
    OK(cls_context_set_mempool(rig.context, NULL));
    OK(cls_mempool_destroy(current.pool));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eight_streams_share_a_pool),
        cmocka_unit_test(test_dependencies_are_inserted_by_all),
        cmocka_unit_test(test_one_thread_trims),
        cmocka_unit_test(test_buffers_pass_from_stream_to_stream),
        cmocka_unit_test(test_one_of_many_frees_wins),
        cmocka_unit_test(test_pools_and_streams_come_and_go),
        cmocka_unit_test(test_the_pool_that_was_set_is_current),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
