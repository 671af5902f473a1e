/* SPDX-License-Identifier: MIT */
#include "driver/build_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define UNLOCATED "<kernel>:"

/* Where a line of the source comes from, as its last #line directive says. */
struct origin {
    long line;
    const char *file;
    int length; /* of the file's name */
};

/* Finds the origin of the line with this number, from 1; false where no directive comes before it. */
static bool find_origin(const char *source, long number, struct origin *out) {
    bool known = false;
    for (long at = 1; at < number && *source; at++) {
        int start = 0;
        if (known)
            out->line++;
        if (sscanf(source, "#line %ld \"%n", &out->line, &start) == 1 && start) {
            known = true;
            out->file = source + start;
            out->length = (int)strcspn(out->file, "\"\n");
        }
        source += strcspn(source, "\n");
        source += *source == '\n';
    }
    return known;
}

char *build_log_located(const char *log, const char *source) {
    struct text text = {0};
    const char *found;
    while ((found = strstr(log, UNLOCATED)) != NULL) {
        struct origin origin = {0};
        char *end;
        const char *digits = found + strlen(UNLOCATED);
        long line = strtol(digits, &end, 10);
        text_append(&text, log, (size_t)(found - log));
        if (end == digits || !find_origin(source, line, &origin))
            text_append(&text, found, (size_t)(end - found));
        else
            text_printf(&text, "%.*s:%ld", origin.length, origin.file, origin.line);
        log = end;
    }
    text_append(&text, log, strlen(log));
    if (text.failed) {
        free(text.bytes);
        return NULL;
    }
    return text.bytes;
}
