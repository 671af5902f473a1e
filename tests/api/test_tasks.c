/* SPDX-License-Identifier: MIT */
/* Task graphs: order and overlap of tasks on the streams of a coordinator, and failures by label. */
#include "../support/rig.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <clstream/task.h>

enum { MAX_STREAMS = 40, MAX_TASKS = 8 };

/* A task's work: cells[cell] = cells[cell] * factor + add, behind a gate if there is one. */
struct work {
    cls_buffer cells;
    uint32_t cell, factor, add;
    double ms;
    struct gate *gate;
    cl_int code;         /* of a command that fails; 0: none */
    cls_status returned; /* instead of doing anything */
    unsigned calls;
};

struct board {
    cls_coordinator coordinator;
    cls_stream streams[MAX_STREAMS];
    size_t n_streams;
    cls_task_graph graph;
    cls_buffer cells;
    struct work works[MAX_TASKS];
    uint32_t n_tasks;
};

static struct board board_make(size_t n_streams) {
    struct board board = {.n_streams = n_streams, .cells = rig_cells(4)};
    OK(cls_coordinator_create(NULL, &board.coordinator));
    for (size_t i = 0; i < n_streams; i++) {
        board.streams[i] = rig_stream();
        OK(cls_coordinator_add_stream(board.coordinator, board.streams[i], NULL));
    }
    OK(cls_task_graph_create(board.coordinator, &board.graph));
    return board;
}

static void board_drop(struct board *board) {
    OK(cls_context_synchronize(rig.context));
    OK(cls_task_graph_destroy(board->graph));
    OK(cls_coordinator_destroy(board->coordinator));
    for (size_t i = 0; i < board->n_streams; i++)
        OK(cls_stream_destroy(board->streams[i]));
    OK(cls_buffer_destroy(board->cells));
}

static cls_status do_work(cls_stream stream, void *arg) {
    struct work *work = arg;
    cls_status status = work->returned;
    work->calls++;
    if (!status && work->gate)
        status = cls_stream_launch_host_async(stream, gate_hold, work->gate);
    if (!status && work->code)
        status = rig_fail(stream, "bad command", work->code);
    return status ? status
                  : rig_step(stream, work->cells, work->cell, work->factor, work->add, work->ms);
}

/* Adds a task called "a", "b", ...; its prerequisites by their letters. Its work adds a digit to cell 0. */
static struct work *board_add(struct board *board, cls_stream stream, const char *prerequisites) {
    const char label[2] = {(char)('a' + (char)board->n_tasks), 0};
    struct work *work = &board->works[board->n_tasks];
    uint32_t ids[MAX_TASKS], number = 99;
    cls_task task = CLS_TASK_INIT;
    *work = (struct work){.cells = board->cells, .factor = 10, .add = board->n_tasks + 1};
    for (; prerequisites[task.n_prerequisites]; task.n_prerequisites++)
        ids[task.n_prerequisites] = (uint32_t)(prerequisites[task.n_prerequisites] - 'a');
    task.label = label;
    task.stream = stream;
    task.fn = do_work;
    task.arg = work;
    task.prerequisites = ids;
    OK(cls_task_graph_add(board->graph, &task, &number));
    assert_int_equal(number, board->n_tasks);
    board->n_tasks++;
    return work;
}

static cls_task_info info_of(const struct board *board, char letter) {
    cls_task_info info = CLS_TASK_INFO_INIT;
    OK(cls_task_graph_get_info(board->graph, (uint32_t)(letter - 'a'), &info));
    return info;
}

static void expect_states(const struct board *board, const cls_task_state *states) {
    for (uint32_t i = 0; i < board->n_tasks; i++) {
        cls_task_info info = info_of(board, (char)('a' + (char)i));
        if (info.state != states[i])
            fail_msg("task '%s' has state %d, not %d", info.label, (int)info.state, (int)states[i]);
    }
}

static void done_with(const struct board *board) {
    OK(cls_task_graph_wait(board->graph, UINT64_MAX));
}

/* --- order and overlap --- */

