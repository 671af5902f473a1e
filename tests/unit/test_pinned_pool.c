/* SPDX-License-Identifier: MIT */
/*
 * Freed pinned memory is kept for the next allocation of its size, within a bound, and given back when that is asked for.
 * The driver's buffers of pinned memory are counted.
 */
#include "../support/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include <clstream.h>
#include <clstream/opencl.h>

#include "driver/memory.h"
#include "memory/buffer.h"
#include "memory/pinned_pool.h"
#include "stream/context.h"

enum { MIB = 1 << 20, HALF = PINNED_KEPT / 2, LIVE = 16 };

/* The driver's buffers of pinned memory, and how many calls for one fail from now on. */
static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;
static cl_mem live[LIVE];
static atomic_uint n_live, n_made, failures;

cl_mem __real_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                             cl_int *code);
cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                             cl_int *code);
cl_int __real_clReleaseMemObject(cl_mem memory);
cl_int __wrap_clReleaseMemObject(cl_mem memory);

cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                             cl_int *code) {
    const bool is_pinned = flags & CL_MEM_ALLOC_HOST_PTR;
    if (is_pinned && failures) {
        failures--;
        *code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
        return NULL;
    }
    cl_mem memory = __real_clCreateBuffer(context, flags, size, host, code);
    if (!memory || !is_pinned)
        return memory;
    n_made++;
    pthread_mutex_lock(&live_lock);
    for (unsigned i = 0; i < LIVE; i++)
        if (!live[i]) {
            live[i] = memory;
            n_live++;
            break;
        }
    pthread_mutex_unlock(&live_lock);
    return memory;
}

cl_int __wrap_clReleaseMemObject(cl_mem memory) {
    pthread_mutex_lock(&live_lock);
    for (unsigned i = 0; i < LIVE; i++)
        if (live[i] == memory) {
            live[i] = NULL;
            n_live--;
            break;
        }
    pthread_mutex_unlock(&live_lock);
    return __real_clReleaseMemObject(memory);
}

static cls_context context;

static int setup(void **state) {
    (void)state;
    const int status = cls_context_create(NULL, &context);
    n_made = 0; /* probes make some */
    return status;
}

static int teardown(void **state) {
    (void)state;
    assert_int_equal(cls_context_destroy(context), CLS_SUCCESS);
    assert_int_equal(n_live, 0);
    return 0;
}

static void *take(cls_context of, size_t bytes) {
    void *memory = NULL;
    assert_int_equal(cls_host_alloc(of, bytes, &memory), CLS_SUCCESS);
    return memory;
}

static void give(void *memory) { assert_int_equal(cls_host_free(memory), CLS_SUCCESS); }

static void test_memory_of_about_the_size_is_given_out_again(void **state) {
    (void)state;
    char *first = take(context, MIB);
    give(first);
    assert_int_equal(n_live, 1);
    for (size_t less = 0; less < MIB / 16; less += 12345) {
        char *again = take(context, MIB - less);
        assert_ptr_equal(again, first);
        memset(again, 1, MIB - less);
        assert_true(host_is_pinned(again, MIB - less));
        assert_false(host_is_pinned(again, MIB - less + 1));
        give(again);
    }
    assert_int_equal(n_made, 1);
    char *more = take(context, MIB + 1), *half = take(context, MIB / 2);
    assert_int_equal(n_made, 3);
    give(more);
    give(half);
}

/* The newest first, since the caches may hold it. */
static void test_blocks_of_one_size(void **state) {
    enum { COUNT = 5 };
    char *blocks[COUNT];
    (void)state;
    for (int i = 0; i < COUNT; i++)
        blocks[i] = take(context, 5000);
    for (int i = 0; i < COUNT; i++)
        give(blocks[i]);
    for (int i = COUNT; i-- > 0;)
        assert_ptr_equal(take(context, 5000), blocks[i]);
    char *another = take(context, 5000);
    assert_int_equal(n_made, COUNT + 1);
    for (int i = 0; i < COUNT; i++)
        give(blocks[i]);
    give(another);
}

static void test_what_is_kept_has_a_bound(void **state) {
    char *blocks[3];
    (void)state;
    for (int i = 0; i < 3; i++)
        blocks[i] = take(context, HALF);
    char *large = take(context, PINNED_KEPT + 1);
    assert_int_equal(n_live, 4);
    give(large);
    assert_int_equal(n_live, 3);
    for (int i = 0; i < 3; i++)
        give(blocks[i]);
    assert_int_equal(n_live, 2);
    assert_ptr_equal(take(context, HALF), blocks[2]);
    assert_ptr_equal(take(context, HALF), blocks[1]);
    assert_int_equal(n_made, 4);
    give(blocks[1]);
    give(blocks[2]);
}

