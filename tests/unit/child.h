/* SPDX-License-Identifier: MIT */
/*
 * Runs a piece of a test in a process of its own: what is made once a process can so be made
 * again, and a crash is an answer. The parent must not have called a driver before.
 */
#ifndef CLSTREAM_TESTS_CHILD_H
#define CLSTREAM_TESTS_CHILD_H

#include "../support/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* Inside the function of a child: returns the line that failed. */
#define CHECK(condition)     \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

enum { CHILD_DIED = -1, NO_DEVICES = -2 /* what a body may return that needs one */ };

/* gcov writes its counts at exit, which a child does not come to. */
#ifdef CLSTREAM_COVERAGE
void __gcov_dump(void);
static inline void dump_counts(void) { __gcov_dump(); }
#else
static inline void dump_counts(void) {}
#endif

/* What `body` returned, 0 when all was well; CHILD_DIED when it did not get that far. */
static inline int child_run(int (*body)(void *), void *arg) {
    int ends[2], result = CHILD_DIED;
    if (pipe(ends) != 0)
        abort();
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        abort();
    if (pid == 0) {
        static const int crashes[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
        for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
            signal(crashes[i], SIG_DFL); /* cmocka's handlers would go on with the next test */
        result = body(arg);
        ssize_t put = write(ends[1], &result, sizeof result);
        dump_counts();
        _exit(put == (ssize_t)sizeof result ? 0 : 1);
    }
    close(ends[1]);
    if (read(ends[0], &result, sizeof result) != (ssize_t)sizeof result)
        result = CHILD_DIED;
    close(ends[0]);
    waitpid(pid, NULL, 0);
    return result;
}

/* The same as a test: skipped where the body found no device. */
static inline void child_expect_well(int (*body)(void *), void *arg) {
    int line = child_run(body, arg);
    if (line == NO_DEVICES) {
        print_message("no OpenCL device here\n");
        skip();
    }
    if (line != 0)
        fail_msg("check in line %d failed", line);
}

#endif