/* A chain over three streams, each link of which must see the one before. */
static void test_prerequisites_come_first(void **state) {
    (void)state;
    struct board board = board_make(3);
    struct gate gate;
    gate_init(&gate);
    for (uint32_t i = 0; i < 4; i++) {
        const char before[2] = {(char)('a' + (char)i - 1), 0};
        board_add(&board, board.streams[i % 3], i ? before : "")->ms = 2;
    }
    board.works[0].gate = &gate;
    OK(cls_task_graph_run(board.graph)); /* returns with the first task held */
    EXPECT(CLS_NOT_READY, cls_task_graph_query(board.graph));
    assert_int_equal(info_of(&board, 'd').state, CLS_TASK_PENDING);
    EXPECT(CLS_ERROR_TIMEOUT, cls_task_graph_wait(board.graph, 1000000));
    gate_open(&gate);
    done_with(&board);
    assert_int_equal(rig_cell(board.cells, 0), 1234);
    assert_int_equal(info_of(&board, 'd').state, CLS_TASK_DONE);
    OK(cls_task_graph_query(board.graph));
    board.works[0].gate = NULL;
    for (int i = 0; i < 2; i++) { /* again, the second time before the first has ended */
        board.works[0].factor = 0;
        OK(cls_task_graph_run(board.graph));
    }
    done_with(&board);
    OK(cls_coordinator_wait_all(board.coordinator, UINT64_MAX));
    assert_int_equal(rig_cell(board.cells, 0), 1234);
    assert_int_equal(board.works[3].calls, 3);
    board_drop(&board);
    gate_destroy(&gate);
}

/* b and c are both held by their gates at once: they are on different streams. d comes after both. */
static void test_tasks_for_any_stream_overlap(void **state) {
    (void)state;
    struct board board = board_make(2);
    struct gate gate;
    gate_init(&gate);
    board_add(&board, CLS_ANY_STREAM, "")->cell = 0;
    board_add(&board, CLS_ANY_STREAM, "a")->cell = 1;
    board_add(&board, CLS_ANY_STREAM, "a")->cell = 2;
    board_add(&board, CLS_ANY_STREAM, "bc")->cell = 1;
    board.works[1].gate = board.works[2].gate = &gate;
    OK(cls_task_graph_run(board.graph));
    gate_await(&gate);
    gate_await(&gate);
    assert_ptr_not_equal(info_of(&board, 'b').stream, info_of(&board, 'c').stream);
    /* A chain goes on where it was. */
    assert_ptr_equal(info_of(&board, 'a').stream, info_of(&board, 'b').stream);
    assert_int_equal(info_of(&board, 'a').state, CLS_TASK_DONE);
    gate_open(&gate);
    gate_open(&gate);
    done_with(&board);
    assert_int_equal(rig_cell(board.cells, 1), 24);
    assert_int_equal(rig_cell(board.cells, 2), 3);
    board_drop(&board);
    gate_destroy(&gate);
}

/* A stream that is held has more to do than one that is not. */
static void test_any_stream_is_the_one_with_the_least_to_do(void **state) {
    (void)state;
    struct board board = board_make(2);
    struct gate gate;
    gate_init(&gate);
    for (int i = 0; i < 4; i++)
        OK(cls_stream_launch_host_async(board.streams[0], gate_hold, &gate));
    for (int i = 0; i < 3; i++)
        board_add(&board, CLS_ANY_STREAM, "");
    OK(cls_task_graph_run(board.graph));
    done_with(&board);
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(info_of(&board, (char)('a' + i)).stream, board.streams[1]);
    for (int i = 0; i < 4; i++)
        gate_open(&gate);
    board_drop(&board);
    gate_destroy(&gate);
}

/* Nothing but its prerequisites makes a task wait, not the dependencies between the streams. */
static void test_independent_tasks_do_not_wait(void **state) {
    (void)state;
    struct board board = board_make(2);
    struct gate gate;
    gate_init(&gate);
    OK(cls_coordinator_add_dependency(board.coordinator, board.streams[1], board.streams[0]));
    board_add(&board, board.streams[0], "")->gate = &gate;
    board_add(&board, board.streams[1], "")->cell = 1;
    OK(cls_task_graph_run(board.graph));
    OK(cls_stream_synchronize(board.streams[1]));
    assert_int_equal(info_of(&board, 'b').state, CLS_TASK_DONE);
    assert_int_equal(info_of(&board, 'a').state, CLS_TASK_PENDING);
    gate_open(&gate);
    board_drop(&board);
    gate_destroy(&gate);
}

/* --- failures --- */

