/* SPDX-License-Identifier: MIT */
/*
 * The orders in which a process may use the library for the first time, fork, close it and end: a row each. Each row runs
 * in processes of its own, whose driver and library have compiled nothing yet (cold) or all of it (warm), and each of
 * them has to end by itself, with its own status.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT, dladdr */
#include "../support/effort.h"
#include "../support/patience.h"
#include "../support/test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <clstream.h>

extern char **environ;

enum { TIMES = 1, MANY_TIMES = 25, PATIENCE_S = 60, THREADS = 10, FAILED = 70 };

/* --- what the processes do --- */

static const char source[] =
    "kernel void a(global int *x) { x[get_global_id(0)] = 1; }\n"
    "kernel void b(global int *x, ulong n) { if (get_global_id(0) < n) x[get_global_id(0)] += 2; }\n";

/* Without a device there is nothing to show; other errors are not this test's. */
static void must(cls_status status) {
    if (status) {
        fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
        _exit(FAILED);
    }
}

static void nap(unsigned us) {
    const struct timespec time = {0, us * 1000L};
    nanosleep(&time, NULL);
}

/* The driver compiles the kernel at the launch, on a thread of its own. */
static void launch(bool first_another) {
    cls_buffer x;
    cls_program program;
    cls_kernel a, b;
    const cls_launch ten = {1, {10, 1, 1}, {10, 1, 1}, {0, 0, 0}, NULL, 0};
    must(cls_buffer_create(NULL, 64, &x));
    must(cls_program_from_source(NULL, source, "x.cl", NULL, &program));
    must(cls_kernel_create(program, "a", &a));
    must(cls_kernel_create(program, "b", &b));
    const cls_arg one[] = {cls_arg_buffer(x)}, two[] = {cls_arg_buffer(x), cls_arg_u64(10)};
    if (first_another)
        must(cls_kernel_launch(a, &ten, one, 1, NULL));
    must(cls_kernel_launch_async(b, &ten, two, 2, NULL));
}

static void end_while_the_first_launch_compiles(unsigned us) {
    launch(false);
    nap(us);
}

static void end_while_a_later_launch_compiles(unsigned us) {
    launch(true);
    nap(us);
}

static void *exit_here(void *arg) {
    (void)arg;
    exit(0);
}

/* The thread has not called the library, which then has to rely on a kernel that has run (doc/guide.md, Threads). */
static void end_by_another_thread(unsigned us) {
    pthread_t thread;
    launch(true);
    nap(us);
    if (pthread_create(&thread, NULL, exit_here, NULL))
        _exit(FAILED);
    for (;;)
        pause();
}

static void exit_in_host_function(void *arg) {
    (void)arg;
    exit(0);
}

static void end_by_a_host_function(unsigned us) {
    launch(false);
    nap(us);
    must(cls_stream_launch_host_async(NULL, exit_in_host_function, NULL));
    for (;;)
        pause();
}

/* Statuses are ignored: the process may end at any of these calls. */
static void *use_all(void *arg) {
    enum { BYTES = 131072 };
    cls_stream stream;
    cls_buffer buffer;
    void *host;
    (void)arg;
    if (cls_stream_create(NULL, NULL, &stream) || cls_host_alloc(NULL, BYTES, &host) ||
        cls_buffer_create(NULL, BYTES, &buffer))
        return NULL;
    memset(host, 1, BYTES);
    cls_copy_h2d_async(buffer, 0, host, BYTES, stream);
    cls_stream_destroy(stream);
    return NULL;
}

static void start_detached(void) {
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (!pthread_create(&thread, NULL, use_all, NULL))
            pthread_detach(thread);
    }
}

static void end_during_the_first_use_of_threads(unsigned us) {
    start_detached();
    nap(us);
}

static void end_during_the_calls_of_threads(unsigned us) {
    cls_context context;
    must(cls_context_default(&context));
    start_detached();
    nap(us);
}

/* Statuses are ignored as above. */
static void *build(void *arg) {
    cls_program program;
    (void)arg;
    cls_program_from_source(NULL, source, "x.cl", NULL, &program);
    return NULL;
}

static void end_during_the_build_of_a_thread(unsigned us) {
    pthread_t thread;
    cls_context context;
    must(cls_context_default(&context));
    if (pthread_create(&thread, NULL, build, NULL) || pthread_detach(thread))
        _exit(FAILED);
    nap(us);
}

static void await(pid_t child) {
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status))
        _exit(FAILED);
}

static void fork_before_the_first_use(unsigned us) {
    const pid_t child = fork();
    launch(false);
    nap(us);
    if (!child)
        exit(0);
    await(child);
}

/* By _exit: drivers' own exit may wait for threads that the child does not have. */
static void fork_after_the_first_use(unsigned us) {
    launch(false);
    nap(us);
    const pid_t child = fork();
    if (!child)
        _exit(cls_stream_query(NULL) == CLS_ERROR_FORKED ? 0 : FAILED);
    await(child);
}

