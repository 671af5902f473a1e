/* SPDX-License-Identifier: MIT */
/* Host functions run in stream order, once, never on the caller's thread or holding others up. */
#include "../support/rig.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/check.h>

struct roll {
    unsigned next, wrong;
};

struct call {
    struct roll *roll;
    unsigned number;
};

static void answer(void *arg) {
    struct call *call = arg;
    call->roll->wrong += call->roll->next != call->number;
    call->roll->next++;
}

static void answer_callback(cls_stream stream, cls_status status, void *arg) {
    (void)stream;
    if (!status)
        answer(arg);
}

static void test_each_runs_once_and_in_order(void **state) {
    (void)state;
    enum { COUNT = 2000 };
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    struct roll roll = {0, 0};
    struct call *calls = calloc(COUNT, sizeof *calls);
    assert_non_null(calls);
    for (unsigned i = 0; i < COUNT; i++) {
        calls[i] = (struct call){&roll, i};
        if (i % 100 == 0)
            OK(rig_step(stream, cells, 0, 1, 1, 1));
        OK(i % 3 ? cls_stream_launch_host_async(stream, answer, &calls[i])
                 : cls_stream_add_callback(stream, answer_callback, &calls[i]));
    }
    OK(cls_stream_synchronize(stream));
    assert_int_equal(roll.next, COUNT);
    assert_int_equal(roll.wrong, 0);
    free(calls);
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

/* In parts, so that the library never holds all of them. */
static void test_a_million_callbacks(void **state) {
    (void)state;
    enum { COUNT = 1000000, PART = 100000 };
    cls_stream stream = rig_stream();
    struct roll roll = {0, 0};
    struct call *calls = calloc(PART, sizeof *calls);
    assert_non_null(calls);
    for (unsigned i = 0; i < COUNT; i++) {
        calls[i % PART] = (struct call){&roll, i};
        OK(cls_stream_add_callback(stream, answer_callback, &calls[i % PART]));
        if (i % PART == PART - 1)
            OK(cls_stream_synchronize(stream));
    }
    assert_int_equal(roll.next, COUNT);
    assert_int_equal(roll.wrong, 0);
    free(calls);
    OK(cls_stream_destroy(stream));
}

/* --- where they run --- */

struct place {
    pthread_t caller;
    bool same;
};

static void note_place(void *arg) {
    struct place *place = arg;
    place->same = pthread_equal(place->caller, pthread_self());
}

static void test_they_run_on_a_thread_of_the_library(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    struct place place = {pthread_self(), true};
    OK(cls_stream_launch_host_async(stream, note_place, &place));
    OK(cls_stream_synchronize(stream));
    assert_false(place.same);
    OK(cls_stream_destroy(stream));
}

/* --- blocking calls inside --- */

struct attempts {
    cls_stream stream, other;
    cls_event event;
    cls_buffer cells;
    unsigned made, refused;
    const char *wrong;
};

static void attempt(struct attempts *a, cls_status status, const char *call) {
    a->made++;
    if (status == CLS_ERROR_WOULD_DEADLOCK)
        a->refused++;
    else
        a->wrong = call;
}

#define ATTEMPT(call) attempt(a, call, #call)

static void try_to_block(void *arg) {
    struct attempts *a = arg;
    uint32_t value = 0;
    const cls_rect rect = {4, 1, 0, 4, 0, 4, 0, 0, 0};
    const cls_launch shape = cls_launch_1d(1);
    cls_arg args[5] = {cls_arg_buffer(a->cells), cls_arg_u32(0), cls_arg_u32(1), cls_arg_u32(1),
                       cls_arg_u32(1)};
    cl_event event;
    cls_buffer made = NULL;
    ATTEMPT(cls_stream_synchronize(a->stream));
    ATTEMPT(cls_stream_synchronize(a->other));
    ATTEMPT(cls_stream_synchronize(NULL));
    ATTEMPT(cls_stream_wait(a->other, 1000));
    ATTEMPT(cls_stream_reset(a->other));
    ATTEMPT(cls_event_synchronize(a->event));
    ATTEMPT(cls_event_wait(a->event, 1000));
    ATTEMPT(cls_event_wait_cl(a->event, 1000, &event));
    ATTEMPT(cls_context_synchronize(rig.context));
    ATTEMPT(cls_copy_h2d(a->cells, 0, &value, 4, a->other));
    ATTEMPT(cls_copy_d2h(&value, a->cells, 0, 4, a->other));
    ATTEMPT(cls_copy_d2d(a->cells, 4, a->cells, 0, 4, a->other));
    ATTEMPT(cls_copy_rect_h2d(a->cells, &value, &rect, a->other));
    ATTEMPT(cls_copy_rect_d2h(&value, a->cells, &rect, a->other));
    ATTEMPT(cls_fill(a->cells, 0, 4, &value, 4, a->other));
    ATTEMPT(cls_prefetch(a->cells, CLS_TO_DEVICE, a->other));
    ATTEMPT(cls_kernel_launch(rig.step, &shape, args, 5, a->other));
    ATTEMPT(cls_buffer_from_host(rig.context, &value, 4, &made));
    ATTEMPT(cls_buffer_to_host(a->cells, &value, 4));
}

static void try_to_block_back(cls_stream stream, cls_status status, void *arg) {
    (void)stream;
    if (!status)
        try_to_block(arg);
}

static cl_int try_to_block_foreign(cl_command_queue queue, void *arg) {
    (void)queue;
    try_to_block(arg);
    return CL_SUCCESS;
}

static void test_blocking_calls_inside_are_refused(void **state) {
    (void)state;
    struct attempts a = {rig_stream(), rig_stream(), rig_event(), rig_cells(4), 0, 0, NULL};
    OK(cls_event_record(a.event, a.stream));
    OK(cls_stream_launch_host_async(a.stream, try_to_block, &a));
    OK(cls_stream_synchronize(a.stream));
    OK(cls_stream_add_callback(a.stream, try_to_block_back, &a));
    OK(cls_stream_synchronize(a.stream));
    OK(cls_stream_foreign_async(a.stream, NULL, try_to_block_foreign, &a));
    OK(cls_stream_synchronize(a.stream));
    if (a.wrong)
        print_error("not refused: %s\n", a.wrong);
    assert_int_equal(a.refused, a.made);
    assert_int_equal(a.made, 57);
    OK(cls_stream_destroy(a.stream));
    OK(cls_stream_destroy(a.other));
    OK(cls_event_destroy(a.event));
    OK(cls_buffer_destroy(a.cells));
}

struct freeing {
    void *memory;
    cls_status status, again;
};

static void free_inside(void *arg) {
    struct freeing *freeing = arg;
    freeing->status = cls_host_free(freeing->memory);
    freeing->again = cls_host_free(freeing->memory);
}

/* It returns at once, and the memory stays until the copies that use it are
 * done. */
static void test_pinned_memory_is_freed_inside(void **state) {
    (void)state;
    enum { CELLS = 1024 };
    struct freeing freeing = {NULL, CLS_ERROR_INVALID_STATE, CLS_SUCCESS};
    struct gate gate;
    cls_stream stream = rig_stream(), other = rig_stream();
    cls_buffer cells = rig_cells(CELLS);
    gate_init(&gate);
    OK(cls_host_alloc(rig.context, CELLS * 4, &freeing.memory));
    memset(freeing.memory, 1, CELLS * 4);
    OK(cls_stream_launch_host_async(other, gate_hold, &gate));
    OK(cls_copy_h2d_async(cells, 0, freeing.memory, CELLS * 4, other));
    OK(cls_stream_launch_host_async(stream, free_inside, &freeing));
    OK(cls_stream_synchronize(stream));
    OK(freeing.status);
    EXPECT(CLS_ERROR_INVALID_VALUE, freeing.again);
    gate_open(&gate);
    OK(cls_stream_synchronize(other));
    assert_int_equal(rig_cell(cells, CELLS - 1), 0x01010101);
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(other));
    OK(cls_buffer_destroy(cells));
    gate_destroy(&gate);
}