/* a fails on the host; b and c depend on it, d and e do not. */
static void test_a_function_that_fails(void **state) {
    (void)state;
    struct board board = board_make(2);
    static const cls_task_state states[] = {CLS_TASK_FAILED, CLS_TASK_POISONED, CLS_TASK_POISONED,
                                            CLS_TASK_DONE, CLS_TASK_DONE};
    board_add(&board, board.streams[0], "");
    board_add(&board, board.streams[1], "a");
    board_add(&board, CLS_ANY_STREAM, "b");
    board_add(&board, board.streams[0], "")->cell = 1; /* on the same stream */
    board_add(&board, board.streams[1], "d")->cell = 1;
    board.works[0].returned = CLS_ERROR_IO;
    EXPECT(CLS_ERROR_IO, cls_task_graph_run(board.graph));
    assert_string_equal(cls_last_error_detail(), "task 'a' failed: CLS_ERROR_IO");
    EXPECT(CLS_ERROR_IO, cls_task_graph_wait(board.graph, UINT64_MAX));
    expect_states(&board, states);
    assert_int_equal(info_of(&board, 'c').cause, 0);
    assert_int_equal(info_of(&board, 'c').status, CLS_ERROR_IO);
    assert_null(info_of(&board, 'b').stream);
    assert_int_equal(board.works[1].calls + board.works[2].calls, 0);
    assert_int_equal(rig_cell(board.cells, 1), 45);
    board.works[0].returned = CLS_NOT_READY;
    EXPECT(CLS_ERROR_INVALID_STATE, cls_task_graph_run(board.graph));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_task_graph_wait(board.graph, UINT64_MAX));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_task_graph_query(board.graph));
    assert_string_equal(cls_last_error_detail(),
                        "task 'a' failed: its function returned CLS_NOT_READY");
    board.works[0].returned = CLS_SUCCESS;
    OK(cls_task_graph_run(board.graph));
    done_with(&board);
    assert_int_equal(rig_cell(board.cells, 0), 123);
    assert_int_equal(info_of(&board, 'c').cause, CLS_NO_TASK);
    board_drop(&board);
}

/* A command of b fails after all is submitted; d waits for b, a and c for nothing of it. */
static void test_a_command_that_fails_later(void **state) {
    (void)state;
    struct board board = board_make(4);
    struct gate gate;
    static const cls_task_state states[] = {CLS_TASK_DONE, CLS_TASK_FAILED, CLS_TASK_DONE,
                                            CLS_TASK_POISONED, CLS_TASK_POISONED};
    gate_init(&gate);
    board_add(&board, board.streams[0], "");
    board_add(&board, board.streams[1], "a")->gate = &gate;
    board_add(&board, board.streams[2], "a")->cell = 2;
    board_add(&board, board.streams[3], "bc");
    board_add(&board, board.streams[0], "d");
    board.works[1].code = CL_OUT_OF_RESOURCES;
    OK(cls_task_graph_run(board.graph));
    gate_open(&gate);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_task_graph_wait(board.graph, UINT64_MAX));
    assert_non_null(strstr(cls_last_error_detail(), "task 'b' failed: command 'bad command'"));
    assert_int_equal(cls_last_error_code(), CL_OUT_OF_RESOURCES);
    expect_states(&board, states);
    assert_int_equal(info_of(&board, 'd').cause, 1);
    assert_int_equal(info_of(&board, 'e').cause, 1);
    assert_int_equal(info_of(&board, 'e').status, CLS_ERROR_COMMAND_FAILED);
    for (size_t i = 0; i < board.n_streams; i++)
        OK(cls_stream_reset(board.streams[i]));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_task_graph_query(board.graph)); /* of that run */
    board_drop(&board);
    gate_destroy(&gate);
}

/* A command of b fails later, on a's stream: a keeps the error that its function returned. */
static void test_a_task_keeps_its_error(void **state) {
    (void)state;
    struct board board = board_make(1);
    struct gate gate;
    gate_init(&gate);
    board_add(&board, board.streams[0], "");
    board_add(&board, board.streams[0], "")->gate = &gate;
    board.works[0].returned = CLS_ERROR_IO;
    board.works[1].code = CL_OUT_OF_RESOURCES;
    EXPECT(CLS_ERROR_IO, cls_task_graph_run(board.graph));
    assert_int_equal(info_of(&board, 'a').status, CLS_ERROR_IO);
    gate_open(&gate);
    EXPECT(CLS_ERROR_IO, cls_task_graph_wait(board.graph, UINT64_MAX));
    assert_string_equal(cls_last_error_detail(), "task 'a' failed: CLS_ERROR_IO");
    assert_int_equal(info_of(&board, 'a').status, CLS_ERROR_IO);
    assert_int_equal(info_of(&board, 'b').status, CLS_ERROR_COMMAND_FAILED);
    assert_int_equal(info_of(&board, 'b').state, CLS_TASK_FAILED);
    OK(cls_stream_reset(board.streams[0]));
    board_drop(&board);
    gate_destroy(&gate);
}

