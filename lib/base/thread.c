/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* pthread_setname_np */
#include "base/thread.h"

#include <signal.h>

static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

static void set_name(pthread_t thread, const char *name) {
#ifdef __linux__
    pthread_setname_np(thread, name);
#else
    (void)thread, (void)name;
#endif
}

int thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg) {
    pthread_t made;
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int error = pthread_create(&made, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        return error;
    set_name(made, name);
    if (thread)
        *thread = made;
    else
        pthread_detach(made);
    return 0;
}
