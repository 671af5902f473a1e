/* SPDX-License-Identifier: MIT */
/*
 * A process that exits with work pending exits with its own status: no crash, no hang. Each case runs
 * in processes of its own, 10 times, and 200 times with TEST_EFFORT=long.
 */
#include "../support/effort.h"
#include "../support/rig.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <clstream/blas.h>
#include <clstream/graph.h>
#include <clstream/prefetcher.h>
#include <clstream/timeline.h>

extern char **environ;

enum { CHILD_WATCHDOG_S = 60, TIMES = 10, MANY_TIMES = 200, ENOUGH = 3, STREAMS = 4 };

/* The library's own wait for what never ends is 5 s long. */
enum { NO_WAIT_S = 4 };

/* --- what the children do before they exit --- */

static _Atomic unsigned ran, told, told_wrong;
static cls_status may_be_told = CLS_ERROR_SHUTDOWN; /* where it is not CLS_SUCCESS */

static void linger(void *arg) {
    (void)arg;
    nap_ms(3);
    atomic_fetch_add(&ran, 1);
}

static void tell(cls_stream stream, cls_status status, void *arg) {
    (void)stream;
    (void)arg;
    atomic_fetch_add(&told, 1);
    if (status != CLS_SUCCESS && status != may_be_told)
        atomic_fetch_add(&told_wrong, 1);
}

static cl_int enqueue_many(cl_command_queue queue, void *arg) {
    cl_int code = CL_SUCCESS;
    (void)arg;
    for (int i = 0; i < 50 && !code; i++)
        code = clEnqueueMarkerWithWaitList(queue, 0, NULL, NULL);
    return code;
}

static void exit_with_kernels_pending(void) {
    for (int s = 0; s < STREAMS; s++) {
        cls_stream stream = rig_stream();
        cls_buffer cells = rig_cells(1);
        for (int i = 0; i < 4; i++)
            OK(rig_set(stream, cells, 0, 1, 4));
    }
}

static void exit_after_the_first_launch(void) {
    cls_buffer cells;
    OK(cls_buffer_create(rig.context, 64, &cells));
    OK(rig_set(NULL, cells, 0, 1, 5));
}

static void exit_with_host_functions_pending(void) {
    for (int s = 0; s < STREAMS; s++) {
        cls_stream stream = rig_stream();
        cls_buffer cells = rig_cells(1);
        for (int i = 0; i < 5; i++) {
            OK(rig_set(stream, cells, 0, 1, 1));
            OK(cls_stream_launch_host_async(stream, linger, NULL));
            OK(cls_stream_add_callback(stream, tell, NULL));
        }
    }
}

/* Copies, kernels, host functions and foreign calls under way on as many threads. */
static void exit_with_threads_busy(void) {
    static uint32_t memory[2 * STREAMS][1 << 18];
    for (int s = 0; s < 2 * STREAMS; s++) {
        cls_stream stream = rig_stream();
        cls_buffer big = rig_cells(1 << 18);
        for (int i = 0; i < 4; i++) {
            OK(cls_copy_h2d_async(big, 0, memory[s], sizeof *memory, stream));
            OK(rig_set(stream, big, (uint32_t)s, 1, 0.5));
            OK(cls_stream_foreign_async(stream, NULL, enqueue_many, NULL));
            OK(cls_copy_d2h_async(memory[s], big, 0, sizeof *memory, stream));
            OK(cls_stream_launch_host_async(stream, linger, NULL));
        }
    }
    nap_ms(5);
}

static void exit_with_everything_destroyed(void) {
    for (int s = 0; s < STREAMS; s++) {
        cls_stream stream = rig_stream();
        cls_buffer cells = rig_cells(1);
        cls_event event = rig_event();
        OK(rig_set(stream, cells, 0, 1, 20));
        OK(cls_event_record(event, stream));
        OK(cls_stream_launch_host_async(stream, linger, NULL));
        OK(rig_set(stream, cells, 0, 1, 0));
        OK(cls_buffer_destroy(cells));
        OK(cls_event_destroy(event));
        OK(cls_stream_destroy(stream));
    }
    OK(cls_kernel_destroy(rig.step));
    OK(cls_context_destroy(rig.context));
}

static void exit_when_idle(void) {
    exit_with_host_functions_pending();
    OK(cls_context_synchronize(rig.context));
}

