/* SPDX-License-Identifier: MIT */
/* CLSTREAM_CHECK=leak: at exit the library says what was not destroyed, and nothing of its own. */
#include "../support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <clstream.h>
#include <clstream/opencl.h>

static char said[16384];

/* Runs `body` in a process of its own under the checker, to its exit, and reads what that says. */
static void run(void (*body)(void), const char *checks) {
    char log[] = "/tmp/clstream-leaks-XXXXXX";
    int status;
    const int fd = mkstemp(log);
    assert_true(fd >= 0);
    fflush(NULL);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        setenv("CLSTREAM_CHECK", checks, 1);
        setenv("CLSTREAM_CHECK_LOG", log, 1);
        body();
        exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    const ssize_t n = read(fd, said, sizeof said - 1);
    close(fd);
    unlink(log);
    assert_int_equal(status, 0);
    assert_true(n >= 0);
    said[n] = 0;
}

static void must(cls_status status) {
    if (status)
        _exit(2);
}

/* The parts come in this order. */
static void expect_in_order(const char *const *parts, unsigned n) {
    const char *at = said;
    for (unsigned i = 0; i < n; i++) {
        const char *found = strstr(at, parts[i]);
        if (!found)
            fail_msg("\"%s\" is not said, or not in its place: %s", parts[i], said);
        at = found + strlen(parts[i]);
    }
}

static void leave_some(void) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream stream;
    cls_event event;
    cls_buffer buffer, allocated;
    cls_context context;
    void *pinned;
    config.name = "forgotten";
    must(cls_stream_create(NULL, &config, &stream));
    must(cls_buffer_create(NULL, 100, &buffer));
    must(cls_buffer_destroy(buffer));
    must(cls_buffer_create(NULL, 200, &buffer));
    must(cls_buffer_create(NULL, 300, &buffer));
    must(cls_malloc_async(stream, 4096, &allocated));
    must(cls_event_create(NULL, NULL, &event));
    must(cls_host_alloc(NULL, 600, &pinned));
    must(cls_host_free(pinned)); /* and kept for the next */
    must(cls_host_alloc(NULL, 500, &pinned));
    must(cls_context_create(NULL, &context));
}

static void test_what_is_left_is_listed(void **state) {
    static const char *const parts[] = {
        "leak check: 7 objects were not destroyed",
        "buffer of 200 bytes, made by cls_buffer_create",
        "buffer of 300 bytes, made by cls_buffer_create",
        "buffer of 4096 bytes, made by cls_malloc_async",
        "event, made by cls_event_create",
        "stream 'forgotten', made by cls_stream_create",
        "context, made by cls_context_create",
        "pinned memory of 500 bytes, made by cls_host_alloc",
    };
    (void)state;
    run(leave_some, "leak");
    expect_in_order(parts, sizeof parts / sizeof parts[0]);
}

static void leave_maps(void) {
    cls_buffer kept, destroyed;
    void *pointer;
    must(cls_buffer_create(NULL, 100, &kept));
    must(cls_buffer_create(NULL, 100, &destroyed));
    must(cls_buffer_map(kept, CLS_MAP_READ, 4, 12, NULL, &pointer));
    must(cls_buffer_map(kept, CLS_MAP_WRITE, 20, 8, NULL, &pointer));
    must(cls_buffer_unmap(kept, pointer, NULL));
    must(cls_buffer_map(destroyed, CLS_MAP_WRITE, 0, 4, NULL, &pointer));
    must(cls_buffer_destroy(destroyed));
}

static void test_a_map_that_is_left(void **state) {
    static const char *const parts[] = {"2 objects were not destroyed", "buffer of 100 bytes",
                                        "map of 12 bytes of a buffer, made by cls_buffer_map"};
    (void)state;
    run(leave_maps, "leak");
    expect_in_order(parts, sizeof parts / sizeof parts[0]);
}

static cls_status load(void *arg, uint64_t index, void *memory, size_t capacity, size_t *bytes) {
    (void)arg;
    (void)memory;
    *bytes = index < 4 ? capacity : 0;
    return CLS_SUCCESS;
}

/* Blocks with streams, events and memory of their own. */
static void leave_blocks(void) {
    cls_context context;
    cls_managed_context managed;
    cls_device_group group;
    cls_pipeline pipeline;
    cls_prefetcher prefetcher;
    cls_async_coordinator coordinator;
    cls_triple_buffer ring;
    must(cls_triple_buffer_create(NULL, 64, NULL, &ring));
    must(cls_async_coordinator_create(NULL, NULL, &coordinator));
    must(cls_prefetcher_create(NULL, 64, load, NULL, NULL, &prefetcher));
    must(cls_pipeline_create(NULL, NULL, &pipeline));
    must(cls_context_default(&context));
    must(cls_device_group_create(&context, 1, NULL, &group));
    must(cls_managed_context_create(NULL, 1, &managed));
}

static void test_a_block_is_one_object(void **state) {
    static const char *const parts[] = {"6 objects were not destroyed",
                                        "managed context, made",
                                        "device group, made",
                                        "pipeline, made",
                                        "prefetcher, made",
                                        "async coordinator, made",
                                        "triple buffer, made by cls_triple_"};
    (void)state;
    run(leave_blocks, "leak");
    expect_in_order(parts, sizeof parts / sizeof parts[0]);
}

