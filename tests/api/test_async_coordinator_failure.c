/* SPDX-License-Identifier: MIT */
/* Async coordinators: what a failed or refused operation leaves to those that come behind it. */
#include <pthread.h>

#include "async_coordinators.h"

static cls_status fail_later(cls_stream stream, const cls_slot *slot, void *arg) {
    (void)slot;
    (void)arg;
    return rig_fail(stream, "a compute that fails", CL_OUT_OF_RESOURCES);
}

static cls_status refuse(cls_stream stream, const cls_slot *slot, void *arg) {
    (void)stream;
    (void)slot;
    (void)arg;
    return CLS_ERROR_NOT_FOUND;
}

static void failure_reaches_what_depends_on_it(void **state) {
    (void)state;
    cls_async_coordinator c = coordinator_make();
    cls_buffer cells = rig_cells(1);
    cls_compute what = CLS_COMPUTE_INIT;
    cls_op failed, op;
    uint32_t got = 6;
    cls_completion done[4];
    size_t n;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_async_coordinator_queue_compute(c, &what, NULL, 0, &op));
    what.fn = refuse;
    EXPECT(CLS_ERROR_NOT_FOUND, cls_async_coordinator_queue_compute(c, &what, NULL, 0, &op));
    assert_string_equal(cls_last_error_detail(),
                        "the function of a compute returned CLS_ERROR_NOT_FOUND");
    what.fn = fail_later;
    what.buffers = &cells;
    what.n_buffers = 1;
    OK(cls_async_coordinator_queue_compute(c, &what, NULL, 0, &failed));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_async_coordinator_wait(c, failed, CLS_FOREVER));
    assert_non_null(strstr(cls_last_error_detail(), "a compute that fails"));
    OK(cls_async_coordinator_poll(c, done, 4, &n));
    assert_int_equal(n, 1);
    assert_int_equal(done[0].op, failed);
    assert_int_equal(done[0].status, CLS_ERROR_COMMAND_FAILED);
    /* Refused, or failed, by the name of the first one. */
    EXPECT(CLS_ERROR_COMMAND_FAILED,
           cls_async_coordinator_queue_download(c, cls_place_buffer(cells), &got, 4, NULL, 0, &op));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_async_coordinator_synchronize_all(c));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_async_coordinator_wait(c, failed, CLS_FOREVER));
    assert_int_equal(got, 6);
    OK(cls_async_coordinator_reset(c));
    OK(cls_async_coordinator_wait(c, failed, CLS_FOREVER));
    struct step step = {cells, 0, 12, 0};
    compute(c, &step, &failed, 1);
    OK(cls_async_coordinator_queue_download(c, cls_place_buffer(cells), &got, 4, NULL, 0, NULL));
    OK(cls_async_coordinator_synchronize_all(c));
    assert_int_equal(got, 12);
    OK(cls_async_coordinator_destroy(c));
    OK(cls_buffer_destroy(cells));
}

struct half {
    struct gate gate;
    cls_buffer cells;
};

static cls_status submit_and_refuse(cls_stream stream, const cls_slot *slot, void *arg) {
    struct half *half = arg;
    (void)slot;
    OK(cls_stream_launch_host_async(stream, gate_hold, &half->gate));
    OK(rig_set(stream, half->cells, 0, 7, 0));
    return CLS_ERROR_NOT_FOUND;
}

/* Nobody runs into what a function has submitted before it failed, with its buffers named and not. */
static void what_a_failed_function_submitted_is_waited_for(void **state) {
    (void)state;
    for (unsigned named = 0; named < 2; named++) {
        struct half half = {.cells = rig_cells(1)};
        cls_async_coordinator c = coordinator_make();
        cls_compute compute = CLS_COMPUTE_INIT;
        uint32_t got = 0;
        cls_op download;
        gate_init(&half.gate);
        compute.fn = submit_and_refuse;
        compute.arg = &half;
        compute.buffers = &half.cells;
        compute.n_buffers = named;
        EXPECT(CLS_ERROR_NOT_FOUND,
               cls_async_coordinator_queue_compute(c, &compute, NULL, 0, NULL));
        OK(cls_async_coordinator_queue_download(c, cls_place_buffer(half.cells), &got, sizeof got,
                                                NULL, 0, &download));
        gate_await(&half.gate);
        nap_ms(20);
        gate_open(&half.gate);
        OK(cls_async_coordinator_wait(c, download, CLS_FOREVER));
        assert_int_equal(got, 7);
        OK(cls_async_coordinator_destroy(c));
        OK(cls_buffer_destroy(half.cells));
        gate_destroy(&half.gate);
    }
}

