/* SPDX-License-Identifier: MIT */
/* Shareable events in two processes, the second of which gets event and memory as descriptors. */
#define _GNU_SOURCE /* pipe2 */
#include "../support/alike.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <clstream/mempool.h>
#include <clstream/share.h>

#include "../support/effort.h"

extern char **environ;

enum { MS = 1000000, CELLS = 16, BYTES = CELLS * 4, RECORDS = 510 };

/* The second process finds them under these numbers. */
enum { EVENT_FD = 50, MEMORY_FD = 51 };

/* What the second process is asked for by a byte, and answers with a status in a byte. */
enum request {
    RECORD = 'r', /* records, behind nothing */
    HOLD = 'h',   /* records behind a host function that does not end before OPEN */
    OPEN = 'o',
    FAIL = 'f',   /* records behind a command that fails */
    AWAIT = 'a',  /* waits on the host */
    TAKE = 't',   /* has its stream wait, and add 1 to a cell */
    FINISH = 's', /* waits for its stream */
    TURNS = 'n'   /* takes its turns of a game, whose number follows */
};

static cls_event shareable_event(void) {
    cls_event_config config = CLS_EVENT_CONFIG_INIT;
    cls_event event;
    config.shareable = 1;
    OK(cls_event_create(rig.context, &config, &event));
    return event;
}

/* --- the second process --- */

static struct second {
    cls_stream stream;
    cls_event event;
    cls_buffer memory; /* NULL: the device shares none */
    struct gate gate;
} second;

/* One turn: adds in the memory behind the other's turn. Answers once it is submitted. */
static cls_status take_turn(cls_stream stream, cls_event event, cls_buffer memory, uint32_t factor,
                            uint32_t add) {
    cls_status status = cls_stream_wait_event(stream, event);
    if (!status)
        status = rig_step(stream, memory, 0, factor, add, 0);
    return status ? status : cls_event_record(event, stream);
}

static cls_status take_turns(void) {
    cls_status status = CLS_SUCCESS;
    unsigned turns;
    char ready = 0;
    if (read(0, &turns, sizeof turns) != sizeof turns)
        return CLS_ERROR_IO;
    while (turns-- && !status) {
        if (read(0, &ready, 1) != 1)
            return CLS_ERROR_IO;
        status = take_turn(second.stream, second.event, second.memory, 3, 1);
        if (write(1, &ready, 1) != 1)
            return CLS_ERROR_IO;
    }
    return status;
}

static cls_status serve(enum request request) {
    cls_status status = CLS_SUCCESS;
    switch (request) {
    case HOLD:
        status = cls_stream_launch_host_async(second.stream, gate_hold, &second.gate);
        break;
    case FAIL:
        status = rig_fail(second.stream, "made to fail", -5);
        break;
    case RECORD:
        break;
    case OPEN:
        gate_open(&second.gate);
        return CLS_SUCCESS;
    case AWAIT:
        return cls_event_synchronize(second.event);
    case TAKE:
        status = cls_stream_wait_event(second.stream, second.event);
        return status ? status : rig_step(second.stream, second.memory, 0, 1, 1, 0);
    case FINISH:
        return cls_stream_synchronize(second.stream);
    case TURNS:
        return take_turns();
    }
    return status ? status : cls_event_record(second.event, second.stream);
}

static int run_second_process(void) {
    signed char answer;
    char request;
    if (rig_setup(NULL) || cls_event_import(rig.context, EVENT_FD, &second.event))
        return 2;
    if (fcntl(MEMORY_FD, F_GETFD) >= 0 &&
        cls_buffer_import(rig.context, MEMORY_FD, BYTES, &second.memory))
        return 3;
    second.stream = rig_stream();
    gate_init(&second.gate);
    while (read(0, &request, 1) == 1) {
        answer = (signed char)serve((enum request)request);
        if (write(1, &answer, 1) != 1)
            return 4;
    }
    gate_destroy(&second.gate);
    return cls_stream_destroy(second.stream) || cls_event_destroy(second.event) ||
                   (second.memory && cls_buffer_destroy(second.memory)) || rig_teardown(NULL)
               ? 5
               : 0;
}

/* --- the first --- */

static struct world {
    pid_t second;
    int in, out; /* to its input, from its output */
    cls_event event;
    cls_buffer memory; /* NULL: the device shares none */
} w;

