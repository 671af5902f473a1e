/* SPDX-License-Identifier: MIT */
/* Shareable memory pools: stream-ordered memory that other contexts open. */
#include "../support/alike.h"
#include "mempools.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/batch.h>
#include <clstream/binary.h>
#include <clstream/graph.h>
#include <clstream/share.h>

enum { WORDS = 5000, BYTES = WORDS * 4 };

static struct world {
    cls_context other;
    cls_stream here, there;
    cls_mempool pool; /* shareable, of the rig's context */
    uint32_t in[WORDS], out[WORDS];
    struct gate gate;
} w;

static cls_mempool shareable_pool(cls_context context) {
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
    cls_mempool pool = NULL;
    config.shareable = 1;
    OK(cls_mempool_create(context, &config, &pool));
    return pool;
}

static int setup(void **state) {
    (void)state;
    if (!alike_memory.is_shared)
        return 0;
    w.other = alike_context(1);
    w.here = rig_stream();
    OK(cls_stream_create(w.other, NULL, &w.there));
    w.pool = shareable_pool(rig.context);
    for (uint32_t i = 0; i < WORDS; i++)
        w.in[i] = i * 2654435761u;
    memset(w.out, 0, sizeof w.out);
    gate_init(&w.gate);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    if (!alike_memory.is_shared)
        return 0;
    gate_destroy(&w.gate);
    OK(cls_context_synchronize(w.other));
    end_pool(w.pool);
    OK(cls_stream_destroy(w.here));
    OK(cls_stream_destroy(w.there));
    OK(cls_context_destroy(w.other));
    return 0;
}

/* --- what is used below --- */

static cls_buffer open_there(cls_buffer near) {
    cls_buffer far = NULL;
    OK(cls_buffer_open(w.other, near, &far));
    return far;
}

/* Memory of the pool that has the words. */
static cls_buffer take_words(void) {
    cls_buffer near = take_from(w.pool, w.here, BYTES);
    OK(cls_copy_h2d(near, 0, w.in, BYTES, w.here));
    return near;
}

static void expect_words(cls_buffer far) {
    memset(w.out, 0, sizeof w.out);
    OK(cls_copy_d2h(w.out, far, 0, BYTES, w.there));
    assert_memory_equal(w.out, w.in, BYTES);
}

/* The next memory of the size is other memory, whatever is written to it. */
static void overwrite_next(cl_mem memory) {
    const uint8_t ones = 0xff;
    cls_buffer next = take_from(w.pool, w.here, BYTES);
    assert_ptr_not_equal(memory_of(next), memory);
    OK(cls_fill(next, 0, BYTES, &ones, 1, w.here));
    OK(cls_free_async(next, w.here));
}

/* The memory is given out again. */
static void expect_given_again(cl_mem memory) {
    cls_buffer taken[64];
    unsigned n = 0;
    bool again = false;
    OK(cls_stream_synchronize(w.here));
    while (n < 64 && !again) {
        taken[n] = take_from(w.pool, w.here, BYTES);
        again = memory_of(taken[n++]) == memory;
    }
    assert_true(again);
    while (n)
        OK(cls_free_async(taken[--n], w.here));
}

/* --- one memory --- */

static void test_both_contexts_have_the_bytes(void **state) {
    static const size_t sizes[] = {4, 100, 4 * KIB, BYTES, 300 * KIB + 4, 3 * MIB, 5 * MIB};
    enum { SIZES = sizeof sizes / sizeof *sizes, EACH = 5 };
    cls_buffer near[SIZES][EACH], far[SIZES][EACH];
    (void)state;
    for (unsigned i = 0; i < SIZES; i++)
        for (unsigned k = 0; k < EACH; k++) {
            const uint32_t mark = i * EACH + k;
            near[i][k] = take_from(w.pool, w.here, sizes[i]);
            far[i][k] = open_there(near[i][k]);
            OK(cls_fill(near[i][k], 0, sizes[i], &mark, 4, w.here));
        }
    for (unsigned i = 0; i < SIZES; i++)
        for (unsigned k = 0; k < EACH; k++) {
            const uint32_t mark = i * EACH + k, more = mark + 1000;
            uint32_t ends[2] = {0, 0};
            size_t bytes = 0;
            OK(cls_buffer_get_size(far[i][k], &bytes));
            assert_int_equal(bytes, sizes[i]);
            OK(cls_copy_d2h(&ends[0], far[i][k], 0, 4, w.there));
            OK(cls_copy_d2h(&ends[1], far[i][k], sizes[i] - 4, 4, w.there));
            assert_int_equal(ends[0], mark);
            assert_int_equal(ends[1], mark);
            OK(cls_fill(far[i][k], sizes[i] - 4, 4, &more, 4, w.there));
            OK(cls_copy_d2h(&ends[0], near[i][k], sizes[i] - 4, 4, w.here));
            assert_int_equal(ends[0], more);
        }
    for (unsigned i = 0; i < SIZES; i++)
        for (unsigned k = 0; k < EACH; k++) {
            OK(cls_buffer_destroy(far[i][k]));
            OK(cls_free_async(near[i][k], w.here));
        }
}