struct work_then_failure {
    cls_buffer cells;
    cls_event failed, worked;
};

static cls_status work_and_wait_for_failure(cls_stream stream, const cls_slot *slot, void *arg) {
    const struct work_then_failure *what = arg;
    (void)slot;
    OK(rig_set(stream, what->cells, 0, 77, 200));
    OK(cls_event_record(what->worked, stream));
    return cls_stream_wait_event(stream, what->failed);
}

/* Known to have failed is not done: what the operation submitted before the failure may be at work. */
static void a_failed_operation_is_told_when_its_work_is_over(void **state) {
    (void)state;
    cls_async_coordinator c = coordinator_make();
    cls_stream culprit = rig_stream();
    struct work_then_failure what = {rig_cells(1), rig_event(), rig_event()};
    cls_compute compute = CLS_COMPUTE_INIT;
    cls_completion done;
    cls_op op;
    size_t n = 0;
    OK(rig_fail(culprit, "the culprit", -5));
    OK(cls_event_record(what.failed, culprit));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(culprit));
    compute.fn = work_and_wait_for_failure;
    compute.arg = &what;
    compute.buffers = &what.cells;
    compute.n_buffers = 1;
    OK(cls_async_coordinator_queue_compute(c, &compute, NULL, 0, &op));
    while (!n)
        OK(cls_async_coordinator_poll(c, &done, 1, &n));
    OK(cls_event_query(what.worked));
    assert_int_equal(done.op, op);
    EXPECT(CLS_ERROR_COMMAND_FAILED, done.status);
    assert_int_equal(rig_cell(what.cells, 0), 77);
    OK(cls_async_coordinator_destroy(c));
    OK(cls_stream_destroy(culprit));
    OK(cls_event_destroy(what.failed));
    OK(cls_event_destroy(what.worked));
    OK(cls_buffer_destroy(what.cells));
}

/* What is refused before its function is called has done nothing that others could come behind: a buffer's last
 * operation is the one that it was. */
static void a_refused_compute_leaves_the_order(void **state) {
    (void)state;
    cls_async_coordinator c = coordinator_make();
    cls_buffer cells = rig_cells(1), others = rig_cells(1);
    struct step step = {others, 0, 1, 0};
    cls_compute refused = CLS_COMPUTE_INIT;
    const uint32_t in = 42;
    uint32_t out = 0;
    cls_triple_buffer ring;
    cls_stream up, down;
    struct gate gate;
    OK(cls_triple_buffer_create(rig.context, 4, NULL, &ring));
    OK(cls_async_coordinator_get_stream(c, CLS_OP_UPLOAD, &up));
    OK(cls_async_coordinator_get_stream(c, CLS_OP_DOWNLOAD, &down));
    compute(c, &step, NULL, 0);
    OK(cls_async_coordinator_synchronize_all(c));
    gate_init(&gate);
    OK(cls_stream_launch_host_async(up, gate_hold, &gate));
    OK(cls_async_coordinator_queue_upload(c, &in, 4, cls_place_buffer(cells), NULL, 0, NULL));
    refused.fn = run_step;
    refused.arg = &step;
    refused.slots = ring;
    refused.buffers = &cells;
    refused.n_buffers = 1;
    EXPECT(CLS_ERROR_INVALID_STATE,
           cls_async_coordinator_queue_compute(c, &refused, NULL, 0, NULL));
    OK(cls_async_coordinator_queue_download(c, cls_place_buffer(cells), &out, 4, NULL, 0, NULL));
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(down, 50000000));
    gate_open(&gate);
    OK(cls_async_coordinator_synchronize_all(c));
    assert_int_equal(out, 42);
    gate_destroy(&gate);
    OK(cls_async_coordinator_destroy(c));
    OK(cls_triple_buffer_destroy(ring));
    OK(cls_buffer_destroy(cells));
    OK(cls_buffer_destroy(others));
}

/* What was refused of a slot's round is not taken for done: nobody gets the slot, or what lies in it, before the
 * ring's reset. */
