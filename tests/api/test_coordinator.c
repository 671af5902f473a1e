/* SPDX-License-Identifier: MIT */
/* The coordinator: dependencies between streams, cycles refused, phases, barrier and completion. */
#include "../support/rig.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/coordinator.h>

enum { MAX_STREAMS = 8 };

/* A coordinator with streams named "a", "b", ... and a cell each, all 0. */
struct team {
    cls_coordinator coordinator;
    cls_stream streams[MAX_STREAMS];
    size_t count;
    cls_buffer cells;
};

static void team_add(struct team *team, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char name[2] = {(char)('a' + (char)team->count), 0};
        cls_stream_config config = CLS_STREAM_CONFIG_INIT;
        size_t index = 99;
        config.name = name;
        OK(cls_stream_create(rig.context, &config, &team->streams[team->count]));
        OK(cls_coordinator_add_stream(team->coordinator, team->streams[team->count], &index));
        assert_int_equal(index, team->count);
        team->count++;
    }
}

static struct team team_make(int permissive, size_t n) {
    struct team team = {.cells = rig_cells(MAX_STREAMS)};
    cls_coordinator_config config = CLS_COORDINATOR_CONFIG_INIT;
    config.permissive = permissive;
    OK(cls_coordinator_create(&config, &team.coordinator));
    team_add(&team, n);
    return team;
}

static void team_drop(struct team *team) {
    OK(cls_context_synchronize(rig.context));
    OK(cls_coordinator_destroy(team->coordinator));
    for (size_t i = 0; i < team->count; i++)
        OK(cls_stream_destroy(team->streams[i]));
    OK(cls_buffer_destroy(team->cells));
}

/* Stream i waits for stream j. */
static cls_status depend(struct team *team, size_t i, size_t j) {
    return cls_coordinator_add_dependency(team->coordinator, team->streams[i], team->streams[j]);
}

static int depends(struct team *team, size_t i, size_t j) {
    int has = -1;
    OK(cls_coordinator_has_dependency(team->coordinator, team->streams[i], team->streams[j], &has));
    return has;
}

/* The streams of a list by their letters. */
static void expect_letters(const struct team *team, const char *letters, const cls_stream *list,
                           size_t count) {
    char text[MAX_STREAMS + 1] = "";
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < team->count; j++)
            if (list[i] == team->streams[j])
                text[i] = (char)('a' + (char)j);
    assert_string_equal(text, letters);
}

/* --- streams and dependencies --- */

static void test_the_set_and_its_dependencies(void **state) {
    (void)state;
    struct team team = team_make(0, 3);
    cls_stream list[MAX_STREAMS], *streams = team.streams;
    size_t count = 99, index;
    OK(depend(&team, 0, 1));
    OK(depend(&team, 1, 2));
    OK(depend(&team, 0, 1)); /* again */
    OK(cls_coordinator_add_stream(team.coordinator, streams[1], &index));
    assert_int_equal(index, 1);
    assert_int_equal(depends(&team, 0, 1), 1);
    assert_int_equal(depends(&team, 1, 0), 0);
    assert_int_equal(depends(&team, 0, 2), 0); /* only by way of b */
    OK(cls_coordinator_get_streams(team.coordinator, list, MAX_STREAMS, &count));
    expect_letters(&team, "cba", list, count);
    OK(cls_coordinator_get_prerequisites(team.coordinator, streams[0], list, MAX_STREAMS, &count));
    expect_letters(&team, "b", list, count);
    OK(cls_coordinator_get_streams(team.coordinator, NULL, 0, &count));
    assert_int_equal(count, 3);
    OK(cls_coordinator_remove_dependency(team.coordinator, streams[0], streams[1]));
    EXPECT(CLS_ERROR_NOT_FOUND,
           cls_coordinator_remove_dependency(team.coordinator, streams[0], streams[1]));
    assert_int_equal(depends(&team, 0, 1), 0);
    OK(cls_coordinator_remove_stream(team.coordinator, streams[1]));
    EXPECT(CLS_ERROR_NOT_FOUND, depend(&team, 0, 1));
    OK(cls_coordinator_add_stream(team.coordinator, streams[1], &index));
    assert_int_equal(index, 1); /* given again, without the old dependencies */
    assert_int_equal(depends(&team, 1, 2), 0);
    team_drop(&team);
}