static void test_kernels_and_copies_take_either_handle(void **state) {
    cls_buffer near = take_words(), far = open_there(near), plain;
    (void)state;
    OK(rig_step(w.here, near, 7, 3, 1, 0));
    OK(cls_stream_synchronize(w.here));
    w.in[7] = w.in[7] * 3 + 1;
    expect_words(far);
    OK(cls_buffer_create(w.other, BYTES, &plain));
    OK(cls_copy_d2d(plain, 0, near, 0, BYTES, w.there));
    expect_words(plain);
    EXPECT(CLS_ERROR_OVERLAP, cls_copy_d2d_async(far, 4, near, 0, 8, w.there));
    OK(cls_buffer_destroy(plain));
    OK(cls_buffer_destroy(far));
    OK(cls_free_async(near, w.here));
}

/* Also handles of one context, each of which has a sub-buffer of its own. */
static void test_operations_find_overlaps(void **state) {
    cls_buffer near = take_words(), twice[2] = {open_there(near), open_there(near)};
    const cls_array a = {twice[0], CLS_I32, 1, 8}, b = {twice[1], CLS_I32, 0, 8},
                    c = {twice[1], CLS_I32, 1, 8};
    cls_batch batch;
    cls_value value, sum;
    (void)state;
    EXPECT(CLS_ERROR_OVERLAP, cls_binary_async(CLS_BINARY_ADD, b, b, a, w.there));
    OK(cls_binary(CLS_BINARY_ADD, a, a, c, w.there));
    OK(cls_batch_create(w.other, NULL, &batch));
    OK(cls_batch_array(batch, b, &value));
    OK(cls_batch_binary(batch, CLS_BINARY_ADD, value, value, &sum));
    OK(cls_batch_store(batch, sum, a));
    EXPECT(CLS_ERROR_OVERLAP, cls_batch_execute(batch, w.there));
    OK(cls_batch_destroy(batch));
    for (unsigned i = 0; i < 2; i++)
        OK(cls_buffer_destroy(twice[i]));
    OK(cls_free_async(near, w.here));
}

static void test_a_current_pool_serves_malloc(void **state) {
    cls_buffer near, far;
    (void)state;
    OK(cls_context_set_mempool(rig.context, w.pool));
    near = take(w.here, BYTES);
    OK(cls_context_set_mempool(rig.context, NULL));
    OK(cls_copy_h2d(near, 0, w.in, BYTES, w.here));
    far = open_there(near);
    expect_words(far);
    OK(cls_buffer_destroy(far));
    OK(cls_free_async(near, w.here));
}

static void test_an_opened_handle_opens_more(void **state) {
    cls_buffer near = take_words(), far = open_there(near), again;
    const cl_mem memory = memory_of(near);
    (void)state;
    OK(cls_free_async(near, w.here));
    again = open_there(far);
    OK(cls_buffer_destroy(far));
    overwrite_next(memory);
    expect_words(again);
    OK(cls_buffer_destroy(again));
    expect_given_again(memory);
}

/* --- freed while open --- */

static void free_on_stream(cls_buffer near) { OK(cls_free_async(near, w.here)); }
static void free_without_stream(cls_buffer near) { OK(cls_free_async(near, NULL)); }
static void destroy(cls_buffer near) { OK(cls_buffer_destroy(near)); }

static void free_all(cls_buffer near) {
    (void)near;
    OK(cls_stream_free_all_async(w.here, CLS_FREE_IN_ORDER));
}

static void free_all_when_done(cls_buffer near) {
    (void)near;
    OK(cls_stream_free_all_async(w.here, CLS_FREE_WHEN_DONE));
}