static void test_trim(void **state) {
    char *in_use = take(context, MIB), *first = take(context, MIB), *second = take(context, MIB);
    (void)state;
    give(first);
    give(second);
    assert_int_equal(cls_host_trim(context, 2 * MIB), CLS_SUCCESS);
    assert_int_equal(n_live, 3);
    assert_int_equal(cls_host_trim(context, 2 * MIB - 1), CLS_SUCCESS);
    assert_int_equal(n_live, 2);
    assert_ptr_equal(take(context, MIB), second);
    give(second);
    assert_int_equal(cls_host_trim(context, 0), CLS_SUCCESS);
    assert_int_equal(n_live, 1);
    memset(in_use, 1, MIB);
    give(in_use);
}

static void test_memory_stays_with_its_context(void **state) {
    cls_context other;
    (void)state;
    assert_int_equal(cls_context_create(NULL, &other), CLS_SUCCESS);
    give(take(context, MIB));
    char *elsewhere = take(other, MIB);
    assert_int_equal(n_made, 2);
    char *late = take(other, MIB);
    give(elsewhere);
    assert_int_equal(n_live, 3);
    assert_int_equal(cls_context_destroy(other), CLS_SUCCESS);
    assert_int_equal(n_live, 2);
    give(late);
    assert_int_equal(n_live, 1);
}

static void test_memory_that_was_a_buffer_is_not_kept(void **state) {
    cls_buffer buffer;
    char *memory = take(context, MIB);
    (void)state;
    if (cls_host_buffer(memory, &buffer) == CLS_ERROR_UNSUPPORTED) {
        give(memory);
        SKIP_BECAUSE("%s", cls_last_error_detail());
    }
    give(memory);
    assert_int_equal(n_live, 0);
}

/* What is kept makes room for what the driver has no memory for. */
static void test_the_driver_is_out_of_memory(void **state) {
    void *none = NULL;
    (void)state;
    give(take(context, MIB));
    failures = 1;
    char *large = take(context, 4 * MIB);
    assert_int_equal(n_live, 1);
    failures = 2;
    assert_int_not_equal(cls_host_alloc(context, MIB, &none), CLS_SUCCESS);
    assert_null(none);
    failures = 0;
    give(large);
}

/* --- in use --- */

struct pending {
    void *memory;
    atomic_bool freed;
};

static void *free_it(void *arg) {
    struct pending *pending = arg;
    cls_host_free(pending->memory);
    pending->freed = true;
    return NULL;
}

/* A free waits for the copy, and only then the memory is anybody's. */
static void test_memory_of_pending_copies_is_not_given_out(void **state) {
    struct pending pending = {.memory = take(context, MIB)};
    cls_buffer buffer;
    cls_stream stream;
    cls_timeline timeline;
    pthread_t thread;
    (void)state;
    assert_int_equal(cls_stream_create(context, NULL, &stream), CLS_SUCCESS);
    assert_int_equal(cls_buffer_create(context, MIB, &buffer), CLS_SUCCESS);
    assert_int_equal(cls_timeline_create(NULL, &timeline), CLS_SUCCESS);
    assert_int_equal(cls_stream_wait_timeline(stream, timeline, 1), CLS_SUCCESS);
    assert_int_equal(cls_copy_d2h_async(pending.memory, buffer, 0, MIB, stream), CLS_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, free_it, &pending), 0);
    while (host_is_pinned(pending.memory, 1)) /* until the free has begun */
        sched_yield();
    char *meanwhile = take(context, MIB);
    assert_ptr_not_equal(meanwhile, pending.memory);
    assert_false(pending.freed);
    assert_int_equal(cls_timeline_signal(timeline, 1), CLS_SUCCESS);
    pthread_join(thread, NULL);
    assert_ptr_equal(take(context, MIB), pending.memory);
    give(pending.memory);
    give(meanwhile);
    assert_int_equal(cls_timeline_destroy(timeline), CLS_SUCCESS);
    assert_int_equal(cls_buffer_destroy(buffer), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(stream), CLS_SUCCESS);
}

