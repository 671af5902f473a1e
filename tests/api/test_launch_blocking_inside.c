/* SPDX-License-Identifier: MIT */
/* CLSTREAM_LAUNCH_BLOCKING=1: what a call on an object waits for can use that object. */
#include "../support/rig.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/async_coordinator.h>
#include <clstream/batch.h>
#include <clstream/device_group.h>
#include <clstream/prefetcher.h>
#include <clstream/triple_buffer.h>

/* A host function on a stream, which uses an object once a call on that object has come to wait behind it: with a
 * command of the other stream. */
struct inside {
    cls_stream stream, other;
    cls_status (*use)(void *object);
    void *object;
    cls_status used;
    sem_t runs;
    pthread_t thread;
};

static uint64_t commands_of(cls_stream stream) {
    cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
    uint64_t sum = 0;
    OK(cls_stream_get_counters(stream, &counters));
    for (int kind = 0; kind < CLS_COMMAND_KINDS; kind++)
        sum += counters.commands[kind];
    return sum;
}

static void use_inside(void *arg) {
    struct inside *inside = arg;
    const uint64_t before = commands_of(inside->other);
    sem_post(&inside->runs);
    while (commands_of(inside->other) == before)
        sched_yield();
    inside->used = inside->use(inside->object);
}

static void *launch(void *arg) {
    struct inside *inside = arg;
    OK(cls_stream_launch_host_async(inside->stream, use_inside, inside));
    return NULL;
}

static void begin_on(struct inside *inside, cls_stream stream, cls_stream other,
                     cls_status (*use)(void *object), void *object) {
    *inside = (struct inside){.stream = stream,
                              .other = other,
                              .use = use,
                              .object = object,
                              .used = CLS_ERROR_UNSUPPORTED};
    sem_init(&inside->runs, 0, 0);
    assert_int_equal(pthread_create(&inside->thread, NULL, launch, inside), 0);
    assert_true(sem_comes(&inside->runs));
}

static void begin(struct inside *inside, cls_stream stream, cls_status (*use)(void *object),
                  void *object) {
    begin_on(inside, stream, stream, use, object);
}

/* Ahead of `stream`, whose next mark is a command that waits for it. */
static void begin_before(struct inside *inside, cls_stream stream, cls_status (*use)(void *object),
                         void *object) {
    cls_stream first = rig_stream();
    cls_event event = rig_event();
    begin_on(inside, first, stream, use, object);
    OK(cls_event_record(event, first));
    OK(cls_stream_wait_event(stream, event));
    OK(cls_event_destroy(event));
    OK(cls_stream_destroy(first));
}

static void end(struct inside *inside) {
    pthread_join(inside->thread, NULL);
    OK(inside->used);
    sem_destroy(&inside->runs);
}

/* --- objects --- */

static cls_status poll(void *object) {
    cls_completion completion;
    size_t n;
    return cls_async_coordinator_poll(object, &completion, 1, &n);
}

static void test_an_async_coordinator(void **state) {
    (void)state;
    const uint32_t word = 7;
    cls_buffer cells = rig_cells(1);
    cls_async_coordinator coordinator;
    cls_completion done[2];
    struct inside inside;
    cls_stream uploads;
    cls_op op;
    size_t n;
    OK(cls_async_coordinator_create(rig.context, NULL, &coordinator));
    OK(cls_async_coordinator_get_stream(coordinator, CLS_OP_UPLOAD, &uploads));
    begin(&inside, uploads, poll, coordinator);
    OK(cls_async_coordinator_queue_upload(coordinator, &word, sizeof word, cls_place_buffer(cells),
                                          NULL, 0, &op));
    end(&inside);
    OK(cls_async_coordinator_poll(coordinator, done, 2, &n));
    assert_true(n == 1 && done[0].op == op && !done[0].status);
    assert_int_equal(rig_cell(cells, 0), word);
    OK(cls_async_coordinator_destroy(coordinator));
    OK(cls_buffer_destroy(cells));
}

static cls_status get_statistics(void *object) {
    cls_batch_statistics statistics = CLS_BATCH_STATISTICS_INIT;
    return cls_batch_get_statistics(object, &statistics);
}

