/* SPDX-License-Identifier: MIT */
/* The coordinator: phases submitted in dependency order, by one thread or by many. */
#include "coordinators.h"

#include <pthread.h>
#include <sys/resource.h>

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

static unsigned long context_switches(void) {
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return (unsigned long)usage.ru_nvcsw + (unsigned long)usage.ru_nivcsw;
}

/* A call that returns wakes those alone that wait for it, not the threads of all streams. */
static void test_a_long_chain_on_threads(void **state) {
    /* Each has a thread, and 500 stacks of 8 MiB are more than 32 bits address. */
    enum { STREAMS = sizeof(void *) < 8 ? 100 : 500, MOST_SWITCHES = 60 * STREAMS };
    static cls_stream streams[STREAMS];
    cls_coordinator coordinator;
    unsigned calls = 0;
    (void)state;
    OK(cls_coordinator_create(NULL, &coordinator));
    for (unsigned i = 0; i < STREAMS; i++) {
        OK(cls_stream_create(rig.context, NULL, &streams[i]));
        OK(cls_coordinator_add_stream(coordinator, streams[i], NULL));
        if (i)
            OK(cls_coordinator_add_dependency(coordinator, streams[i], streams[i - 1]));
    }
    const unsigned long before = context_switches();
    OK(cls_coordinator_execute_parallel(coordinator, no_phase, &calls));
    assert_true(context_switches() - before <= MOST_SWITCHES);
    assert_int_equal(calls, STREAMS);
    OK(cls_coordinator_destroy(coordinator));
    for (unsigned i = 0; i < STREAMS; i++)
        OK(cls_stream_destroy(streams[i]));
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_submits_in_dependency_order),
        cmocka_unit_test(test_independent_streams_stay_independent),
        cmocka_unit_test(test_parallel_calls_overlap_and_keep_the_order),
        cmocka_unit_test(test_a_long_chain_on_threads),
        cmocka_unit_test(test_inside_a_host_function),
        cmocka_unit_test(test_a_phase_goes_on_with_the_set_that_it_began_with),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