static void test_the_default_stream_is_null(void **state) {
    (void)state;
    struct team team = team_make(0, 1);
    cls_stream standard = NULL, list[2];
    size_t count;
    OK(cls_context_default_stream(NULL, &standard));
    OK(cls_coordinator_add_stream(team.coordinator, NULL, NULL));
    OK(cls_coordinator_add_dependency(team.coordinator, team.streams[0], NULL));
    OK(cls_coordinator_get_prerequisites(team.coordinator, team.streams[0], list, 2, &count));
    assert_int_equal(count, 1);
    assert_ptr_equal(list[0], standard);
    OK(cls_coordinator_remove_stream(team.coordinator, NULL));
    team_drop(&team);
}

static cls_status no_phase(cls_stream stream, size_t index, void *arg) {
    (void)stream;
    (void)index;
    ++*(unsigned *)arg;
    return CLS_SUCCESS;
}

static void no_callback(cls_coordinator coordinator, cls_status status, void *arg) {
    (void)coordinator;
    (void)status;
    ++*(unsigned *)arg;
}

static void test_bad_arguments(void **state) {
    (void)state;
    struct team team = team_make(0, 2);
    cls_coordinator c = team.coordinator, foreign = (cls_coordinator)(void *)team.streams[0];
    cls_coordinator_config config = {1, NULL, 0};
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

/* --- cycles --- */

static void test_strict_refuses_the_closing_dependency(void **state) {
    (void)state;
    struct team team = team_make(0, 3);
    cls_stream list[MAX_STREAMS];
    size_t count;
    unsigned calls = 0;
    int has = -1;
    OK(depend(&team, 0, 1));
    OK(depend(&team, 1, 2));
    EXPECT(CLS_ERROR_DEADLOCK, depend(&team, 2, 0));
    assert_string_equal(cls_last_error_detail(),
                        "c cannot wait for a, it would close a cycle: c -> a -> b -> c");
    assert_int_equal(depends(&team, 2, 0), 0);
    OK(cls_coordinator_has_cycles(team.coordinator, &has));
    assert_int_equal(has, 0);
    OK(cls_coordinator_get_last_cycle(team.coordinator, list, MAX_STREAMS, &count));
    expect_letters(&team, "cab", list, count);
    EXPECT(CLS_ERROR_DEADLOCK, depend(&team, 1, 1));
    OK(cls_coordinator_get_last_cycle(team.coordinator, list, MAX_STREAMS, &count));
    expect_letters(&team, "b", list, count);
    OK(cls_coordinator_run(team.coordinator, no_phase, &calls));
    assert_int_equal(calls, 3);
    team_drop(&team);
}

static void test_permissive_lists_its_cycles_and_does_not_run(void **state) {
    (void)state;
    struct team team = team_make(1, 5);
    cls_stream list[MAX_STREAMS];
    size_t count = 0, cycles = 0;
    unsigned calls = 0;
    int has = -1;
    OK(depend(&team, 0, 1));
    OK(depend(&team, 1, 0));
    OK(depend(&team, 2, 3));
    OK(depend(&team, 3, 4));
    OK(cls_coordinator_has_cycles(team.coordinator, &has));
    assert_int_equal(has, 1);
    OK(depend(&team, 4, 2));
    OK(cls_coordinator_count_cycles(team.coordinator, &cycles));
    assert_int_equal(cycles, 2);
    size_t lengths = 0;
    for (size_t i = 0; i < cycles; i++) {
        OK(cls_coordinator_get_cycle(team.coordinator, i, list, MAX_STREAMS, &count));
        lengths += count;
        for (size_t j = 0; j < count; j++) {
            OK(cls_coordinator_has_dependency(team.coordinator, list[j], list[(j + 1) % count],
                                              &has));
            assert_int_equal(has, 1);
        }
    }
    assert_int_equal(lengths, 5);
    EXPECT(CLS_ERROR_OUT_OF_RANGE,
           cls_coordinator_get_cycle(team.coordinator, 2, list, MAX_STREAMS, &count));
    EXPECT(CLS_ERROR_DEADLOCK, cls_coordinator_run(team.coordinator, no_phase, &calls));
    assert_non_null(strstr(cls_last_error_detail(), " -> "));
    EXPECT(CLS_ERROR_DEADLOCK,
           cls_coordinator_execute_parallel(team.coordinator, no_phase, &calls));
    EXPECT(CLS_ERROR_DEADLOCK, cls_coordinator_apply(team.coordinator));
    assert_int_equal(calls, 0);
    OK(cls_coordinator_barrier(team.coordinator)); /* these do not ask for an order */
    OK(cls_coordinator_wait_all(team.coordinator, UINT64_MAX));
    OK(cls_coordinator_get_streams(team.coordinator, list, MAX_STREAMS, &count));
    expect_letters(&team, "abcde", list, count);
    OK(cls_coordinator_remove_dependency(team.coordinator, team.streams[1], team.streams[0]));
    OK(cls_coordinator_remove_dependency(team.coordinator, team.streams[4], team.streams[2]));
    OK(cls_coordinator_run(team.coordinator, no_phase, &calls));
    assert_int_equal(calls, 5);
    team_drop(&team);
}

/* --- drawings --- */

static void test_the_graph_and_the_last_cycle_as_dot(void **state) {
    (void)state;
    struct team team = team_make(0, 4);
    char *text = NULL;
    size_t length;
    OK(depend(&team, 0, 1));
    OK(depend(&team, 3, 0));
    EXPECT(CLS_ERROR_DEADLOCK, depend(&team, 1, 0));
    FILE *file = open_memstream(&text, &length);
    OK(cls_coordinator_write_dot(team.coordinator, file));
    fclose(file);
    assert_string_equal(text, "digraph \"coordinator\" {\n    node [shape=box];\n"
                              "    n0 [label=\"a\", color=red];\n"
                              "    n1 [label=\"b\", color=red];\n"
                              "    n2 [label=\"c\"];\n"
                              "    n3 [label=\"d\"];\n"
                              "    n0 -> n1 [color=red, penwidth=2];\n"
                              "    n1 -> n0 [color=red, penwidth=2, style=dashed];\n"
                              "    n3 -> n0;\n"
                              "}\n");
    free(text);
    file = open_memstream(&text, &length);
    OK(cls_coordinator_write_cycle_dot(team.coordinator, file));
    fclose(file);
    assert_string_equal(text, "digraph \"coordinator\" {\n    node [shape=box];\n"
                              "    n1 [label=\"b\", color=red];\n"
                              "    n0 [label=\"a\", color=red];\n"
                              "    n1 -> n0 [color=red, penwidth=2, style=dashed];\n"
                              "    n0 -> n1 [color=red, penwidth=2];\n"
                              "}\n");
    free(text);
    file = fopen("/dev/full", "w");
    if (file) {
        EXPECT(CLS_ERROR_IO, cls_coordinator_write_dot(team.coordinator, file));
        fclose(file);
    }
    team_drop(&team);
}

/* --- apply --- */

/* c waits for b waits for a: what c submits after apply sees what a held before it. */
static void test_apply_orders_what_is_submitted_so_far(void **state) {
    (void)state;
    struct team team = team_make(0, 3);
    struct gate gate;
    gate_init(&gate);
    OK(depend(&team, 1, 0));
    OK(depend(&team, 2, 1));
    OK(cls_stream_launch_host_async(team.streams[0], gate_hold, &gate));
    OK(rig_set(team.streams[0], team.cells, 0, 5, 0));
    OK(cls_coordinator_apply(team.coordinator));
    OK(rig_step(team.streams[2], team.cells, 0, 3, 1, 0));
    EXPECT(CLS_NOT_READY, cls_stream_query(team.streams[1])); /* the wait alone */
    EXPECT(CLS_NOT_READY, cls_stream_query(team.streams[2]));
    gate_open(&gate);
    OK(cls_stream_synchronize(team.streams[2]));
    assert_int_equal(rig_cell(team.cells, 0), 16);
    gate_await(&gate);
    OK(cls_stream_launch_host_async(team.streams[0], gate_hold,
                                    &gate)); /* after it: in no one's way */
    OK(rig_set(team.streams[1], team.cells, 1, 1, 0));
    OK(cls_stream_synchronize(team.streams[1]));
    gate_open(&gate);
    team_drop(&team);
    gate_destroy(&gate);
}

/* --- run --- */

/* Every stream takes cells[0] to cells[0] * 10 + index + 1. */
struct digits {
    struct team *team;
    struct gate *gate; /* holds the stream called first; NULL: none */
    unsigned calls;
    double ms;
};

static cls_status add_digit(cls_stream stream, size_t index, void *arg) {
    struct digits *digits = arg;
    cls_status status = CLS_SUCCESS;
    if (digits->gate && !digits->calls)
        status = cls_stream_launch_host_async(stream, gate_hold, digits->gate);
    digits->calls++;
    return status ? status
                  : rig_step(stream, digits->team->cells, 0, 10, (uint32_t)index + 1, digits->ms);
}

static void test_run_submits_in_dependency_order(void **state) {
    (void)state;
    struct team team = team_make(0, 4);
    struct gate gate;
    struct digits digits = {&team, &gate, 0, 2};
    gate_init(&gate);
    OK(depend(&team, 0, 2)); /* b, then d, then c, then a */
    OK(depend(&team, 2, 3));
    OK(depend(&team, 3, 1));
    OK(cls_coordinator_run(team.coordinator, add_digit, &digits));
    assert_int_equal(digits.calls, 4); /* all are submitted while the first is held */
    EXPECT(CLS_NOT_READY, cls_coordinator_query(team.coordinator));
    gate_open(&gate);
    OK(cls_coordinator_wait_all(team.coordinator, UINT64_MAX));
    assert_int_equal(rig_cell(team.cells, 0), 2431);
    digits.gate = NULL;
    OK(rig_set(team.streams[1], team.cells, 0, 0, 0));
    OK(cls_coordinator_run(team.coordinator, add_digit, &digits)); /* again, with nothing held */
    OK(cls_coordinator_wait_all(team.coordinator, UINT64_MAX));
    assert_int_equal(rig_cell(team.cells, 0), 2431);
    team_drop(&team);
    gate_destroy(&gate);
}

/* Streams that do not depend on each other do not wait for each other. */
static cls_status hold_first(cls_stream stream, size_t index, void *arg) {
    return index ? CLS_SUCCESS : cls_stream_launch_host_async(stream, gate_hold, arg);
}

static void test_independent_streams_stay_independent(void **state) {
    (void)state;
    struct team team = team_make(0, 3);
    struct gate gate;
    gate_init(&gate);
    OK(depend(&team, 1, 0));
    OK(cls_coordinator_run(team.coordinator, hold_first, &gate));
    OK(rig_set(team.streams[1], team.cells, 1, 1, 0));
    OK(rig_set(team.streams[2], team.cells, 2, 1, 0));
    OK(cls_stream_synchronize(team.streams[2]));
    EXPECT(CLS_NOT_READY, cls_stream_query(team.streams[1]));
    gate_open(&gate);
    team_drop(&team);
    gate_destroy(&gate);
}

/* --- failures --- */

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

/* --- parallel --- */

struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned here, wanted;
    bool returned[MAX_STREAMS], early;
    struct digits digits;
};

