/* SPDX-License-Identifier: MIT */
/* Async coordinators: order named and implied, fork and join, reports, failure, bounds, and threads. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/async_coordinator.h>
#include <clstream/mempool.h>

#include "../support/rig.h"

static cls_async_coordinator coordinator_make(void) {
    cls_async_coordinator coordinator;
    OK(cls_async_coordinator_create(rig.context, NULL, &coordinator));
    return coordinator;
}

/* cells[0] = cells[0] * factor + add, taking `ms`. */
struct step {
    cls_buffer cells;
    uint32_t factor, add;
    double ms;
};

static cls_status run_step(cls_stream stream, const cls_slot *slot, void *arg) {
    const struct step *step = arg;
    return rig_step(stream, slot ? slot->buffer : step->cells, 0, step->factor, step->add,
                    step->ms);
}

static cls_op compute(cls_async_coordinator c, struct step *step, const cls_op *deps, unsigned n) {
    cls_compute what = CLS_COMPUTE_INIT;
    cls_op op = 0;
    what.fn = run_step;
    what.arg = step;
    what.buffers = &step->cells;
    what.n_buffers = 1;
    OK(cls_async_coordinator_queue_compute(c, &what, deps, n, &op));
    return op;
}

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
    gate_open(&gate);
    OK(cls_async_coordinator_wait(c, right));
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
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_async_coordinator_wait(c, 0));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_async_coordinator_wait(c, 1));
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_async_coordinator_queue_upload(c, &value, 4, cls_place_buffer(cells), none, 1, &op));
    assert_int_equal(op, 55);
    OK(cls_async_coordinator_queue_upload(c, &value, 4, cls_place_buffer(cells), NULL, 0, &op));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_async_coordinator_queue_upload(
                                        c, &value, 4, cls_place_buffer(cells), later, 1, NULL));
    OK(cls_async_coordinator_wait(c, op));
    OK(cls_async_coordinator_wait(c, op));
    OK(cls_async_coordinator_queue_upload(c, &value, 4, cls_place_buffer(cells), &op, 1, NULL));
    OK(cls_async_coordinator_synchronize_all(c));
    OK(cls_async_coordinator_destroy(c));
    OK(cls_buffer_destroy(cells));
}

/* --- reports --- */

enum { TEAM = 4, TEAM_OPS = 400 };

struct team {
    cls_async_coordinator c;
    cls_buffer cells[TEAM];
    uint32_t values[TEAM][TEAM_OPS];
    _Atomic unsigned char seen[TEAM * TEAM_OPS + 1];
    _Atomic unsigned found;
};

static bool collect(struct team *team) {
    cls_completion done[16];
    size_t n;
    if (cls_async_coordinator_poll(team->c, done, 16, &n))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (done[i].status || done[i].kind != CLS_OP_UPLOAD || !done[i].op ||
            done[i].op > TEAM * TEAM_OPS || team->seen[done[i].op]++)
            return false;
        team->found++;
    }
    return true;
}

static bool work(void *arg, unsigned i) {
    struct team *team = arg;
    for (unsigned k = 0; k < TEAM_OPS; k++) {
        cls_op op;
        team->values[i][k] = k;
        if (cls_async_coordinator_queue_upload(team->c, &team->values[i][k], 4,
                                               cls_place_buffer(team->cells[i]), NULL, 0, &op))
            return false;
        if (k % 50 == 49 && cls_async_coordinator_wait(team->c, op))
            return false;
        if (!collect(team))
            return false;
    }
    while (team->found < TEAM * TEAM_OPS)
        if (!collect(team))
            return false;
    return true;
}

static void each_report_is_given_once_across_threads(void **state) {
    (void)state;
    static struct team team;
    team.c = coordinator_make();
    for (unsigned i = 0; i < TEAM; i++)
        team.cells[i] = rig_cells(1);
    assert_int_equal(team_run(TEAM, work, &team), 0);
    assert_int_equal(team.found, TEAM * TEAM_OPS);
    for (unsigned i = 0; i < TEAM; i++) {
        assert_int_equal(rig_cell(team.cells[i], 0), TEAM_OPS - 1);
        OK(cls_buffer_destroy(team.cells[i]));
    }
    OK(cls_async_coordinator_destroy(team.c));
}

