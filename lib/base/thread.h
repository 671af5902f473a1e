/* SPDX-License-Identifier: MIT */
/* Starts the library's own threads. */
#ifndef CLSTREAM_BASE_THREAD_H
#define CLSTREAM_BASE_THREAD_H

#include <pthread.h>

/*
 * Starts a thread that calls run(arg): 0, or the error of pthread_create. A null `thread` makes it a detached one.
 * `name` (15 characters at most) is what debuggers and `top -H` show.
 *
 * The thread blocks every signal that is sent to the process, so that each reaches a thread of the program, and its
 * handler never runs inside a host function. Signals of a thread's own faults (SIGSEGV and the like) stay open.
 */
int thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg);

/* From here on the calling thread's sleeps end on time. Linux may let others lie for 50 us more. */
void thread_wake_on_time(void);

#endif