/* Callbacks behind a user event that is never set: the process must not hang, and each is called. */
static void exit_with_callbacks_held(void) {
    cl_event never = rig_user_event();
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    OK(rig_set(stream, cells, 0, 1, 1));
    OK(cls_stream_synchronize(stream));
    OK(cls_stream_wait_cl(stream, never));
    for (int i = 0; i < 10; i++)
        OK(cls_stream_add_callback(stream, tell, NULL));
    OK(rig_set(stream, cells, 0, 1, 1));
}

/* A thread and the streams wait for signals that never come; callbacks stand behind. */
static void *wait_for_ever(void *timeline) {
    cls_timeline_wait(timeline, 1, UINT64_MAX);
    return NULL;
}

static void exit_with_timelines_awaited(void) {
    cls_timeline timeline;
    pthread_t thread;
    OK(cls_timeline_create(NULL, &timeline));
    for (int s = 0; s < STREAMS; s++) {
        cls_stream stream = rig_stream();
        cls_buffer cells = rig_cells(1);
        OK(rig_set(stream, cells, 0, 1, 1));
        OK(cls_stream_wait_timeline(stream, timeline, 1));
        OK(rig_set(stream, cells, 0, 2, 1));
        for (int i = 0; i < 5; i++)
            OK(cls_stream_add_callback(stream, tell, NULL));
    }
    assert_int_equal(pthread_create(&thread, NULL, wait_for_ever, timeline), 0);
    assert_int_equal(pthread_detach(thread), 0);
    nap_ms(5);
}

/* As exit_with_callbacks_held, without any device work. */
static void exit_with_callbacks_only(void) {
    cl_event never = rig_user_event();
    cls_stream stream = rig_stream();
    OK(cls_stream_wait_cl(stream, never));
    for (int i = 0; i < 10; i++)
        OK(cls_stream_add_callback(stream, tell, NULL));
}

/* Queued launches are dropped soon, and callbacks behind them are called. */
static void exit_with_many_launches_queued(void) {
    enum { LAUNCHES = 40000 };
    cls_stream streams[STREAMS];
    cls_buffer cells = rig_cells(1);
    cls_timeline timeline;
    OK(cls_timeline_create(NULL, &timeline));
    OK(rig_set(NULL, cells, 0, 1, 0));
    for (int s = 0; s < STREAMS; s++) {
        streams[s] = rig_stream();
        OK(cls_stream_wait_timeline(streams[s], timeline, 1));
    }
    for (int i = 0; i < LAUNCHES; i++)
        OK(rig_set(streams[i % STREAMS], cells, 0, 1, 0));
    for (int s = 0; s < STREAMS; s++)
        OK(cls_stream_add_callback(streams[s], tell, NULL));
    watchdog(NO_WAIT_S);
}

/* A child that is forked meanwhile, as for a program that it could not execute, exits at once: it has neither
 * the threads that do the work, nor a say in the locks that they held. */
static cls_status load_slowly(void *arg, uint64_t batch, void *memory, size_t capacity,
                              size_t *bytes) {
    (void)arg;
    (void)batch;
    (void)capacity;
    nap_ms(20);
    memset(memory, 0, *bytes = 16);
    return CLS_SUCCESS;
}

static unsigned owed;

