/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <ctype.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool text_begins_with(const char *text, const char *part) {
    while (*part && tolower((unsigned char)*text) == tolower((unsigned char)*part))
        text++, part++;
    return !*part;
}

bool text_contains(const char *text, const char *part) {
    while (*text && !text_begins_with(text, part))
        text++;
    return text_begins_with(text, part);
}

/* Room for `more` bytes and the NUL. */
static bool reserve(struct text *text, size_t more) {
    if (text->failed || more >= (size_t)-1 / 2 - text->length)
        return false;
    if (text->length + more < text->room)
        return true;
    size_t room = 2 * (text->length + more) + 64;
    char *bytes = realloc(text->bytes, room);
    if (!bytes)
        return false;
    text->bytes = bytes;
    text->room = room;
    return true;
}

void text_append(struct text *text, const char *bytes, size_t length) {
    if (!reserve(text, length)) {
        text->failed = true;
        return;
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

void text_printf(struct text *text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0 || !reserve(text, (size_t)length)) {
        text->failed = true;
    } else {
        vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

static void append_real(struct text *text, char form, int n, double value) {
    const char *point = localeconv()->decimal_point;
    char digits[64];
    snprintf(digits, sizeof digits, form == 'f' ? "%.*f" : "%.*g", n, value);
    char *at = strstr(digits, point);
    if (at) {
        const size_t length = strlen(point);
        *at = '.';
        memmove(at + 1, at + length, strlen(at + length) + 1);
    }
    text_append(text, digits, strlen(digits));
}

void text_fixed(struct text *text, double value, int decimals) {
    append_real(text, 'f', decimals, value);
}

void text_rounded(struct text *text, double value, int digits) {
    append_real(text, 'g', digits, value);
}

void text_copy_out(const char *text, char *out, size_t size, size_t *length) {
    size_t whole = strlen(text), n = whole < size ? whole : size - 1;
    if (size) {
        memcpy(out, text, n);
        out[n] = '\0';
    }
    if (length)
        *length = whole;
}
