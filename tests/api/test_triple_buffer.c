/* SPDX-License-Identifier: MIT */
/* Triple buffers: the states and their moves, the order of the device, failure, and threads. */
#include <stdlib.h>
#include <string.h>

#include <clstream/triple_buffer.h>

#include "../support/rig.h"

enum { N = 64, BYTES = N * sizeof(uint32_t) };

static cls_triple_buffer ring_of(unsigned slots) {
    cls_triple_buffer_config config = CLS_TRIPLE_BUFFER_CONFIG_INIT;
    cls_triple_buffer ring;
    config.slots = slots;
    OK(cls_triple_buffer_create(rig.context, BYTES, &config, &ring));
    return ring;
}

/* The states as letters: Free, Uploading, Processing, Downloading. */
static void expect_states(cls_triple_buffer ring, const char *wanted) {
    cls_slot_state states[CLS_TRIPLE_BUFFER_MAX_SLOTS];
    char got[CLS_TRIPLE_BUFFER_MAX_SLOTS + 1] = "";
    const unsigned n = (unsigned)strlen(wanted);
    OK(cls_triple_buffer_get_states(ring, states, n));
    for (unsigned i = 0; i < n; i++)
        got[i] = "FUPD"[states[i]];
    assert_string_equal(got, wanted);
}

static void slots_go_round(void **state) {
    (void)state;
    cls_triple_buffer ring;
    cls_slot slot;
    unsigned slots;
    size_t size;
    OK(cls_triple_buffer_create(rig.context, BYTES, NULL, &ring));
    OK(cls_triple_buffer_get_slots(ring, &slots));
    OK(cls_triple_buffer_get_size(ring, &size));
    assert_int_equal(slots, 3);
    assert_int_equal(size, BYTES);
    expect_states(ring, "FFF");
    OK(cls_triple_buffer_upload_slot(ring, NULL, &slot));
    assert_int_equal(slot.index, 0);
    assert_int_equal(slot.round, 0);
    expect_states(ring, "UFF");
    OK(cls_triple_buffer_process_slot(ring, NULL, &slot));
    assert_int_equal(slot.index, 0);
    expect_states(ring, "PFF");
    OK(cls_triple_buffer_upload_slot(ring, NULL, &slot));
    assert_int_equal(slot.index, 1);
    OK(cls_triple_buffer_download_slot(ring, NULL, &slot));
    assert_int_equal(slot.index, 0);
    OK(cls_triple_buffer_process_slot(ring, NULL, &slot));
    OK(cls_triple_buffer_upload_slot(ring, NULL, &slot));
    assert_int_equal(slot.index, 2);
    expect_states(ring, "DPU");
    OK(cls_triple_buffer_advance(ring));
    expect_states(ring, "FPU");
    OK(cls_triple_buffer_upload_slot(ring, NULL, &slot));
    assert_int_equal(slot.index, 0);
    assert_int_equal(slot.round, 3);
    expect_states(ring, "UPU");
    OK(cls_triple_buffer_destroy(ring));
}

/* What is not there is a status and changes nothing. */
static void illegal_moves_are_not_ready(void **state) {
    (void)state;
    cls_triple_buffer ring = ring_of(2);
    cls_slot slot = {NULL, 77, 77};
    EXPECT(CLS_NOT_READY, cls_triple_buffer_process_slot(ring, NULL, &slot));
    EXPECT(CLS_NOT_READY, cls_triple_buffer_download_slot(ring, NULL, &slot));
    EXPECT(CLS_NOT_READY, cls_triple_buffer_advance(ring));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_triple_buffer_submitted(ring, 1));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_triple_buffer_submitted(ring, 2));
    assert_int_equal(slot.index, 77);
    expect_states(ring, "FF");
    OK(cls_triple_buffer_upload_slot(ring, NULL, &slot));
    OK(cls_triple_buffer_upload_slot(ring, NULL, &slot));
    EXPECT(CLS_NOT_READY, cls_triple_buffer_upload_slot(ring, NULL, &slot));
    EXPECT(CLS_NOT_READY, cls_triple_buffer_download_slot(ring, NULL, &slot));
    EXPECT(CLS_NOT_READY, cls_triple_buffer_advance(ring));
    expect_states(ring, "UU");
    OK(cls_triple_buffer_process_slot(ring, NULL, &slot));
    OK(cls_triple_buffer_process_slot(ring, NULL, &slot));
    EXPECT(CLS_NOT_READY, cls_triple_buffer_process_slot(ring, NULL, &slot));
    expect_states(ring, "PP");
    OK(cls_triple_buffer_download_slot(ring, NULL, &slot));
    EXPECT(CLS_NOT_READY, cls_triple_buffer_upload_slot(ring, NULL, &slot));
    OK(cls_triple_buffer_advance(ring));
    EXPECT(CLS_NOT_READY, cls_triple_buffer_advance(ring));
    expect_states(ring, "FP");
    OK(cls_triple_buffer_destroy(ring));
}

