/* SPDX-License-Identifier: MIT */
/* Async coordinators: order named and implied, fork and join, slots of triple buffers, and the end. */
#include "async_coordinators.h"

/* Nothing is named, everything is ordered: also the upload that overwrites what is computed with. */
static void buffers_imply_the_order(void **state) {
    (void)state;
    enum { ROUNDS = 20 };
    cls_async_coordinator c = coordinator_make();
    cls_buffer cells = rig_cells(4);
    static uint32_t in[ROUNDS], out[ROUNDS];
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct step step = {cells, 3, 1, 2};
        in[i] = i;
        OK(cls_async_coordinator_queue_upload(c, &in[i], 4, cls_place_buffer(cells), NULL, 0,
                                              NULL));
        compute(c, &step, NULL, 0);
        OK(cls_async_coordinator_queue_download(c, cls_place_buffer(cells), &out[i], 4, NULL, 0,
                                                NULL));
    }
    OK(cls_async_coordinator_synchronize_all(c));
    for (unsigned i = 0; i < ROUNDS; i++)
        assert_int_equal(out[i], 3 * i + 1);
    OK(cls_async_coordinator_destroy(c));
    OK(cls_buffer_destroy(cells));
}

/* A function that says nothing of its buffers is waited for by every download. */
static void downloads_wait_for_unknown_computes(void **state) {
    (void)state;
    cls_async_coordinator c = coordinator_make();
    cls_buffer cells = rig_cells(4);
    struct step step = {cells, 0, 77, 30};
    cls_compute what = CLS_COMPUTE_INIT;
    uint32_t got = 0;
    what.fn = run_step;
    what.arg = &step;
    OK(cls_async_coordinator_queue_compute(c, &what, NULL, 0, NULL));
    OK(cls_async_coordinator_queue_download(c, cls_place_buffer(cells), &got, 4, NULL, 0, NULL));
    OK(cls_async_coordinator_synchronize_all(c));
    assert_int_equal(got, 77);
    OK(cls_async_coordinator_destroy(c));
    OK(cls_buffer_destroy(cells));
}

static void kernels_are_computes(void **state) {
    (void)state;
    static const char source[] = "kernel void twice(global uint *x, uint add) {\n"
                                 "    x[get_global_id(0)] = x[get_global_id(0)] * 2 + add;\n}\n";
    cls_async_coordinator c = coordinator_make();
    cls_buffer cells = rig_cells(4);
    cls_triple_buffer ring;
    cls_program program;
    cls_kernel kernel;
    cls_compute what = CLS_COMPUTE_INIT;
    const cls_launch shape = cls_launch_1d(4);
    const cls_arg args[] = {cls_arg_buffer(cells), cls_arg_u32(1)};
    uint32_t in[4] = {1, 2, 3, 4}, out[4] = {0};
    OK(cls_program_from_source(rig.context, source, NULL, NULL, &program));
    OK(cls_kernel_create(program, "twice", &kernel));
    what.kernel = kernel;
    what.launch = &shape;
    what.args = args;
    what.n_args = 2;
    OK(cls_async_coordinator_queue_upload(c, in, sizeof in, cls_place_buffer(cells), NULL, 0,
                                          NULL));
    OK(cls_async_coordinator_queue_compute(c, &what, NULL, 0, NULL));
    OK(cls_async_coordinator_queue_download(c, cls_place_buffer(cells), out, sizeof out, NULL, 0,
                                            NULL));
    OK(cls_async_coordinator_synchronize_all(c));
    for (int i = 0; i < 4; i++)
        assert_int_equal(out[i], in[i] * 2 + 1);
    /* The same on a slot, which comes before the other arguments. */
    OK(cls_triple_buffer_create(rig.context, sizeof in, NULL, &ring));
    what.slots = ring;
    what.args = args + 1;
    what.n_args = 1;
    OK(cls_async_coordinator_queue_upload(c, out, sizeof in, cls_place_slots(ring), NULL, 0, NULL));
    OK(cls_async_coordinator_queue_compute(c, &what, NULL, 0, NULL));
    OK(cls_async_coordinator_queue_download(c, cls_place_slots(ring), in, sizeof in, NULL, 0,
                                            NULL));
    OK(cls_async_coordinator_synchronize_all(c));
    for (int i = 0; i < 4; i++)
        assert_int_equal(in[i], out[i] * 2 + 1);
    OK(cls_triple_buffer_destroy(ring));
    OK(cls_kernel_destroy(kernel));
    OK(cls_program_destroy(program));
    OK(cls_async_coordinator_destroy(c));
    OK(cls_buffer_destroy(cells));
}