static void test_memory_freed_while_open_stays(void **state) {
    static void (*const ways[])(cls_buffer near) = {free_on_stream, free_without_stream, destroy,
                                                    free_all, free_all_when_done};
    (void)state;
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
        cls_buffer near = take_words(), far = open_there(near), more;
        const cl_mem memory = memory_of(near);
        ways[i](near);
        EXPECT(CLS_ERROR_INVALID_HANDLE, cls_buffer_open(w.other, near, &more));
        EXPECT(CLS_ERROR_INVALID_HANDLE, cls_free_async(near, w.here));
        for (unsigned k = 0; k < 3; k++)
            overwrite_next(memory);
        OK(cls_mempool_trim(w.pool, 0));
        overwrite_next(memory);
        expect_words(far);
        OK(cls_buffer_destroy(far));
        expect_given_again(memory);
    }
}

static void test_pending_work_keeps_memory_of_a_destroyed_handle(void **state) {
    cls_buffer near = take_words(), far = open_there(near);
    const cl_mem memory = memory_of(near);
    (void)state;
    OK(cls_stream_launch_host_async(w.there, gate_hold, &w.gate));
    OK(cls_copy_d2h_async(w.out, far, 0, BYTES, w.there));
    OK(cls_buffer_destroy(far));
    OK(cls_free_async(near, w.here));
    overwrite_next(memory);
    gate_open(&w.gate);
    OK(cls_stream_synchronize(w.there));
    assert_memory_equal(w.out, w.in, BYTES);
    expect_given_again(memory);
}

static void test_a_handle_that_is_closed_first_costs_nothing(void **state) {
    cls_buffer near = take_words(), far = open_there(near);
    const cl_mem memory = memory_of(near);
    (void)state;
    expect_words(far);
    OK(cls_buffer_destroy(far));
    OK(cls_free_async(near, w.here));
    near = take_from(w.pool, w.here, BYTES);
    assert_ptr_equal(memory_of(near), memory);
    OK(cls_free_async(near, w.here));
}

static void test_memory_outlives_pool_and_context(void **state) {
    cls_context made_in;
    cls_stream stream;
    cls_mempool pool;
    cls_buffer near, far;
    (void)state;
    made_in = alike_context(2);
    OK(cls_stream_create(made_in, NULL, &stream));
    pool = shareable_pool(made_in);
    near = take_from(pool, stream, BYTES);
    OK(cls_copy_h2d(near, 0, w.in, BYTES, stream));
    far = open_there(near);
    OK(cls_free_async(near, stream));
    OK(cls_mempool_destroy(pool));
    expect_words(far);
    OK(cls_stream_destroy(stream));
    OK(cls_context_destroy(made_in));
    expect_words(far);
    OK(cls_buffer_destroy(far));
}

/* --- options --- */

static void test_shareable_is_decided_at_creation(void **state) {
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
    cls_mempool plain = pool_of(CLS_REUSE_FOLLOW_DONE);
    cls_buffer near, far = NULL;
    (void)state;
    OK(cls_mempool_set_config(w.pool, NULL));
    OK(cls_mempool_get_config(w.pool, &config));
    assert_int_equal(config.shareable, 1);
    OK(cls_mempool_set_config(plain, &config));
    OK(cls_mempool_get_config(plain, &config));
    assert_int_equal(config.shareable, 0);
    near = take_from(plain, w.here, BYTES);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_open(w.other, near, &far));
    OK(cls_free_async(near, w.here));
    end_pool(plain);
}

static void test_the_limit_holds(void **state) {
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
    cls_buffer first, more = NULL;
    (void)state;
    config.max_bytes = MIB;
    OK(cls_mempool_set_config(w.pool, &config));
    first = take_from(w.pool, w.here, 700 * KIB);
    assert_true(stats_of(w.pool).reserved <= MIB);
    EXPECT(CLS_ERROR_OUT_OF_DEVICE_MEMORY,
           cls_mempool_malloc_async(w.pool, w.here, 700 * KIB, &more));
    OK(cls_free_async(first, w.here));
}

static void test_pool_memory_is_not_exported(void **state) {
    cls_buffer near = take_words(), far = open_there(near);
    int fd = -1;
    (void)state;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_export(near, &fd));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_export(far, &fd));
    assert_int_equal(fd, -1);
    OK(cls_buffer_destroy(far));
    OK(cls_free_async(near, w.here));
}

static void test_without_shared_memory_there_is_no_pool(void **state) {
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
    cls_mempool pool = NULL;
    (void)state;
    if (alike_memory.is_shared)
        SKIP_BECAUSE("this device's memory can be shared");
    config.shareable = 1;
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_mempool_create(rig.context, &config, &pool));
    assert_non_null(strstr(cls_last_error_detail(), alike_memory.found.reason));
    assert_null(pool);
}

/* --- the default pool --- */