/* A slow step on every stream, every slot written by each stage: without its waits, a stage would find the
 * wrong value. */
static void rounds(unsigned slots, bool async_reuse) {
    enum { ROUNDS = 24 };
    static uint32_t in[ROUNDS], out[ROUNDS];
    cls_triple_buffer_config config = CLS_TRIPLE_BUFFER_CONFIG_INIT;
    cls_stream up = rig_stream(), work = rig_stream(), down = rig_stream();
    cls_triple_buffer ring;
    cls_slot slot;
    config.slots = slots;
    config.async_reuse = async_reuse;
    OK(cls_triple_buffer_create(rig.context, BYTES, &config, &ring));
    memset(out, 0, sizeof out);
    for (unsigned i = 0; i < ROUNDS; i++) {
        in[i] = 1000 + i;
        OK(cls_triple_buffer_upload_slot(ring, up, &slot));
        assert_int_equal(slot.index, i % slots);
        OK(rig_step(up, slot.buffer, 1, 1, 0, 1));
        OK(cls_copy_h2d_async(slot.buffer, 0, &in[i], sizeof in[i], up));
        OK(cls_triple_buffer_process_slot(ring, work, &slot));
        OK(rig_step(work, slot.buffer, 0, 3, 5, 2));
        OK(cls_triple_buffer_download_slot(ring, down, &slot));
        OK(rig_step(down, slot.buffer, 0, 1, 1, 1));
        OK(cls_copy_d2h_async(&out[i], slot.buffer, 0, sizeof out[i], down));
        OK(cls_triple_buffer_advance(ring));
    }
    OK(cls_stream_synchronize(down));
    for (unsigned i = 0; i < ROUNDS; i++)
        assert_int_equal(out[i], in[i] * 3 + 6);
    OK(cls_triple_buffer_destroy(ring));
    OK(cls_stream_destroy(up));
    OK(cls_stream_destroy(work));
    OK(cls_stream_destroy(down));
}

static void stages_follow_on_the_device(void **state) {
    (void)state;
    rounds(3, true);
    rounds(1, true);
    rounds(2, true);
    rounds(5, true);
}

static void the_host_waits_for_slots_by_default(void **state) {
    (void)state;
    rounds(2, false);
}

/* With the download held back, the slot is handed out at once, but not written to. */
static void async_reuse_hands_a_slot_out_before_the_device_is_done(void **state) {
    (void)state;
    cls_stream up = rig_stream(), down = rig_stream();
    cls_triple_buffer_config config = CLS_TRIPLE_BUFFER_CONFIG_INIT;
    cls_triple_buffer ring;
    struct gate gate;
    cls_slot slot;
    uint32_t old = 7, new = 8, got = 0;
    gate_init(&gate);
    config.slots = 1;
    config.async_reuse = 1;
    OK(cls_triple_buffer_create(rig.context, BYTES, &config, &ring));
    OK(cls_triple_buffer_upload_slot(ring, up, &slot));
    OK(cls_copy_h2d_async(slot.buffer, 0, &old, sizeof old, up));
    OK(cls_triple_buffer_process_slot(ring, down, &slot));
    OK(cls_triple_buffer_download_slot(ring, down, &slot));
    OK(cls_stream_launch_host_async(down, gate_hold, &gate));
    OK(cls_copy_d2h_async(&got, slot.buffer, 0, sizeof got, down));
    OK(cls_triple_buffer_advance(ring));
    OK(cls_triple_buffer_upload_slot(ring, up, &slot));
    OK(cls_copy_h2d_async(slot.buffer, 0, &new, sizeof new, up));
    gate_await(&gate);
    EXPECT(CLS_NOT_READY, cls_stream_query(up));
    gate_open(&gate);
    OK(cls_stream_synchronize(up));
    OK(cls_stream_synchronize(down));
    assert_int_equal(got, 7);
    OK(cls_triple_buffer_destroy(ring));
    OK(cls_stream_destroy(up));
    OK(cls_stream_destroy(down));
    gate_destroy(&gate);
}