static void exit_in_a_forked_child(void) {
    enum { FORKS = 4, MOST_MS = 2000 };
    cls_prefetcher prefetcher;
    OK(cls_prefetcher_create(rig.context, 64, load_slowly, NULL, NULL, &prefetcher));
    for (int s = 0; s < STREAMS; s++) {
        cls_stream stream = rig_stream();
        for (int i = 0; i < 5; i++) {
            OK(cls_stream_launch_host_async(stream, linger, NULL));
            OK(cls_stream_launch_host_async(stream, linger, NULL));
            OK(cls_stream_add_callback(stream, tell, NULL));
        }
    }
    const double start = now_ms();
    for (int i = 0; i < FORKS; i++) {
        int status;
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (!pid) {
            watchdog(CHILD_WATCHDOG_S / 2); /* alarms are not inherited */
            owed = 0;
            told = 0;
            exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_true(now_ms() - start < patience(MOST_MS));
}

static atomic_bool stays;

/* Two threads that end a process at once are not for this test. */
static void exit_here(void *arg) {
    (void)arg;
    while (!stays)
        nap_ms(1);
    watchdog(NO_WAIT_S);
    exit(0);
}

/* Meanwhile the main thread is elsewhere. */
static void stay(void) {
    for (stays = true;;)
        pause();
}

static void exit_in_a_host_function(void) {
    cls_stream stream = rig_stream(), behind = rig_stream();
    cls_buffer cells = rig_cells(1);
    cls_event event = rig_event();
    exit_with_host_functions_pending();
    OK(rig_set(stream, cells, 0, 1, 1));
    OK(cls_stream_launch_host_async(stream, exit_here, NULL));
    OK(rig_set(stream, cells, 0, 2, 1));
    OK(cls_event_record(event, stream));
    OK(cls_stream_wait_event(behind, event));
    OK(rig_set(behind, cells, 0, 3, 1));
    OK(cls_stream_add_callback(stream, tell, NULL));
    OK(cls_stream_add_callback(behind, tell, NULL));
    stay();
}

static void tell_and_exit(cls_stream stream, cls_status status, void *arg) {
    tell(stream, CLS_SUCCESS, arg);
    (void)status;
    exit_here(arg);
}

static void exit_in_a_callback(void) {
    cls_stream stream = rig_stream();
    OK(cls_stream_add_callback(stream, tell_and_exit, NULL));
    for (int i = 0; i < 5; i++)
        OK(cls_stream_add_callback(stream, tell, NULL));
    stay();
}

static cl_int enqueue_and_exit(cl_command_queue queue, void *arg) {
    enqueue_many(queue, NULL);
    exit_here(arg);
    return CL_SUCCESS;
}

static void exit_in_a_foreign_call(void) {
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    OK(rig_set(stream, cells, 0, 1, 4));
    OK(cls_stream_foreign_async(stream, NULL, enqueue_and_exit, NULL));
    OK(rig_set(stream, cells, 0, 2, 1));
    OK(cls_stream_add_callback(stream, tell, NULL));
    stay();
}

static cls_graph_exec executable(cls_stream stream) {
    cls_graph graph;
    cls_graph_exec exec;
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    OK(cls_graph_destroy(graph));
    return exec;
}

/* A callback of the graph and two behind its launch. */
static void exit_in_a_host_function_of_a_graph(void) {
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    OK(cls_stream_begin_capture(stream, "exits"));
    OK(rig_set(stream, cells, 0, 1, 1));
    OK(cls_stream_launch_host_async(stream, exit_here, NULL));
    OK(rig_set(stream, cells, 0, 2, 1));
    OK(cls_stream_add_callback(stream, tell, NULL));
    OK(cls_graph_launch_async(executable(stream), stream));
    for (int i = 0; i < 2; i++)
        OK(cls_stream_add_callback(stream, tell, NULL));
    stay();
}

/* The launch is dropped, and the first of its callbacks ends the process. */
static void exit_in_a_callback_of_a_dropped_graph(void) {
    cls_stream stream = rig_stream();
    cls_timeline timeline;
    OK(cls_timeline_create(NULL, &timeline));
    OK(cls_stream_begin_capture(stream, "dropped"));
    OK(cls_stream_add_callback(stream, tell_and_exit, NULL));
    for (int i = 0; i < 3; i++)
        OK(cls_stream_add_callback(stream, tell, NULL));
    cls_graph_exec exec = executable(stream);
    OK(cls_stream_wait_timeline(stream, timeline, 1));
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_stream_add_callback(stream, tell, NULL));
    may_be_told = CLS_ERROR_COMMAND_FAILED;
    OK(cls_timeline_fail(timeline, "the test", "to have the launch dropped"));
    stay();
}

static void note_begun(void *begun) { *(atomic_bool *)begun = true; }

/* A worker submits the nodes of a launch, the last of which is a callback, when the process exits. */
static void exit_while_a_graph_is_submitted(void) {
    enum { NODES = 1000 };
    static atomic_bool begun;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    OK(cls_stream_begin_capture(stream, "long"));
    OK(cls_stream_launch_host_async(stream, note_begun, &begun));
    for (int i = 0; i < NODES; i++)
        OK(rig_set(stream, cells, 0, 1, 0));
    for (int i = 0; i < 2; i++)
        OK(cls_stream_add_callback(stream, tell, NULL));
    OK(cls_graph_launch_async(executable(stream), stream));
    while (!begun)
        sched_yield();
}

static cls_status exit_in_load(void *arg, uint64_t index, void *memory, size_t capacity,
                               size_t *bytes) {
    (void)capacity;
    memset(memory, 0, 64);
    *bytes = 64;
    if (index == 3)
        exit_here(arg);
    return CLS_SUCCESS;
}

static void exit_in_a_loader(void) {
    cls_prefetcher_config config = CLS_PREFETCHER_CONFIG_INIT;
    cls_prefetcher prefetcher;
    config.workers = 3;
    exit_with_host_functions_pending();
    OK(cls_prefetcher_create(rig.context, 64, exit_in_load, NULL, &config, &prefetcher));
    stay();
}

static void exit_when_the_last_loader_is_gone(void) {
    cls_prefetcher_config config = CLS_PREFETCHER_CONFIG_INIT;
    cls_prefetcher prefetcher;
    config.end = exit_here;
    exit_with_host_functions_pending();
    OK(cls_prefetcher_create(rig.context, 64, load_slowly, NULL, &config, &prefetcher));
    OK(cls_prefetcher_destroy(prefetcher));
    stay();
}

/* A thread that waits for batches and that a handler of the program's joins, as a destructor may. */
static pthread_t consumer;
static bool consumes;

static void *consume(void *prefetcher) {
    cls_prefetched batch;
    while (!cls_prefetcher_next(prefetcher, NULL, &batch) && batch.bytes)
        if (cls_prefetcher_release(prefetcher, &batch, NULL))
            break;
    return NULL;
}

static void exit_with_batches_awaited(void) {
    cls_prefetcher prefetcher;
    exit_with_host_functions_pending();
    OK(cls_context_synchronize(rig.context));
    OK(cls_prefetcher_create(rig.context, 64, load_slowly, NULL, NULL, &prefetcher));
    assert_int_equal(pthread_create(&consumer, NULL, consume, prefetcher), 0);
    consumes = true;
    nap_ms(50);
}

static cls_context context_with_blas_programs(void) {
    cls_context context;
    cls_stream stream;
    cls_buffer cells;
    OK(cls_context_create(NULL, &context));
    OK(cls_stream_create(context, NULL, &stream));
    OK(cls_buffer_create(context, 64, &cells));
    if (cls_blas_available())
        OK(cls_scal(2, cls_vector_from(cls_array_of(cells, CLS_F32, 16)), stream));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
    return context;
}

/* What a late thread meets: contexts that end when the libraries have destroyed what is theirs. on_exit's functions run in
 * the reverse of their registration, so one that is registered before any library is initialized comes last. */
static cls_context late_context;

static void destroy_late(int status, void *arg) {
    (void)status;
    (void)arg;
    if (late_context)
        cls_context_destroy(late_context);
}

#ifdef __GLIBC__
extern int on_exit(void (*function)(int, void *), void *arg); /* not in POSIX */
static void register_destroy_late(void) { on_exit(destroy_late, NULL); }
__attribute__((section(".preinit_array"),
               used)) static void (*const before_libraries)(void) = register_destroy_late;
#endif

static void exit_before_a_context_ends(void) { late_context = context_with_blas_programs(); }

static const struct scenario {
    const char *name;
    void (*body)(void);
    unsigned callbacks; /* that must have been called when the process is gone */
} scenarios[] = {
    {"kernels", exit_with_kernels_pending, 0},
    {"first", exit_after_the_first_launch, 0},
    {"host", exit_with_host_functions_pending, 5 * STREAMS},
    {"busy", exit_with_threads_busy, 0},
    {"destroyed", exit_with_everything_destroyed, 0},
    {"idle", exit_when_idle, 5 * STREAMS},
    {"queued", exit_with_many_launches_queued, STREAMS},
    {"held", exit_with_callbacks_held, 10},
    {"held-only", exit_with_callbacks_only, 10},
    {"timelines", exit_with_timelines_awaited, 5 * STREAMS},
    {"inside", exit_in_a_host_function, 5 * STREAMS + 2},
    {"callback", exit_in_a_callback, 6},
    {"foreign", exit_in_a_foreign_call, 1},
    {"graph", exit_in_a_host_function_of_a_graph, 3},
    {"dropped", exit_in_a_callback_of_a_dropped_graph, 5},
    {"submitting", exit_while_a_graph_is_submitted, 2},
    {"loader", exit_in_a_loader, 5 * STREAMS},
    {"loaders-end", exit_when_the_last_loader_is_gone, 5 * STREAMS},
    {"batches", exit_with_batches_awaited, 5 * STREAMS},
    {"context", exit_before_a_context_ends, 0},
    {"forked", exit_in_a_forked_child, 5 * STREAMS},
};

/* --- the child --- */

enum { FAILED_SETUP = 70, FAILED_CALLBACKS = 71, NO_SCENARIO = 72 };

/* Registered before the library's handler, so it runs after it. */
static void check_callbacks(void) {
    if (consumes)
        pthread_join(consumer, NULL);
    if (told != owed || told_wrong) {
        fprintf(stderr, "%u of %u callbacks were called, %u of them with a wrong status\n", told,
                owed, told_wrong);
        fflush(NULL);
        _exit(FAILED_CALLBACKS);
    }
}

static int child(const char *name) {
    void *state = NULL;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (strcmp(name, scenarios[i].name) != 0)
            continue;
        owed = scenarios[i].callbacks;
        if (atexit(check_callbacks) || rig_setup(&state))
            return FAILED_SETUP;
        watchdog(CHILD_WATCHDOG_S);
        scenarios[i].body();
        return 0;
    }
    return NO_SCENARIO;
}