static void reports_say_what_was_done(void **state) {
    (void)state;
    cls_async_coordinator c = coordinator_make();
    cls_buffer cells = rig_cells(1);
    struct step step = {cells, 1, 1, 0};
    uint32_t value = 1;
    cls_op ops[3] = {0};
    cls_completion done[4];
    size_t n, seen = 0;
    OK(cls_async_coordinator_queue_upload(c, &value, 4, cls_place_buffer(cells), NULL, 0, &ops[0]));
    ops[1] = compute(c, &step, NULL, 0);
    OK(cls_async_coordinator_queue_download(c, cls_place_buffer(cells), &value, 4, NULL, 0,
                                            &ops[2]));
    OK(cls_async_coordinator_synchronize_all(c));
    OK(cls_async_coordinator_poll(c, done, 2, &n));
    assert_int_equal(n, 2);
    OK(cls_async_coordinator_poll(c, done + 2, 2, &n));
    assert_int_equal(n, 1);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            seen += done[i].op == ops[k] && (int)done[i].kind == k && done[i].status == CLS_SUCCESS;
    assert_int_equal(seen, 3);
    OK(cls_async_coordinator_poll(c, done, 2, &n));
    assert_int_equal(n, 0);
    OK(cls_async_coordinator_destroy(c));
    OK(cls_buffer_destroy(cells));
}

struct poller {
    cls_async_coordinator coordinator;
    cls_status status;
};

static void poll_for(void *arg) {
    struct poller *poller = arg;
    cls_completion done[4];
    size_t n;
    nap_ms(50);
    poller->status = cls_async_coordinator_poll(poller->coordinator, done, 4, &n);
}

/* An upload waits on the host for the round before, whose download waits for somebody who asks the coordinator. */
static void a_ring_that_waits_holds_nobody_up(void **state) {
    (void)state;
    struct poller poller = {coordinator_make(), CLS_ERROR_UNSUPPORTED};
    cls_async_coordinator c = poller.coordinator;
    cls_triple_buffer_config one = CLS_TRIPLE_BUFFER_CONFIG_INIT;
    struct step step = {NULL, 3, 1, 0};
    cls_compute what = CLS_COMPUTE_INIT;
    cls_triple_buffer ring;
    cls_stream down;
    uint32_t in[2] = {5, 6}, out[2] = {0};
    one.slots = 1;
    one.host_wait = 1;
    OK(cls_triple_buffer_create(rig.context, 4, &one, &ring));
    OK(cls_async_coordinator_get_stream(c, CLS_OP_DOWNLOAD, &down));
    what.fn = run_step;
    what.arg = &step;
    what.slots = ring;
    for (unsigned i = 0; i < 2; i++) {
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

/* --- failure --- */

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
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_async_coordinator_wait(c, failed));
    assert_non_null(strstr(cls_last_error_detail(), "a compute that fails"));
    OK(cls_async_coordinator_poll(c, done, 4, &n));
    assert_int_equal(n, 1);
    assert_int_equal(done[0].op, failed);
    assert_int_equal(done[0].status, CLS_ERROR_COMMAND_FAILED);
    /* Refused, or failed, by the name of the first one. */
    EXPECT(CLS_ERROR_COMMAND_FAILED,
           cls_async_coordinator_queue_download(c, cls_place_buffer(cells), &got, 4, NULL, 0, &op));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_async_coordinator_synchronize_all(c));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_async_coordinator_wait(c, failed));
    assert_int_equal(got, 6);
    OK(cls_async_coordinator_reset(c));
    OK(cls_async_coordinator_wait(c, failed));
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
        OK(cls_async_coordinator_wait(c, download));
        assert_int_equal(got, 7);
        OK(cls_async_coordinator_destroy(c));
        OK(cls_buffer_destroy(half.cells));
        gate_destroy(&half.gate);
    }
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
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_async_coordinator_wait(c, failed[i]));
        OK(cls_async_coordinator_wait(c, first));
        OK(cls_stream_reset(stream));
    }
    for (int i = 0; i < LATER; i++)
        later[i] = compute(c, &step, NULL, 0);
    OK(cls_async_coordinator_synchronize_all(c));
    for (int i = 0; i < LATER; i++)
        OK(cls_async_coordinator_wait(c, later[i]));
    cls_completion done[LATER];
    size_t n;
    OK(cls_async_coordinator_poll(c, done, LATER, &n));
    assert_true(n > 0);
    for (int i = 0; i < 2; i++)
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_async_coordinator_wait(c, failed[i]));
    for (int i = 0; i < LATER; i++)
        OK(cls_async_coordinator_wait(c, later[i]));
    OK(cls_async_coordinator_reset(c));
    for (int i = 0; i < 2; i++)
        OK(cls_async_coordinator_wait(c, failed[i]));
    OK(cls_async_coordinator_destroy(c));
    OK(cls_buffer_destroy(cells));
}