/* What a still holds is dropped when c, behind it, is found to depend on b: that is b's doing, and not a's. */
static void test_an_earlier_task_on_a_poisoned_stream(void **state) {
    (void)state;
    struct board board = board_make(2);
    static const cls_task_state states[] = {CLS_TASK_POISONED, CLS_TASK_FAILED, CLS_TASK_POISONED};
    struct gate gate, failing;
    gate_init(&gate);
    gate_init(&failing);
    board_add(&board, board.streams[0], "")->gate = &gate;
    board_add(&board, board.streams[1], "")->gate = &failing;
    board_add(&board, board.streams[0], "b");
    board.works[1].cell = 1; /* nothing orders it and a */
    board.works[1].code = CL_OUT_OF_RESOURCES;
    OK(cls_task_graph_run(board.graph));
    gate_await(&gate);
    gate_open(&failing);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(board.streams[1]));
    for (int i = 0; i < 10000 && cls_stream_query(board.streams[0]) == CLS_NOT_READY; i++)
        nap_ms(1); /* until it is told to c's stream */
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_query(board.streams[0]));
    gate_open(&gate);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_task_graph_wait(board.graph, UINT64_MAX));
    assert_non_null(strstr(cls_last_error_detail(), "task 'b' failed: command 'bad command'"));
    expect_states(&board, states);
    assert_int_equal(info_of(&board, 'a').cause, 1);
    assert_int_equal(info_of(&board, 'c').cause, 1);
    for (size_t i = 0; i < board.n_streams; i++)
        OK(cls_stream_reset(board.streams[i]));
    board_drop(&board);
    gate_destroy(&gate);
    gate_destroy(&failing);
}

/* On a poisoned stream what comes later fails too: without being called, and with the culprit named. */
static void test_later_tasks_on_a_poisoned_stream(void **state) {
    (void)state;
    struct board board = board_make(1);
    static const cls_task_state late[] = {CLS_TASK_FAILED, CLS_TASK_POISONED};
    static const cls_task_state outside[] = {CLS_TASK_POISONED, CLS_TASK_POISONED};
    struct gate gate;
    gate_init(&gate);
    board_add(&board, board.streams[0], "")->gate = &gate;
    board_add(&board, board.streams[0], "");
    board.works[0].code = CL_OUT_OF_RESOURCES;
    OK(cls_task_graph_run(board.graph));
    gate_open(&gate);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_task_graph_wait(board.graph, UINT64_MAX));
    expect_states(&board, late);
    assert_int_equal(info_of(&board, 'b').cause, 0);
    board.works[0].gate = NULL;
    board.works[0].calls = 0;
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_task_graph_run(board.graph)); /* poisoned before it */
    assert_non_null(strstr(cls_last_error_detail(), "task 'a' is poisoned: "));
    expect_states(&board, outside);
    assert_int_equal(info_of(&board, 'a').cause, CLS_NO_TASK);
    assert_int_equal(board.works[0].calls, 0);
    OK(cls_stream_reset(board.streams[0]));
    board.works[0].code = 0;
    OK(cls_task_graph_run(board.graph));
    done_with(&board);
    board_drop(&board);
    gate_destroy(&gate);
}

/* --- states of the graph itself --- */

struct inside {
    struct board *board;
    cls_status run, add, wait, query;
};

static cls_status try_inside(cls_stream stream, void *arg) {
    struct inside *inside = arg;
    cls_task task = CLS_TASK_INIT;
    (void)stream;
    task.fn = try_inside;
    inside->run = cls_task_graph_run(inside->board->graph);
    inside->add = cls_task_graph_add(inside->board->graph, &task, NULL);
    inside->wait = cls_task_graph_wait(inside->board->graph, UINT64_MAX);
    inside->query = cls_task_graph_query(inside->board->graph);
    return CLS_SUCCESS;
}