static const float ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/* What an executable graph has for itself: memory of its buffers, and a graph in which its operations are fused. */
static void leave_graphs(void) {
    cls_graph_config fused = CLS_GRAPH_CONFIG_INIT;
    cls_graph graph;
    cls_graph_exec exec;
    cls_buffer buffer, kept;
    cls_stream stream;
    fused.fuse = 1;
    must(cls_stream_create(NULL, NULL, &stream));
    must(cls_buffer_create(NULL, sizeof ones, &kept));
    const cls_array array = cls_array_of(kept, CLS_F32, 16);
    must(cls_stream_begin_capture(stream, "memory"));
    must(cls_malloc_async(stream, sizeof ones, &buffer));
    must(cls_fill_async(buffer, 0, sizeof ones, ones, 4, stream));
    must(cls_copy_d2d_async(kept, 0, buffer, 0, sizeof ones, stream));
    must(cls_free_async(buffer, stream));
    must(cls_stream_end_capture(stream, &graph));
    must(cls_graph_instantiate(graph, NULL, &exec));
    must(cls_graph_destroy(graph));
    must(cls_stream_begin_capture(stream, "fused"));
    must(cls_unary_async(CLS_UNARY_ABS, array, array, stream));
    must(cls_unary_async(CLS_UNARY_NEG, array, array, stream));
    must(cls_stream_end_capture(stream, &graph));
    must(cls_graph_instantiate(graph, &fused, &exec));
    must(cls_graph_launch(exec, stream));
    must(cls_graph_destroy(graph));
    must(cls_buffer_destroy(kept));
    must(cls_stream_destroy(stream));
}

static void test_an_executable_graph_is_one_object(void **state) {
    static const char *const parts[] = {"2 objects were not destroyed",
                                        "executable graph, made by cls_graph_instantiate",
                                        "executable graph, made by cls_graph_instantiate"};
    (void)state;
    run(leave_graphs, "leak");
    expect_in_order(parts, sizeof parts / sizeof parts[0]);
}

/* Types of objects that several calls make. */
static void leave_by_other_calls(void) {
    cls_managed_context managed;
    cls_triple_buffer ring;
    cls_pipeline pipeline;
    cls_context context;
    cls_mempool pool;
    cls_stream stream;
    cls_graph graph;
    cls_buffer buffer;
    cl_context cl;
    cl_device_id device;
    cl_mem memory;
    must(cls_managed_context_create(NULL, 0, &managed));
    must(cls_managed_context_make_triple_buffer(managed, 64, NULL, &ring));
    must(cls_managed_context_make_pipeline(managed, NULL, &pipeline));
    must(cls_buffer_from_host(NULL, ones, 16, &buffer));
    must(cls_buffer_get_cl(buffer, &memory));
    must(cls_buffer_wrap(NULL, memory, &buffer));
    must(cls_stream_create(NULL, NULL, &stream));
    must(cls_mempool_default(NULL, &pool));
    must(cls_mempool_malloc_async(pool, stream, 32, &buffer));
    must(cls_stream_begin_capture(stream, NULL));
    must(cls_malloc_async(stream, 48, &buffer));
    must(cls_stream_end_capture(stream, &graph));
    must(cls_context_get_cl(NULL, &cl, &device));
    must(cls_context_wrap(cl, device, &context));
}

static void test_the_call_is_named(void **state) {
    static const char *const parts[] = {
        "10 objects were not destroyed",
        "pipeline, made by cls_managed_context_make_pipeline",
        "triple buffer, made by cls_managed_context_make_triple_buffer",
        "graph, made by cls_stream_end_capture",
        "buffer of 16 bytes, made by cls_buffer_from_host",
        "buffer of 16 bytes, made by cls_buffer_wrap",
        "buffer of 32 bytes, made by cls_mempool_malloc_async",
        "buffer of 48 bytes, made by cls_malloc_async",
        "context, made by cls_context_wrap",
    };
    (void)state;
    run(leave_by_other_calls, "leak");
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!strstr(said, parts[i]))
            fail_msg("\"%s\" is not said: %s", parts[i], said);
}

static void leave_nothing(void) {
    const float three[] = {1, 2, 3};
    float sum[3];
    cls_stream stream;
    cls_buffer buffer;
    must(cls_stream_create(NULL, NULL, &stream));
    must(cls_malloc_async(stream, 64, &buffer));
    must(cls_free_async(buffer, stream));
    must(cls_host_binary(CLS_BINARY_ADD, CLS_F32, three, three, sum, 3, stream));
    must(cls_stream_synchronize(stream));
    must(cls_stream_destroy(stream));
}

static void test_nothing_left_is_said(void **state) {
    static const char *const parts[] = {"race check is on", "every object was destroyed",
                                        "race check: ", "0 races, 0 possible"};
    (void)state;
    run(leave_nothing, "race,leak");
    expect_in_order(parts, sizeof parts / sizeof parts[0]);
}

static void test_off_it_is_silent(void **state) {
    (void)state;
    run(leave_some, "");
    assert_string_equal(said, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_left_is_listed),
        cmocka_unit_test(test_a_map_that_is_left),
        cmocka_unit_test(test_a_block_is_one_object),
        cmocka_unit_test(test_an_executable_graph_is_one_object),
        cmocka_unit_test(test_the_call_is_named),
        cmocka_unit_test(test_nothing_left_is_said),
        cmocka_unit_test(test_off_it_is_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