/* Returns when so many are in their calls at once; false when they do not come. */
static bool meet(struct meeting *meeting) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    pthread_mutex_lock(&meeting->lock);
    meeting->here++;
    pthread_cond_broadcast(&meeting->changed);
    while (meeting->here < meeting->wanted &&
           pthread_cond_timedwait(&meeting->changed, &meeting->lock, &until) == 0)
        continue;
    bool met = meeting->here >= meeting->wanted;
    pthread_mutex_unlock(&meeting->lock);
    return met;
}

/* a, b and c, which are independent, are in their calls at the same time; d waits for all of them. */
static cls_status meet_then_add(cls_stream stream, size_t index, void *arg) {
    struct meeting *meeting = arg;
    bool last = index == 3;
    if (!last && !meet(meeting))
        return CLS_ERROR_TIMEOUT;
    pthread_mutex_lock(&meeting->lock);
    for (size_t i = 0; last && i < 3; i++)
        meeting->early |= !meeting->returned[i];
    pthread_mutex_unlock(&meeting->lock);
    cls_status status = rig_set(stream, meeting->digits.team->cells, (uint32_t)index,
                                (uint32_t)index + 1, last ? 0 : 3);
    /* cells[0] is a's, so d's step is right only behind it. */
    if (!status && last)
        status = rig_step(stream, meeting->digits.team->cells, 0, 10, 7, 0);
    pthread_mutex_lock(&meeting->lock);
    meeting->returned[index] = true;
    pthread_mutex_unlock(&meeting->lock);
    return status;
}

