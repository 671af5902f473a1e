/* SPDX-License-Identifier: MIT */
/*
 * Handlers for the end of the process that registers them. A forked child inherits a handler, but none of the
 * threads that it is about, and perhaps locks that nobody unlocks; its end is not the program's.
 */
#ifndef CLSTREAM_BASE_AT_EXIT_H
#define CLSTREAM_BASE_AT_EXIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* The process that a handler is registered in; all zero before. */
struct at_exit {
    _Atomic pid_t process;
};

/* False where there is no memory for it. */
static inline bool at_exit_register(struct at_exit *at_exit, void (*handler)(void)) {
    atomic_store(&at_exit->process, getpid());
    return !atexit(handler);
}

/* For the handler, at its begin: whether it is to do its work. */
static inline bool at_exit_is_due(const struct at_exit *at_exit) {
    return atomic_load(&at_exit->process) == getpid();
}

#endif
