/* SPDX-License-Identifier: MIT */
/* Managed contexts: steps on streams and in place, and what they say of themselves. */
#include <stdlib.h>
#include <string.h>

#include <clstream/managed_context.h>
#include <clstream/unary.h>

#include "../support/rig.h"

enum { ROUNDS = 20, WORDS = 64, BYTES = WORDS * 4 };

static cls_managed_context managed_make(bool with_streams) {
    cls_managed_context managed;
    OK(cls_managed_context_create(NULL, with_streams, &managed));
    return managed;
}

/* slot = slot * 3, by an operation of the library. */
static cls_status triple(cls_stream stream, const cls_slot *slot, void *arg) {
    const cls_array all = cls_array_of(slot->buffer, CLS_I32, WORDS);
    (void)arg;
    return cls_unary_param_async(CLS_UNARY_SCALE, all, all, 3, stream);
}

static void steps(bool with_streams) {
    static int32_t in[ROUNDS][WORDS], out[ROUNDS][WORDS];
    cls_managed_context managed = managed_make(with_streams);
    cls_buffered_step step = CLS_BUFFERED_STEP_INIT;
    cls_compute compute = CLS_COMPUTE_INIT;
    cls_step_telemetry told = CLS_STEP_TELEMETRY_INIT;
    cls_async_coordinator coordinator = NULL;
    compute.fn = triple;
    OK(cls_managed_context_make_triple_buffer(managed, BYTES, NULL, &step.slots));
    if (with_streams)
        OK(cls_managed_context_get_coordinator(managed, &coordinator));
    step.in_bytes = step.out_bytes = BYTES;
    step.compute = &compute;
    step.timed = 1;
    memset(out, 0, sizeof out);
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < WORDS; k++)
            in[i][k] = i * 1000 + k;
        step.in = in[i];
        step.out = out[i];
        OK(cls_managed_context_triple_buffered_step(managed, &step, &told));
        assert_int_equal(told.step, i);
        assert_int_equal(told.download != 0, with_streams);
        if (!with_streams)
            assert_int_equal(told.measured_step, i);
    }
    if (with_streams) {
        OK(cls_async_coordinator_synchronize_all(coordinator));
        OK(cls_managed_context_triple_buffered_step(managed, &step, &told));
        OK(cls_async_coordinator_wait(coordinator, told.download));
        assert_true(told.measured_step < ROUNDS);
    }
    assert_true(told.measured);
    assert_true(told.upload_ms >= 0 && told.compute_ms >= 0 && told.download_ms >= 0 &&
                told.submit_ms >= 0);
    for (int i = 0; i < ROUNDS; i++)
        for (int k = 0; k < WORDS; k++)
            assert_int_equal(out[i][k], in[i][k] * 3);
    OK(cls_triple_buffer_destroy(step.slots));
    OK(cls_managed_context_destroy(managed));
}

static void steps_on_streams(void **state) {
    (void)state;
    steps(true);
}

static void steps_in_place(void **state) {
    (void)state;
    steps(false);
}

static void it_makes_what_belongs_to_it(void **state) {
    (void)state;
    cls_managed_context managed = managed_make(false);
    cls_async_coordinator coordinator = NULL;
    cls_context context;
    cls_pipeline pipeline;
    cls_triple_buffer ring;
    EXPECT(CLS_ERROR_INVALID_STATE, cls_managed_context_get_coordinator(managed, &coordinator));
    assert_null(coordinator);
    OK(cls_managed_context_get_context(managed, &context));
    OK(cls_context_synchronize(context));
    OK(cls_managed_context_make_pipeline(managed, NULL, &pipeline));
    OK(cls_managed_context_make_triple_buffer(managed, 16, NULL, &ring));
    OK(cls_managed_context_destroy(managed));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_triple_buffer_advance(ring));
    OK(cls_triple_buffer_destroy(ring));
    OK(cls_pipeline_destroy(pipeline));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_managed_context_get_context(managed, &context));
    EXPECT(CLS_ERROR_NO_DEVICE, cls_managed_context_create("no such device", 1, &managed));
}

static void bad_steps(void **state) {
    (void)state;
    uint32_t word = 1;
    for (int with_streams = 0; with_streams < 2; with_streams++) {
        cls_managed_context managed = managed_make(with_streams);
        cls_buffered_step step = CLS_BUFFERED_STEP_INIT;
        cls_step_telemetry told = CLS_STEP_TELEMETRY_INIT;
        cls_compute compute = CLS_COMPUTE_INIT;
        cls_slot_state states[3];
        EXPECT(CLS_ERROR_INVALID_VALUE,
               cls_managed_context_triple_buffered_step(managed, &step, &told));
        compute.fn = triple;
        step.in = step.out = &word;
        step.in_bytes = step.out_bytes = BYTES + 1;
        step.compute = &compute;
        EXPECT(CLS_ERROR_INVALID_HANDLE,
               cls_managed_context_triple_buffered_step(managed, &step, &told));
        OK(cls_managed_context_make_triple_buffer(managed, BYTES, NULL, &step.slots));
        EXPECT(CLS_ERROR_OUT_OF_RANGE,
               cls_managed_context_triple_buffered_step(managed, &step, &told));
        OK(cls_triple_buffer_get_states(step.slots, states, 3));
        for (int i = 0; i < 3; i++)
            assert_int_equal(states[i], CLS_SLOT_FREE);
        OK(cls_triple_buffer_destroy(step.slots));
        OK(cls_managed_context_destroy(managed));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_on_streams),
        cmocka_unit_test(steps_in_place),
        cmocka_unit_test(it_makes_what_belongs_to_it),
        cmocka_unit_test(bad_steps),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
