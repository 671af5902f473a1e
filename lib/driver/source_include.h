/* SPDX-License-Identifier: MIT */
/*
 * The files that a program's source includes take the place of their #include lines. Drivers get the text alone and do not
 * know which folder it came from; the compiler of NVIDIA 595 crashes on many includes; and the disk cache keeps a
 * program by its text, which then has all that the program is made of.
 */
#ifndef CLSTREAM_DRIVER_SOURCE_INCLUDE_H
#define CLSTREAM_DRIVER_SOURCE_INCLUDE_H

#include <clstream/status.h>

#include "base/text.h"

/* A source, and where it comes from. */
struct source_origin {
    const char *name; /* in #line directives; may be NULL */
    const char *path; /* of its file; NULL: it is a text, which has no folder */
};

/* Appends `source` with files in the place of the lines #include "NAME" and #include <NAME>, and with #line directives.
 * NAME in quotes is looked for in the folder of the file with the line; then any NAME is in the folders that the options name
 * with -I, in their order. The compiler and its options are left a line whose file is not there or is another in the
 * working folder, where compilers differ; one in a comment; one with a macro in place of the name; and one of a file that includes
 * itself without end. */
cls_status source_include(struct source_origin origin, const char *source, const char *options,
                          struct text *out);

/* Appends a directive that gives the next line a number and a file. */
void append_line_directive(struct text *text, unsigned long line, const char *name);

#endif
