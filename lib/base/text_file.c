/* SPDX-License-Identifier: MIT */
#include "base/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "system/files.h"

static bool append_all(struct text *text, FILE *file) {
    char piece[4096];
    size_t got;
    text_append(text, "", 0);
    while ((got = fread(piece, 1, sizeof piece, file)) > 0)
        text_append(text, piece, got);
    return !ferror(file);
}

cls_status text_file_read(const char *path, char **out) {
    struct text text = {0};
    FILE *file = file_open(path, "r");
    if (!file)
        return error_set(errno == ENOENT ? CLS_ERROR_NOT_FOUND : CLS_ERROR_IO, "%s: %s", path,
                         strerror(errno));
    bool whole = append_all(&text, file);
    fclose(file);
    if (whole && !text.failed) {
        *out = text.bytes;
        return CLS_SUCCESS;
    }
    free(text.bytes);
    if (!whole)
        return error_set(CLS_ERROR_IO, "%s cannot be read", path);
    return error_no_memory("for %s", path);
}
