/* SPDX-License-Identifier: MIT */
/*
 * The kernel sources of cl/: embedded at build time, or read from the folder CLSTREAM_KERNEL_PATH.
 */
#ifndef CLSTREAM_DRIVER_SOURCE_H
#define CLSTREAM_DRIVER_SOURCE_H

#include <clstream/status.h>

struct embedded_source {
    const char *name; /* "cast.cl" */
    const char *text; /* NUL-terminated, begins with #line 1 "cast.cl" */
};

/* All embedded sources; ends with a NULL name. Defined by the generated cl/sources.c. */
extern const struct embedded_source embedded_sources[];

/* The text for a name, good for the life of the process. With CLSTREAM_KERNEL_PATH set, the file of
 * that folder, read once; CLS_ERROR_NOT_FOUND when it is not there, CLS_ERROR_IO when it cannot be
 * read. */
cls_status source_get(const char *name, const char **text);

#endif