static void fork_and_join(void **state) {
    (void)state;
    cls_async_coordinator c = coordinator_make();
    cls_stream up, down;
    struct gate gate;
    cls_buffer a = rig_cells(1), b = rig_cells(1);
    uint32_t one = 1, got[3] = {9, 9, 9};
    cls_op root, left, right;
    gate_init(&gate);
    OK(cls_async_coordinator_get_stream(c, CLS_OP_UPLOAD, &up));
    OK(cls_async_coordinator_get_stream(c, CLS_OP_DOWNLOAD, &down));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_destroy(down));
    OK(cls_stream_launch_host_async(up, gate_hold, &gate));
    OK(cls_async_coordinator_queue_upload(c, &one, 4, cls_place_buffer(a), NULL, 0, &root));
    /* Of another buffer: only the name makes it wait. */
    struct step step = {b, 0, 5, 0};
    left = compute(c, &step, &root, 1);
    OK(cls_async_coordinator_queue_download(c, cls_place_buffer(b), &got[0], 4, &root, 1, &right));
    const cls_op both[] = {left, right};
    OK(cls_async_coordinator_queue_upload(c, &one, 4, cls_place_buffer(b), both, 2, NULL));
    gate_await(&gate);
    nap_ms(20);
    cls_completion done[8];
    size_t n = 99;
    OK(cls_async_coordinator_poll(c, done, 8, &n));
    assert_int_equal(n, 0);
    EXPECT(CLS_ERROR_TIMEOUT, cls_async_coordinator_wait(c, right, 0));
    EXPECT(CLS_ERROR_TIMEOUT, cls_async_coordinator_wait(c, right, 1000000));
    assert_non_null(strstr(cls_last_error_detail(), "waits for"));
    gate_open(&gate);
    OK(cls_async_coordinator_wait(c, right, CLS_FOREVER));
    assert_int_equal(got[0], 5);
    OK(cls_async_coordinator_synchronize_all(c));
    assert_int_equal(rig_cell(b, 0), 1);
    OK(cls_async_coordinator_destroy(c));
    OK(cls_buffer_destroy(a));
    OK(cls_buffer_destroy(b));
    gate_destroy(&gate);
}

static void triple_buffers_choose_the_slot(void **state) {
    (void)state;
    enum { ROUNDS = 30 };
    cls_async_coordinator c = coordinator_make();
    cls_triple_buffer ring;
    cls_slot_state states[3];
    static uint32_t in[ROUNDS], out[ROUNDS];
    struct step step = {NULL, 7, 2, 1};
    cls_compute what = CLS_COMPUTE_INIT;
    OK(cls_triple_buffer_create(rig.context, 256, NULL, &ring));
    what.fn = run_step;
    what.arg = &step;
    what.slots = ring;
    for (unsigned i = 0; i < ROUNDS; i++) {
        in[i] = 100 + i;
        OK(cls_async_coordinator_queue_upload(c, &in[i], 4, cls_place_slots(ring), NULL, 0, NULL));
        OK(cls_async_coordinator_queue_compute(c, &what, NULL, 0, NULL));
        OK(cls_async_coordinator_queue_download(c, cls_place_slots(ring), &out[i], 4, NULL, 0,
                                                NULL));
    }
    OK(cls_async_coordinator_synchronize_all(c));
    for (unsigned i = 0; i < ROUNDS; i++)
        assert_int_equal(out[i], in[i] * 7 + 2);
    EXPECT(CLS_ERROR_INVALID_STATE, cls_async_coordinator_queue_compute(c, &what, NULL, 0, NULL));
    EXPECT(CLS_ERROR_INVALID_STATE,
           cls_async_coordinator_queue_download(c, cls_place_slots(ring), out, 4, NULL, 0, NULL));
    EXPECT(CLS_ERROR_OUT_OF_RANGE,
           cls_async_coordinator_queue_upload(c, in, 257, cls_place_slots(ring), NULL, 0, NULL));
    OK(cls_triple_buffer_get_states(ring, states, 3));
    for (int i = 0; i < 3; i++)
        assert_int_equal(states[i], CLS_SLOT_FREE);
    for (int i = 0; i < 3; i++)
        OK(cls_async_coordinator_queue_upload(c, in, 4, cls_place_slots(ring), NULL, 0, NULL));
    EXPECT(CLS_ERROR_INVALID_STATE,
           cls_async_coordinator_queue_upload(c, in, 4, cls_place_slots(ring), NULL, 0, NULL));
    OK(cls_async_coordinator_synchronize_all(c));
    OK(cls_triple_buffer_destroy(ring));
    OK(cls_async_coordinator_destroy(c));
}

