/* SPDX-License-Identifier: MIT */
/* The folders that build options name with -I, in their order. */
#ifndef CLSTREAM_DRIVER_INCLUDE_FOLDERS_H
#define CLSTREAM_DRIVER_INCLUDE_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>

struct include_folders {
    char **paths;
    size_t n, room;
};

/* Reads the options into `folders`, which starts as {0}. It stays empty where other options, such as -iquote or
 * -isystem, change where a compiler looks. False: there is no memory. */
bool include_folders_read(const char *options, struct include_folders *folders);

void include_folders_free(struct include_folders *folders);

#endif
