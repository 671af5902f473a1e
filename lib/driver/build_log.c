/* SPDX-License-Identifier: MIT */
#include "driver/build_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define UNLOCATED "<kernel>:"

/* The file and line that the first line of the source gives to the second. */
static bool first_directive(const char *source, long *line, const char **file, int *length) {
    int start = 0;
    if (sscanf(source, "#line %ld \"%n", line, &start) != 1 || !start)
        return false;
    *file = source + start;
    *length = (int)strcspn(*file, "\"\n");
    return true;
}

char *build_log_located(const char *log, const char *source) {
    struct text text = {0};
    const char *file = NULL, *found;
    long first = 0;
    int length = 0;
    bool known = first_directive(source, &first, &file, &length);
    while (known && (found = strstr(log, UNLOCATED)) != NULL) {
        char *end;
        const char *digits = found + strlen(UNLOCATED);
        long line = strtol(digits, &end, 10);
        text_append(&text, log, (size_t)(found - log));
        if (end == digits || line < 2)
            text_append(&text, found, (size_t)(end - found));
        else
            text_printf(&text, "%.*s:%ld", length, file, first + line - 2);
        log = end;
    }
    text_append(&text, log, strlen(log));
    if (text.failed) {
        free(text.bytes);
        return NULL;
    }
    return text.bytes;
}
