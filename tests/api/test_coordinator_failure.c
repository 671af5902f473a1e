/* SPDX-License-Identifier: MIT */
/* The coordinator: one call, or one command, fails; the others finish, and who it was is known. */
#include "coordinators.h"

#include <stdatomic.h>
#include <string.h>

/* Fails for `bad`; the calls are noted. */
struct failing {
    size_t bad;
    cls_status status; /* to return */
    bool speaks;       /* through a call of the library's that fails */
    _Atomic unsigned called[MAX_STREAMS];
};

static cls_status fail_for_one(cls_stream stream, size_t index, void *arg) {
    struct failing *failing = arg;
    (void)stream;
    atomic_fetch_add(&failing->called[index], 1);
    if (index != failing->bad)
        return CLS_SUCCESS;
    return failing->speaks ? cls_stream_launch_host_async(stream, NULL, NULL) : failing->status;
}

typedef cls_status (*phase_call)(cls_coordinator, cls_phase_fn, void *);

/* d waits for c waits for b; a and e for nothing. b fails. */
static void expect_others_finish(phase_call call) {
    struct team team = team_make(0, 5);
    struct failing failing = {.bad = 1, .status = CLS_ERROR_IO};
    static const unsigned called[] = {1, 1, 0, 0, 1};
    cls_stream failed = NULL;
    OK(depend(&team, 2, 1));
    OK(depend(&team, 3, 2));
    EXPECT(CLS_ERROR_IO, call(team.coordinator, fail_for_one, &failing));
    assert_string_equal(cls_last_error_detail(), "stream 'b': CLS_ERROR_IO");
    for (size_t i = 0; i < team.count; i++)
        assert_int_equal(failing.called[i], called[i]);
    OK(cls_coordinator_get_failed(team.coordinator, &failed));
    assert_ptr_equal(failed, team.streams[1]);
    failing.speaks = true;
    EXPECT(CLS_ERROR_INVALID_VALUE, call(team.coordinator, fail_for_one, &failing));
    assert_string_equal(cls_last_error_detail(),
                        "stream 'b': cls_stream_launch_host_async: fn is null");
    failing.bad = MAX_STREAMS;
    OK(call(team.coordinator, fail_for_one, &failing));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_coordinator_get_failed(team.coordinator, &failed));
    team_drop(&team);
}

static void test_others_finish_when_one_call_fails(void **state) {
    (void)state;
    expect_others_finish(cls_coordinator_run);
}

static void test_others_finish_when_one_thread_fails(void **state) {
    (void)state;
    expect_others_finish(cls_coordinator_execute_parallel);
}

/* A command of b fails: c, which depends on b, is poisoned; a is not. */
static cls_status fail_on_device(cls_stream stream, size_t index, void *arg) {
    (void)arg;
    return index == 1 ? rig_fail(stream, "bad command", CL_OUT_OF_RESOURCES) : CLS_SUCCESS;
}

static void test_a_failed_command_is_reported_with_its_stream(void **state) {
    (void)state;
    struct team team = team_make(0, 3);
    OK(depend(&team, 2, 1));
    cls_status status = cls_coordinator_run(team.coordinator, fail_on_device, NULL);
    assert_true(status == CLS_SUCCESS || status == CLS_ERROR_COMMAND_FAILED); /* noticed already */
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_coordinator_wait_all(team.coordinator, UINT64_MAX));
    assert_non_null(strstr(cls_last_error_detail(), "'bad command'"));
    assert_non_null(strstr(cls_last_error_detail(), "stream 'b'"));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_coordinator_query(team.coordinator));
    assert_non_null(strstr(cls_last_error_detail(), "stream 'b'"));
    OK(cls_stream_query(team.streams[0]));
    EXPECT(CLS_ERROR_COMMAND_FAILED,
           cls_coordinator_run(team.coordinator, no_phase, &(unsigned){0}));
    assert_non_null(strstr(cls_last_error_detail(), "stream 'b'"));
    OK(cls_coordinator_barrier(team.coordinator)); /* now all depend on b */
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(team.streams[0]));
    for (size_t i = 0; i < team.count; i++)
        OK(cls_stream_reset(team.streams[i]));
    OK(cls_coordinator_wait_all(team.coordinator, UINT64_MAX));
    team_drop(&team);
}

/* Of a poisoned stream cls_stream_query tells the error at once; the set is done when all work is. */
static void test_query_waits_for_the_others_after_a_failure(void **state) {
    (void)state;
    struct team team = team_make(0, 2);
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(team.streams[1], gate_hold, &gate));
    OK(rig_fail(team.streams[0], "bad command", CL_OUT_OF_RESOURCES));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(team.streams[0]));
    EXPECT(CLS_NOT_READY, cls_coordinator_query(team.coordinator));
    gate_open(&gate);
    cls_status status;
    while ((status = cls_coordinator_query(team.coordinator)) == CLS_NOT_READY)
        nap_ms(1);
    EXPECT(CLS_ERROR_COMMAND_FAILED, status);
    OK(cls_stream_reset(team.streams[0]));
    team_drop(&team);
    gate_destroy(&gate);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_others_finish_when_one_call_fails),
        cmocka_unit_test(test_others_finish_when_one_thread_fails),
        cmocka_unit_test(test_a_failed_command_is_reported_with_its_stream),
        cmocka_unit_test(test_query_waits_for_the_others_after_a_failure),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