static void destroy_with_work_pending(void **state) {
    (void)state;
    cls_stream up = rig_stream(), down = rig_stream();
    cls_triple_buffer ring = ring_of(2);
    struct gate gate;
    cls_slot slot;
    uint32_t value = 41, got = 0;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(up, gate_hold, &gate));
    OK(cls_triple_buffer_upload_slot(ring, up, &slot));
    OK(cls_copy_h2d_async(slot.buffer, 0, &value, sizeof value, up));
    OK(cls_triple_buffer_process_slot(ring, down, &slot));
    OK(rig_step(down, slot.buffer, 0, 1, 1, 0));
    OK(cls_copy_d2h_async(&got, slot.buffer, 0, sizeof got, down));
    OK(cls_triple_buffer_destroy(ring));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_triple_buffer_advance(ring));
    gate_open(&gate);
    OK(cls_stream_synchronize(down));
    assert_int_equal(got, 42);
    OK(cls_stream_destroy(up));
    OK(cls_stream_destroy(down));
    gate_destroy(&gate);
}

static void failure_spreads_and_reset_ends_it(void **state) {
    (void)state;
    cls_stream up = rig_stream(), work = rig_stream();
    cls_triple_buffer ring = ring_of(2);
    cls_slot slot;
    uint32_t value = 3, got = 0;
    OK(cls_triple_buffer_upload_slot(ring, up, &slot));
    OK(rig_fail(up, "the upload", CL_OUT_OF_RESOURCES));
    OK(cls_triple_buffer_process_slot(ring, work, &slot));
    rig_step(work, slot.buffer, 0, 1, 1, 0); /* refused when the failure is known by now */
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(work));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(up));
    OK(cls_stream_reset(up));
    OK(cls_stream_reset(work));
    OK(cls_triple_buffer_reset(ring));
    expect_states(ring, "FF");
    OK(cls_triple_buffer_upload_slot(ring, up, &slot));
    assert_int_equal(slot.index, 0);
    OK(cls_copy_h2d_async(slot.buffer, 0, &value, sizeof value, up));
    OK(cls_triple_buffer_process_slot(ring, work, &slot));
    OK(cls_copy_d2h(&got, slot.buffer, 0, sizeof got, work));
    assert_int_equal(got, 3);
    OK(cls_triple_buffer_destroy(ring));
    OK(cls_stream_destroy(up));
    OK(cls_stream_destroy(work));
}

/* Nothing but the slots' ways round, on the stream. */
static void go_round(cls_triple_buffer ring, cls_stream stream) {
    cls_slot slot;
    OK(cls_triple_buffer_upload_slot(ring, stream, &slot));
    OK(cls_triple_buffer_process_slot(ring, stream, &slot));
    OK(cls_triple_buffer_download_slot(ring, stream, &slot));
    OK(cls_triple_buffer_advance(ring));
}

struct inside {
    cls_triple_buffer ring;
    cls_status taken, reset;
};

static void wait_inside(void *arg) {
    struct inside *inside = arg;
    cls_slot slot;
    inside->taken = cls_triple_buffer_upload_slot(inside->ring, NULL, &slot);
    inside->reset = cls_triple_buffer_reset(inside->ring);
}

static void no_waiting_in_a_host_function(void **state) {
    (void)state;
    struct inside inside = {.ring = ring_of(2)};
    cls_stream stream = rig_stream();
    for (int i = 0; i < 2; i++)
        go_round(inside.ring, stream);
    OK(cls_stream_launch_host_async(stream, wait_inside, &inside));
    OK(cls_stream_synchronize(stream));
    EXPECT(CLS_ERROR_WOULD_DEADLOCK, inside.taken);
    EXPECT(CLS_ERROR_WOULD_DEADLOCK, inside.reset);
    expect_states(inside.ring, "FF");
    OK(cls_triple_buffer_destroy(inside.ring));
    OK(cls_stream_destroy(stream));
}

