/* SPDX-License-Identifier: MIT */
#ifndef CLSTREAM_SYSTEM_THREADS_H
#define CLSTREAM_SYSTEM_THREADS_H

#include <pthread.h>

/*
 * Starts a thread that calls run(arg): 0, or the error of pthread_create. A null `thread` makes it a detached one.
 * `name` (15 characters at most) is what debuggers show.
 *
 * The thread blocks every signal that is sent to the process, so that each reaches a thread of the program, and its
 * handler never runs inside a host function. Signals of a thread's own faults (SIGSEGV and the like) stay open.
 */
int system_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg);

/* From here on the calling thread's sleeps end on time. Linux may let others lie for 50 us more, Windows for 15 ms. */
void system_thread_wake_on_time(void);

/* Processors that are on line; at least 1. */
unsigned system_cores(void);

#endif
