/* SPDX-License-Identifier: MIT */
#include "system/processes.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

long system_process(void) { return getpid(); }

bool system_at_fork(void (*in_child)(void)) { return !pthread_atfork(NULL, NULL, in_child); }

bool system_at_exit(void (*handler)(void)) { return !atexit(handler); }

const char *system_variable(const char *name) { return getenv(name); }

void system_set_variable(const char *name, const char *value) { setenv(name, value, 0); }

char **system_variables(void) { return environ; }

/* The lines of /proc/cpuinfo that do. */
void system_describe_processor(void (*append)(void *arg, const char *line), void *arg) {
    static const char *const wanted[] = {"model name", "flags", "Features", "isa"};
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[8192];
    while (file && fgets(line, sizeof line, file) && line[0] != '\n')
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
            if (!strncmp(line, wanted[i], strlen(wanted[i])))
                append(arg, line);
    if (file)
        fclose(file);
}

void system_error_words(int code, char *words, size_t size) {
    if (strerror_r(code, words, size))
        snprintf(words, size, "error %d", code);
}
