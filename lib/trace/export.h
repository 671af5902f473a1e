/* SPDX-License-Identifier: MIT */
/* The two formats in which the library writes a profile. Writers append to a text; callers check `failed` at the
 * end. Times are relative to the profile's begin. */
#ifndef CLSTREAM_TRACE_EXPORT_H
#define CLSTREAM_TRACE_EXPORT_H

#include "base/text.h"
#include "trace/profile.h"

void export_json(struct text *text, const struct profile *profile);
void export_html(struct text *text, const struct profile *profile);

/* The reports that both formats contain, as members of an object: "summary", "streams", "operations", "overlaps". */
void put_report(struct text *text, const struct profile *profile);

/* What is said where another format is asked for. */
#define EXPORT_HINT "`clstream trace --convert FILE.json` writes .svg, .csv and .txt"

/* Whether CLS_PROFILE_AUTO knows the suffix. */
bool export_knows(const char *path);

#endif
