/* SPDX-License-Identifier: MIT */
/*
 * The parts of `clstream check`. Each runs in a process of its own, so that a crash or a hang ends that part only, and
 * reports lines to the process that prints them (check.c). That one calls no driver: children of a process
 * that had listed the devices did not find an H100 (driver 580).
 */
#ifndef CLSTREAM_TOOLS_CHECK_PART_H
#define CLSTREAM_TOOLS_CHECK_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <clstream/context.h>

#include "failure.h"

/* CHECK_INFO: told, but neither right nor wrong. CHECK_HEAD: a line of the report's head. */
enum check_outcome { CHECK_PASSED, CHECK_WORKED_AROUND, CHECK_FAILED, CHECK_INFO, CHECK_HEAD };

struct check {
    FILE *report;
    size_t device;
    uint64_t seed;       /* of what is drawn */
    cls_context context; /* of that device; NULL in parts that make none at first */
};

/* Reports one line: what was checked, and a text of one line that may be empty. */
void check_say(const struct check *check, enum check_outcome outcome, const char *subject,
               const char *format, ...) __attribute__((format(PLATFORM_PRINTF, 4, 5)));

/* The same for the status of a call that failed. */
void check_say_status(const struct check *check, const char *subject, const char *call,
                      cls_status status);

/* Each returns the exit status of its process. */
typedef int (*check_body)(struct check *check);

/* The library's verdict on a mechanism: 1 right, 0 wrong, -1 not tried. */
double check_verdict(size_t device, const char *mechanism);

int check_mechanisms(struct check *check); /* check_mechanisms.c */
int check_functions(struct check *check);  /* check_operations.c */
int check_operations(struct check *check);
int check_products(struct check *check); /* check_products.c */
int check_threads(struct check *check);  /* check_processes.c */
int check_exit_at_work(struct check *check);
int check_fork(struct check *check);

#endif