static void add_descriptor(posix_spawn_file_actions_t *actions, int fd, int number) {
    assert_int_equal(posix_spawn_file_actions_adddup2(actions, fd, number), 0);
}

static void start_second(void) {
    char option[] = "second", *arguments[] = {option, option, NULL};
    posix_spawn_file_actions_t actions;
    int in[2], out[2], event, memory = -1;
    OK(cls_event_export(w.event, &event));
    if (w.memory)
        OK(cls_buffer_export(w.memory, &memory));
    assert_int_equal(pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC), 0);
    rig_pass_on_pace();
    posix_spawn_file_actions_init(&actions);
    add_descriptor(&actions, in[0], 0);
    add_descriptor(&actions, out[1], 1);
    add_descriptor(&actions, event, EVENT_FD);
    if (w.memory)
        add_descriptor(&actions, memory, MEMORY_FD);
    assert_int_equal(posix_spawn(&w.second, "/proc/self/exe", &actions, NULL, arguments, environ),
                     0);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    close(event);
    if (w.memory)
        close(memory);
    w.in = in[1];
    w.out = out[0];
}

static int setup(void **state) {
    (void)state;
    w = (struct world){.event = shareable_event()};
    if (alike_memory.is_shared) {
        OK(cls_buffer_create_shareable(rig.context, BYTES, &w.memory));
        OK(cls_fill(w.memory, 0, BYTES, &(uint32_t){0}, 4, NULL));
    }
    start_second();
    return 0;
}

/* Ends the second process where it still runs. */
static void end_second(int signal_number) {
    int status = -1;
    if (signal_number)
        kill(w.second, signal_number);
    close(w.in);
    close(w.out);
    assert_int_equal(waitpid(w.second, &status, 0), w.second);
    if (signal_number)
        assert_true(WIFSIGNALED(status));
    else
        assert_int_equal(status, 0);
    w.second = 0;
}

static int teardown(void **state) {
    (void)state;
    if (w.second)
        end_second(0);
    if (w.memory)
        OK(cls_buffer_destroy(w.memory));
    if (w.event)
        OK(cls_event_destroy(w.event));
    return 0;
}

static void ask(enum request request) {
    const char byte = (char)request;
    assert_int_equal(write(w.in, &byte, 1), 1);
}

static cls_status answer(void) {
    signed char status = 0;
    assert_int_equal(read(w.out, &status, 1), 1);
    return (cls_status)status;
}

static cls_status ask_for(enum request request) {
    ask(request);
    return answer();
}

/* --- records and waits --- */

static void test_an_event_without_a_record_is_done(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    OK(cls_event_query(w.event));
    OK(cls_event_synchronize(w.event));
    OK(cls_stream_wait_event(stream, w.event));
    OK(cls_stream_synchronize(stream));
    OK(ask_for(AWAIT));
    OK(cls_stream_destroy(stream));
}

static void test_the_host_waits_for_a_record_of_another_process(void **state) {
    (void)state;
    OK(ask_for(HOLD));
    EXPECT(CLS_NOT_READY, cls_event_query(w.event));
    EXPECT(CLS_ERROR_TIMEOUT, cls_event_wait(w.event, 20 * MS));
    expect_detail("record 1 of an event that processes share");
    OK(ask_for(OPEN));
    OK(cls_event_synchronize(w.event));
    OK(cls_event_query(w.event));
}

static void test_a_stream_waits_for_a_record_of_another_process(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    OK(ask_for(HOLD));
    OK(cls_stream_wait_event(stream, w.event));
    OK(rig_set(stream, cells, 0, 7, 0));
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(stream, 20 * MS));
    expect_detail("record 1 of an event that processes share");
    OK(ask_for(OPEN));
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(cells, 0), 7);
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

static void test_another_process_waits_for_a_record_of_this_one(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(cls_event_record(w.event, stream));
    ask(AWAIT);
    EXPECT(CLS_ERROR_TIMEOUT, cls_event_wait(w.event, 20 * MS));
    gate_open(&gate);
    OK(answer());
    OK(cls_stream_synchronize(stream));
    gate_destroy(&gate);
    OK(cls_stream_destroy(stream));
}

