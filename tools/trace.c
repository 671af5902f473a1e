/* SPDX-License-Identifier: MIT */
/*
 * Runs a program with CLSTREAM_TRACE set: the library in it writes the profile, as JSON or as a page. The other formats
 * are converted from JSON, which the program leaves in a temporary folder.
 */
#include "command.h"

#include <dirent.h>
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
#include "file.h"
#include "json.h"
#include "options.h"
#include "size.h"
#include "temporary.h"

static const char trace_help[] =
    "Usage: clstream trace [OPTION]... -- PROGRAM [ARGUMENT]...\n"
    "       clstream trace --convert TRACE.json -o FILE\n"
    "Run a program that uses libclstream and write a profile of all its streams at its exit or\n"
    "its end by a signal, or write one that is there in another format.\n"
    "\n"
    "  -o, --output FILE   the profile (default trace.html), in the format of its suffix:\n"
    "                        .html  a page with a timeline to zoom and the reports\n"
    "                        .json  Chrome's trace events: chrome://tracing, ui.perfetto.dev\n"
    "                        .svg   a picture of the timeline\n"
    "                        .csv   one record a line\n"
    "                        .txt   the reports\n"
    "                      %p in the name becomes the process id of PROGRAM\n"
    "      --convert FILE  a profile as .json, to be written as .svg, .csv or .txt; - is the\n"
    "                      standard input\n"
    "      --records N     keep the latest N records (default 65536)\n"
    "  -h, --help          print this\n"
    "\n"
    "The exit status is PROGRAM's, 128 more than the signal that killed it, or 127 where it\n"
    "cannot be run.\n";

enum {
    OPTION_RECORDS = 256,
    OPTION_CONVERT,
    MAX_RECORDS = 1 << 26,
    NOT_RUN = 127,
    KILLED = 128,
    PATH_BYTES = 4096
};

struct trace_options {
    const char *output;
    bool converts;       /* the output is no format that the library writes */
    const char *convert; /* NULL: a program is run */
    uint64_t records;    /* 0: the default */
    char **program;
};

static int trace_option(int option, struct trace_options *options) {
    switch (option) {
    case 'o':
        options->output = optarg;
        return OPTIONS_GO_ON;
    case OPTION_CONVERT:
        options->convert = optarg;
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

static bool ends_in_one_of(const char *path, const char *const suffixes[], size_t n) {
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && dot != path && i < n; i++)
        if (strcmp(dot, suffixes[i]) == 0)
            return true;
    return false;
}

static int check_output(struct trace_options *options) {
    static const char *const written[] = {".html", ".json"};
    static const char *const converted[] = {".svg", ".csv", ".txt"};
    options->converts = ends_in_one_of(options->output, converted, 3);
    if (options->converts)
        return options_need_json("trace", options->output);
    if (options->convert)
        return usage_error("trace", "--convert: '%s' does not end in .svg, .csv or .txt",
                           options->output);
    if (ends_in_one_of(options->output, written, 2))
        return OPTIONS_GO_ON;
    return usage_error("trace", "-o: '%s' does not end in .html, .json, .svg, .csv or .txt",
                       options->output);
}

static int check_conversion(const struct trace_options *options, int words) {
    if (words)
        return usage_error("trace", "--convert runs no program");
    if (options->records)
        return usage_error("trace", "--records is for a program, and --convert runs none");
    if (!options->output)
        return usage_error("trace", "--convert needs -o FILE");
    if (are_one_file(options->convert, options->output))
        return usage_error("trace", "-o: '%s' is the trace to be converted", options->output);
    return OPTIONS_GO_ON;
}

static int trace_options_parse(int argc, char **argv, struct trace_options *options) {
    static const struct option longs[] = {
        {"output", required_argument, NULL, 'o'},
        {"convert", required_argument, NULL, OPTION_CONVERT},
        {"records", required_argument, NULL, OPTION_RECORDS},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    static char name[] = "clstream trace";
    int option, code;
    argv[0] = name;
    *options = (struct trace_options){.output = NULL};
    while ((option = getopt_long(argc, argv, "+o:h", longs, NULL)) != -1) {
        code = trace_option(option, options);
        if (code != OPTIONS_GO_ON)
            return code;
    }
    if (argc == optind && !options->convert)
        return usage_error("trace", "the program to run is missing");
    if (options->convert && (code = check_conversion(options, argc - optind)) != OPTIONS_GO_ON)
        return code;
    options->program = argv + optind;
    if (!options->output)
        options->output = "trace.html";
    return check_output(options);
}

/* --- the program's environment --- */

/* The program may change its folder: the name must hold from everywhere. */
static bool make_absolute(const char *name, char path[PATH_BYTES], struct failure *failure) {
    *path = '\0';
    if (*name != '/' && !getcwd(path, PATH_BYTES))
        return fail_errno(failure, "the current folder");
    const size_t length = strlen(path);
    const int more =
        snprintf(path + length, PATH_BYTES - length, "%s%s", *name == '/' ? "" : "/", name);
    if (more < 0 || (size_t)more >= PATH_BYTES - length)
        return fail(failure, "%s: the name is too long", name);
    return true;
}

static bool set_environment(const char *output, uint64_t number, struct failure *failure) {
    char path[PATH_BYTES], records[32];
    if (!make_absolute(output, path, failure))
        return false;
    snprintf(records, sizeof records, "%llu", (unsigned long long)number);
    if (setenv("CLSTREAM_TRACE", path, 1) ||
        (number && setenv("CLSTREAM_TRACE_RECORDS", records, 1)))
        return fail_errno(failure, "the environment");
    return true;
}

/* Where the profile cannot be written, the program need not run first. An output that is there may be a device. */
static bool check_folder(const char *output, struct failure *failure) {
    const char *slash = strrchr(output, '/');
    char folder[PATH_BYTES];
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - output) + 1 : 1,
             slash ? output : ".");
    return access(folder, W_OK | X_OK) == 0 || access(output, F_OK) == 0 ||
           fail_errno(failure, "%s: cannot be written to %s", output, folder);
}

