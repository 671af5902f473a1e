/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* pthread_setname_np, sem_clockwait */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "system/threads.h"

#include <errno.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "system/clocks.h"
#include "system/locales.h"
#include "system/semaphores.h"

static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

static void set_name(pthread_t thread, const char *name) {
#ifdef __linux__
    pthread_setname_np(thread, name);
#else
    (void)thread, (void)name;
#endif
}

int system_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg) {
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

void system_thread_wake_on_time(void) {
#ifdef __linux__
    prctl(PR_SET_TIMERSLACK, 1000UL);
#endif
}

void system_yield(void) { sched_yield(); }

unsigned system_cores(void) {
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 1 ? (unsigned)cores : 1;
}

/* --- semaphores --- */

bool semaphore_init(struct semaphore *semaphore) { return !sem_init(&semaphore->count, 0, 0); }

void semaphore_post(struct semaphore *semaphore) { sem_post(&semaphore->count); }

/* sem_timedwait knows the real-time clock only; a jump of that clock must not stretch a sleep. */
enum semaphore_wait semaphore_wait_ns(struct semaphore *semaphore, uint64_t ns) {
#ifdef HAVE_SEM_CLOCKWAIT
    const clockid_t clock = CLOCK_MONOTONIC;
#else
    const clockid_t clock = CLOCK_REALTIME;
#endif
    struct timespec until;
    clock_gettime(clock, &until);
    const struct timespec more = clock_timespec((uint64_t)until.tv_nsec + ns);
    until.tv_sec += more.tv_sec;
    until.tv_nsec = more.tv_nsec;
#ifdef HAVE_SEM_CLOCKWAIT
    const int code = sem_clockwait(&semaphore->count, clock, &until);
#else
    const int code = sem_timedwait(&semaphore->count, &until);
#endif
    return !code ? SEMAPHORE_TAKEN : errno == ETIMEDOUT ? SEMAPHORE_LATE : SEMAPHORE_DISTURBED;
}

void semaphore_empty(struct semaphore *semaphore) {
    while (sem_trywait(&semaphore->count) == 0)
        continue;
}

/* --- the thread's locale --- */

bool plain_locale_begin(struct plain_locale *locale) {
    const locale_t own = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!own)
        return false;
    locale->own = own;
    locale->before = uselocale(own);
    return true;
}

void plain_locale_end(struct plain_locale *locale) {
    uselocale(locale->before);
    freelocale(locale->own);
}
