/* SPDX-License-Identifier: MIT */
/* What train.c, text.c and magika.c share: errors, options, time, buffers, and a picture of the losses. */
#ifndef CLSTREAM_EXAMPLES_COMMON_H
#define CLSTREAM_EXAMPLES_COMMON_H

#include <clstream.h>

/* MinGW's own printf knows %z, that of the system may not: stdio.h says which is called. */
#ifdef __MINGW_PRINTF_FORMAT
#define PRINTF __MINGW_PRINTF_FORMAT
#else
#define PRINTF printf
#endif

/* Ends the program, with a message, if a call has failed. */
void must(cls_status status);

/* Ends the program with a message. */
void give_up(const char *format, ...) __attribute__((format(PRINTF, 1, 2), noreturn));

/* Zeroed memory, to be freed; ends the program if there is none. */
void *zeroed(size_t bytes);

/* The argument behind an option; the empty string, if it is the last one; NULL: there is no such option. */
const char *option(int argc, char **argv, const char *name);

/* Waits for a stream's work, and tells the time in microseconds. */
double when_done_us(cls_stream stream);

/* A buffer of equal numbers. */
cls_buffer filled(size_t count, float value);

/* Writes numbers of at least 0 as a curve, an SVG file. */
void draw_curve(const char *path, const char *title, const float *values, size_t count);

#endif
