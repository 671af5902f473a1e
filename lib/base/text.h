/* SPDX-License-Identifier: MIT */
/* Text: a search without case, and a buffer that grows. */
#ifndef CLSTREAM_BASE_TEXT_H
#define CLSTREAM_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "system/formats.h"

/* Is `part` in `text`, without regard to case? The empty part is in every text. */
bool text_contains(const char *text, const char *part);

/* Text that grows. Once memory has run out `failed` is set and appending does nothing, so that callers check once,
 * at the end. Start with {0}; free `bytes`. */
struct text {
    char *bytes; /* NUL-terminated once something was appended */
    size_t length;
    size_t room;
    bool failed;
};

void text_append(struct text *text, const char *bytes, size_t length);
void text_printf(struct text *text, const char *format, ...)
    __attribute__((format(SYSTEM_PRINTF, 2, 3)));

/* Appends a number with so many decimals, or significant digits. The decimal point is a point in every locale. */
void text_fixed(struct text *text, double value, int decimals);
void text_rounded(struct text *text, double value, int digits);

/* As snprintf with "%s": at most `size` bytes with the NUL, and in `*length`, which may be NULL, the whole
 * length. `out` may be NULL where `size` is 0. */
void text_copy_out(const char *text, char *out, size_t size, size_t *length);

#endif