/* --- submitting inside --- */

struct relay {
    cls_stream stream, other;
    cls_buffer cells;
    cls_event event;
    unsigned left, refused;
    sem_t done;
};

/* How often it is passed on. */
static unsigned relay_start(struct relay *relay) {
    *relay = (struct relay){
        rig_stream(), rig_stream(), rig_cells(1), rig_event(), rig_scale(500, 20), 0, {{0}}};
    assert_int_equal(sem_init(&relay->done, 0, 0), 0);
    return relay->left;
}

static void relay_finish(struct relay *relay, unsigned count) {
    assert_true(sem_comes(&relay->done));
    OK(cls_context_synchronize(rig.context));
    assert_int_equal(relay->refused, 0);
    assert_int_equal(rig_cell(relay->cells, 0), count + 1);
    OK(cls_stream_destroy(relay->stream));
    OK(cls_stream_destroy(relay->other));
    OK(cls_event_destroy(relay->event));
    OK(cls_buffer_destroy(relay->cells));
}

/* Submits to its own stream and to another, and passes itself on. */
static void pass_on(void *arg) {
    struct relay *relay = arg;
    cls_stream next = relay->left % 2 ? relay->stream : relay->other;
    relay->refused += rig_step(next, relay->cells, 0, 1, 1, 0) != CLS_SUCCESS;
    relay->refused += cls_event_record(relay->event, next) != CLS_SUCCESS;
    relay->refused += cls_stream_wait_event(next == relay->other ? relay->stream : relay->other,
                                            relay->event) != CLS_SUCCESS;
    cls_status query = cls_stream_query(relay->stream);
    relay->refused += query != CLS_SUCCESS && query != CLS_NOT_READY;
    cls_check_release(&relay->done);
    if (relay->left-- == 0 ||
        cls_stream_launch_host_async(next == relay->other ? relay->stream : relay->other, pass_on,
                                     relay))
        sem_post(&relay->done);
}

