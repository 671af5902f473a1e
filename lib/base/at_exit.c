/* SPDX-License-Identifier: MIT */
#include "base/at_exit.h"

#include "system/clocks.h"

static _Atomic(void (*)(void)) first;
static _Thread_local bool watched;

#ifdef __GLIBC__
/* As C++ compilers call it for variables with destructors; missing before glibc 2.18. */
extern int __cxa_thread_atexit_impl(void (*destroy)(void *), void *object, void *library)
    __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

static void thread_ends(void *unused) {
    void (*handler)(void) = atomic_load(&first);
    (void)unused;
    if (watched && handler)
        system_at_exit(handler);
}

static void call_at_end(void) {
    if (__cxa_thread_atexit_impl)
        __cxa_thread_atexit_impl(thread_ends, NULL, &__dso_handle);
}
#else
static void call_at_end(void) {}
#endif

void at_exit_first(void (*handler)(void)) { atomic_store(&first, handler); }

void at_exit_watch_thread(void) {
    if (!watched)
        call_at_end();
    watched = true;
}

void at_exit_unwatch_thread(void) { watched = false; }

/* --- driver calls --- */

static const uint64_t LOOK_NS = 100 * 1000;
static _Atomic unsigned inside;
static _Atomic bool closed;

bool at_exit_hold(void) {
    atomic_fetch_add(&inside, 1);
    if (!atomic_load(&closed))
        return true;
    at_exit_unhold();
    return false;
}

void at_exit_unhold(void) { atomic_fetch_sub(&inside, 1); }

void at_exit_close(uint64_t deadline) {
    atomic_store(&closed, true);
    while (atomic_load(&inside) && clock_now_ns() < deadline)
        clock_sleep_ns(LOOK_NS);
}
