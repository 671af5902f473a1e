/* SPDX-License-Identifier: MIT */
/*
 * The failure of a command. The first message is kept and printed once, by the command, after all threads have ended.
 * Functions that take a failure return false when they have set it.
 */
#ifndef CLSTREAM_TOOLS_FAILURE_H
#define CLSTREAM_TOOLS_FAILURE_H

#include <stdbool.h>
#include <stddef.h>

#include <clstream/status.h>

#include "platform.h"

/* Exit codes of the command. */
enum { TOOL_OK = 0, TOOL_FAILED = 1, TOOL_USAGE = 2 };

struct failure {
    bool set;
    char text[2048];
};

/* Each returns false, so that a caller can report and leave in one line. The text needs no
 * newline. */
bool fail(struct failure *failure, const char *format, ...)
    __attribute__((format(PLATFORM_PRINTF, 2, 3)));

/* "what: the call's detail (CLS_ERROR_...)", with the calling thread's detail. */
bool fail_status(struct failure *failure, cls_status status, const char *what);

/* "what: strerror(errno)". */
bool fail_errno(struct failure *failure, const char *format, ...)
    __attribute__((format(PLATFORM_PRINTF, 2, 3)));

/* Prints "clstream: text" to the standard error and returns `code`. */
int failure_print(const struct failure *failure, int code);

/* Prints "clstream: ..." and a line that points to --help of `command` ("" for the tool itself).
 * Returns TOOL_USAGE. */
int usage_error(const char *command, const char *format, ...)
    __attribute__((format(PLATFORM_PRINTF, 2, 3)));

/* The second of these lines alone, after getopt said what is wrong. */
int usage_hint(const char *command);

#endif