static void the_host_is_told_of_the_download_that_failed(void **state) {
    (void)state;
    cls_triple_buffer ring = ring_of(2);
    cls_stream up = rig_stream(), down = rig_stream();
    cls_slot slot;
    OK(cls_triple_buffer_upload_slot(ring, up, &slot));
    OK(cls_triple_buffer_process_slot(ring, up, &slot));
    OK(cls_triple_buffer_download_slot(ring, down, &slot));
    OK(rig_fail(down, "a download", CL_OUT_OF_RESOURCES));
    OK(cls_triple_buffer_advance(ring));
    go_round(ring, up);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_triple_buffer_upload_slot(ring, up, &slot));
    assert_non_null(strstr(cls_last_error_detail(), "a download"));
    expect_states(ring, "FF");
    OK(cls_triple_buffer_reset(ring));
    OK(cls_triple_buffer_upload_slot(ring, up, &slot));
    assert_int_equal(slot.index, 0);
    OK(cls_triple_buffer_destroy(ring));
    OK(cls_stream_synchronize(up));
    OK(cls_stream_destroy(up));
    OK(cls_stream_destroy(down));
}

/* --- threads --- */

enum { TEAM_ROUNDS = 300, RING = 3 };

struct team {
    cls_triple_buffer ring;
    cls_stream streams[3];
    uint32_t in[TEAM_ROUNDS], out[TEAM_ROUNDS];
};

typedef cls_status (*take_fn)(cls_triple_buffer, cls_stream, cls_slot *);

static bool take(struct team *team, unsigned i, cls_slot *slot) {
    static const take_fn calls[] = {cls_triple_buffer_upload_slot, cls_triple_buffer_process_slot,
                                    cls_triple_buffer_download_slot};
    cls_status status;
    while ((status = calls[i](team->ring, team->streams[i], slot)) == CLS_NOT_READY)
        nap_ms(0);
    return status == CLS_SUCCESS;
}

static bool stage(void *arg, unsigned i) {
    struct team *team = arg;
    cls_slot slot;
    for (unsigned k = 0; k < TEAM_ROUNDS; k++) {
        if (!take(team, i, &slot) || slot.round != k || slot.index != k % RING)
            return false;
        cls_status status =
            i == 0   ? cls_copy_h2d_async(slot.buffer, 0, &team->in[k], 4, team->streams[i])
            : i == 1 ? rig_step(team->streams[i], slot.buffer, 0, 2, 1, 0)
                     : cls_copy_d2h_async(&team->out[k], slot.buffer, 0, 4, team->streams[i]);
        if (status || (i == 2 ? cls_triple_buffer_advance(team->ring)
                              : cls_triple_buffer_submitted(team->ring, slot.index)))
            return false;
    }
    return !cls_stream_synchronize(team->streams[i]);
}

static void each_stage_on_a_thread(void **state) {
    (void)state;
    static struct team team;
    team.ring = ring_of(RING);
    for (unsigned i = 0; i < 3; i++)
        team.streams[i] = rig_stream();
    for (unsigned k = 0; k < TEAM_ROUNDS; k++)
        team.in[k] = k;
    assert_int_equal(team_run(3, stage, &team), 0);
    for (unsigned k = 0; k < TEAM_ROUNDS; k++)
        assert_int_equal(team.out[k], 2 * k + 1);
    OK(cls_triple_buffer_destroy(team.ring));
    for (unsigned i = 0; i < 3; i++)
        OK(cls_stream_destroy(team.streams[i]));
}

/* Two threads wait for the slot that is next; the one that does not get it waits for the other slot. */
struct uploaders {
    cls_triple_buffer ring;
    struct gate gates[2]; /* of the slots' downloads */
    _Atomic bool opened[2];
    sleeper uploading[2];
    _Atomic unsigned taken;
};

static bool upload_or_open(void *arg, unsigned i) {
    struct uploaders *all = arg;
    cls_slot slot;
    if (i < 2) {
        sleeper_here(&all->uploading[i]);
        const cls_status status = cls_triple_buffer_upload_slot(all->ring, NULL, &slot);
        const bool well = !status && all->opened[slot.index];
        all->taken++;
        return well;
    }
    for (unsigned k = 0; k < 2; k++)
        await_sleeper(&all->uploading[k]);
    for (unsigned k = 0; k < 2; k++) {
        all->opened[k] = true;
        gate_open(&all->gates[k]);
        while (all->taken <= k)
            nap_ms(1);
    }
    return true;
}

