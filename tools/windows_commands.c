/* SPDX-License-Identifier: MIT */
/* The commands that start processes as POSIX does. */
#include "command.h"
#include "failure.h"

static int refuse(const char *reason) {
    struct failure failure = {.set = false};
    fail(&failure, "%s", reason);
    return failure_print(&failure, TOOL_FAILED);
}

int command_trace(int argc, char **argv) {
    (void)argc;
    (void)argv;
    return refuse("there is no 'trace' on Windows: run the program with CLSTREAM_TRACE=FILE.html");
}

int command_tune(int argc, char **argv) {
    (void)argc;
    (void)argv;
    return refuse("there is no 'tune' on Windows");
}
