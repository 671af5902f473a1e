/* SPDX-License-Identifier: MIT */
/*
 * Which kernels of a program cannot tell a launch from several launches of parts of it, told from its source where another
 * part of the source can (driver/source_words.h). A function is followed into all that its words may name: functions,
 * macros, and what stands outside functions.
 */
#ifndef CLSTREAM_DRIVER_SOURCE_KERNELS_H
#define CLSTREAM_DRIVER_SOURCE_KERNELS_H

#include "base/text.h"

/* Appends the names of such functions, each between blanks: all that are sure. None where braces differ between the branches
 * of an #if, where names are put together (##) outside of functions, or without memory. */
void source_kernels_without_grid(const char *source, const char *options, struct text *names);

#endif