static void the_host_waits_for_the_slot_that_it_gets(void **state) {
    (void)state;
    struct uploaders all = {.ring = ring_of(2), .opened = {false, false}};
    cls_stream down[2];
    cls_slot slot;
    for (unsigned k = 0; k < 2; k++) {
        gate_init(&all.gates[k]);
        down[k] = rig_stream();
        OK(cls_triple_buffer_upload_slot(all.ring, down[k], &slot));
        OK(cls_triple_buffer_process_slot(all.ring, down[k], &slot));
        OK(cls_triple_buffer_download_slot(all.ring, down[k], &slot));
        OK(cls_stream_launch_host_async(down[k], gate_hold, &all.gates[k]));
        OK(cls_triple_buffer_advance(all.ring));
    }
    assert_int_equal(team_run(3, upload_or_open, &all), 0);
    OK(cls_triple_buffer_destroy(all.ring));
    for (unsigned k = 0; k < 2; k++) {
        OK(cls_stream_destroy(down[k]));
        gate_destroy(&all.gates[k]);
    }
}

struct taker {
    cls_triple_buffer ring;
    take_fn take;
};

static bool take_over(void *arg, unsigned i) {
    const struct taker *taker = arg;
    cls_slot slot;
    (void)i;
    return taker->take(taker->ring, NULL, &slot) == CLS_SUCCESS;
}

/* Another thread cannot know that the holder has submitted its work. */
static void a_slot_stays_with_its_thread_until_submitted(void **state) {
    (void)state;
    cls_triple_buffer ring = ring_of(2);
    struct taker taker = {ring, cls_triple_buffer_process_slot};
    cls_slot slot;
    OK(cls_triple_buffer_upload_slot(ring, NULL, &slot));
    assert_int_equal(team_run(1, take_over, &taker), 1);
    expect_states(ring, "UF");
    OK(cls_triple_buffer_submitted(ring, slot.index));
    assert_int_equal(team_run(1, take_over, &taker), 0);
    expect_states(ring, "PF");
    OK(cls_triple_buffer_destroy(ring));
}

static void a_round_stays_open_until_its_thread_has_submitted(void **state) {
    (void)state;
    cls_triple_buffer ring = ring_of(2);
    struct taker taker = {ring, cls_triple_buffer_download_slot};
    cls_slot slot;
    OK(cls_triple_buffer_upload_slot(ring, NULL, &slot));
    OK(cls_triple_buffer_process_slot(ring, NULL, &slot));
    OK(cls_triple_buffer_submitted(ring, slot.index));
    assert_int_equal(team_run(1, take_over, &taker), 0);
    EXPECT(CLS_NOT_READY, cls_triple_buffer_advance(ring));
    expect_states(ring, "DF");
    OK(cls_triple_buffer_submitted(ring, slot.index));
    OK(cls_triple_buffer_advance(ring));
    expect_states(ring, "FF");
    OK(cls_triple_buffer_destroy(ring));
}

/* One thread resets, which waits for the second slot; the other takes what there is meanwhile. */
struct resetting {
    cls_triple_buffer ring;
    cls_stream stream;
    struct gate gate; /* of the second slot's work */
    sleeper resetter;
    _Atomic unsigned taken, done;
};

static void count_late(void *arg) {
    struct resetting *resetting = arg;
    nap_ms(100);
    resetting->done++;
}

static bool reset_or_take(void *arg, unsigned i) {
    struct resetting *resetting = arg;
    cls_slot slot;
    if (!i) {
        sleeper_here(&resetting->resetter);
        return !cls_triple_buffer_reset(resetting->ring) && resetting->done == resetting->taken;
    }
    await_sleeper(&resetting->resetter);
    while (!cls_triple_buffer_upload_slot(resetting->ring, resetting->stream, &slot)) {
        resetting->taken++;
        if (cls_stream_launch_host_async(resetting->stream, count_late, resetting) ||
            cls_triple_buffer_submitted(resetting->ring, slot.index))
            return false;
    }
    gate_open(&resetting->gate);
    return true;
}