static void test_parallel_calls_overlap_and_keep_the_order(void **state) {
    (void)state;
    struct team team = team_make(0, 4);
    struct meeting meeting = {.lock = PTHREAD_MUTEX_INITIALIZER,
                              .changed = PTHREAD_COND_INITIALIZER,
                              .wanted = 3,
                              .digits = {.team = &team}};
    for (size_t i = 0; i < 3; i++)
        OK(depend(&team, 3, i));
    OK(cls_coordinator_execute_parallel(team.coordinator, meet_then_add, &meeting));
    for (size_t i = 0; i < 4; i++)
        assert_true(meeting.returned[i]);
    assert_false(meeting.early);
    OK(cls_coordinator_wait_all(team.coordinator, UINT64_MAX));
    assert_int_equal(rig_cell(team.cells, 0), 17);
    assert_int_equal(rig_cell(team.cells, 2), 3);
    team_drop(&team);
}

static void execute_inside(void *arg) {
    struct team *team = arg;
    unsigned calls = 0;
    cls_stream stream;
    bool refused =
        cls_coordinator_execute_parallel(team->coordinator, no_phase, &calls) ==
            CLS_ERROR_WOULD_DEADLOCK &&
        cls_coordinator_wait_all(team->coordinator, 0) == CLS_ERROR_WOULD_DEADLOCK &&
        cls_coordinator_wait_any(team->coordinator, 0, &stream) == CLS_ERROR_WOULD_DEADLOCK &&
        cls_coordinator_wait(team->coordinator, team->streams[0], 0) == CLS_ERROR_WOULD_DEADLOCK;
    bool submits = cls_coordinator_barrier(team->coordinator) == CLS_SUCCESS &&
                   cls_coordinator_apply(team->coordinator) == CLS_SUCCESS &&
                   cls_coordinator_run(team->coordinator, no_phase, &calls) == CLS_SUCCESS;
    team->count = refused && submits && calls == 2 ? team->count : 0;
}

