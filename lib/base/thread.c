/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <errno.h>
#include <stdlib.h>

#include "base/at_exit.h"
#include "system/threads.h"

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
    struct thread_start *start = malloc(sizeof *start);
    if (!start)
        return ENOMEM;
    *start = (struct thread_start){run, arg};
    const int error = system_thread_start(thread, name, watched, start);
    if (error)
        free(start);
    return error;
}