static void fork_and_execute(unsigned us) {
    launch(false);
    nap(us);
    const pid_t child = fork();
    if (!child) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(FAILED);
    }
    await(child);
}

/* NULL: it is part of the program. */
static void *loaded_library(void) {
    void *function = dlsym(RTLD_DEFAULT, "cls_version");
    Dl_info found;
    return function && dladdr(function, &found) ? dlopen(found.dli_fname, RTLD_NOW | RTLD_NOLOAD)
                                                : NULL;
}

/* A plugin that uses the library: loaded, used and closed, with work pending. */
static void close_the_library(unsigned us) {
    void *library = loaded_library();
    if (!library)
        _exit(FAILED);
    launch(false);
    dlclose(library);
    nap(us);
}

static const struct order {
    const char *name;
    void (*body)(unsigned us);
} orders[] = {
    {"end_while_the_first_launch_compiles", end_while_the_first_launch_compiles},
    {"end_while_a_later_launch_compiles", end_while_a_later_launch_compiles},
    {"end_by_another_thread", end_by_another_thread},
    {"end_by_a_host_function", end_by_a_host_function},
    {"end_during_the_first_use_of_threads", end_during_the_first_use_of_threads},
    {"end_during_the_calls_of_threads", end_during_the_calls_of_threads},
    {"end_during_the_build_of_a_thread", end_during_the_build_of_a_thread},
    {"fork_before_the_first_use", fork_before_the_first_use},
    {"fork_after_the_first_use", fork_after_the_first_use},
    {"fork_and_execute", fork_and_execute},
    {"close_the_library", close_the_library},
};

enum { ORDERS = sizeof orders / sizeof *orders };

static int child(const char *name, const char *us) {
    watchdog(PATIENCE_S);
    for (int i = 0; i < ORDERS; i++)
        if (!strcmp(orders[i].name, name)) {
            orders[i].body((unsigned)atoi(us));
            return 0;
        }
    return FAILED;
}

/* --- the parent --- */

static char
    folder[64]; /* with an empty folder for each process whose driver has compiled nothing */

static int run(const char *name, unsigned us, bool cold) {
    static unsigned processes;
    char program[4096] = "", option[] = "--child", order[64], delay[16], cache[128];
    char *arguments[] = {program, option, order, delay, NULL};
    const char *kept = getenv("POCL_CACHE_DIR");
    char *before = kept ? strdup(kept) : NULL;
    pid_t pid;
    int status;
    assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    snprintf(order, sizeof order, "%s", name);
    snprintf(delay, sizeof delay, "%u", us);
    snprintf(cache, sizeof cache, "%s/%u", folder, cold ? ++processes : 0);
    setenv("POCL_CACHE_DIR", cache, 1);
    assert_int_equal(posix_spawn(&pid, program, NULL, NULL, arguments, environ), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    before ? setenv("POCL_CACHE_DIR", before, 1) : unsetenv("POCL_CACHE_DIR");
    free(before);
    return status;
}

static void ends_well(void **state) {
    static const unsigned delays_us[] = {0, 300, 3000, 20000};
    const struct order *order = *state;
    const unsigned times = effort_is_long() ? MANY_TIMES : TIMES;
    unsigned bad = 0, count = 0;
    if (order->body == close_the_library && !loaded_library())
        SKIP_BECAUSE("the library is part of this program, which cannot close it");
    for (unsigned i = 0; i < times; i++)
        for (unsigned d = 0; d < sizeof delays_us / sizeof *delays_us; d++)
            for (int cold = 1; cold >= 0; cold--) {
                const int status = run(order->name, delays_us[d], cold);
                count++;
                if (!status)
                    continue;
                print_error("%s, %s, %u us: %s %d\n", order->name, cold ? "cold" : "warm",
                            delays_us[d], WIFSIGNALED(status) ? "signal" : "exit status",
                            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
                bad++;
            }
    if (bad)
        fail_msg("%u of %u processes did not end well", bad, count);
}

static int setup(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/clstream-ends-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    /* The library's own cache is filled, or its probes would compile kernels first. */
    return run(orders[0].name, 20000, false) ? -1 : 0;
}

static int teardown(void **state) {
    char command[96];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

int main(int argc, char **argv) {
    struct CMUnitTest tests[ORDERS];
    if (argc == 4 && !strcmp(argv[1], "--child"))
        return child(argv[2], argv[3]);
    for (int i = 0; i < ORDERS; i++)
        tests[i] = (struct CMUnitTest){orders[i].name, ends_well, NULL, NULL,
                                       (void *)(uintptr_t)&orders[i]};
    return _cmocka_run_group_tests("process_end", tests, ORDERS, setup, teardown);
}
