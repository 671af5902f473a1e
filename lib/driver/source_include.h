/* SPDX-License-Identifier: MIT */
/*
 * The files that a program's source includes from its own folder. Drivers get the text alone and do not know where it
 * came from; so these files take the place of their #include lines. The text then has all that the program is made of, which
 * the disk cache keeps it by.
 */
#ifndef CLSTREAM_DRIVER_SOURCE_INCLUDE_H
#define CLSTREAM_DRIVER_SOURCE_INCLUDE_H

#include <clstream/status.h>

#include "base/text.h"

/* Appends `source`, the text of the file `path`, with files in the place of lines #include "NAME", where NAME is found from
 * the folder of the file with the line, and with #line directives. A line whose file is not there stays, for the
 * compiler and its options; so does one that a comment hides, and one of a file that includes itself without end. */
cls_status source_include(const char *path, const char *source, struct text *out);

/* Appends a directive that gives the next line a number and a file. */
void append_line_directive(struct text *text, unsigned line, const char *name);

#endif