static void run_on_host(void *arg) {
    struct board *board = arg;
    board->works[7].returned = cls_task_graph_run(board->graph);
}

static void test_when_calls_are_refused(void **state) {
    (void)state;
    struct board board = board_make(1);
    struct inside inside = {.board = &board};
    cls_stream other = rig_stream();
    cls_task task = CLS_TASK_INIT;
    EXPECT(CLS_ERROR_INVALID_STATE, cls_task_graph_query(board.graph));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_task_graph_wait(board.graph, 0));
    OK(cls_task_graph_run(board.graph)); /* nothing to do */
    OK(cls_task_graph_query(board.graph));
    task.fn = try_inside;
    task.arg = &inside;
    OK(cls_task_graph_add(board.graph, &task, NULL));
    assert_string_equal(info_of(&board, 'a').label, "task 0");
    OK(cls_task_graph_run(board.graph));
    assert_int_equal(inside.run, CLS_ERROR_INVALID_STATE);
    assert_int_equal(inside.add, CLS_ERROR_INVALID_STATE);
    assert_int_equal(inside.wait, CLS_ERROR_INVALID_STATE);
    assert_int_equal(inside.query, CLS_NOT_READY);
    OK(cls_stream_launch_host_async(other, run_on_host, &board)); /* it only submits */
    OK(cls_stream_synchronize(other));
    assert_int_equal(board.works[7].returned, CLS_SUCCESS);
    task.stream = other;
    OK(cls_task_graph_add(board.graph, &task, NULL));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_task_graph_run(board.graph));
    OK(cls_coordinator_remove_stream(board.coordinator, board.streams[0]));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_task_graph_run(board.graph));
    OK(cls_coordinator_add_stream(board.coordinator, other, NULL));
    OK(cls_task_graph_run(board.graph));
    OK(cls_coordinator_destroy(board.coordinator)); /* the graph goes on */
    OK(cls_task_graph_run(board.graph));
    done_with(&board);
    OK(cls_coordinator_create(NULL, &board.coordinator));
    OK(cls_stream_destroy(other));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_task_graph_run(board.graph));
    board_drop(&board);
}

static void test_a_refused_task_leaves_no_gap(void **state) {
    (void)state;
    struct board board = board_make(1);
    const uint32_t bad[] = {0, 1};
    cls_task task = CLS_TASK_INIT;
    char *text = NULL;
    size_t length;
    board_add(&board, CLS_ANY_STREAM, "");
    task.fn = do_work;
    task.prerequisites = bad;
    task.n_prerequisites = 2;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_task_graph_add(board.graph, &task, NULL)); /* itself */
    board_add(&board, CLS_ANY_STREAM, "a");
    board_add(&board, CLS_ANY_STREAM, "aba");
    FILE *file = open_memstream(&text, &length);
    OK(cls_task_graph_write_dot(board.graph, file));
    fclose(file);
    assert_string_equal(text, "digraph \"tasks\" {\n    node [shape=box];\n"
                              "    n0 [label=\"a\"];\n    n1 [label=\"b\"];\n"
                              "    n2 [label=\"c\"];\n"
                              "    n1 -> n0;\n    n2 -> n0;\n    n2 -> n1;\n}\n");
    free(text);
    OK(cls_task_graph_run(board.graph));
    done_with(&board);
    assert_int_equal(rig_cell(board.cells, 0), 123);
    board_drop(&board);
}

/* A random graph of many tasks: each checks that its prerequisites' values are there. */
enum { MANY = 300 };

struct many {
    struct many *prerequisites[3];
    unsigned n;
    _Atomic bool done;
    bool early;
};

static void run_one_of_many(void *arg) {
    struct many *one = arg;
    for (unsigned i = 0; i < one->n; i++)
        one->early |= !atomic_load(&one->prerequisites[i]->done);
    atomic_store(&one->done, true);
}

static cls_status submit_one_of_many(cls_stream stream, void *arg) {
    return cls_stream_launch_host_async(stream, run_one_of_many, arg);
}

