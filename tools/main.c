/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "command.h"
#include "failure.h"
#include "platform.h"

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
    platform_begin(&argc, &argv);
    const char *name = argc > 1 ? argv[1] : "";
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
