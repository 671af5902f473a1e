/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "failure.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"info", command_info},   {"run", command_run},     {"gen", command_gen},
    {"trace", command_trace}, {"bench", command_bench}, {"check", command_check},
    {"tune", command_tune},
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

static const char help[] =
    "Usage: clstream COMMAND [OPTION]...\n"
    "CUDA-style streams on any OpenCL device, from the command line.\n"
    "\n"
    "  info   describe the OpenCL devices: capabilities, measurements, quirks\n"
    "  run    stream a file through a chain of operations on overlapping streams\n"
    "  gen    write a file of reproducible random elements\n"
    "  trace  run a program and write a profile of its streams\n"
    "  bench  measure a device, and compare results\n"
    "  check  tell whether a device's driver gives right results\n"
    "  tune   search for the parameters with which CLBlast's products are fastest\n"
    "\n"
    "  clstream COMMAND --help   describe a command\n"
    "  clstream --version        print the version\n"
    "\n"
    "Exit status: 0 success, 1 failure, 2 wrong usage.\n";

/* The input or the output would take the place of a standard file that the parent closed, and what a driver
 * prints would go into the output. Input and output are opened the other way round, so that using them still fails;
 * messages that nobody wants are no failure. */
static void take_closed_places(void) {
    static const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd] | O_CLOEXEC) != fd)
            return;
}

/* Output that did not reach its file (a full disk, a closed pipe) is a failure. */
static int finish(int code) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fputs("clstream: cannot write to the standard output\n", stderr);
    return code ? code : TOOL_FAILED;
}

static int unknown_command(const char *name) {
    char names[200] = "";
    size_t length = 0;
    if (*name == '-')
        return usage_error("", "there is no option '%s' before a command", name);
    for (unsigned i = 0; i < COMMANDS && length < sizeof names; i++)
        length += (size_t)snprintf(names + length, sizeof names - length, " %s", commands[i].name);
    return usage_error("", "'%s' is no command; there are%s", name, names);
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
    take_closed_places();
    signal(SIGCHLD, SIG_DFL); /* or nobody could wait for a program, or for a driver's linker */
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return fputs(help, stdout), finish(TOOL_OK);
    if (strcmp(name, "--version") == 0)
        return puts(PACKAGE_STRING), finish(TOOL_OK);
    for (unsigned i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            return finish(commands[i].run(argc - 1, argv + 1));
    if (*name)
        return unknown_command(name);
    fputs(help, stderr);
    return TOOL_USAGE;
}