static void a_refused_compute_keeps_its_slot(void **state) {
    (void)state;
    cls_async_coordinator c = coordinator_make();
    struct step step = {NULL, 7, 2, 0};
    cls_compute refused = CLS_COMPUTE_INIT, what = CLS_COMPUTE_INIT;
    const uint32_t in[2] = {5, 6};
    uint32_t out = 1;
    cls_triple_buffer ring;
    cls_slot_state states[3];
    cls_slot slot;
    OK(cls_triple_buffer_create(rig.context, 4, NULL, &ring));
    what.slots = refused.slots = ring;
    what.fn = run_step;
    what.arg = &step;
    refused.fn = refuse;
    for (int round = 0; round < 2; round++) {
        OK(cls_async_coordinator_queue_upload(c, &in[0], 4, cls_place_slots(ring), NULL, 0, NULL));
        EXPECT(CLS_ERROR_NOT_FOUND,
               cls_async_coordinator_queue_compute(c, &refused, NULL, 0, NULL));
        EXPECT(CLS_ERROR_INVALID_STATE, cls_async_coordinator_queue_download(
                                            c, cls_place_slots(ring), &out, 4, NULL, 0, NULL));
        assert_non_null(strstr(cls_last_error_detail(), "was refused"));
        /* Later slots go on, and come behind it. */
        OK(cls_async_coordinator_queue_upload(c, &in[1], 4, cls_place_slots(ring), NULL, 0, NULL));
        OK(cls_async_coordinator_queue_compute(c, &what, NULL, 0, NULL));
        EXPECT(CLS_ERROR_INVALID_STATE, cls_triple_buffer_download_slot(ring, NULL, &slot));
        EXPECT(CLS_NOT_READY, cls_triple_buffer_advance(ring));
        OK(cls_triple_buffer_get_states(ring, states, 3));
        assert_int_equal(states[0], CLS_SLOT_PROCESSING);
        OK(cls_async_coordinator_synchronize_all(c));
        assert_int_equal(out, 1);
        OK(cls_triple_buffer_reset(ring));
    }
    OK(cls_async_coordinator_queue_upload(c, &in[1], 4, cls_place_slots(ring), NULL, 0, NULL));
    OK(cls_async_coordinator_queue_compute(c, &what, NULL, 0, NULL));
    OK(cls_async_coordinator_queue_download(c, cls_place_slots(ring), &out, 4, NULL, 0, NULL));
    OK(cls_async_coordinator_synchronize_all(c));
    assert_int_equal(out, 6 * 7 + 2);
    OK(cls_triple_buffer_destroy(ring));
    OK(cls_async_coordinator_destroy(c));
}

/* Takes a slot through its stages, and says of none that its work is submitted. */
static void *take_to_download(void *arg) {
    cls_triple_buffer ring = *(cls_triple_buffer *)arg;
    cls_slot slot;
    OK(cls_triple_buffer_upload_slot(ring, NULL, &slot));
    OK(cls_triple_buffer_process_slot(ring, NULL, &slot));
    OK(cls_triple_buffer_download_slot(ring, NULL, &slot));
    return NULL;
}

/* A slot that the program holds, on this thread or on another, is not the coordinator's to free. */
static void downloads_free_no_slot_but_their_own(void **state) {
    (void)state;
    struct step step = {NULL, 7, 2, 0};
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        cls_async_coordinator c = coordinator_make();
        cls_compute what = CLS_COMPUTE_INIT;
        const uint32_t in = 5;
        uint32_t out = 0;
        cls_triple_buffer ring;
        cls_slot_state states[3];
        pthread_t thread;
        OK(cls_triple_buffer_create(rig.context, 4, NULL, &ring));
        if (elsewhere) {
            assert_int_equal(pthread_create(&thread, NULL, take_to_download, &ring), 0);
            assert_int_equal(pthread_join(thread, NULL), 0);
        } else {
            take_to_download(&ring);
        }
        what.slots = ring;
        what.fn = run_step;
        what.arg = &step;
        for (int i = 0; i < 2; i++) {
            OK(cls_async_coordinator_queue_upload(c, &in, 4, cls_place_slots(ring), NULL, 0, NULL));
            OK(cls_async_coordinator_queue_compute(c, &what, NULL, 0, NULL));
            OK(cls_async_coordinator_queue_download(c, cls_place_slots(ring), &out, 4, NULL, 0,
                                                    NULL));
        }
        OK(cls_triple_buffer_get_states(ring, states, 3));
        assert_int_equal(states[0], CLS_SLOT_DOWNLOADING);
        EXPECT(CLS_ERROR_INVALID_STATE,
               cls_async_coordinator_queue_upload(c, &in, 4, cls_place_slots(ring), NULL, 0, NULL));
        /* With it, those behind it are free. */
        OK(cls_triple_buffer_submitted(ring, 0));
        OK(cls_triple_buffer_advance(ring));
        OK(cls_triple_buffer_get_states(ring, states, 3));
        for (int i = 0; i < 3; i++)
            assert_int_equal(states[i], CLS_SLOT_FREE);
        EXPECT(CLS_NOT_READY, cls_triple_buffer_advance(ring));
        OK(cls_async_coordinator_synchronize_all(c));
        assert_int_equal(out, 5 * 7 + 2);
        OK(cls_triple_buffer_destroy(ring));
        OK(cls_async_coordinator_destroy(c));
    }
}

