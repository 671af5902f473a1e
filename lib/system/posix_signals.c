/* SPDX-License-Identifier: MIT */
/*
 * The handler itself only wakes the thread that writes, because a handler may call next to nothing. After a signal from
 * outside it returns: the interrupted thread may hold locks that the writer needs. After a fault it must not return, so it
 * waits, as long as the writer could reasonably take.
 */
#define _GNU_SOURCE /* SA_RESTART, SIGTRAP */
#include "system/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "system/clocks.h"
#include "system/libraries.h"
#include "system/semaphores.h"
#include "system/threads.h"

static const int from_outside[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGPIPE, SIGALRM,
                                   SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ};
static const int faults[] = {SIGILL, SIGABRT, SIGFPE, SIGSEGV, SIGBUS, SIGSYS, SIGTRAP};

enum { COUNT_OUTSIDE = sizeof from_outside / sizeof *from_outside };
enum { COUNT_FAULTS = sizeof faults / sizeof *faults };

static const uint64_t MOST_NS = 5 * CLOCK_SECOND, LOOK_NS = 1000 * 1000,
                      RETAKE_NS = 50 * 1000 * 1000;

static void (*write_out)(bool is_fault);
static pid_t process;
static struct semaphore wake;
static _Atomic int taken;         /* the first signal */
static _Atomic uint64_t taken_ns; /* when; 0: none yet */
static _Atomic bool done;
static void (*_Atomic displaced)(
    int); /* the handler of SIGABRT that ours was put over; NULL: none */

static bool is_fault(int number) {
    for (size_t i = 0; i < COUNT_FAULTS; i++)
        if (faults[i] == number)
            return true;
    return false;
}

/* The signal is blocked in its handler, and ends the process on the handler's return. */
static void end_by(int number) {
    signal(number, SIG_DFL);
    raise(number);
}

static void await_writer(void) {
    while (!atomic_load(&done) && clock_now_ns() - atomic_load(&taken_ns) < MOST_NS)
        clock_sleep_ns(LOOK_NS);
}

static void on_signal(int number) {
    const int before = errno;
    uint64_t none = 0;
    if (getpid() != process) {
        end_by(number);
    } else {
        if (atomic_compare_exchange_strong(&taken_ns, &none, clock_now_ns())) {
            atomic_store(&taken, number);
            semaphore_post(&wake);
        }
        if (is_fault(number))
            await_writer();
        if (number == SIGABRT && atomic_load(&displaced))
            atomic_load (&displaced)(number);
        if (is_fault(number) || clock_now_ns() - atomic_load(&taken_ns) >= MOST_NS)
            end_by(number);
    }
    errno = before;
}

static bool is_of_compiler(void (*handler)(int)) {
    void *address;
    memcpy(&address, &handler, sizeof address);
    char *file = library_of(address);
    const bool is = file && (strstr(file, "LLVM") || strstr(file, "pocl"));
    free(file);
    return is;
}

/* When PoCL compiles for the first time, LLVM puts handlers of its own over those that are there. They put them back and
 * return, which ends the process by the next signal of the same kind; but after abort() there is none that is handled. */
static void retake_abort(void) {
    struct sigaction now, ours = {.sa_handler = on_signal};
    sigemptyset(&ours.sa_mask);
    if (sigaction(SIGABRT, NULL, &now) || now.sa_flags & SA_SIGINFO ||
        now.sa_handler == on_signal || !is_of_compiler(now.sa_handler))
        return;
    atomic_store(&displaced, now.sa_handler);
    sigaction(SIGABRT, &ours, NULL);
}

/* Waits for the signal, and looks again and again whether the handler is still there. */
static void await_signal(void) {
    enum semaphore_wait result;
    while ((result = semaphore_wait_ns(&wake, RETAKE_NS)) != SEMAPHORE_TAKEN)
        if (result == SEMAPHORE_LATE)
            retake_abort();
}

static void *writer(void *arg) {
    await_signal();
    const int number = atomic_load(&taken);
    write_out(is_fault(number));
    atomic_store(&done, true);
    if (!is_fault(number)) {
        signal(number, SIG_DFL);
        kill(getpid(), number);
    }
    return arg;
}

static void handle(int number) {
    struct sigaction now, ours = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&ours.sa_mask);
    if (!sigaction(number, NULL, &now) && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL)
        sigaction(number, &ours, NULL);
}

bool system_at_signal(void (*write)(bool is_fault)) {
    write_out = write;
    process = getpid();
    if (!semaphore_init(&wake) || system_thread_start(NULL, "clstream trace", writer, NULL))
        return false;
    for (size_t i = 0; i < COUNT_OUTSIDE; i++)
        handle(from_outside[i]);
    for (size_t i = 0; i < COUNT_FAULTS; i++)
        handle(faults[i]);
    return true;
}
