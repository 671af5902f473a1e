/* SPDX-License-Identifier: MIT */
/*
 * Handlers that run at the exit of the process that registered them. A forked child inherits a handler, but neither
 * the threads that it stops nor a way to release the locks that they held, so the handler does nothing there.
 */
#ifndef CLSTREAM_BASE_AT_EXIT_H
#define CLSTREAM_BASE_AT_EXIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* The process that registered the handler; zero before. */
struct at_exit {
    _Atomic pid_t process;
};

/* False where there is no memory for it. */
static inline bool at_exit_register(struct at_exit *at_exit, void (*handler)(void)) {
    atomic_store(&at_exit->process, getpid());
    return !atexit(handler);
}

/* Called first by a handler: whether this process registered it. */
static inline bool at_exit_is_due(const struct at_exit *at_exit) {
    return atomic_load(&at_exit->process) == getpid();
}

#endif