static void test_inside_a_host_function(void **state) {
    (void)state;
    struct team team = team_make(0, 2);
    OK(cls_stream_launch_host_async(team.streams[0], execute_inside, &team));
    OK(cls_stream_synchronize(team.streams[0]));
    assert_int_equal(team.count, 2);
    team_drop(&team);
}

/* Functions may change the set: the phase goes on with what it began with. */
static cls_status remove_all(cls_stream stream, size_t index, void *arg) {
    struct digits *digits = arg;
    (void)stream;
    (void)index;
    digits->calls++;
    for (size_t i = 0; i < digits->team->count && digits->calls == 1; i++)
        OK(cls_coordinator_remove_stream(digits->team->coordinator, digits->team->streams[i]));
    return CLS_SUCCESS;
}

static void test_a_phase_goes_on_with_the_set_that_it_began_with(void **state) {
    (void)state;
    struct team team = team_make(0, 3);
    struct digits digits = {&team, NULL, 0, 0};
    OK(depend(&team, 0, 1));
    OK(cls_coordinator_run(team.coordinator, remove_all, &digits));
    assert_int_equal(digits.calls, 3);
    OK(cls_coordinator_run(team.coordinator, remove_all, &digits));
    assert_int_equal(digits.calls, 3);
    team_drop(&team);
}

/* --- barrier --- */

/* Each stream adds to its neighbour's cell what only the barrier makes right. */
static void test_barrier_makes_all_wait_for_all(void **state) {
    (void)state;
    enum { COUNT = 4 };
    struct team team = team_make(0, COUNT);
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(team.streams[2], gate_hold, &gate));
    for (uint32_t i = 0; i < COUNT; i++)
        OK(rig_set(team.streams[i], team.cells, i, i + 1, 3));
    OK(cls_coordinator_barrier(team.coordinator)); /* returns while c is held */
    for (uint32_t i = 0; i < COUNT; i++)
        OK(rig_step(team.streams[i], team.cells, (i + 1) % COUNT, 10, 5, 0));
    for (uint32_t i = 0; i < COUNT; i++)
        EXPECT(CLS_NOT_READY, cls_stream_query(team.streams[i]));
    gate_open(&gate);
    OK(cls_coordinator_wait_all(team.coordinator, UINT64_MAX));
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(rig_cell(team.cells, i), (i + 1) * 10 + 5);
    team_drop(&team);
    gate_destroy(&gate);
}

