/* SPDX-License-Identifier: MIT */
/*
 * What a program's source may do, told from its words alone. A word that might have the effect counts as one that has:
 * a comment counts too.
 */
#ifndef CLSTREAM_DRIVER_SOURCE_WORDS_H
#define CLSTREAM_DRIVER_SOURCE_WORDS_H

#include <stdbool.h>

#include "base/text.h"

/* Whether the source includes no files. The name in a #line does not count. */
bool source_is_self_contained(const char *source, const char *options);

/* Appends the source with continued lines joined, since a continuation may split a word. */
void source_append_joined(struct text *text, const char *source);

/* Whether a text has a part of a word by which a kernel asks for more than its global index: for the size or the groups of
 * its launch, in ways that are the compiler's own, or by a name that is put together. */
bool words_tell_grid(const char *text);

/* Whether its kernels cannot tell a launch from several launches of parts of it, at their offsets: of what they can ask
 * about their place they ask for the global index alone. */
bool source_ignores_grid(const char *source, const char *options);

/* Whether the options choose OpenCL C 2.0 or later, in which the last groups of a launch may be smaller. */
bool options_allow_odd_groups(const char *options);

#endif