static void test_submitting_inside_works(void **state) {
    (void)state;
    struct relay relay;
    unsigned count = relay_start(&relay);
    OK(cls_stream_launch_host_async(relay.stream, pass_on, &relay));
    relay_finish(&relay, count);
}

/* Passes itself on from stream to stream, with work in between; its own stream's work is done by then. */
static void enqueue_back(cls_stream stream, cls_status status, void *arg) {
    struct relay *relay = arg;
    cls_stream next = stream == relay->other ? relay->stream : relay->other;
    relay->refused += status != CLS_SUCCESS || rig_step(next, relay->cells, 0, 1, 1, 0);
    if (relay->left-- == 0 || cls_stream_add_callback(next, enqueue_back, relay))
        sem_post(&relay->done);
}

static void test_callbacks_may_enqueue(void **state) {
    (void)state;
    struct relay relay;
    unsigned count = relay_start(&relay);
    OK(cls_stream_add_callback(relay.stream, enqueue_back, &relay));
    relay_finish(&relay, count);
}

struct aftermath {
    cls_stream healthy;
    cls_buffer cells;
    cls_status seen, own, other;
    _Atomic unsigned again;
};

static void count_again(cls_stream stream, cls_status status, void *arg) {
    struct aftermath *aftermath = arg;
    (void)stream;
    aftermath->again += status == CLS_ERROR_COMMAND_FAILED;
}

static void enqueue_after_failure(cls_stream stream, cls_status status, void *arg) {
    struct aftermath *aftermath = arg;
    aftermath->seen = status;
    aftermath->own = rig_set(stream, aftermath->cells, 0, 7, 0);
    aftermath->other = rig_set(aftermath->healthy, aftermath->cells, 1, 8, 0);
    if (cls_stream_add_callback(stream, count_again, aftermath))
        aftermath->again = 99;
}

/* On the failed stream only callbacks are accepted; other streams take everything. */
static void test_callbacks_may_enqueue_after_a_failure(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    struct aftermath aftermath = {.healthy = rig_stream(), .cells = rig_cells(2)};
    OK(rig_fail(stream, "fails", -5));
    OK(cls_stream_add_callback(stream, enqueue_after_failure, &aftermath));
    assert_true(counter_comes(&aftermath.again, 1));
    assert_int_equal(aftermath.seen, CLS_ERROR_COMMAND_FAILED);
    assert_int_equal(aftermath.own, CLS_ERROR_COMMAND_FAILED);
    assert_int_equal(aftermath.other, CLS_SUCCESS);
    OK(cls_stream_synchronize(aftermath.healthy));
    assert_int_equal(rig_cell(aftermath.cells, 0), 0);
    assert_int_equal(rig_cell(aftermath.cells, 1), 8);
    assert_int_equal(aftermath.again, 1);
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(aftermath.healthy));
    OK(cls_buffer_destroy(aftermath.cells));
}

static void destroy_stream(void *arg) {
    cls_stream *stream = arg;
    if (cls_stream_destroy(*stream) == CLS_SUCCESS)
        *stream = NULL;
}

static void test_a_host_function_may_destroy_its_stream(void **state) {
    (void)state;
    cls_stream stream = rig_stream(), other = rig_stream(), copy = stream;
    cls_event event = rig_event();
    OK(cls_stream_launch_host_async(stream, destroy_stream, &copy));
    cls_status status = cls_event_record(event, stream);
    assert_true(status == CLS_SUCCESS || status == CLS_ERROR_INVALID_HANDLE);
    OK(cls_event_synchronize(event));
    OK(cls_context_synchronize(rig.context));
    double until = now_ms() + 60000;
    while (cls_stream_query(stream) != CLS_ERROR_INVALID_HANDLE && now_ms() < until)
        nap_ms(1);
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_stream_query(stream));
    OK(cls_stream_destroy(other));
    OK(cls_event_destroy(event));
}

/* --- long ones --- */

static void rise(void *arg) { atomic_fetch_add((_Atomic unsigned *)arg, 1); }