/* Of two streams, the later record of which ends first. */
static void test_a_later_record_ends_no_earlier_wait(void **state) {
    (void)state;
    cls_stream slow = rig_stream(), fast = rig_stream(), early = rig_stream(), late = rig_stream();
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(slow, gate_hold, &gate));
    OK(cls_event_record(w.event, slow));
    OK(cls_stream_wait_event(early, w.event));
    OK(cls_event_record(w.event, fast));
    OK(cls_stream_wait_event(late, w.event));
    OK(cls_stream_synchronize(late));
    OK(cls_event_query(w.event));
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(early, 20 * MS));
    OK(cls_stream_wait_event(early, w.event)); /* joins the wait that is there */
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(early, 20 * MS));
    gate_open(&gate);
    OK(cls_stream_synchronize(early));
    gate_destroy(&gate);
    OK(cls_stream_destroy(slow));
    OK(cls_stream_destroy(fast));
    OK(cls_stream_destroy(early));
    OK(cls_stream_destroy(late));
}

static void record_often(cls_stream stream) {
    for (unsigned i = 0; i < RECORDS; i++)
        OK(cls_event_record(w.event, stream));
    OK(cls_stream_synchronize(stream));
}

/* Its place in the page is a later record's. */
static void test_a_record_is_pending_however_many_follow(void **state) {
    (void)state;
    cls_stream slow = rig_stream(), fast = rig_stream(), early = rig_stream();
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(slow, gate_hold, &gate));
    OK(cls_event_record(w.event, slow));
    OK(cls_stream_wait_event(early, w.event));
    record_often(fast);
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(early, 20 * MS));
    gate_open(&gate);
    OK(cls_stream_synchronize(early));
    gate_destroy(&gate);
    OK(cls_stream_destroy(slow));
    OK(cls_stream_destroy(fast));
    OK(cls_stream_destroy(early));
}

/* Kernels of two processes in turns over one cell, ordered by one event. Each host only waits for the other one's calls. */
static void test_processes_take_turns(void **state) {
    (void)state;
    SKIP_UNLESS_SHARED();
    const unsigned turns = effort_is_long() ? 10000 : rig_scale(500, 20);
    cls_stream stream = rig_stream();
    uint32_t wanted = 0;
    char done = 0;
    ask(TURNS);
    assert_int_equal(write(w.in, &turns, sizeof turns), sizeof turns);
    for (unsigned i = 0; i < turns; i++) {
        OK(take_turn(stream, w.event, w.memory, 5, 2));
        assert_int_equal(write(w.in, &done, 1), 1);
        assert_int_equal(read(w.out, &done, 1), 1);
        wanted = (wanted * 5 + 2) * 3 + 1;
    }
    OK(answer());
    OK(cls_event_synchronize(w.event));
    OK(cls_stream_synchronize(stream)); /* for the race checker */
    assert_int_equal(rig_cell(w.memory, 0), wanted);
    OK(cls_stream_destroy(stream));
}

/* --- failures --- */

static void test_a_failure_reaches_another_process(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    OK(ask_for(FAIL));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_event_synchronize(w.event));
    expect_detail("the work before it failed");
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_event_query(w.event));
    OK(cls_stream_wait_event(stream, w.event));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    expect_detail("the work before it failed");
    OK(cls_stream_reset(stream));
    OK(cls_event_record(w.event, stream));
    OK(cls_event_synchronize(w.event));
    OK(ask_for(AWAIT));
    OK(cls_stream_destroy(stream));
}

static void test_a_record_on_a_poisoned_stream_fails(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    OK(rig_fail(stream, "made to fail", -5));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    OK(cls_event_record(w.event, stream));
    EXPECT(CLS_ERROR_COMMAND_FAILED, ask_for(AWAIT));
    OK(cls_stream_destroy(stream));
}

/* Though the stream looks only when its place in the page is a later record's. */
static void test_a_failure_is_a_waits_from_its_call_on(void **state) {
    (void)state;
    cls_stream failing = rig_stream(), fast = rig_stream(), late = rig_stream();
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(late, gate_hold, &gate));
    OK(rig_fail(failing, "made to fail", -5));
    OK(cls_event_record(w.event, failing));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_event_synchronize(w.event));
    OK(cls_stream_wait_event(late, w.event));
    record_often(fast);
    gate_open(&gate);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(late));
    gate_destroy(&gate);
    OK(cls_stream_destroy(failing));
    OK(cls_stream_destroy(fast));
    OK(cls_stream_destroy(late));
}

