/* SPDX-License-Identifier: MIT */
/* The library's threads block the signals that are sent to the process: its handlers run on the program's threads. */
#include "coordinators.h"

#include <pthread.h>
#include <signal.h>

#include <clstream/prefetcher.h>

/* What the calling thread leaves open of the signals that are sent to a process. */
static int open_signals(void) {
    static const int sent[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,  SIGALRM, SIGCHLD,
                               SIGUSR1, SIGUSR2, SIGPIPE, SIGWINCH, SIGCONT, SIGIO};
    int open = 0;
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    for (size_t i = 0; i < sizeof sent / sizeof *sent; i++)
        open += !sigismember(&blocked, sent[i]);
    return open;
}

/* A fault of a callback's own is the program's to handle, as on any thread of it. */
static int blocked_faults(void) {
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    return sigismember(&blocked, SIGSEGV) + sigismember(&blocked, SIGBUS) +
           sigismember(&blocked, SIGFPE) + sigismember(&blocked, SIGILL);
}

struct seen {
    pthread_t caller;
    _Atomic int calls, on_caller, open, faults;
};

static void look(struct seen *seen) {
    seen->calls++;
    seen->on_caller += pthread_equal(pthread_self(), seen->caller) != 0;
    seen->open += open_signals();
    seen->faults += blocked_faults();
}

static void expect_all_blocked(const struct seen *seen, int calls) {
    assert_true(seen->calls >= calls);
    assert_int_equal(seen->on_caller, 0);
    assert_int_equal(seen->open, 0);
    assert_int_equal(seen->faults, 0);
}

static void look_in_host(void *arg) { look(arg); }

static void test_host_functions(void **state) {
    (void)state;
    struct seen seen = {.caller = pthread_self()};
    cls_stream stream = rig_stream();
    OK(cls_stream_launch_host_async(stream, look_in_host, &seen));
    OK(cls_stream_synchronize(stream));
    OK(cls_stream_destroy(stream));
    expect_all_blocked(&seen, 1);
}

static cls_status look_in_loader(void *arg, uint64_t index, void *memory, size_t capacity,
                                 size_t *bytes) {
    (void)index, (void)memory, (void)capacity, (void)bytes;
    look(arg);
    return CLS_SUCCESS;
}

/* A loader may be about to begin when its prefetcher is destroyed: what it is given outlives the test. */
static void test_loaders(void **state) {
    (void)state;
    static struct seen seen;
    cls_prefetcher prefetcher;
    cls_prefetched batch;
    seen.caller = pthread_self();
    OK(cls_prefetcher_create(rig.context, 64, look_in_loader, &seen, NULL, &prefetcher));
    OK(cls_prefetcher_next(prefetcher, NULL, &batch));
    OK(cls_prefetcher_destroy(prefetcher));
    expect_all_blocked(&seen, 1);
}

static cls_status look_in_phase(cls_stream stream, size_t index, void *arg) {
    (void)stream, (void)index;
    look(arg);
    return CLS_SUCCESS;
}

static void test_phases_on_threads(void **state) {
    (void)state;
    struct seen seen = {.caller = pthread_self()};
    struct team team = team_make(0, 2);
    OK(cls_coordinator_execute_parallel(team.coordinator, look_in_phase, &seen));
    team_drop(&team);
    expect_all_blocked(&seen, 2);
}

/* The caller's own mask is as it was. */
static void test_the_callers_thread(void **state) {
    (void)state;
    assert_true(open_signals() > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_functions),
        cmocka_unit_test(test_loaders),
        cmocka_unit_test(test_phases_on_threads),
        cmocka_unit_test(test_the_callers_thread),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