static void numbers_never_issued_are_refused(void **state) {
    (void)state;
    cls_async_coordinator c = coordinator_make();
    cls_buffer cells = rig_cells(1);
    uint32_t value = 4;
    cls_op op = 55, none[] = {0}, later[] = {2};
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_async_coordinator_wait(c, 0, CLS_FOREVER));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_async_coordinator_wait(c, 1, CLS_FOREVER));
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_async_coordinator_queue_upload(c, &value, 4, cls_place_buffer(cells), none, 1, &op));
    assert_int_equal(op, 55);
    OK(cls_async_coordinator_queue_upload(c, &value, 4, cls_place_buffer(cells), NULL, 0, &op));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_async_coordinator_queue_upload(
                                        c, &value, 4, cls_place_buffer(cells), later, 1, NULL));
    OK(cls_async_coordinator_wait(c, op, CLS_FOREVER));
    OK(cls_async_coordinator_wait(c, op, CLS_FOREVER));
    OK(cls_async_coordinator_queue_upload(c, &value, 4, cls_place_buffer(cells), &op, 1, NULL));
    OK(cls_async_coordinator_synchronize_all(c));
    OK(cls_async_coordinator_destroy(c));
    OK(cls_buffer_destroy(cells));
}

struct poller {
    cls_async_coordinator coordinator;
    cls_status status;
    sleeper uploader;
};

static void poll_for(void *arg) {
    struct poller *poller = arg;
    cls_completion done[4];
    size_t n;
    await_sleeper(&poller->uploader);
    poller->status = cls_async_coordinator_poll(poller->coordinator, done, 4, &n);
}

/* An upload waits on the host for the round before, whose download waits for somebody who asks the coordinator. */
static void a_ring_that_waits_holds_nobody_up(void **state) {
    (void)state;
    struct poller poller = {coordinator_make(), CLS_ERROR_UNSUPPORTED, 0};
    cls_async_coordinator c = poller.coordinator;
    cls_triple_buffer_config one = CLS_TRIPLE_BUFFER_CONFIG_INIT;
    struct step step = {NULL, 3, 1, 0};
    cls_compute what = CLS_COMPUTE_INIT;
    cls_triple_buffer ring;
    cls_stream down;
    uint32_t in[2] = {5, 6}, out[2] = {0};
    one.slots = 1;
    OK(cls_triple_buffer_create(rig.context, 4, &one, &ring));
    OK(cls_async_coordinator_get_stream(c, CLS_OP_DOWNLOAD, &down));
    what.fn = run_step;
    what.arg = &step;
    what.slots = ring;
    for (unsigned i = 0; i < 2; i++) {
        if (i)
            sleeper_here(&poller.uploader);
        OK(cls_async_coordinator_queue_upload(c, &in[i], 4, cls_place_slots(ring), NULL, 0, NULL));
        OK(cls_async_coordinator_queue_compute(c, &what, NULL, 0, NULL));
        if (i == 0)
            OK(cls_stream_launch_host_async(down, poll_for, &poller));
        OK(cls_async_coordinator_queue_download(c, cls_place_slots(ring), &out[i], 4, NULL, 0,
                                                NULL));
    }
    OK(poller.status);
    OK(cls_async_coordinator_synchronize_all(c));
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(out[i], 3 * in[i] + 1);
    OK(cls_triple_buffer_destroy(ring));
    OK(cls_async_coordinator_destroy(c));
}

/* A ring is reset while a function still submits work on its slot. */
struct resetting {
    cls_async_coordinator coordinator;
    cls_triple_buffer ring;
    sem_t entered;
    _Atomic bool done;
};

static void finish_late(void *arg) {
    nap_ms(50);
    ((struct resetting *)arg)->done = true;
}

