/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* pthread_setname_np */
#include "base/thread.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/at_exit.h"

static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

static void set_name(pthread_t thread, const char *name) {
#ifdef __linux__
    pthread_setname_np(thread, name);
#else
    (void)thread, (void)name;
#endif
}

struct thread_start {
    void *(*run)(void *);
    void *arg;
};

/* User code on the thread may call exit(). */
static void *watched(void *arg) {
    const struct thread_start start = *(struct thread_start *)arg;
    free(arg);
    at_exit_watch_thread();
    void *result = start.run(start.arg);
    at_exit_unwatch_thread();
    return result;
}

int thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg) {
    pthread_t made;
    sigset_t blocked, before;
    struct thread_start *start = malloc(sizeof *start);
    if (!start)
        return ENOMEM;
    *start = (struct thread_start){run, arg};
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int error = pthread_create(&made, NULL, watched, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        free(start);
        return error;
    }
    set_name(made, name);
    if (thread)
        *thread = made;
    else
        pthread_detach(made);
    return 0;
}

void thread_wake_on_time(void) {
#ifdef __linux__
    prctl(PR_SET_TIMERSLACK, 1000UL);
#endif
}
