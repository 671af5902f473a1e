/* SPDX-License-Identifier: MIT */
/*
 * The kernel sources of cl/: embedded at build time, or read from the folder CLSTREAM_KERNEL_PATH.
 * A line that begins with #include "NAME" stands for the source of that name; a compiler gets one
 * text, with #line directives that name its files, and needs no folders.
 */
#ifndef CLSTREAM_DRIVER_SOURCE_H
#define CLSTREAM_DRIVER_SOURCE_H

#include <clstream/status.h>

#include "base/text.h"

struct embedded_source {
    const char *name; /* "map.cl" */
    const char *text; /* NUL-terminated, begins with #line 1 "map.cl" */
};

/* All embedded sources; ends with a NULL name. Defined by the generated cl/sources.c. */
extern const struct embedded_source embedded_sources[];

/* The text for a name with all it includes, good for the life of the process. With
 * CLSTREAM_KERNEL_PATH set, the files of that folder, each read once; CLS_ERROR_NOT_FOUND when one
 * is not there, CLS_ERROR_IO when one cannot be read, CLS_ERROR_INVALID_VALUE when one includes
 * itself. */
cls_status source_get(const char *name, const char **text);

/* Appends `raw`, the text of a file called `name`, with the sources in place of its #include lines;
 * statuses as source_get. */
cls_status source_expand(const char *raw, const char *name, struct text *to);

#endif
