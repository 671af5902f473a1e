/* SPDX-License-Identifier: MIT */
/* Starts the library's own threads. */
#ifndef CLSTREAM_BASE_THREAD_H
#define CLSTREAM_BASE_THREAD_H

#include <pthread.h>

/* As system_thread_start (system/threads.h). User code on the thread may call exit(). */
int thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg);

#endif