/* --- several devices --- */

struct relay {
    _Atomic unsigned value;
    unsigned seen;
};

static void put_value(void *arg) { atomic_store(&((struct relay *)arg)->value, 7); }

static void see_value(void *arg) {
    struct relay *relay = arg;
    relay->seen = atomic_load(&relay->value);
}

static cls_status put_then_see(cls_stream stream, size_t index, void *arg) {
    return cls_stream_launch_host_async(stream, index ? see_value : put_value, arg);
}

/* Two contexts are as good as two devices: no native wait leads from one to the other. */
static void test_streams_of_several_contexts(void **state) {
    (void)state;
    struct team team = team_make(0, 1);
    struct relay relay = {0, 0};
    struct gate gate;
    cls_context other;
    cls_stream stream;
    gate_init(&gate);
    OK(cls_context_create(NULL, &other));
    OK(cls_stream_create(other, NULL, &stream));
    OK(cls_coordinator_add_stream(team.coordinator, stream, NULL));
    OK(cls_coordinator_add_dependency(team.coordinator, stream, team.streams[0]));
    OK(cls_stream_launch_host_async(team.streams[0], gate_hold, &gate));
    OK(cls_coordinator_run(team.coordinator, put_then_see, &relay));
    OK(cls_coordinator_barrier(team.coordinator));
    EXPECT(CLS_ERROR_TIMEOUT, cls_coordinator_wait(team.coordinator, stream, 1000000));
    gate_open(&gate);
    OK(cls_coordinator_wait_all(team.coordinator, UINT64_MAX));
    assert_int_equal(relay.seen, 7);
    OK(cls_coordinator_remove_stream(team.coordinator, stream));
    OK(cls_stream_destroy(stream));
    OK(cls_context_destroy(other));
    team_drop(&team);
    gate_destroy(&gate);
}

/* --- completion --- */

struct told {
    _Atomic unsigned one, whole, one_before_whole;
    _Atomic int status;
    cls_coordinator coordinator;
};

static void tell_one(cls_stream stream, cls_status status, void *arg) {
    struct told *told = arg;
    (void)stream;
    (void)status;
    atomic_fetch_add(&told->one, 1);
}

static void tell_whole(cls_coordinator coordinator, cls_status status, void *arg) {
    struct told *told = arg;
    told->coordinator = coordinator;
    atomic_store(&told->status, (int)status);
    atomic_store(&told->one_before_whole, atomic_load(&told->one));
    atomic_fetch_add(&told->whole, 1);
}

static void test_callbacks_of_one_and_of_all(void **state) {
    (void)state;
    struct team team = team_make(0, 3);
    struct told told = {0};
    struct gate gate;
    gate_init(&gate);
    for (size_t i = 0; i < team.count; i++) {
        OK(cls_stream_launch_host_async(team.streams[i], gate_hold, &gate));
        OK(cls_coordinator_add_stream_callback(team.coordinator, team.streams[i], tell_one, &told));
    }
    OK(cls_coordinator_add_callback(team.coordinator, tell_whole, &told));
    gate_open(&gate);
    gate_open(&gate);
    assert_true(counter_comes(&told.one, 2));
    assert_int_equal(told.whole, 0); /* one stream is held */
    gate_open(&gate);
    OK(cls_coordinator_wait_all(team.coordinator, UINT64_MAX));
    assert_int_equal(told.one, 3);
    assert_int_equal(told.whole, 1);
    assert_int_equal(told.one_before_whole, 3);
    assert_int_equal(told.status, CLS_SUCCESS);
    assert_ptr_equal(told.coordinator, team.coordinator);
    EXPECT(CLS_ERROR_NOT_FOUND,
           cls_coordinator_add_stream_callback(team.coordinator, NULL, tell_one, &told));
    team_drop(&team);
    gate_destroy(&gate);
}