/* --- bounds --- */

static long resident_kb(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*s %ld", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages * 4;
}

static cls_status nothing(cls_stream stream, const cls_slot *slot, void *arg) {
    (void)stream;
    (void)slot;
    (void)arg;
    return CLS_SUCCESS;
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

static void memory_stays_flat_over_a_million(void **state) {
    (void)state;
    enum { OPS = 1000000, FEW = 8 };
    cls_async_coordinator c = coordinator_make();
    cls_compute what = CLS_COMPUTE_INIT;
    cls_op op = 0;
    long before = 0;
    what.fn = nothing;
    what.n_buffers = 1;
    cls_stream stream;
    OK(cls_async_coordinator_get_stream(c, CLS_OP_COMPUTE, &stream));
    for (unsigned i = 0; i < OPS; i++) {
        cls_buffer fresh;
        OK(cls_malloc_async(stream, 16, &fresh));
        what.buffers = &fresh;
        const cls_op last = op;
        OK(cls_async_coordinator_queue_compute(c, &what, &last, last ? 1 : 0, &op));
        OK(cls_free_async(fresh, stream));
        if (i == OPS / FEW)
            before = resident_kb();
    }
    assert_int_equal(op, OPS);
    OK(cls_async_coordinator_wait(c, 1));
    OK(cls_async_coordinator_synchronize_all(c));
    assert_true(resident_kb() - before < 16 * 1024);
    OK(cls_async_coordinator_destroy(c));
}

static void the_oldest_reports_are_dropped(void **state) {
    (void)state;
    enum { KEPT = 3, OPS = 2 * KEPT + 1 };
    cls_async_coordinator_config config = CLS_ASYNC_COORDINATOR_CONFIG_INIT;
    cls_async_coordinator c;
    cls_compute what = CLS_COMPUTE_INIT;
    cls_op ops[OPS];
    cls_completion done[OPS];
    size_t n;
    config.reports = KEPT;
    what.fn = nothing;
    OK(cls_async_coordinator_create(rig.context, &config, &c));
    for (int i = 0; i < OPS; i++)
        OK(cls_async_coordinator_queue_compute(c, &what, NULL, 0, &ops[i]));
    OK(cls_async_coordinator_synchronize_all(c));
    OK(cls_async_coordinator_poll(c, done, OPS, &n));
    assert_int_equal(n, KEPT);
    for (int i = 0; i < KEPT; i++)
        assert_int_equal(done[i].op, ops[OPS - KEPT + i]);
    OK(cls_async_coordinator_destroy(c));
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
        cmocka_unit_test(buffers_of_a_function_are_live),
        cmocka_unit_test(numbers_never_issued_are_refused),
        cmocka_unit_test(each_report_is_given_once_across_threads),
        cmocka_unit_test(reports_say_what_was_done),
        cmocka_unit_test(failure_reaches_what_depends_on_it),
        cmocka_unit_test(what_a_failed_function_submitted_is_waited_for),
        cmocka_unit_test(a_refused_compute_leaves_the_order),
        cmocka_unit_test(a_refused_compute_keeps_its_slot),
        cmocka_unit_test(downloads_free_no_slot_but_their_own),
        cmocka_unit_test(failed_operations_stay_beside_later_ones),
        cmocka_unit_test(memory_stays_flat_over_a_million),
        cmocka_unit_test(the_oldest_reports_are_dropped),
        cmocka_unit_test(destroy_with_work_pending),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