/* Many streams are held by host functions that do not return; the others go on. */
static void test_a_long_host_function_delays_nobody_else(void **state) {
    (void)state;
    enum { HELD = 40, FREE = 40 };
    cls_stream held[HELD], others[FREE];
    cls_buffer cells = rig_cells(FREE);
    struct gate gate;
    _Atomic unsigned ran = 0, late = 0;
    gate_init(&gate);
    for (int i = 0; i < HELD; i++) {
        held[i] = rig_stream();
        OK(cls_stream_launch_host_async(held[i], gate_hold, &gate));
        OK(cls_stream_launch_host_async(held[i], rise, (void *)&late));
    }
    for (int i = 0; i < FREE; i++) {
        others[i] = rig_stream();
        OK(rig_set(others[i], cells, (uint32_t)i, 1, 0));
        OK(cls_stream_launch_host_async(others[i], rise, (void *)&ran));
    }
    for (int i = 0; i < FREE; i++)
        OK(cls_stream_synchronize(others[i]));
    assert_int_equal(ran, FREE);
    assert_int_equal(late, 0);
    for (int i = 0; i < HELD; i++)
        gate_await(&gate); /* each is running, all at once */
    for (int i = 0; i < HELD; i++)
        gate_open(&gate);
    for (int i = 0; i < HELD; i++)
        OK(cls_stream_synchronize(held[i]));
    assert_int_equal(late, HELD);
    for (int i = 0; i < HELD; i++)
        OK(cls_stream_destroy(held[i]));
    for (int i = 0; i < FREE; i++)
        OK(cls_stream_destroy(others[i]));
    OK(cls_buffer_destroy(cells));
    gate_destroy(&gate);
}

/* Later work of the stream starts only when the function has returned. */
static void test_later_work_waits_for_the_function(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    struct gate gate;
    gate_init(&gate);
    OK(rig_set(stream, cells, 0, 1, 5));
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(rig_set(stream, cells, 0, 2, 0));
    gate_await(&gate);
    nap_ms(20);
    assert_int_equal(rig_cell(cells, 0), 1); /* read on the default stream */
    EXPECT(CLS_NOT_READY, cls_stream_query(stream));
    gate_open(&gate);
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(cells, 0), 2);
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
    gate_destroy(&gate);
}

static void fail_twice(void *arg) {
    (void)arg;
    OK(cls_host_function_fail("the disk is full"));
    OK(cls_host_function_fail("and this is too late"));
}

static void fail_callback(cls_stream stream, cls_status status, void *arg) {
    (void)stream;
    (void)status;
    (void)arg;
    char long_text[300];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;
    OK(cls_host_function_fail(long_text));
}

static void test_a_host_function_may_fail(void **state) {
    (void)state;
    struct roll roll = {0, 0};
    struct call call = {&roll, 0};
    cls_stream stream = rig_stream(), other = rig_stream();
    cls_event event;
    OK(cls_event_create(rig.context, NULL, &event));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_host_function_fail("outside"));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_host_function_fail(NULL));
    OK(cls_stream_launch_host_async(stream, fail_twice, NULL));
    OK(cls_event_record(event, stream));
    OK(cls_stream_wait_event(other, event));
    cls_stream_launch_host_async(other, answer,
                                 &call); /* refused if the failure is known already */
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(other));
    assert_non_null(strstr(cls_last_error_detail(), "the disk is full"));
    assert_null(strstr(cls_last_error_detail(), "too late"));
    assert_int_equal(roll.next, 0);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    OK(cls_stream_reset(stream));
    OK(cls_stream_launch_host_async(stream, answer, &call));
    OK(cls_stream_synchronize(stream)); /* the failure was that call's alone */
    assert_int_equal(roll.next, 1);
    OK(cls_stream_add_callback(stream, fail_callback, NULL));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    assert_non_null(strstr(cls_last_error_detail(), "xxxxxxxx"));
    OK(cls_event_destroy(event));
    OK(cls_stream_destroy(other));
    OK(cls_stream_destroy(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_runs_once_and_in_order),
        cmocka_unit_test(test_a_million_callbacks),
        cmocka_unit_test(test_they_run_on_a_thread_of_the_library),
        cmocka_unit_test(test_blocking_calls_inside_are_refused),
        cmocka_unit_test(test_pinned_memory_is_freed_inside),
        cmocka_unit_test(test_submitting_inside_works),
        cmocka_unit_test(test_callbacks_may_enqueue),
        cmocka_unit_test(test_callbacks_may_enqueue_after_a_failure),
        cmocka_unit_test(test_a_host_function_may_destroy_its_stream),
        cmocka_unit_test(test_a_long_host_function_delays_nobody_else),
        cmocka_unit_test(test_later_work_waits_for_the_function),
        cmocka_unit_test(test_a_host_function_may_fail),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
