/* SPDX-License-Identifier: MIT */
/* The coordinator: arguments that it refuses, streams that are gone, and many threads. */
#include "coordinators.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static void no_callback(cls_coordinator coordinator, cls_status status, void *arg) {
    (void)coordinator;
    (void)status;
    ++*(unsigned *)arg;
}

static void test_bad_arguments(void **state) {
    (void)state;
    struct team team = team_make(0, 2);
    cls_coordinator c = team.coordinator, foreign = (cls_coordinator)(void *)team.streams[0];
    cls_coordinator_config config = {.size = 1};
    cls_stream stream = rig_stream(), out;
    unsigned calls = 0;
    size_t count;
    int has;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_coordinator_create(NULL, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_coordinator_create(&config, &foreign));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_coordinator_add_stream(NULL, stream, NULL));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_coordinator_add_stream(foreign, stream, NULL));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_coordinator_add_stream(c, (cls_stream)(void *)c, NULL));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_coordinator_add_dependency(c, stream, team.streams[0]));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_coordinator_wait(c, stream, 0));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_coordinator_get_prerequisites(c, stream, NULL, 0, &count));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_coordinator_remove_stream(c, stream));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_coordinator_get_streams(c, NULL, 1, &count));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_coordinator_get_streams(c, &out, 1, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_coordinator_has_dependency(c, team.streams[0], team.streams[1], NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_coordinator_has_cycles(c, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_coordinator_count_cycles(c, NULL));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_coordinator_get_cycle(c, 0, &out, 1, &count));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_coordinator_get_last_cycle(c, &out, 1, &count));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_coordinator_get_failed(c, &out));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_coordinator_run(c, NULL, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_coordinator_execute_parallel(c, NULL, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_coordinator_add_callback(c, NULL, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_coordinator_wait_any(c, 0, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_coordinator_write_dot(c, NULL));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_coordinator_write_cycle_dot(c, stderr));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_coordinator_run(NULL, no_phase, &calls));
    OK(cls_coordinator_create(NULL, &c));
    OK(cls_coordinator_run(c, no_phase, &calls));
    OK(cls_coordinator_execute_parallel(c, no_phase, &calls));
    OK(cls_coordinator_barrier(c));
    OK(cls_coordinator_query(c));
    OK(cls_coordinator_wait_all(c, 0));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_coordinator_wait_any(c, 0, &out));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_coordinator_add_callback(c, no_callback, &calls));
    assert_int_equal(calls, 0);
    OK(cls_coordinator_destroy(c));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_coordinator_destroy(c));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_coordinator_has_cycles(c, &has));
    OK(cls_stream_destroy(stream));
    team_drop(&team);
}

/* Until it is removed, by its stale handle. */
static void test_a_destroyed_stream_has_to_be_removed(void **state) {
    (void)state;
    struct team team = team_make(0, 3);
    unsigned calls = 0;
    OK(depend(&team, 2, 1));
    OK(cls_stream_destroy(team.streams[1]));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_coordinator_run(team.coordinator, no_phase, &calls));
    assert_non_null(strstr(cls_last_error_detail(), "'b'"));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_coordinator_barrier(team.coordinator));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_coordinator_wait_all(team.coordinator, 0));
    assert_int_equal(calls, 0);
    OK(cls_coordinator_remove_stream(team.coordinator, team.streams[1]));
    OK(cls_coordinator_run(team.coordinator, no_phase, &calls));
    assert_int_equal(calls, 2);
    team.streams[1] = rig_stream();
    team_drop(&team);
}

static void test_a_stream_of_a_destroyed_context(void **state) {
    (void)state;
    struct team team = team_make(0, 1);
    cls_context other;
    cls_stream stream;
    unsigned calls = 0;
    OK(cls_context_create(NULL, &other));
    OK(cls_stream_create(other, NULL, &stream));
    OK(cls_coordinator_add_stream(team.coordinator, stream, NULL));
    OK(cls_context_destroy(other));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_coordinator_run(team.coordinator, no_phase, &calls));
    OK(cls_coordinator_remove_stream(team.coordinator, stream));
    OK(cls_coordinator_run(team.coordinator, no_phase, &calls));
    assert_int_equal(calls, 1);
    OK(cls_stream_destroy(stream));
    team_drop(&team);
}

struct shared {
    struct team *team;
    _Atomic unsigned refused;
};

/* Adds and removes dependencies at random, runs phases and waits. */
static bool meddle(void *arg, unsigned i) {
    struct shared *shared = arg;
    struct team *team = shared->team;
    cls_coordinator c = team->coordinator;
    unsigned seed = i + 1, calls = 0, rounds = rig_scale(60, 10);
    cls_status status = CLS_SUCCESS;
    for (unsigned round = 0; round < rounds && !status; round++) {
        seed = seed * 1103515245 + 12345;
        size_t a = seed >> 16 & 7, b = seed >> 20 & 7;
        status = depend(team, a, b);
        if (status == CLS_ERROR_DEADLOCK) {
            atomic_fetch_add(&shared->refused, 1);
            status = CLS_SUCCESS;
        }
        if (!status && round % 4 == 0)
            status = cls_coordinator_run(c, no_phase, &calls);
        if (!status && round % 8 == 1)
            status = cls_coordinator_barrier(c);
        if (!status && round % 4 == 3)
            status = cls_coordinator_remove_dependency(c, team->streams[b], team->streams[a]);
        if (status == CLS_ERROR_NOT_FOUND)
            status = CLS_SUCCESS;
    }
    return !status;
}

static void test_many_threads(void **state) {
    (void)state;
    struct team team = team_make(0, MAX_STREAMS);
    struct shared shared = {&team, 0};
    assert_int_equal(team_run(8, meddle, &shared), 0);
    assert_true(shared.refused > 0);
    OK(cls_coordinator_wait_all(team.coordinator, UINT64_MAX));
    team_drop(&team);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_a_destroyed_stream_has_to_be_removed),
        cmocka_unit_test(test_a_stream_of_a_destroyed_context),
        cmocka_unit_test(test_many_threads),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