/* --- the parent --- */

static unsigned times(void) { return effort_is_long() ? MANY_TIMES : TIMES; }

/* `*state` names what the children do. */
static void clean_exits(void **state) {
    const char *name = *state;
    char program[4096] = "", option[] = "--child", scenario[32];
    char *arguments[] = {program, option, scenario, NULL};
    /* By its own name: NVIDIA's driver does not serve a process that is called "exe". */
    assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    snprintf(scenario, sizeof scenario, "%s", name);
    unsigned count = times(), bad = 0;
    for (unsigned i = 0; i < count && bad < ENOUGH; i++) {
        pid_t pid;
        int status;
        assert_int_equal(posix_spawn(&pid, program, NULL, NULL, arguments, environ), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            continue;
        bad++;
        print_error("%s: %s %d\n", name, WIFSIGNALED(status) ? "signal" : "exit status",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    if (bad)
        fail_msg("%u processes did not exit cleanly", bad);
}

static void clean_exits_of_forks(void **state) {
    if (rig_platform_is("Intel"))
        SKIP_BECAUSE("the driver's own exit mostly hangs in a forked child");
    clean_exits(state);
}

static int setup(void **state) {
    if (rig_setup(state))
        return -1;
    rig_pass_on_pace();
    watchdog(0); /* the children have their own */
    return 0;
}

static struct CMUnitTest clean_exits_test(const char *name, const char *scenario) {
    return (struct CMUnitTest){name, clean_exits, NULL, NULL, (void *)scenario};
}

int main(int argc, char **argv) {
    if (argc == 3 && !strcmp(argv[1], "--child"))
        return child(argv[2]);
    const struct CMUnitTest tests[] = {
        clean_exits_test("exit_with_kernels_pending", "kernels"),
        clean_exits_test("exit_after_the_first_launch", "first"),
        clean_exits_test("exit_with_host_functions_pending", "host"),
        clean_exits_test("exit_with_library_threads_busy", "busy"),
        clean_exits_test("exit_with_everything_destroyed", "destroyed"),
        clean_exits_test("exit_when_idle", "idle"),
        clean_exits_test("exit_with_many_launches_queued", "queued"),
        clean_exits_test("exit_with_callbacks_held", "held"),
        clean_exits_test("exit_with_callbacks_only", "held-only"),
        clean_exits_test("exit_with_timelines_awaited", "timelines"),
        clean_exits_test("exit_in_a_host_function", "inside"),
        clean_exits_test("exit_in_a_callback", "callback"),
        clean_exits_test("exit_in_a_foreign_call", "foreign"),
        clean_exits_test("exit_in_a_host_function_of_a_graph", "graph"),
        clean_exits_test("exit_in_a_callback_of_a_dropped_graph", "dropped"),
        clean_exits_test("exit_while_a_graph_is_submitted", "submitting"),
        clean_exits_test("exit_in_a_loader", "loader"),
        clean_exits_test("exit_when_the_last_loader_is_gone", "loaders-end"),
        clean_exits_test("exit_with_batches_awaited", "batches"),
        clean_exits_test("exit_before_a_context_ends", "context"),
        {"exit_in_a_forked_child", clean_exits_of_forks, NULL, NULL, (void *)(uintptr_t) "forked"},
    };
    return cmocka_run_group_tests(tests, setup, rig_teardown);
}
