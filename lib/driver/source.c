/* SPDX-License-Identifier: MIT */
#include "driver/source.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/error.h"
#include "base/setting.h"
#include "system/files.h"

/* Defined by a build without embedded sources: their folder. */
#ifndef CLS_KERNEL_PATH
#define CLS_KERNEL_PATH NULL
#endif

enum { DEEPEST = 8, NAME_ROOM = 64 }; /* of files that include each other; of their names */

/* Whole sources. Entries are added at the head and live as long as the process, as the texts handed
 * out must. */
struct loaded {
    char *path; /* "map.cl" where it is embedded */
    char *text;
    struct loaded *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct loaded *sources;

static const struct loaded *find(const char *path) {
    const struct loaded *entry = sources;
    while (entry && strcmp(entry->path, path) != 0)
        entry = entry->next;
    return entry;
}

/* --- where a source comes from --- */

static cls_status read_embedded(const char *name, struct text *to) {
    for (const struct embedded_source *source = embedded_sources; source->name; source++)
        if (!strcmp(source->name, name)) {
            text_append(to, source->text, strlen(source->text));
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

static cls_status read_file(const char *path, const char *name, struct text *to) {
    FILE *file = file_open(path, "r");
    if (!file)
        return error_set(errno == ENOENT ? CLS_ERROR_NOT_FOUND : CLS_ERROR_IO,
                         "CLSTREAM_KERNEL_PATH: %s: %s", path, strerror(errno));
    text_printf(to, "#line 1 \"%s\"\n", name);
    const bool whole = append_file(to, file);
    fclose(file);
    return whole ? CLS_SUCCESS
                 : error_set(CLS_ERROR_IO, "CLSTREAM_KERNEL_PATH: %s cannot be read", path);
}

/* --- what it includes --- */

static cls_status get(const char *name, unsigned depth, const char **text);

/* The name in a line that includes a file, or NULL. */
static const char *included(const char *line, char name[NAME_ROOM]) {
    static const char include[] = "#include \"";
    const size_t before = sizeof include - 1;
    if (strncmp(line, include, before) != 0)
        return NULL;
    const size_t length = strcspn(line + before, "\"\n");
    snprintf(name, NAME_ROOM, "%.*s", (int)length, line + before);
    return name;
}

static cls_status expand(const char *raw, const char *name, unsigned line, unsigned depth,
                         struct text *to) {
    for (const char *at = raw, *next; *at; at = next, line++) {
        char inner[NAME_ROOM];
        const size_t length = strcspn(at, "\n");
        next = at + length + (at[length] == '\n');
        if (!included(at, inner)) {
            text_append(to, at, (size_t)(next - at));
            continue;
        }
        const char *text;
        const cls_status status = get(inner, depth + 1, &text);
        if (status)
            return status;
        text_append(to, text, strlen(text));
        text_printf(to, "\n#line %u \"%s\"\n", line + 1, name);
    }
    return to->failed ? error_no_memory("for a kernel source") : CLS_SUCCESS;
}

cls_status source_expand(const char *raw, const char *name, struct text *to) {
    return expand(raw, name, 1, 0, to);
}

/* --- all that were asked for --- */

/* Enters a source into the list, or returns the one that another thread entered first. Takes over path and text. */
static cls_status keep(char *path, char *text, const char **out) {
    struct loaded *entry = malloc(sizeof *entry);
    if (!entry) {
        free(path);
        free(text);
        return error_no_memory("for a kernel source");
    }
    *entry = (struct loaded){path, text, NULL};
    pthread_mutex_lock(&lock);
    const struct loaded *first = find(path);
    if (!first)
        LL_PREPEND(sources, entry);
    pthread_mutex_unlock(&lock);
    *out = first ? first->text : text;
    if (first) {
        free(path);
        free(text);
        free(entry);
    }
    return CLS_SUCCESS;
}

/* The #line that begins a raw text is its line 0. */
static cls_status load(const char *folder, const char *path, const char *name, unsigned depth,
                       struct text *whole) {
    struct text raw = {0};
    cls_status status = folder ? read_file(path, name, &raw) : read_embedded(name, &raw);
    if (!status && raw.failed)
        status = error_no_memory("for a kernel source");
    if (!status)
        status = expand(raw.bytes, name, 0, depth, whole);
    free(raw.bytes);
    return status;
}

static cls_status get(const char *name, unsigned depth, const char **text) {
    const char *start = "", *folder = setting_path("CLSTREAM_KERNEL_PATH", &start);
    struct text path = {0}, whole = {0};
    if (!folder)
        folder = CLS_KERNEL_PATH;
    if (depth > DEEPEST)
        return error_set(CLS_ERROR_INVALID_VALUE, "CLSTREAM_KERNEL_PATH: %s includes itself", name);
    text_printf(&path, "%s%s%s%s", start, folder ? folder : "", folder ? "/" : "", name);
    if (path.failed) {
        free(path.bytes);
        return error_no_memory("for a kernel source");
    }
    pthread_mutex_lock(&lock);
    const struct loaded *known = find(path.bytes);
    pthread_mutex_unlock(&lock);
    cls_status status = known ? CLS_SUCCESS : load(folder, path.bytes, name, depth, &whole);
    if (!known && !status)
        return keep(path.bytes, whole.bytes, text);
    if (known)
        *text = known->text;
    free(path.bytes);
    free(whole.bytes);
    return status;
}

cls_status source_get(const char *name, const char **text) { return get(name, 0, text); }
