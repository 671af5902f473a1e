/* SPDX-License-Identifier: MIT */
/*
 * Threads are winpthreads'. A sleep of Windows ends with a tick of 1 to 16 ms; a timer of high resolution (Windows 10, 1803)
 * ends it within some 100 us.
 */
#include "system/threads.h"

#include <locale.h>
#include <sched.h>
#include <stdio.h>
#include <windows.h>

#include "system/clocks.h"
#include "system/locales.h"
#include "system/semaphores.h"

#ifndef CREATE_WAITABLE_TIMER_HIGH_RESOLUTION
#define CREATE_WAITABLE_TIMER_HIGH_RESOLUTION 2
#endif

int system_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg) {
    pthread_t made;
    const int error = pthread_create(&made, NULL, run, arg);
    if (error)
        return error;
    pthread_setname_np(made, name);
    if (thread)
        *thread = made;
    else
        pthread_detach(made);
    return 0;
}

/* The timers see to it. */
void system_thread_wake_on_time(void) {}

void system_yield(void) { sched_yield(); }

unsigned system_cores(void) {
    const DWORD cores = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    return cores > 1 ? cores : 1;
}

/* --- timers --- */

static HANDLE timer_create_fine(void) {
    const HANDLE timer =
        CreateWaitableTimerExW(NULL, NULL, CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, TIMER_ALL_ACCESS);
    return timer ? timer : CreateWaitableTimerExW(NULL, NULL, 0, TIMER_ALL_ACCESS);
}

static bool timer_set(HANDLE timer, uint64_t ns) {
    const uint64_t ticks = ns / 100 + 1;
    const LARGE_INTEGER span = {.QuadPart = -(LONGLONG)(ticks < INT64_MAX ? ticks : INT64_MAX)};
    return timer && SetWaitableTimer(timer, &span, 0, NULL, NULL, FALSE);
}

static DWORD milliseconds(uint64_t ns) {
    const uint64_t ms = ns / 1000000 + 1;
    return ms < INFINITE ? (DWORD)ms : INFINITE - 1;
}

void clock_sleep_ns(uint64_t ns) {
    const HANDLE timer = timer_create_fine();
    if (timer_set(timer, ns))
        WaitForSingleObject(timer, INFINITE);
    else
        Sleep(milliseconds(ns));
    if (timer)
        CloseHandle(timer);
}

/* --- semaphores --- */

bool semaphore_init(struct semaphore *semaphore) {
    semaphore->count = CreateSemaphoreW(NULL, 0, MAXLONG, NULL);
    semaphore->timer = semaphore->count ? timer_create_fine() : NULL;
    return semaphore->count != NULL;
}

void semaphore_post(struct semaphore *semaphore) { ReleaseSemaphore(semaphore->count, 1, NULL); }

enum semaphore_wait semaphore_wait_ns(struct semaphore *semaphore, uint64_t ns) {
    const HANDLE both[] = {semaphore->count, semaphore->timer};
    const DWORD result = timer_set(semaphore->timer, ns)
                             ? WaitForMultipleObjects(2, both, FALSE, INFINITE)
                             : WaitForSingleObject(semaphore->count, milliseconds(ns));
    return result == WAIT_OBJECT_0 ? SEMAPHORE_TAKEN : SEMAPHORE_LATE;
}

void semaphore_empty(struct semaphore *semaphore) {
    while (WaitForSingleObject(semaphore->count, 0) == WAIT_OBJECT_0)
        continue;
}

/* --- the thread's locale --- */

bool plain_locale_begin(struct plain_locale *locale) {
    locale->own =
        _configthreadlocale(_ENABLE_PER_THREAD_LOCALE) == _ENABLE_PER_THREAD_LOCALE ? locale : NULL;
    const char *now = setlocale(LC_NUMERIC, NULL);
    snprintf(locale->numbers, sizeof locale->numbers, "%s", now ? now : "C");
    setlocale(LC_NUMERIC, "C");
    return true;
}

void plain_locale_end(struct plain_locale *locale) {
    setlocale(LC_NUMERIC, locale->numbers);
    if (!locale->own)
        _configthreadlocale(_DISABLE_PER_THREAD_LOCALE);
}