static void test_the_whole_callback_hears_of_a_failure(void **state) {
    (void)state;
    struct team team = team_make(0, 3);
    struct told told = {0};
    OK(rig_fail(team.streams[1], "bad command", CL_OUT_OF_RESOURCES));
    OK(cls_coordinator_add_callback(team.coordinator, tell_whole, &told));
    OK(cls_coordinator_destroy(team.coordinator)); /* pending callbacks come all the same */
    assert_true(counter_comes(&told.whole, 1));
    assert_int_equal(told.status, CLS_ERROR_COMMAND_FAILED);
    OK(cls_stream_reset(team.streams[1]));
    OK(cls_coordinator_create(NULL, &team.coordinator));
    team_drop(&team);
}

static void test_waits_with_a_time(void **state) {
    (void)state;
    struct team team = team_make(0, 3);
    cls_stream *streams = team.streams, done[2] = {NULL, NULL};
    struct gate gate;
    gate_init(&gate);
    for (size_t i = 0; i < 3; i++)
        OK(cls_stream_launch_host_async(streams[i], gate_hold, &gate));
    for (size_t i = 0; i < 3; i++)
        gate_await(&gate);
    EXPECT(CLS_NOT_READY, cls_coordinator_query(team.coordinator));
    EXPECT(CLS_ERROR_TIMEOUT, cls_coordinator_wait_all(team.coordinator, 1000000));
    EXPECT(CLS_ERROR_TIMEOUT, cls_coordinator_wait(team.coordinator, streams[1], 1000000));
    EXPECT(CLS_ERROR_TIMEOUT, cls_coordinator_wait_any(team.coordinator, 0, &done[0]));
    EXPECT(CLS_ERROR_TIMEOUT, cls_coordinator_wait_any(team.coordinator, 1000000, &done[0]));
    assert_null(done[0]);
    gate_open(&gate);
    OK(cls_coordinator_wait_any(team.coordinator, UINT64_MAX, &done[0]));
    OK(cls_stream_query(done[0]));
    EXPECT(CLS_ERROR_TIMEOUT, cls_coordinator_wait_all(team.coordinator, 0));
    gate_open(&gate);
    gate_open(&gate);
    OK(cls_coordinator_wait_all(team.coordinator, UINT64_MAX));
    OK(cls_coordinator_query(team.coordinator));
    OK(cls_coordinator_wait(team.coordinator, streams[1], 0));
    for (size_t i = 0; i < 2; i++)
        OK(cls_coordinator_wait_any(team.coordinator, 0, &done[i]));
    assert_ptr_not_equal(done[0], done[1]); /* each has its turn */
    team_drop(&team);
    gate_destroy(&gate);
}

/* --- threads --- */

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
        cmocka_unit_test(test_the_set_and_its_dependencies),
        cmocka_unit_test(test_the_default_stream_is_null),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_a_destroyed_stream_has_to_be_removed),
        cmocka_unit_test(test_a_stream_of_a_destroyed_context),
        cmocka_unit_test(test_strict_refuses_the_closing_dependency),
        cmocka_unit_test(test_permissive_lists_its_cycles_and_does_not_run),
        cmocka_unit_test(test_the_graph_and_the_last_cycle_as_dot),
        cmocka_unit_test(test_apply_orders_what_is_submitted_so_far),
        cmocka_unit_test(test_run_submits_in_dependency_order),
        cmocka_unit_test(test_independent_streams_stay_independent),
        cmocka_unit_test(test_others_finish_when_one_call_fails),
        cmocka_unit_test(test_others_finish_when_one_thread_fails),
        cmocka_unit_test(test_a_failed_command_is_reported_with_its_stream),
        cmocka_unit_test(test_query_waits_for_the_others_after_a_failure),
        cmocka_unit_test(test_parallel_calls_overlap_and_keep_the_order),
        cmocka_unit_test(test_inside_a_host_function),
        cmocka_unit_test(test_a_phase_goes_on_with_the_set_that_it_began_with),
        cmocka_unit_test(test_barrier_makes_all_wait_for_all),
        cmocka_unit_test(test_streams_of_several_contexts),
        cmocka_unit_test(test_callbacks_of_one_and_of_all),
        cmocka_unit_test(test_the_whole_callback_hears_of_a_failure),
        cmocka_unit_test(test_waits_with_a_time),
        cmocka_unit_test(test_many_threads),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