/* A launch of a graph uses the memory as a copy does. */
static void test_memory_of_a_graph_launch_is_not_given_out(void **state) {
    struct pending pending = {.memory = take(context, MIB)};
    const uint32_t seven = 7;
    cls_buffer buffer;
    cls_stream stream;
    cls_timeline timeline;
    cls_graph graph;
    cls_graph_exec exec;
    pthread_t thread;
    (void)state;
    assert_int_equal(cls_stream_create(context, NULL, &stream), CLS_SUCCESS);
    assert_int_equal(cls_buffer_create(context, MIB, &buffer), CLS_SUCCESS);
    assert_int_equal(cls_fill(buffer, 0, MIB, &seven, sizeof seven, stream), CLS_SUCCESS);
    assert_int_equal(cls_timeline_create(NULL, &timeline), CLS_SUCCESS);
    assert_int_equal(cls_stream_begin_capture(stream, "copy"), CLS_SUCCESS);
    assert_int_equal(cls_copy_d2h_async(pending.memory, buffer, 0, MIB, stream), CLS_SUCCESS);
    assert_int_equal(cls_stream_end_capture(stream, &graph), CLS_SUCCESS);
    assert_int_equal(cls_graph_instantiate(graph, NULL, &exec), CLS_SUCCESS);
    assert_int_equal(cls_stream_wait_timeline(stream, timeline, 1), CLS_SUCCESS);
    assert_int_equal(cls_graph_launch_async(exec, stream), CLS_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, free_it, &pending), 0);
    while (host_is_pinned(pending.memory, 1)) /* until the free has begun */
        sched_yield();
    char *meanwhile = take(context, MIB);
    assert_ptr_not_equal(meanwhile, pending.memory);
    memset(meanwhile, 1, MIB);
    assert_false(pending.freed);
    assert_int_equal(cls_timeline_signal(timeline, 1), CLS_SUCCESS);
    pthread_join(thread, NULL);
    assert_int_equal(cls_stream_synchronize(stream), CLS_SUCCESS);
    assert_int_equal(meanwhile[MIB - 1], 1);
    give(meanwhile);
    assert_int_equal(cls_graph_exec_destroy(exec), CLS_SUCCESS);
    assert_int_equal(cls_graph_destroy(graph), CLS_SUCCESS);
    assert_int_equal(cls_timeline_destroy(timeline), CLS_SUCCESS);
    assert_int_equal(cls_buffer_destroy(buffer), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(stream), CLS_SUCCESS);
}

static void free_in_code(void *arg) {
    struct pending *pending = arg;
    pending->freed = !cls_host_free(pending->memory);
}

/* A free in a host function waits on a thread of its own, behind work that is pending then. */
static void test_memory_that_a_host_function_frees_stays_until_its_copies_end(void **state) {
    struct pending pending = {.memory = take(context, MIB)};
    cls_buffer buffer;
    cls_stream stream, other;
    cls_timeline timeline;
    (void)state;
    assert_int_equal(cls_stream_create(context, NULL, &stream), CLS_SUCCESS);
    assert_int_equal(cls_stream_create(context, NULL, &other), CLS_SUCCESS);
    assert_int_equal(cls_buffer_create(context, MIB, &buffer), CLS_SUCCESS);
    assert_int_equal(cls_timeline_create(NULL, &timeline), CLS_SUCCESS);
    assert_int_equal(cls_stream_wait_timeline(other, timeline, 1), CLS_SUCCESS);
    assert_int_equal(cls_copy_d2h_async(pending.memory, buffer, 0, MIB, other), CLS_SUCCESS);
    assert_int_equal(cls_stream_launch_host_async(stream, free_in_code, &pending), CLS_SUCCESS);
    assert_int_equal(cls_stream_synchronize(stream), CLS_SUCCESS);
    assert_true(pending.freed); /* taken, and to be done once the copy is over */
    char *meanwhile = take(context, MIB);
    assert_ptr_not_equal(meanwhile, pending.memory);
    assert_int_equal(cls_host_trim(context, 0), CLS_SUCCESS);
    assert_int_equal(n_live, 2);
    assert_int_equal(cls_timeline_signal(timeline, 1), CLS_SUCCESS);
    while (n_live > 1) /* until it was given back, and trimmed */
        assert_int_equal(cls_host_trim(context, 0), CLS_SUCCESS);
    give(meanwhile);
    assert_int_equal(cls_timeline_destroy(timeline), CLS_SUCCESS);
    assert_int_equal(cls_buffer_destroy(buffer), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(other), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(stream), CLS_SUCCESS);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_memory_of_about_the_size_is_given_out_again),
        TEST(test_blocks_of_one_size),
        TEST(test_what_is_kept_has_a_bound),
        TEST(test_trim),
        TEST(test_memory_stays_with_its_context),
        TEST(test_memory_that_was_a_buffer_is_not_kept),
        TEST(test_the_driver_is_out_of_memory),
        TEST(test_memory_of_pending_copies_is_not_given_out),
        TEST(test_memory_of_a_graph_launch_is_not_given_out),
        TEST(test_memory_that_a_host_function_frees_stays_until_its_copies_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