static cls_status submit_late(cls_stream stream, const cls_slot *slot, void *arg) {
    struct resetting *resetting = arg;
    (void)slot;
    sem_post(&resetting->entered);
    nap_ms(50);
    return cls_stream_launch_host_async(stream, finish_late, arg);
}

static bool compute_or_reset(void *arg, unsigned i) {
    struct resetting *resetting = arg;
    cls_compute what = CLS_COMPUTE_INIT;
    if (!i)
        return sem_comes(&resetting->entered) && !cls_triple_buffer_reset(resetting->ring) &&
               resetting->done;
    what.fn = submit_late;
    what.arg = arg;
    what.slots = resetting->ring;
    return cls_async_coordinator_queue_compute(resetting->coordinator, &what, NULL, 0, NULL) ==
           CLS_ERROR_INVALID_STATE;
}

static void a_reset_of_the_ring_waits_for_what_is_being_submitted(void **state) {
    (void)state;
    struct resetting resetting = {.coordinator = coordinator_make()};
    const uint32_t value = 1;
    OK(cls_triple_buffer_create(rig.context, 4, NULL, &resetting.ring));
    assert_int_equal(sem_init(&resetting.entered, 0, 0), 0);
    OK(cls_async_coordinator_queue_upload(resetting.coordinator, &value, 4,
                                          cls_place_slots(resetting.ring), NULL, 0, NULL));
    assert_int_equal(team_run(2, compute_or_reset, &resetting), 0);
    OK(cls_triple_buffer_destroy(resetting.ring));
    OK(cls_async_coordinator_destroy(resetting.coordinator));
    sem_destroy(&resetting.entered);
}

/* Of a function that submits nothing, over changing buffers, so that it is the coordinator that is seen. */
static void buffers_of_a_function_are_live(void **state) {
    (void)state;
    cls_async_coordinator c = coordinator_make();
    cls_compute what = CLS_COMPUTE_INIT;
    cls_buffer live = rig_cells(4), gone = rig_cells(4);
    cls_buffer bad[] = {NULL, gone, (cls_buffer)(uintptr_t)0x1234};
    cls_op op = 0;
    OK(cls_buffer_destroy(gone));
    what.fn = nothing;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cls_buffer buffers[] = {live, bad[i]};
        what.buffers = buffers;
        what.n_buffers = 2;
        EXPECT(CLS_ERROR_INVALID_HANDLE,
               cls_async_coordinator_queue_compute(c, &what, NULL, 0, &op));
        assert_int_equal(op, 0);
        what.n_buffers = 1;
        OK(cls_async_coordinator_queue_compute(c, &what, NULL, 0, NULL));
    }
    OK(cls_async_coordinator_synchronize_all(c));
    OK(cls_async_coordinator_destroy(c));
    OK(cls_buffer_destroy(live));
}

static void destroy_with_work_pending(void **state) {
    (void)state;
    cls_async_coordinator c = coordinator_make();
    cls_stream up;
    struct gate gate;
    cls_buffer cells = rig_cells(1);
    uint32_t value = 9, got = 0;
    gate_init(&gate);
    OK(cls_async_coordinator_get_stream(c, CLS_OP_UPLOAD, &up));
    OK(cls_stream_launch_host_async(up, gate_hold, &gate));
    OK(cls_async_coordinator_queue_upload(c, &value, 4, cls_place_buffer(cells), NULL, 0, NULL));
    OK(cls_async_coordinator_destroy(c));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_async_coordinator_synchronize_all(c));
    gate_open(&gate);
    OK(cls_context_synchronize(rig.context));
    for (int i = 0; i < 1000 && got != 9; i++, nap_ms(5))
        got = rig_cell(cells, 0);
    assert_int_equal(got, 9);
    OK(cls_buffer_destroy(cells));
    gate_destroy(&gate);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_imply_the_order),
        cmocka_unit_test(downloads_wait_for_unknown_computes),
        cmocka_unit_test(kernels_are_computes),
        cmocka_unit_test(fork_and_join),
        cmocka_unit_test(triple_buffers_choose_the_slot),
        cmocka_unit_test(a_ring_that_waits_holds_nobody_up),
        cmocka_unit_test(a_reset_of_the_ring_waits_for_what_is_being_submitted),
        cmocka_unit_test(buffers_of_a_function_are_live),
        cmocka_unit_test(numbers_never_issued_are_refused),
        cmocka_unit_test(destroy_with_work_pending),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