static void test_a_large_graph(void **state) {
    (void)state;
    struct board board = board_make(4);
    static struct many many[MANY];
    unsigned seed = 7;
    memset(many, 0, sizeof many);
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t ids[3];
        cls_task task = CLS_TASK_INIT;
        for (unsigned k = 0; k < 3 && i; k++) {
            seed = seed * 1103515245 + 12345;
            ids[k] = (seed >> 16) % i;
            many[i].prerequisites[k] = &many[ids[k]];
            many[i].n = k + 1;
        }
        task.stream = seed & 0x100000 ? board.streams[seed >> 24 & 3] : CLS_ANY_STREAM;
        task.fn = submit_one_of_many;
        task.arg = &many[i];
        task.prerequisites = ids;
        task.n_prerequisites = many[i].n;
        OK(cls_task_graph_add(board.graph, &task, NULL));
    }
    OK(cls_task_graph_run(board.graph));
    done_with(&board);
    for (uint32_t i = 0; i < MANY; i++)
        assert_true(many[i].done && !many[i].early);
    board_drop(&board);
}

static cls_status no_work(cls_stream stream, void *arg) {
    (void)stream;
    (void)arg;
    return CLS_SUCCESS;
}

static double cpu_ms(void) {
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* What is asked of one task is not looked for in all of them: asking about each takes no time by the square. */
static void test_asking_about_each(void **state) {
    enum { TASKS = 20000, QUERIES = 500 };
    (void)state;
    struct board board = board_make(2);
    cls_task task = CLS_TASK_INIT;
    cls_task_info info = CLS_TASK_INFO_INIT;
    task.fn = no_work;
    for (uint32_t i = 0; i < TASKS; i++)
        OK(cls_task_graph_add(board.graph, &task, NULL));
    OK(cls_task_graph_run(board.graph));
    done_with(&board);
    double before = cpu_ms();
    OK(cls_task_graph_query(board.graph));
    const double all = cpu_ms() - before;
    before = cpu_ms();
    for (uint32_t i = 0; i < TASKS; i++) {
        OK(cls_task_graph_get_info(board.graph, i, &info));
        assert_int_equal(info.state, CLS_TASK_DONE);
    }
    assert_true(cpu_ms() - before < QUERIES * all + 500);
    board_drop(&board);
}

/* What failed is looked for once a stream, not once a task that is left out for it. */
static void test_many_tasks_of_poisoned_streams(void **state) {
    enum { TASKS = 60000, STREAMS = MAX_STREAMS };
    (void)state;
    struct board board = board_make(STREAMS);
    cls_task task = CLS_TASK_INIT;
    cls_task_info info = CLS_TASK_INFO_INIT;
    task.fn = no_work;
    double before = cpu_ms();
    for (uint32_t i = 0; i < TASKS; i++)
        OK(cls_task_graph_add(board.graph, &task, NULL));
    const double adding = cpu_ms() - before;
    for (unsigned i = 0; i < STREAMS; i++) {
        OK(rig_fail(board.streams[i], "bad command", -5));
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(board.streams[i]));
    }
    before = cpu_ms();
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_task_graph_run(board.graph));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_task_graph_query(board.graph));
    assert_true(cpu_ms() - before < 100 * adding + 200);
    OK(cls_task_graph_get_info(board.graph, TASKS - 1, &info));
    assert_int_equal(info.state, CLS_TASK_POISONED);
    assert_int_equal(info.cause, CLS_NO_TASK);
    for (unsigned i = 0; i < STREAMS; i++)
        OK(cls_stream_reset(board.streams[i]));
    board_drop(&board);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prerequisites_come_first),
        cmocka_unit_test(test_tasks_for_any_stream_overlap),
        cmocka_unit_test(test_any_stream_is_the_one_with_the_least_to_do),
        cmocka_unit_test(test_independent_tasks_do_not_wait),
        cmocka_unit_test(test_a_function_that_fails),
        cmocka_unit_test(test_a_command_that_fails_later),
        cmocka_unit_test(test_a_task_keeps_its_error),
        cmocka_unit_test(test_an_earlier_task_on_a_poisoned_stream),
        cmocka_unit_test(test_later_tasks_on_a_poisoned_stream),
        cmocka_unit_test(test_when_calls_are_refused),
        cmocka_unit_test(test_a_refused_task_leaves_no_gap),
        cmocka_unit_test(test_a_large_graph),
        cmocka_unit_test(test_asking_about_each),
        cmocka_unit_test(test_many_tasks_of_poisoned_streams),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
