/* SPDX-License-Identifier: MIT */
/*
 * Calls in a forked child. Another thread of the parent may hold any lock at the fork, so a call there must take
 * none: this program's locking functions stand before the C library's, and end the child.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"

/* Exit statuses of a child: ZERO and a cls_status, or another one. */
enum { ZERO = 64, LOCKED = 100, WROTE };

enum { PATIENCE_S = 20 };

static bool in_child;

#define LOCKING(function, type)                                       \
    __attribute__((visibility("default"))) int function(type *lock) { \
        static void *found;                                           \
        void *at = __atomic_load_n(&found, __ATOMIC_RELAXED);         \
        int (*next)(type *);                                          \
        if (in_child)                                                 \
            _exit(LOCKED);                                            \
        if (!at)                                                      \
            at = dlsym(RTLD_NEXT, #function);                         \
        __atomic_store_n(&found, at, __ATOMIC_RELAXED);               \
        *(void **)&next = at;                                         \
        return next(lock);                                            \
    }

LOCKING(pthread_mutex_lock, pthread_mutex_t)
LOCKING(pthread_rwlock_rdlock, pthread_rwlock_t)
LOCKING(pthread_rwlock_wrlock, pthread_rwlock_t)

static void answer(const struct call_row *row, const union value *values) {
    static const int crashes[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
    for (size_t i = 0; i < COUNT_OF(crashes); i++)
        signal(crashes[i], SIG_DFL); /* cmocka's handlers would go on with the next test */
    in_child = true;
    alarm(PATIENCE_S);
    const cls_status status = row->call(values);
    _exit(row->is_pure || regions_untouched() ? ZERO + status : WROTE);
}

int forked_answer(const struct call_row *row, const union value *values) {
    int status;
    const pid_t child = fork();
    if (child == 0)
        answer(row, values);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return FORKED_DIED;
    switch (WEXITSTATUS(status)) {
    case LOCKED:
        return FORKED_LOCKED;
    case WROTE:
        return FORKED_WROTE;
    default:
        return WEXITSTATUS(status) - ZERO;
    }
}