static void test_a_default_pool_is_shareable_where_the_context_asks(void **state) {
    cls_context_config context_config = CLS_CONTEXT_CONFIG_INIT;
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
    cls_context context = NULL;
    cls_stream stream = NULL;
    cls_mempool pool = NULL;
    cls_buffer near = NULL, far = NULL;
    (void)state;
    context_config.shareable_pool = 1;
    OK(cls_context_create(&context_config, &context));
    OK(cls_mempool_default(context, &pool));
    OK(cls_mempool_get_config(pool, &config));
    assert_int_equal(config.shareable, 1);
    assert_int_equal(config.release_threshold, SIZE_MAX);
    OK(cls_stream_create(context, NULL, &stream));
    OK(cls_malloc_async(stream, BYTES, &near));
    OK(cls_copy_h2d(near, 0, w.in, BYTES, stream));
    OK(cls_buffer_open(w.other, near, &far));
    expect_words(far);
    OK(cls_buffer_destroy(far));
    OK(cls_free_async(near, stream));
    OK(cls_stream_destroy(stream));
    OK(cls_context_destroy(context));
}

static void test_a_default_pool_is_not_shareable_by_itself(void **state) {
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
    cls_mempool pool = NULL;
    (void)state;
    OK(cls_mempool_default(rig.context, &pool));
    OK(cls_mempool_get_config(pool, &config));
    assert_int_equal(config.shareable, 0);
}

static void test_without_shared_memory_there_is_no_such_context(void **state) {
    cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
    cls_context context = NULL;
    (void)state;
    if (alike_memory.is_shared)
        SKIP_BECAUSE("this device's memory can be shared");
    config.shareable_pool = 1;
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_context_create(&config, &context));
    assert_non_null(strstr(cls_last_error_detail(), alike_memory.found.reason));
    assert_null(context);
}

/* --- nothing is left --- */

/* Captured in the other context, by the handle of this one. */
static void rebind_copy_of(cls_buffer near) {
    cls_buffer to, from;
    cls_graph_exec exec;
    OK(cls_copy_h2d(near, 0, w.in, BYTES, w.here));
    OK(cls_buffer_create(w.other, BYTES, &to));
    OK(cls_buffer_create(w.other, BYTES, &from));
    OK(cls_stream_begin_capture(w.there, "far"));
    OK(cls_copy_d2d_async(to, 4, near, 8, BYTES - 8, w.there));
    exec = rig_end_capture(w.there);
    OK(cls_graph_launch(exec, w.there));
    OK(cls_copy_d2h(w.out, to, 0, BYTES, w.there));
    assert_int_equal(w.out[1], w.in[2]);
    for (uint32_t i = 0; i < WORDS; i++)
        w.out[i] = ~i;
    OK(cls_copy_h2d(from, 0, w.out, BYTES, w.there));
    for (unsigned again = 0; again < 2; again++) { /* binding again is the same */
        OK(cls_graph_bind(exec, near, from));
        OK(cls_graph_launch(exec, w.there));
        OK(cls_copy_d2h(w.out, to, 0, BYTES, w.there));
        assert_int_equal(w.out[1], ~2u);
        assert_int_equal(w.out[WORDS - 2], ~(WORDS - 1u));
    }
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(from));
    OK(cls_buffer_destroy(to));
}

/* Memory of its own, and slots of a pool that begin somewhere in the memory that the contexts share. */
static void test_captured_copies_between_contexts_are_rebound(void **state) {
    cls_buffer buffers[3];
    (void)state;
    OK(cls_buffer_create_shareable(rig.context, BYTES, &buffers[0]));
    OK(cls_mempool_malloc_async(w.pool, w.here, BYTES, &buffers[1]));
    OK(cls_mempool_malloc_async(w.pool, w.here, BYTES, &buffers[2]));
    for (unsigned i = 0; i < 3; i++)
        rebind_copy_of(buffers[i]);
    for (unsigned i = 0; i < 3; i++)
        OK(cls_free_async(buffers[i], w.here));
}

static void test_a_block_has_one_descriptor(void **state) {
    enum { N = 100 };
    cls_buffer near[N], far[N];
    if (alike_memory.found.kind != CLS_SHARE_HOST_MEMORY)
        SKIP_BECAUSE("the shareable memory of this device is no memory of the process");
    teardown(state);
    assert_true(rig_await_memory_gone()); /* that of the tests before */
    setup(state);
    const unsigned before = rig_count_descriptors();
    for (unsigned i = 0; i < N; i++) {
        near[i] = take_from(w.pool, w.here, 4 * KIB);
        far[i] = open_there(near[i]);
    }
    assert_int_equal(rig_count_descriptors() - before, stats_of(w.pool).blocks);
    for (unsigned i = 0; i < N; i++) {
        OK(cls_free_async(near[i], w.here));
        OK(cls_buffer_destroy(far[i]));
    }
    OK(cls_stream_synchronize(w.here));
    OK(cls_mempool_trim(w.pool, 0));
    for (unsigned i = 0; i < 2000 && rig_count_descriptors() != before; i++)
        nap_ms(1); /* a driver may give up memory on a thread of its own */
    assert_int_equal(rig_count_descriptors(), before);
}

