/* SPDX-License-Identifier: MIT */
/* Writes a profile to a file, which appears under its name once it is complete. */
#include "trace/export.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "system/files.h"
#include "system/processes.h"
#include "trace/profiler.h"

static const struct format {
    cls_profile_format format;
    const char *suffix;
    void (*write)(struct text *text, const struct profile *profile);
} formats[] = {
    {CLS_PROFILE_JSON, ".json", export_json},
    {CLS_PROFILE_HTML, ".html", export_html},
};

static bool ends_with(const char *path, const char *suffix) {
    size_t length = strlen(path), end = strlen(suffix);
    return length > end && strcmp(path + length - end, suffix) == 0;
}

static const struct format *find_format(const char *path, cls_profile_format format) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (format == CLS_PROFILE_AUTO ? ends_with(path, formats[i].suffix)
                                       : format == formats[i].format)
            return &formats[i];
    return NULL;
}

bool export_knows(const char *path) { return find_format(path, CLS_PROFILE_AUTO) != NULL; }

static bool write_all(const char *path, const struct text *text) {
    FILE *file = file_open(path, "w");
    if (!file)
        return false;
    bool good = fwrite(text->bytes, 1, text->length, file) == text->length;
    return fclose(file) == 0 && good;
}

/* The length of the path cut so that its last component has room for a suffix. */
static size_t length_beside(const char *path, size_t suffix) {
    const size_t folder = (size_t)(file_last_name(path) - path), length = strlen(path);
    const size_t most = file_most_name();
    return length - folder + suffix > most ? folder + most - suffix : length;
}

static cls_status no_name(void) { return error_no_memory("for a file's name"); }

/* If two threads write the same file, the later one's remains. */
static cls_status replace(const char *path, const struct text *text) {
    static _Atomic unsigned parts;
    char suffix[64];
    struct text part = {0};
    const int length = snprintf(suffix, sizeof suffix, ".part-%ld-%u", system_process(),
                                atomic_fetch_add(&parts, 1));
    text_append(&part, path, length_beside(path, (size_t)length));
    text_append(&part, suffix, (size_t)length);
    if (part.failed)
        return no_name();
    cls_status status = CLS_SUCCESS;
    if (!write_all(part.bytes, text) || !file_replace(part.bytes, path)) {
        status = error_set(CLS_ERROR_IO, "%s: %s", path, strerror(errno));
        file_remove(part.bytes);
    }
    free(part.bytes);
    return status;
}

/* A symbolic link goes on leading to the file. */
static cls_status write_file(const char *path, const struct text *text) {
    if (file_is_written_in_place(path))
        return write_all(path, text) ? CLS_SUCCESS
                                     : error_set(CLS_ERROR_IO, "%s: %s", path, strerror(errno));
    char *end = file_resolve(path);
    if (!end && errno == ENOMEM)
        return no_name();
    cls_status status = replace(end ? end : path, text);
    free(end);
    return status;
}

static cls_status export_as(const struct profile *profile, const char *path,
                            const struct format *format) {
    struct text text = {0};
    format->write(&text, profile);
    cls_status status =
        text.failed ? error_no_memory("to write a profile") : write_file(path, &text);
    free(text.bytes);
    return status;
}

cls_status cls_profile_export(cls_profile handle, const char *path, cls_profile_format format) {
    if (!path)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_profile_export: path is null");
    const struct format *found = find_format(path, format);
    if (!found)
        return error_set(
            CLS_ERROR_INVALID_VALUE,
            "cls_profile_export: '%s' in format %d is neither .json nor .html; " EXPORT_HINT, path,
            (int)format);
    struct profile *profile = object_acquire(&profile_pool, handle);
    if (!profile)
        return object_invalid(&profile_pool, handle);
    cls_status status = export_as(profile, path, found);
    object_release(&profile->object);
    return status;
}
