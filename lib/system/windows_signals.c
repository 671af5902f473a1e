/* SPDX-License-Identifier: MIT */
/*
 * Windows has a thread of its own call the handler of a console event, so that it may do anything; the process ends when
 * it returns. A fault's filter runs on the thread that has it, which does not go on.
 */
#include "system/signals.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <windows.h>

#include "system/clocks.h"
#include "system/threads.h"

static const uint64_t MOST_NS = 5 * CLOCK_SECOND, LOOK_NS = 1000 * 1000;

static void (*write_out)(bool is_fault);
static _Atomic bool done;
static LPTOP_LEVEL_EXCEPTION_FILTER filter_before;

/* FALSE: the next handler, which ends the process. */
static BOOL WINAPI on_console(DWORD event) {
    (void)event;
    write_out(false);
    return FALSE;
}

static void *write_after_fault(void *arg) {
    write_out(true);
    atomic_store(&done, true);
    return arg;
}

static LONG WINAPI on_fault(EXCEPTION_POINTERS *fault) {
    const uint64_t since = clock_now_ns();
    if (!system_thread_start(NULL, "clstream trace", write_after_fault, NULL))
        while (!atomic_load(&done) && clock_now_ns() - since < MOST_NS)
            clock_sleep_ns(LOOK_NS);
    return filter_before ? filter_before(fault) : EXCEPTION_CONTINUE_SEARCH;
}

bool system_at_signal(void (*write)(bool is_fault)) {
    write_out = write;
    filter_before = SetUnhandledExceptionFilter(on_fault);
    return SetConsoleCtrlHandler(on_console, TRUE);
}