static void test_waits_end_with_the_process_they_are_for(void **state) {
    (void)state;
    cls_stream stream = rig_stream(), next = rig_stream();
    OK(ask_for(HOLD));
    OK(cls_stream_wait_event(stream, w.event));
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(stream, 20 * MS));
    end_second(SIGKILL);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
    expect_detail("its process ended before it did");
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_event_synchronize(w.event));
    OK(cls_event_record(w.event, next));
    OK(cls_event_synchronize(w.event));
    OK(cls_stream_wait_event(next, w.event));
    OK(cls_stream_synchronize(next));
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(next));
}

/* The descriptor that is on its way to a process keeps no record of this one alive. */
static void test_another_process_outlives_its_waits(void **state) {
    (void)state;
    SKIP_UNLESS_SHARED();
    OK(ask_for(TAKE));
    OK(ask_for(FINISH));
    OK(ask_for(RECORD));
    OK(cls_event_synchronize(w.event));
    assert_int_equal(rig_cell(w.memory, 0), 1);
    OK(cls_event_destroy(w.event));
    w.event = NULL;
    OK(ask_for(RECORD));
    OK(ask_for(AWAIT));
}

static void test_refused_records_leave_the_one_before(void **state) {
    (void)state;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream full, stream = rig_stream();
    struct gate gate;
    config.fifo_limit = 1;
    OK(cls_stream_create(rig.context, &config, &full));
    gate_init(&gate);
    OK(cls_stream_launch_host_async(full, gate_hold, &gate));
    OK(ask_for(HOLD));
    for (unsigned i = 0; i < RECORDS + 2; i++)
        EXPECT(CLS_ERROR_LIMIT, cls_event_record(w.event, full));
    EXPECT(CLS_NOT_READY, cls_event_query(w.event));
    OK(cls_stream_wait_event(stream, w.event));
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(stream, 20 * MS));
    OK(ask_for(OPEN));
    OK(cls_stream_synchronize(stream));
    gate_open(&gate);
    OK(cls_stream_synchronize(full));
    gate_destroy(&gate);
    OK(cls_stream_destroy(full));
    OK(cls_stream_destroy(stream));
}

/* --- one process --- */

static void test_records_without_end_need_no_memory(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    const unsigned before = rig_count_descriptors();
    for (unsigned i = 0; i < 3 * RECORDS; i++) {
        OK(cls_event_record(w.event, stream));
        OK(cls_stream_wait_event(stream, w.event));
    }
    OK(cls_stream_synchronize(stream));
    OK(cls_event_query(w.event));
    assert_int_equal(rig_count_descriptors(), before);
    OK(cls_stream_destroy(stream));
}

static void test_events_of_one_descriptor_are_one(void **state) {
    (void)state;
    const unsigned before = rig_count_descriptors();
    cls_stream stream = rig_stream();
    cls_event again;
    struct gate gate;
    int fd;
    gate_init(&gate);
    OK(cls_event_export(w.event, &fd));
    OK(cls_event_import(rig.context, fd, &again));
    close(fd);
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(cls_event_record(again, stream));
    EXPECT(CLS_NOT_READY, cls_event_query(w.event));
    OK(cls_event_destroy(again)); /* the record stays */
    EXPECT(CLS_NOT_READY, cls_event_query(w.event));
    gate_open(&gate);
    OK(cls_event_synchronize(w.event));
    OK(cls_stream_synchronize(stream));
    OK(cls_stream_destroy(stream));
    gate_destroy(&gate);
    assert_int_equal(rig_count_descriptors(), before);
}

enum { THREADS = 4 };

/* Each records its own stream's work and waits for whichever record is the latest. */
static bool record_and_wait(void *arg, unsigned number) {
    cls_stream stream = ((cls_stream *)arg)[number];
    const unsigned rounds = rig_scale(200, 20);
    for (unsigned i = 0; i < rounds; i++)
        if (cls_event_record(w.event, stream) || cls_stream_wait_event(stream, w.event) ||
            (i % 16 == 0 && cls_event_synchronize(w.event)))
            return false;
    return cls_stream_synchronize(stream) == CLS_SUCCESS;
}