/* Another thread's hold on the ring's first slot, since the ring was reset. */
struct retaken {
    cls_triple_buffer ring;
    bool computes; /* it has taken the slot for computing, too */
    sem_t submits;
    pthread_t thread;
    sem_t taken;
};

static void *take_again(void *arg) {
    struct retaken *retaken = arg;
    cls_slot slot;
    OK(cls_triple_buffer_upload_slot(retaken->ring, NULL, &slot));
    if (retaken->computes)
        OK(cls_triple_buffer_process_slot(retaken->ring, NULL, &slot));
    assert_int_equal(slot.index, 0);
    sem_post(&retaken->taken);
    assert_true(sem_comes(&retaken->submits));
    OK(cls_triple_buffer_submitted(retaken->ring, slot.index));
    return NULL;
}

static cls_status reset_meanwhile(cls_stream stream, const cls_slot *slot, void *arg) {
    struct retaken *retaken = arg;
    (void)stream;
    (void)slot;
    OK(cls_triple_buffer_reset(retaken->ring));
    assert_int_equal(pthread_create(&retaken->thread, NULL, take_again, retaken), 0);
    assert_true(sem_comes(&retaken->taken));
    return CLS_SUCCESS;
}

/* Neither that its work is submitted, nor that it was refused: the coordinator's round ended with the reset. */
static void computes_say_nothing_of_a_slot_taken_since_the_reset(void **state) {
    (void)state;
    for (int computes = 0; computes < 2; computes++) {
        cls_status (*const next)(cls_triple_buffer, cls_stream, cls_slot *) =
            computes ? cls_triple_buffer_download_slot : cls_triple_buffer_process_slot;
        struct retaken retaken = {.computes = computes};
        cls_async_coordinator c = coordinator_make();
        cls_compute what = CLS_COMPUTE_INIT;
        const uint32_t in = 5;
        cls_slot slot;
        sem_init(&retaken.submits, 0, 0);
        sem_init(&retaken.taken, 0, 0);
        OK(cls_triple_buffer_create(rig.context, 4, NULL, &retaken.ring));
        what.slots = retaken.ring;
        what.fn = reset_meanwhile;
        what.arg = &retaken;
        OK(cls_async_coordinator_queue_upload(c, &in, 4, cls_place_slots(retaken.ring), NULL, 0,
                                              NULL));
        EXPECT(CLS_ERROR_INVALID_STATE,
               cls_async_coordinator_queue_compute(c, &what, NULL, 0, NULL));
        assert_non_null(strstr(cls_last_error_detail(), "reset meanwhile"));
        EXPECT(CLS_NOT_READY, next(retaken.ring, NULL, &slot));
        sem_post(&retaken.submits);
        assert_int_equal(pthread_join(retaken.thread, NULL), 0);
        OK(next(retaken.ring, NULL, &slot));
        assert_int_equal(slot.index, 0);
        OK(cls_async_coordinator_synchronize_all(c));
        OK(cls_triple_buffer_destroy(retaken.ring));
        OK(cls_async_coordinator_destroy(c));
        sem_destroy(&retaken.submits);
        sem_destroy(&retaken.taken);
    }
}