/* --- running it --- */

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

/* Runs the program to its end: its exit status, or TOOL_FAILED with the failure set. */
static int run(char **program, struct failure *failure) {
    fflush(NULL);
    const pid_t pid = fork();
    if (pid < 0)
        return fail_errno(failure, "a process for %s", program[0]), TOOL_FAILED;
    if (pid == 0)
        run_program(program);
    child = (sig_atomic_t)pid;
    take_signals();
    const int code = await(pid);
    child = 0;
    return code < 0 ? fail_errno(failure, "waiting for %s", program[0]), TOOL_FAILED : code;
}

static int no_profile(const char *program, int code, struct failure *failure) {
    fail(failure,
         "%s left no profile: it does not use libclstream, ended by _exit or SIGKILL, or could "
         "not write it",
         program);
    return code ? code : TOOL_FAILED;
}

/* In a format that the library writes. */
static int trace(const struct trace_options *options, struct failure *failure) {
    struct stat before;
    const bool was_there = stat(options->output, &before) == 0;
    if (!set_environment(options->output, options->records, failure))
        return TOOL_FAILED;
    const int code = run(options->program, failure);
    if (failure->set || code == NOT_RUN || is_new(options->output, &before, was_there))
        return code;
    return no_profile(options->program[0], code, failure);
}

/* --- other formats --- */

/* The output's name for the process `id`, whose trace is "ID.json". */
static void name_of(const char *output, const char *id, char path[PATH_BYTES]) {
    const char *slash = strrchr(output, '/');
    const char *mark = strstr(slash ? slash : output, "%p");
    if (mark)
        snprintf(path, PATH_BYTES, "%.*s%.*s%s", (int)(mark - output), output,
                 (int)strcspn(id, "."), id, mark + 2);
    else
        snprintf(path, PATH_BYTES, "%s", output);
}

/* Converts the traces in the folder and empties it: how many there were. */
static unsigned convert_all(const char *folder, const char *output, struct failure *failure) {
    char from[PATH_BYTES], to[PATH_BYTES];
    unsigned traces = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(from, sizeof from, "%s/%s", folder, entry->d_name);
        name_of(output, entry->d_name, to);
        const char *suffix = strchr(entry->d_name, '.');
        if (suffix && strcmp(suffix, ".json") == 0) {
            json_convert_trace(from, to, failure);
            traces++;
        }
        unlink(from);
    }
    if (dir)
        closedir(dir);
    return traces;
}

/* Where the name has a "%p", each process leaves a trace of its own; else the last one's stays. */
static int trace_converted(const struct trace_options *options, struct failure *failure) {
    char folder[PATH_BYTES / 2], path[PATH_BYTES];
    snprintf(folder, sizeof folder, "%s/clstream-trace-XXXXXX", temporary_folder());
    if (!mkdtemp(folder))
        return fail_errno(failure, "%s: a folder for the trace", folder), TOOL_FAILED;
    name_of(options->output, "1", path);
    snprintf(path, sizeof path, "%s/%s.json", folder,
             strcmp(path, options->output) ? "%p" : "trace");
    int code = TOOL_FAILED;
    if (set_environment(path, options->records, failure))
        code = run(options->program, failure);
    const unsigned traces = convert_all(folder, options->output, failure);
    rmdir(folder);
    if (failure->set)
        return code ? code : TOOL_FAILED;
    return traces || code == NOT_RUN ? code : no_profile(options->program[0], code, failure);
}

int command_trace(int argc, char **argv) {
    struct trace_options options;
    struct failure failure = {.set = false};
    int code = trace_options_parse(argc, argv, &options);
    if (code != OPTIONS_GO_ON)
        return code;
    if (options.convert)
        code =
            json_convert_trace(options.convert, options.output, &failure) ? TOOL_OK : TOOL_FAILED;
    else if (!check_folder(options.output, &failure))
        code = TOOL_FAILED;
    else
        code = options.converts ? trace_converted(&options, &failure) : trace(&options, &failure);
    return failure.set ? failure_print(&failure, code) : code;
}
