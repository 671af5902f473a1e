/* SPDX-License-Identifier: MIT */
#include "failure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool fail(struct failure *failure, const char *format, ...) {
    if (!failure->set) {
        va_list args;
        va_start(args, format);
        vsnprintf(failure->text, sizeof failure->text, format, args);
        va_end(args);
        failure->set = true;
    }
    return false;
}

bool fail_status(struct failure *failure, cls_status status, const char *what) {
    const char *detail = cls_last_error_detail();
    return fail(failure, "%s: %s%s%s%s", what, detail, *detail ? " (" : "",
                cls_status_string(status), *detail ? ")" : "");
}

bool fail_errno(struct failure *failure, const char *format, ...) {
    const int code = errno;
    char what[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return fail(failure, "%s: %s", what, strerror(code));
}

int failure_print(const struct failure *failure, int code) {
    fprintf(stderr, "clstream: %s\n", failure->text);
    return code;
}

int usage_hint(const char *command) {
    fprintf(stderr, "Try 'clstream %s%s--help'.\n", command, *command ? " " : "");
    return TOOL_USAGE;
}

int usage_error(const char *command, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("clstream: ", stderr);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return usage_hint(command);
}
