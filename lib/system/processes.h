/* SPDX-License-Identifier: MIT */
/* The process: its number, its environment, its forks and its end. */
#ifndef CLSTREAM_SYSTEM_PROCESSES_H
#define CLSTREAM_SYSTEM_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>

/* A number that no other process has meanwhile. */
long system_process(void);

/* Has `in_child` called in each child that is forked from here on. False without memory. */
bool system_at_fork(void (*in_child)(void));

/*
 * Has `handler` called when the program returns from main or calls exit(), while all threads still run; those registered
 * last come first. False without memory. On Windows that is the C library's exit, of a program of msvcrt or of ucrt:
 * ExitProcess itself ends all threads before it tells any library.
 */
bool system_at_exit(void (*handler)(void));

/* The value of a variable, or NULL; as UTF-8 on Windows, where it lives as long as the process. */
const char *system_variable(const char *name);

/* Sets a variable unless it is set. */
void system_set_variable(const char *name, const char *value);

/* "NAME=VALUE" of all variables, and NULL. */
char **system_variables(void);

/* What tells the instruction sets of two machines' processors apart, line by line. */
void system_describe_processor(void (*append)(void *arg, const char *line), void *arg);

/* The words for an errno. */
void system_error_words(int code, char *words, size_t size);

#endif