static void a_reset_leaves_no_work_behind(void **state) {
    (void)state;
    struct resetting resetting = {.ring = ring_of(3), .stream = rig_stream()};
    cls_stream held = rig_stream();
    cls_slot slot;
    gate_init(&resetting.gate);
    go_round(resetting.ring, held);
    OK(cls_triple_buffer_upload_slot(resetting.ring, held, &slot));
    OK(cls_stream_launch_host_async(held, gate_hold, &resetting.gate));
    OK(cls_triple_buffer_submitted(resetting.ring, slot.index));
    assert_int_equal(team_run(2, reset_or_take, &resetting), 0);
    expect_states(resetting.ring, "FFF");
    OK(cls_stream_synchronize(resetting.stream));
    OK(cls_stream_destroy(resetting.stream));
    OK(cls_stream_destroy(held));
    OK(cls_triple_buffer_destroy(resetting.ring));
    gate_destroy(&resetting.gate);
}

/* A destroyed stream takes no record; its work goes on, and is waited for. */
struct destroyed {
    cls_triple_buffer ring;
    struct gate gate;
    _Atomic bool done;
};

static void hold_then_note(void *arg) {
    struct destroyed *destroyed = arg;
    gate_hold(&destroyed->gate);
    destroyed->done = true;
}

static bool reset_or_open(void *arg, unsigned i) {
    struct destroyed *destroyed = arg;
    if (!i)
        return !cls_triple_buffer_reset(destroyed->ring) && destroyed->done;
    nap_ms(50);
    gate_open(&destroyed->gate);
    return true;
}

static void a_reset_waits_for_work_of_a_destroyed_stream(void **state) {
    (void)state;
    struct destroyed destroyed = {.ring = ring_of(1)};
    cls_stream stream = rig_stream();
    cls_slot slot;
    gate_init(&destroyed.gate);
    OK(cls_triple_buffer_upload_slot(destroyed.ring, stream, &slot));
    OK(cls_stream_launch_host_async(stream, hold_then_note, &destroyed));
    gate_await(&destroyed.gate);
    OK(cls_stream_destroy(stream));
    assert_int_equal(team_run(2, reset_or_open, &destroyed), 0);
    expect_states(destroyed.ring, "F");
    OK(cls_triple_buffer_destroy(destroyed.ring));
    gate_destroy(&destroyed.gate);
}

static void bad_arguments(void **state) {
    (void)state;
    cls_triple_buffer_config config = CLS_TRIPLE_BUFFER_CONFIG_INIT;
    cls_triple_buffer ring = NULL;
    cls_context other;
    cls_stream foreign;
    cls_slot slot;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_triple_buffer_create(rig.context, 0, NULL, &ring));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_triple_buffer_create(rig.context, 1, NULL, NULL));
    config.slots = CLS_TRIPLE_BUFFER_MAX_SLOTS + 1;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_triple_buffer_create(rig.context, 1, &config, &ring));
    assert_null(ring);
    ring = ring_of(2);
    OK(cls_context_create(NULL, &other));
    OK(cls_stream_create(other, NULL, &foreign));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_triple_buffer_upload_slot(ring, foreign, &slot));
    expect_states(ring, "FF");
    OK(cls_triple_buffer_upload_slot(ring, NULL, &slot));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_buffer_destroy(slot.buffer));
    assert_non_null(strstr(cls_last_error_detail(), "belongs to a triple buffer"));
    OK(cls_triple_buffer_reset(ring));
    OK(cls_stream_destroy(foreign));
    OK(cls_context_destroy(other));
    OK(cls_triple_buffer_destroy(ring));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_triple_buffer_destroy(ring));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_go_round),
        cmocka_unit_test(illegal_moves_are_not_ready),
        cmocka_unit_test(stages_follow_on_the_device),
        cmocka_unit_test(the_host_waits_for_slots_by_default),
        cmocka_unit_test(async_reuse_hands_a_slot_out_before_the_device_is_done),
        cmocka_unit_test(destroy_with_work_pending),
        cmocka_unit_test(failure_spreads_and_reset_ends_it),
        cmocka_unit_test(no_waiting_in_a_host_function),
        cmocka_unit_test(the_host_is_told_of_the_download_that_failed),
        cmocka_unit_test(each_stage_on_a_thread),
        cmocka_unit_test(the_host_waits_for_the_slot_that_it_gets),
        cmocka_unit_test(a_slot_stays_with_its_thread_until_submitted),
        cmocka_unit_test(a_round_stays_open_until_its_thread_has_submitted),
        cmocka_unit_test(a_reset_leaves_no_work_behind),
        cmocka_unit_test(a_reset_waits_for_work_of_a_destroyed_stream),
        cmocka_unit_test(bad_arguments),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
