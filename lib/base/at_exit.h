/* SPDX-License-Identifier: MIT */
/*
 * Handlers that run at the exit of the process that registered them. A forked child inherits a handler, but neither
 * the threads that it stops nor a way to release the locks that they held, so the handler does nothing there.
 */
#ifndef CLSTREAM_BASE_AT_EXIT_H
#define CLSTREAM_BASE_AT_EXIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "system/processes.h"

/* The process that registered the handler; zero before. */
struct at_exit {
    _Atomic long process;
};

/* False where there is no memory for it. */
static inline bool at_exit_register(struct at_exit *at_exit, void (*handler)(void)) {
    atomic_store(&at_exit->process, system_process());
    return system_at_exit(handler);
}

/* Called first by a handler: whether this process registered it. */
static inline bool at_exit_is_due(const struct at_exit *at_exit) {
    return atomic_load(&at_exit->process) == system_process();
}

/*
 * Has `handler` run before all other handlers, whenever those were registered: drivers and their compilers register theirs
 * at any time, from threads of their own. exit() first destroys what belongs to the calling thread, and that registers
 * the handler anew. It works in the main thread, in the thread that uses the library first and in the library's own;
 * where the C library does not offer it (glibc does), and in other threads, at_exit_register has to do.
 */
void at_exit_first(void (*handler)(void));

/* The calling thread's exit() runs the handler of at_exit_first first. */
void at_exit_watch_thread(void);

/* The calling thread, a watched one, ends without exit(). */
void at_exit_unwatch_thread(void);

/* Around a driver call that is made without a stream's lock: the process's exit waits for it, because drivers end with
 * the process. False, and nothing to leave, once at_exit_close was called. */
bool at_exit_hold(void);
void at_exit_unhold(void);

/* From here on at_exit_hold is false; waits until nobody is inside, at most until `deadline`. */
void at_exit_close(uint64_t deadline);

#endif