/* --- threads --- */

/* One thread allocates, stamps and frees; the others open what it has, and find its stamp as long as they have it open,
 * or are told that it is freed. */
static struct stamped {
    pthread_mutex_t lock;
    cls_buffer buffer;
    uint32_t stamp;
    _Atomic unsigned tries, opened; /* of the others */
    bool over;
} race = {.lock = PTHREAD_MUTEX_INITIALIZER};

enum { ROUNDS = 300 };

static void publish(cls_buffer buffer, uint32_t stamp) {
    pthread_mutex_lock(&race.lock);
    race.buffer = buffer;
    race.stamp = stamp;
    pthread_mutex_unlock(&race.lock);
}

static bool make_and_free(void) {
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        cls_buffer buffer;
        if (cls_mempool_malloc_async(w.pool, w.here, 4 * KIB, &buffer) ||
            cls_fill(buffer, 0, 4 * KIB, &i, 4, w.here))
            return false;
        const unsigned tries = race.tries;
        publish(buffer, i);
        if (!counter_comes(&race.tries, tries + 2) || cls_free_async(buffer, w.here))
            return false;
    }
    return true;
}

static bool holds_stamp(cls_buffer far, uint32_t stamp, cls_stream stream) {
    uint32_t first = 0, last = 0;
    return !cls_copy_d2h(&first, far, 0, 4, stream) && first == stamp &&
           !cls_copy_d2h(&last, far, 4 * KIB - 4, 4, stream) && last == stamp;
}

static bool open_and_look(cls_stream stream) {
    bool over = false;
    while (!over) {
        cls_buffer far;
        pthread_mutex_lock(&race.lock);
        const cls_buffer buffer = race.buffer;
        const uint32_t stamp = race.stamp;
        over = race.over;
        pthread_mutex_unlock(&race.lock);
        const bool opened = buffer && !cls_buffer_open(w.other, buffer, &far);
        race.tries++;
        if (!opened)
            continue;
        race.opened++;
        for (unsigned k = 0; k < 5; k++)
            if (!holds_stamp(far, stamp, stream))
                return false;
        if (cls_buffer_destroy(far))
            return false;
    }
    return true;
}

static bool take_part(void *arg, unsigned i) {
    cls_stream stream;
    (void)arg;
    if (i == 0) {
        const bool good = make_and_free();
        pthread_mutex_lock(&race.lock);
        race.over = true;
        pthread_mutex_unlock(&race.lock);
        return good;
    }
    if (cls_stream_create(w.other, NULL, &stream))
        return false;
    const bool good = open_and_look(stream);
    return !cls_stream_destroy(stream) && good;
}

static void test_threads_open_while_another_frees(void **state) {
    (void)state;
    assert_int_equal(team_run(3, take_part, NULL), 0);
    assert_true(race.opened > 0);
}

#define TEST(name) SHARED_TEST(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_both_contexts_have_the_bytes),
        TEST(test_kernels_and_copies_take_either_handle),
        TEST(test_operations_find_overlaps),
        TEST(test_a_current_pool_serves_malloc),
        TEST(test_an_opened_handle_opens_more),
        TEST(test_memory_freed_while_open_stays),
        TEST(test_pending_work_keeps_memory_of_a_destroyed_handle),
        TEST(test_a_handle_that_is_closed_first_costs_nothing),
        TEST(test_memory_outlives_pool_and_context),
        TEST(test_shareable_is_decided_at_creation),
        TEST(test_the_limit_holds),
        TEST(test_pool_memory_is_not_exported),
        cmocka_unit_test(test_without_shared_memory_there_is_no_pool),
        TEST(test_a_default_pool_is_shareable_where_the_context_asks),
        cmocka_unit_test(test_a_default_pool_is_not_shareable_by_itself),
        cmocka_unit_test(test_without_shared_memory_there_is_no_such_context),
        TEST(test_captured_copies_between_contexts_are_rebound),
        TEST(test_a_block_has_one_descriptor),
        TEST(test_threads_open_while_another_frees),
    };
    return cmocka_run_group_tests(tests, alike_setup, rig_teardown);
}
