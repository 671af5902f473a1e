/* SPDX-License-Identifier: MIT */
#include "driver/source.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

/* Files read from CLSTREAM_KERNEL_PATH. Entries are added at the head and live as long as the
 * process, as the texts handed out must. */
struct loaded {
    char *path;
    char *text;
    struct loaded *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct loaded *files;

static cls_status no_memory(void) {
    return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for a kernel source");
}

static cls_status find_embedded(const char *name, const char **text) {
    for (const struct embedded_source *source = embedded_sources; source->name; source++)
        if (!strcmp(source->name, name)) {
            *text = source->text;
            return CLS_SUCCESS;
        }
    return error_set(CLS_ERROR_NOT_FOUND, "no kernel source \"%s\" is embedded", name);
}

static bool append_file(struct text *text, FILE *file) {
    char piece[4096];
    size_t got;
    while ((got = fread(piece, 1, sizeof piece, file)) > 0)
        text_append(text, piece, got);
    return !ferror(file);
}

static cls_status read_source(const char *path, const char *name, char **out) {
    FILE *file = fopen(path, "r");
    if (!file)
        return error_set(CLS_ERROR_NOT_FOUND, "CLSTREAM_KERNEL_PATH: %s: %s", path,
                         strerror(errno));
    struct text text = {0};
    text_printf(&text, "#line 1 \"%s\"\n", name);
    bool whole = append_file(&text, file);
    fclose(file);
    if (whole && !text.failed) {
        *out = text.bytes;
        return CLS_SUCCESS;
    }
    free(text.bytes);
    return whole ? no_memory()
                 : error_set(CLS_ERROR_IO, "CLSTREAM_KERNEL_PATH: %s cannot be read", path);
}

static cls_status keep(char *path, char *text) {
    struct loaded *entry = malloc(sizeof *entry);
    if (!entry)
        return no_memory();
    *entry = (struct loaded){path, text, files};
    files = entry;
    return CLS_SUCCESS;
}

/* Takes over `path`. */
static cls_status load(char *path, const char *name, const char **text) {
    for (const struct loaded *entry = files; entry; entry = entry->next)
        if (!strcmp(entry->path, path)) {
            *text = entry->text;
            free(path);
            return CLS_SUCCESS;
        }
    char *fresh = NULL;
    cls_status status = read_source(path, name, &fresh);
    if (!status)
        status = keep(path, fresh);
    if (status) {
        free(path);
        free(fresh);
        return status;
    }
    *text = fresh;
    return CLS_SUCCESS;
}

cls_status source_get(const char *name, const char **text) {
    const char *folder = getenv("CLSTREAM_KERNEL_PATH");
    if (!folder || !*folder)
        return find_embedded(name, text);
    struct text path = {0};
    text_printf(&path, "%s/%s", folder, name);
    if (path.failed) {
        free(path.bytes);
        return no_memory();
    }
    pthread_mutex_lock(&lock);
    cls_status status = load(path.bytes, name, text);
    pthread_mutex_unlock(&lock);
    return status;
}
