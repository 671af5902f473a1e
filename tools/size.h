/* SPDX-License-Identifier: MIT */
/* Numbers as people write and read them. */
#ifndef CLSTREAM_TOOLS_SIZE_H
#define CLSTREAM_TOOLS_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIZE_TEXT = 32 };

/* A whole number of bytes with an optional suffix K, M, G or T: powers of 1024, also when
 * written KB or KiB, in either case. False for anything else and on overflow. */
bool size_parse(const char *text, uint64_t *value);

/* A number without a suffix, within low..high. */
bool number_parse(const char *text, uint64_t low, uint64_t high, uint64_t *value);

/* "8 MiB", "1.5 GiB", "17 bytes". */
const char *size_format(uint64_t bytes, char text[SIZE_TEXT]);

/* "12.3 us". */
const char *span_format(uint64_t ns, char text[SIZE_TEXT]);

/* "115,008". */
const char *count_format(uint64_t count, char text[SIZE_TEXT]);

#endif