static cls_status take_for_download(cls_stream stream, const cls_slot *slot, void *arg) {
    cls_slot taken;
    (void)stream;
    OK(cls_triple_buffer_download_slot(*(cls_triple_buffer *)arg, NULL, &taken));
    assert_int_equal(taken.index, slot->index);
    return CLS_SUCCESS;
}

static void *advance(void *arg) {
    static cls_status told;
    told = cls_triple_buffer_advance(*(cls_triple_buffer *)arg);
    return &told;
}

/* A function's thread takes its own slot on: what it submits there is for itself to say. */
static void computes_say_nothing_of_a_slot_taken_over(void **state) {
    (void)state;
    cls_async_coordinator c = coordinator_make();
    cls_compute what = CLS_COMPUTE_INIT;
    const uint32_t in = 5;
    cls_triple_buffer ring;
    pthread_t thread;
    void *told;
    OK(cls_triple_buffer_create(rig.context, 4, NULL, &ring));
    what.slots = ring;
    what.fn = take_for_download;
    what.arg = &ring;
    OK(cls_async_coordinator_queue_upload(c, &in, 4, cls_place_slots(ring), NULL, 0, NULL));
    OK(cls_async_coordinator_queue_compute(c, &what, NULL, 0, NULL));
    assert_int_equal(pthread_create(&thread, NULL, advance, &ring), 0);
    assert_int_equal(pthread_join(thread, &told), 0);
    EXPECT(CLS_NOT_READY, *(cls_status *)told);
    OK(cls_triple_buffer_advance(ring));
    OK(cls_async_coordinator_synchronize_all(c));
    OK(cls_triple_buffer_destroy(ring));
    OK(cls_async_coordinator_destroy(c));
}

/* A stream that is reset by itself goes on; what failed is known by its number until the coordinator's reset. */
static void failed_operations_stay_beside_later_ones(void **state) {
    (void)state;
    enum { LATER = 600 };
    cls_async_coordinator c = coordinator_make();
    cls_buffer cells = rig_cells(1);
    cls_stream stream;
    cls_compute what = CLS_COMPUTE_INIT;
    cls_op first, failed[2], later[LATER];
    struct step step = {cells, 1, 1, 0};
    what.fn = fail_later;
    what.buffers = &cells;
    what.n_buffers = 1;
    OK(cls_async_coordinator_get_stream(c, CLS_OP_COMPUTE, &stream));
    for (int i = 0; i < 2; i++) {
        first = compute(c, &step, NULL, 0);
        OK(cls_async_coordinator_queue_compute(c, &what, NULL, 0, &failed[i]));
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_async_coordinator_wait(c, failed[i], CLS_FOREVER));
        OK(cls_async_coordinator_wait(c, first, CLS_FOREVER));
        OK(cls_stream_reset(stream));
    }
    for (int i = 0; i < LATER; i++)
        later[i] = compute(c, &step, NULL, 0);
    OK(cls_async_coordinator_synchronize_all(c));
    for (int i = 0; i < LATER; i++)
        OK(cls_async_coordinator_wait(c, later[i], CLS_FOREVER));
    cls_completion done[LATER];
    size_t n;
    OK(cls_async_coordinator_poll(c, done, LATER, &n));
    assert_true(n > 0);
    for (int i = 0; i < 2; i++)
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_async_coordinator_wait(c, failed[i], CLS_FOREVER));
    for (int i = 0; i < LATER; i++)
        OK(cls_async_coordinator_wait(c, later[i], CLS_FOREVER));
    OK(cls_async_coordinator_reset(c));
    for (int i = 0; i < 2; i++)
        OK(cls_async_coordinator_wait(c, failed[i], CLS_FOREVER));
    OK(cls_async_coordinator_destroy(c));
    OK(cls_buffer_destroy(cells));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failure_reaches_what_depends_on_it),
        cmocka_unit_test(what_a_failed_function_submitted_is_waited_for),
        cmocka_unit_test(a_failed_operation_is_told_when_its_work_is_over),
        cmocka_unit_test(a_refused_compute_leaves_the_order),
        cmocka_unit_test(a_refused_compute_keeps_its_slot),
        cmocka_unit_test(downloads_free_no_slot_but_their_own),
        cmocka_unit_test(computes_say_nothing_of_a_slot_taken_since_the_reset),
        cmocka_unit_test(computes_say_nothing_of_a_slot_taken_over),
        cmocka_unit_test(failed_operations_stay_beside_later_ones),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