static void test_a_batch(void **state) {
    (void)state;
    const float ones[4] = {1, 1, 1, 1};
    float doubled[4] = {0};
    cls_stream stream = rig_stream();
    struct inside inside;
    cls_batch batch;
    cls_value in, sum;
    OK(cls_batch_create(rig.context, NULL, &batch));
    OK(cls_batch_upload(batch, ones, CLS_F32, 4, &in));
    OK(cls_batch_binary(batch, CLS_BINARY_ADD, in, in, &sum));
    begin(&inside, stream, get_statistics, batch);
    OK(cls_batch_execute_async(batch, stream));
    end(&inside);
    begin(&inside, stream, get_statistics, batch);
    OK(cls_batch_read_async(batch, sum, doubled, stream));
    end(&inside);
    assert_true(doubled[0] == 2 && doubled[3] == 2);
    OK(cls_batch_destroy(batch));
    OK(cls_stream_destroy(stream));
}

struct group {
    cls_device_group group;
    cls_buffer cells;
};

static cls_status copy_inside(void *object) {
    const struct group *g = object;
    const cls_device_range from = {0, g->cells, 0}, to = {0, g->cells, 4};
    return cls_device_group_copy_async(g->group, to, from, 4);
}

static void test_a_device_group(void **state) {
    (void)state;
    const uint32_t word = 7;
    struct group g = {.cells = rig_cells(2)};
    cls_device_streams streams;
    struct inside inside;
    OK(cls_device_group_create(&rig.context, 1, NULL, &g.group));
    OK(cls_device_group_get_streams(g.group, 0, &streams));
    begin(&inside, streams.upload, copy_inside, &g);
    OK(cls_device_group_scatter_async(g.group, &word, sizeof word, &g.cells));
    end(&inside);
    OK(cls_device_group_synchronize(g.group));
    assert_int_equal(rig_cell(g.cells, 0), word);
    OK(cls_device_group_destroy(g.group));
    OK(cls_buffer_destroy(g.cells));
}

static cls_status get_states(void *object) {
    cls_slot_state states[3];
    return cls_triple_buffer_get_states(object, states, 3);
}

static void test_a_triple_buffer(void **state) {
    (void)state;
    cls_stream upload = rig_stream(), process = rig_stream();
    cls_triple_buffer ring;
    struct inside inside;
    cls_slot slot;
    OK(cls_triple_buffer_create(rig.context, 64, NULL, &ring));
    OK(cls_triple_buffer_upload_slot(ring, upload, &slot));
    begin_before(&inside, upload, get_states, ring);
    OK(cls_triple_buffer_process_slot(ring, process, &slot));
    end(&inside);
    begin_before(&inside, process, get_states, ring);
    OK(cls_triple_buffer_submitted(ring, slot.index));
    end(&inside);
    OK(cls_triple_buffer_destroy(ring));
    OK(cls_stream_destroy(upload));
    OK(cls_stream_destroy(process));
}

static cls_status load(void *arg, uint64_t index, void *memory, size_t capacity, size_t *bytes) {
    (void)arg;
    memset(memory, (int)index, capacity);
    *bytes = capacity;
    return CLS_SUCCESS;
}

static cls_status try_next(void *object) {
    cls_prefetched batch;
    const cls_status status = cls_prefetcher_try_next(object, NULL, &batch);
    return status == CLS_NOT_READY ? CLS_SUCCESS : status;
}

static void test_a_prefetcher(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_prefetcher prefetcher;
    cls_prefetched batch;
    struct inside inside;
    OK(cls_prefetcher_create(rig.context, 64, load, NULL, NULL, &prefetcher));
    OK(cls_prefetcher_next(prefetcher, stream, &batch));
    begin_before(&inside, stream, try_next, prefetcher);
    OK(cls_prefetcher_release(prefetcher, &batch, stream));
    end(&inside);
    OK(cls_prefetcher_destroy(prefetcher));
    OK(cls_stream_destroy(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_async_coordinator), cmocka_unit_test(test_a_batch),
        cmocka_unit_test(test_a_device_group),       cmocka_unit_test(test_a_triple_buffer),
        cmocka_unit_test(test_a_prefetcher),
    };
    setenv("CLSTREAM_LAUNCH_BLOCKING", "1", 1);
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
