/* SPDX-License-Identifier: MIT */
/* Records of a stream that only waits for another, and timed ones behind work: on an out-of-order queue they are no
 * commands of the driver's, on an in-order queue they are, and in both cases they order. */
#include "../support/test.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include <clstream.h>
#include <clstream/opencl.h>

enum { ROUNDS = 100, WORDS = 1 << 16 };

static const char source[] = "kernel void slow(global uint *words, uint rounds) {\n"
                             "    uint x = rounds | 1u;\n"
                             "    for (uint i = 0; i < rounds; i++) {\n"
                             "        x ^= x << 13; x ^= x >> 17; x ^= x << 5;\n"
                             "    }\n"
                             "    words[get_global_id(0)] = x | 1u;\n"
                             "}\n";

static atomic_uint markers;

cl_int __real_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count,
                                          const cl_event *events, cl_event *event);
cl_int __wrap_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count,
                                          const cl_event *events, cl_event *event);

cl_int __wrap_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count,
                                          const cl_event *events, cl_event *event) {
    markers++;
    return __real_clEnqueueMarkerWithWaitList(queue, count, events, event);
}

struct pair {
    cls_context context;
    cls_stream streams[2];
    cls_event event;
    cls_buffer words;
    cls_program program;
    cls_kernel kernel;
};

static void make_pair(struct pair *pair, cls_order order) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    config.order = order;
    assert_int_equal(cls_context_create(NULL, &pair->context), CLS_SUCCESS);
    cls_status status = cls_stream_create(pair->context, &config, &pair->streams[0]);
    if (status == CLS_ERROR_UNSUPPORTED) {
        assert_int_equal(cls_context_destroy(pair->context), CLS_SUCCESS);
        print_message("this device has no out-of-order queues\n");
        skip();
    }
    assert_int_equal(status, CLS_SUCCESS);
    assert_int_equal(cls_stream_create(pair->context, &config, &pair->streams[1]), CLS_SUCCESS);
    assert_int_equal(cls_event_create(pair->context, NULL, &pair->event), CLS_SUCCESS);
    assert_int_equal(cls_buffer_create(pair->context, WORDS * sizeof(uint32_t), &pair->words),
                     CLS_SUCCESS);
    assert_int_equal(
        cls_program_from_source(pair->context, source, "slow.cl", NULL, &pair->program),
        CLS_SUCCESS);
    assert_int_equal(cls_kernel_create(pair->program, "slow", &pair->kernel), CLS_SUCCESS);
}

static void drop_pair(struct pair *pair) {
    assert_int_equal(cls_kernel_destroy(pair->kernel), CLS_SUCCESS);
    assert_int_equal(cls_program_destroy(pair->program), CLS_SUCCESS);
    assert_int_equal(cls_buffer_destroy(pair->words), CLS_SUCCESS);
    assert_int_equal(cls_event_destroy(pair->event), CLS_SUCCESS);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(cls_stream_destroy(pair->streams[i]), CLS_SUCCESS);
    assert_int_equal(cls_context_destroy(pair->context), CLS_SUCCESS);
}

static void work(struct pair *pair, uint32_t rounds) {
    const cls_launch shape = cls_launch_1d(WORDS);
    const cls_arg args[] = {cls_arg_buffer(pair->words), cls_arg_u32(rounds)};
    assert_int_equal(cls_kernel_launch_async(pair->kernel, &shape, args, 2, pair->streams[0]),
                     CLS_SUCCESS);
}

/* Each stream in turn waits for the other and records, behind a kernel of the first one; whether that was
 * still at work when the last record was made. */
static bool go_round(struct pair *pair) {
    cls_stream *const streams = pair->streams;
    for (unsigned i = 0; i < ROUNDS; i++) {
        assert_int_equal(cls_event_record(pair->event, streams[i % 2]), CLS_SUCCESS);
        assert_int_equal(cls_stream_wait_event(streams[(i + 1) % 2], pair->event), CLS_SUCCESS);
    }
    assert_int_equal(cls_event_record(pair->event, streams[ROUNDS % 2]), CLS_SUCCESS);
    return cls_event_query(pair->event) == CLS_NOT_READY;
}

static void round_trip(cls_order order, unsigned low, unsigned high) {
    struct pair pair;
    uint32_t word = 0;
    bool busy = false;
    make_pair(&pair, order);
    for (uint32_t rounds = 1 << 10; !busy; rounds *= 2) {
        assert_true(rounds < 1u << 31);
        assert_int_equal(cls_context_synchronize(pair.context), CLS_SUCCESS);
        markers = 0;
        work(&pair, rounds);
        busy = go_round(&pair);
    }
    assert_true(markers >= low && markers <= high);
    assert_int_equal(cls_event_synchronize(pair.event), CLS_SUCCESS);
    assert_int_equal(cls_stream_query(pair.streams[0]), CLS_SUCCESS);
    assert_int_equal(cls_copy_d2h(&word, pair.words, 0, sizeof word, pair.streams[1]), CLS_SUCCESS);
    assert_int_not_equal(word, 0);
    drop_pair(&pair);
}

static void test_out_of_order(void **state) {
    (void)state;
    round_trip(CLS_ORDER_OUT_OF_ORDER, 0, 0);
}

static void test_in_order(void **state) {
    (void)state;
    round_trip(CLS_ORDER_IN_ORDER, ROUNDS - 1, 2 * ROUNDS);
}

/* Behind each piece of work a timed record, while the first is still at work; whether it was to the end. */
static bool record_each(struct pair *pair, cls_event *events) {
    work(pair, 1);
    assert_int_equal(cls_event_record(events[0], pair->streams[0]), CLS_SUCCESS);
    for (unsigned i = 1; i < ROUNDS; i++) {
        work(pair, 1);
        assert_int_equal(cls_event_record(events[i], pair->streams[0]), CLS_SUCCESS);
    }
    return cls_event_query(events[0]) == CLS_NOT_READY;
}

static void expect_times_in_order(cls_event *events) {
    for (unsigned i = 1; i < ROUNDS; i++) {
        double ms = -1;
        assert_int_equal(cls_event_elapsed(events[i - 1], events[i], &ms), CLS_SUCCESS);
        assert_true(ms >= 0);
    }
}

/* The first record may move the stream to a queue that is profiled. */
static void test_timed_behind_work(void **state) {
    const cls_event_config timed = {.size = sizeof timed, .timed = 1};
    cls_event events[ROUNDS];
    struct pair pair;
    bool busy = false;
    (void)state;
    make_pair(&pair, CLS_ORDER_OUT_OF_ORDER);
    for (unsigned i = 0; i < ROUNDS; i++)
        assert_int_equal(cls_event_create(pair.context, &timed, &events[i]), CLS_SUCCESS);
    for (uint32_t rounds = 1 << 10; !busy; rounds *= 2) {
        assert_true(rounds < 1u << 31);
        assert_int_equal(cls_context_synchronize(pair.context), CLS_SUCCESS);
        markers = 0;
        work(&pair, rounds);
        busy = record_each(&pair, events);
    }
    assert_true(markers <= 1);
    assert_int_equal(cls_context_synchronize(pair.context), CLS_SUCCESS);
    expect_times_in_order(events);
    for (unsigned i = 0; i < ROUNDS; i++)
        assert_int_equal(cls_event_destroy(events[i]), CLS_SUCCESS);
    drop_pair(&pair);
}

int main(void) {
    unsetenv("CLSTREAM_QUEUE_ORDER");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_out_of_order),
        cmocka_unit_test(test_in_order),
        cmocka_unit_test(test_timed_behind_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
