/* SPDX-License-Identifier: MIT */
/* The forms in which a profile is written. Writers append; who asks at the end whether memory ran out is the
 * caller. Times are relative to the profile's begin. */
#ifndef CLSTREAM_TRACE_EXPORT_H
#define CLSTREAM_TRACE_EXPORT_H

#include "base/text.h"
#include "trace/profile.h"

void export_json(struct text *text, const struct profile *profile);
void export_html(struct text *text, const struct profile *profile);
void export_svg(struct text *text, const struct profile *profile);
void export_csv(struct text *text, const struct profile *profile);
void export_text(struct text *text, const struct profile *profile);

/* A string with its quotes, fit for JSON, also inside a <script>. What is not UTF-8 becomes '?'. */
void put_json_string(struct text *text, const char *string);

/* The same as a field of a table: quotes are doubled. */
void put_csv(struct text *text, const char *string);

/* The same for XML's text and attributes, without quotes. */
void put_xml(struct text *text, const char *string);

/* At most `most` characters of a string, in one line and padded to as many where `pad` says so. What is not
 * UTF-8, and what would end the line, becomes '?'. */
void put_line(struct text *text, const char *string, size_t most, bool pad);

/* How many bytes the first `most` characters of a string have; what is not UTF-8 counts by the byte. */
size_t utf8_prefix(const char *string, size_t most);

/* A time or a span as people read it: "12.3 us". */
void put_span(struct text *text, uint64_t ns);

/* A number of bytes: "4.0 MiB". */
void put_bytes(struct text *text, uint64_t bytes);

/* "device", "host" or "noticed". */
const char *clock_name(cls_clock clock);

/* "command", "range" or "user". */
const char *record_type_name(cls_record_type type);

/* Microseconds with three decimals and a point, whatever the locale. */
void put_us(struct text *text, uint64_t ns);

/* Whether CLS_PROFILE_AUTO knows the suffix. */
bool export_knows(const char *path);

#endif
