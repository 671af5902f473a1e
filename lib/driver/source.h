/* SPDX-License-Identifier: MIT */
/*
 * The kernel sources of cl/: embedded at build time, or read from the folder CLSTREAM_KERNEL_PATH. A build without
 * embedded ones (doc/embedding.md) reads those of CLS_KERNEL_PATH where that variable is not set.
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

/* The text of a source with its includes, valid for the life of the process. With CLSTREAM_KERNEL_PATH
 * set, sources are the files of that folder, each read once; CLS_ERROR_NOT_FOUND when a file is missing,
 * CLS_ERROR_IO when it cannot be read, CLS_ERROR_INVALID_VALUE when it includes itself. */
cls_status source_get(const char *name, const char **text);

/* Appends `raw`, the text of a file called `name`, with the sources in place of its #include lines;
 * statuses as source_get. */
cls_status source_expand(const char *raw, const char *name, struct text *to);

#endif
