/* SPDX-License-Identifier: MIT */
/* Runs a program with CLSTREAM_TRACE set: the library in it does the rest. */
#include "command.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failure.h"
#include "options.h"
#include "size.h"

static const char trace_help[] =
    "Usage: clstream trace [OPTION]... -- PROGRAM [ARGUMENT]...\n"
    "Run a program that uses libclstream and write a profile of all its streams at its exit.\n"
    "\n"
    "  -o, --output FILE   the profile (default trace.html), in the format of its suffix:\n"
    "                        .html  a page with a timeline to zoom and the reports\n"
    "                        .svg   a picture of the timeline\n"
    "                        .json  Chrome's trace events: chrome://tracing, ui.perfetto.dev\n"
    "                        .csv   one record a line\n"
    "                        .txt   the reports\n"
    "                      %p in the name becomes the process id of PROGRAM\n"
    "      --records N     keep the latest N records (default 65536)\n"
    "  -h, --help          print this\n"
    "\n"
    "The exit status is PROGRAM's, 128 more than the signal that killed it, or 127 where it\n"
    "cannot be run.\n";

enum { OPTION_RECORDS = 256, MAX_RECORDS = 1 << 26, NOT_RUN = 127, KILLED = 128 };

struct trace_options {
    const char *output;
    uint64_t records; /* 0: the default */
    char **program;
};

static int trace_option(int option, struct trace_options *options) {
    switch (option) {
    case 'o':
        options->output = optarg;
        return OPTIONS_GO_ON;
    case OPTION_RECORDS:
        if (number_parse(optarg, 1, MAX_RECORDS, &options->records))
            return OPTIONS_GO_ON;
        return usage_error("trace", "--records: '%s' is no number from 1 to %d", optarg,
                           MAX_RECORDS);
    case 'h':
        fputs(trace_help, stdout);
        return TOOL_OK;
    default:
        return usage_hint("trace");
    }
}

static bool has_suffix(const char *path) {
    static const char *const suffixes[] = {".html", ".svg", ".json", ".csv", ".txt"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && dot != path && i < sizeof suffixes / sizeof *suffixes; i++)
        if (strcmp(dot, suffixes[i]) == 0)
            return true;
    return false;
}

static int trace_options_parse(int argc, char **argv, struct trace_options *options) {
    static const struct option longs[] = {
        {"output", required_argument, NULL, 'o'},
        {"records", required_argument, NULL, OPTION_RECORDS},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    static char name[] = "clstream trace";
    int option;
    argv[0] = name;
    *options = (struct trace_options){.output = "trace.html"};
    while ((option = getopt_long(argc, argv, "+o:h", longs, NULL)) != -1) {
        const int code = trace_option(option, options);
        if (code != OPTIONS_GO_ON)
            return code;
    }
    if (argc == optind)
        return usage_error("trace", "the program to run is missing");
    if (!has_suffix(options->output))
        return usage_error("trace", "'%s' does not end in .html, .svg, .json, .csv or .txt",
                           options->output);
    options->program = argv + optind;
    return OPTIONS_GO_ON;
}

/* The program may change its folder: the name must hold from everywhere. */
static bool set_environment(const struct trace_options *options, struct failure *failure) {
    char path[4096] = "", records[32];
    const bool absolute = options->output[0] == '/';
    if (!absolute && !getcwd(path, sizeof path))
        return fail_errno(failure, "the current folder");
    const size_t length = strlen(path);
    const int more =
        snprintf(path + length, sizeof path - length, "%s%s", absolute ? "" : "/", options->output);
    if (more < 0 || (size_t)more >= sizeof path - length)
        return fail(failure, "%s: the name is too long", options->output);
    snprintf(records, sizeof records, "%llu", (unsigned long long)options->records);
    if (setenv("CLSTREAM_TRACE", path, 1) ||
        (options->records && setenv("CLSTREAM_TRACE_RECORDS", records, 1)))
        return fail_errno(failure, "the environment");
    return true;
}

static volatile sig_atomic_t child;

static void pass_on(int number) {
    if (child > 0)
        kill((pid_t)child, number);
}

/* A terminal's signals reach the program by themselves; others are passed on to it. */
static void take_signals(void) {
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    signal(SIGTERM, pass_on);
    signal(SIGHUP, pass_on);
}

static void run_program(char **program) {
    execvp(program[0], program);
    fprintf(stderr, "clstream: %s: %s\n", program[0], strerror(errno));
    _exit(NOT_RUN);
}

/* The program's exit status, as a shell gives it; negative when there is none. */
static int await(pid_t pid) {
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : KILLED + WTERMSIG(status);
}

/* Whether the file is another one than `before`. */
static bool is_new(const char *path, const struct stat *before, bool was_there) {
    struct stat now;
    const char *slash = strrchr(path, '/');
    const bool is_device = strncmp(path, "/dev/", 5) == 0 && strncmp(path, "/dev/shm/", 9) != 0;
    if (is_device || strstr(slash ? slash : path, "%p"))
        return true;
    return stat(path, &now) == 0 && (!was_there || now.st_ino != before->st_ino ||
                                     now.st_mtim.tv_sec != before->st_mtim.tv_sec ||
                                     now.st_mtim.tv_nsec != before->st_mtim.tv_nsec);
}

static int trace(const struct trace_options *options, struct failure *failure) {
    struct stat before;
    const bool was_there = stat(options->output, &before) == 0;
    fflush(NULL);
    const pid_t pid = fork();
    if (pid < 0)
        return fail_errno(failure, "a process for %s", options->program[0]), TOOL_FAILED;
    if (pid == 0)
        run_program(options->program);
    child = (sig_atomic_t)pid;
    take_signals();
    const int code = await(pid);
    if (code < 0)
        return fail_errno(failure, "waiting for %s", options->program[0]), TOOL_FAILED;
    if (code != NOT_RUN && !is_new(options->output, &before, was_there)) {
        fail(failure,
             "%s left no profile: it does not use libclstream, did not end by exit, or could not "
             "write it",
             options->program[0]);
        return code ? code : TOOL_FAILED;
    }
    return code;
}

int command_trace(int argc, char **argv) {
    struct trace_options options;
    struct failure failure = {.set = false};
    int code = trace_options_parse(argc, argv, &options);
    if (code != OPTIONS_GO_ON)
        return code;
    code = set_environment(&options, &failure) ? trace(&options, &failure) : TOOL_FAILED;
    return failure.set ? failure_print(&failure, code) : code;
}