static void test_threads_use_one_event(void **state) {
    (void)state;
    cls_stream streams[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        streams[i] = rig_stream();
    assert_int_equal(team_run(THREADS, record_and_wait, streams), 0);
    OK(cls_event_synchronize(w.event));
    OK(ask_for(AWAIT));
    for (unsigned i = 0; i < THREADS; i++)
        OK(cls_stream_destroy(streams[i]));
}

static void test_a_graph_waits_in_each_launch(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    OK(cls_stream_begin_capture(stream, NULL));
    OK(cls_stream_wait_external_event(stream, w.event));
    OK(rig_step(stream, cells, 0, 1, 1, 0));
    cls_graph_exec exec = rig_end_capture(stream);
    for (uint32_t i = 1; i < 3; i++) {
        OK(ask_for(HOLD));
        OK(cls_graph_launch_async(exec, stream));
        EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(stream, 20 * MS));
        OK(ask_for(OPEN));
        OK(cls_stream_synchronize(stream));
        assert_int_equal(rig_cell(cells, 0), i);
    }
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

/* --- refusals --- */

static void test_a_capture_holds_no_record(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_graph graph;
    OK(cls_stream_begin_capture(stream, NULL));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_event_record(w.event, stream));
    expect_detail("processes share");
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_end_capture(stream, &graph));
    OK(cls_stream_begin_capture(stream, NULL));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_wait_event(stream, w.event));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_end_capture(stream, &graph));
    OK(cls_event_query(w.event));
    OK(cls_stream_destroy(stream));
}

static void test_calls_for_positions_are_refused(void **state) {
    (void)state;
    cls_event timed = rig_timed_event();
    cl_event out = NULL;
    double ms;
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_event_get_cl(w.event, &out));
    expect_detail("processes share");
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_event_wait_cl(w.event, MS, &out));
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_stream_frees_wait_event(NULL, w.event));
    EXPECT(CLS_ERROR_NOT_TIMED, cls_event_elapsed(w.event, timed, &ms));
    assert_null(out);
    OK(cls_event_destroy(timed));
}

static void test_other_descriptors_are_no_events(void **state) {
    (void)state;
    cls_event plain = rig_event(), out = NULL;
    int ends[2], fd = -77;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_event_export(plain, &fd));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_event_export(w.event, NULL));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_event_export(NULL, &fd));
    assert_int_equal(fd, -77);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_event_import(rig.context, -1, &out));
    assert_int_equal(pipe(ends), 0);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_event_import(rig.context, ends[0], &out));
    if (w.memory) {
        OK(cls_buffer_export(w.memory, &fd));
        EXPECT(CLS_ERROR_INVALID_VALUE, cls_event_import(rig.context, fd, &out));
        close(fd);
    }
    assert_null(out);
    close(ends[0]);
    close(ends[1]);
    OK(cls_event_destroy(plain));
}

static void test_a_shareable_event_is_not_timed(void **state) {
    (void)state;
    cls_event_config config = CLS_EVENT_CONFIG_INIT;
    cls_event out = NULL;
    config.timed = config.shareable = 1;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_event_create(rig.context, &config, &out));
    assert_null(out);
}

#define WITH_SECOND(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        WITH_SECOND(test_an_event_without_a_record_is_done),
        WITH_SECOND(test_the_host_waits_for_a_record_of_another_process),
        WITH_SECOND(test_a_stream_waits_for_a_record_of_another_process),
        WITH_SECOND(test_another_process_waits_for_a_record_of_this_one),
        WITH_SECOND(test_a_later_record_ends_no_earlier_wait),
        WITH_SECOND(test_a_record_is_pending_however_many_follow),
        WITH_SECOND(test_processes_take_turns),
        WITH_SECOND(test_a_failure_reaches_another_process),
        WITH_SECOND(test_a_record_on_a_poisoned_stream_fails),
        WITH_SECOND(test_a_failure_is_a_waits_from_its_call_on),
        WITH_SECOND(test_waits_end_with_the_process_they_are_for),
        WITH_SECOND(test_another_process_outlives_its_waits),
        WITH_SECOND(test_refused_records_leave_the_one_before),
        WITH_SECOND(test_records_without_end_need_no_memory),
        WITH_SECOND(test_events_of_one_descriptor_are_one),
        WITH_SECOND(test_threads_use_one_event),
        WITH_SECOND(test_a_graph_waits_in_each_launch),
        WITH_SECOND(test_a_capture_holds_no_record),
        WITH_SECOND(test_calls_for_positions_are_refused),
        WITH_SECOND(test_other_descriptors_are_no_events),
        cmocka_unit_test(test_a_shareable_event_is_not_timed),
    };
    watchdog(120);
    if (argc == 2 && !strcmp(argv[1], "second"))
        return run_second_process();
    return cmocka_run_group_tests(tests, alike_setup, rig_teardown);
}
