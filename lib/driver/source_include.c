/* SPDX-License-Identifier: MIT */
#include "driver/source_include.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/text_file.h"

/* Files that include each other, each with a guard, end by themselves: once a guard is defined, it hides the line that would
 * go on. So a file stands at most twice on the way to a line. The size bounds what they may come to meanwhile. */
enum { DEEPEST = 32, OPEN_AT_ONCE = 2, LONGEST = 8 << 20 };

/* A file on the way to the present one. */
struct level {
    const struct level *outer;
    const char *path;
    unsigned depth;
};

/* Compilers differ in how they read an escaped quote here. */
void append_line_directive(struct text *text, unsigned line, const char *name) {
    text_printf(text, "#line %u \"", line);
    for (const char *at = name; *at; at++)
        text_printf(text, "%s%c", *at == '\\' ? "\\" : "",
                    *at == '\n'  ? ' '
                    : *at == '"' ? '\''
                                 : *at);
    text_printf(text, "\"\n");
}

/* --- lines --- */

/* Where a line ends that begins inside a block comment or not: whether the next begins inside one. */
static bool ends_in_comment(const char *line, size_t length, bool inside) {
    char quote = 0;
    for (size_t i = 0; i < length; i++) {
        const char c = line[i], next = i + 1 < length ? line[i + 1] : '\0';
        if (inside) {
            inside = c != '*' || next != '/';
            i += !inside;
        } else if (quote) {
            i += c == '\\';
            quote = c == quote ? 0 : quote;
        } else if (c == '/' && next == '/') {
            return false;
        } else if (c == '/' && next == '*') {
            inside = true;
            i++;
        } else if (c == '"' || c == '\'') {
            quote = c;
        }
    }
    return inside;
}

static const char *skip_blanks(const char *at) { return at + strspn(at, " \t"); }

/* The name in a line #include "NAME", which is not empty, and its length; NULL in any other line. */
static const char *included(const char *line, size_t *length) {
    const char *at = skip_blanks(line);
    if (*at != '#')
        return NULL;
    at = skip_blanks(at + 1);
    if (strncmp(at, "include", 7) != 0)
        return NULL;
    at = skip_blanks(at + 7);
    if (*at != '"')
        return NULL;
    *length = strcspn(at + 1, "\"\n");
    return *length && at[1 + *length] == '"' ? at + 1 : NULL;
}

/* --- files --- */

static void append_path(struct text *path, const char *from, const char *name, size_t length) {
    const char *slash = strrchr(from, '/');
    if (*name != '/' && slash)
        text_append(path, from, (size_t)(slash + 1 - from));
    text_append(path, name, length);
}

static bool may_open(const struct level *level, const char *path) {
    unsigned open = 0;
    if (level->depth >= DEEPEST)
        return false;
    for (; level; level = level->outer)
        open += !strcmp(level->path, path);
    return open < OPEN_AT_ONCE;
}

static bool has_pragma_once(const char *text) {
    for (const char *at = text; (at = strstr(at, "pragma")) != NULL; at++)
        if (!strncmp(skip_blanks(at + 6), "once", 4))
            return true;
    return false;
}

static cls_status expand(const struct level *level, const char *source, struct text *out);

/* #pragma once works in files that the compiler includes itself, and not in a text. */
static cls_status append_file(const struct level *level, const char *text, struct text *out) {
    const bool once = has_pragma_once(text);
    if (once) {
        const unsigned long long name = XXH3_64bits(level->path, strlen(level->path));
        text_printf(out, "#ifndef CLS_INCLUDED_%llx\n#define CLS_INCLUDED_%llx\n", name, name);
    }
    append_line_directive(out, 1, level->path);
    cls_status status = expand(level, text, out);
    text_printf(out, once ? "\n#endif\n" : "\n");
    return status;
}

/* Appends the file of a line; sets `*done` false where there is none. */
static cls_status append_included(const struct level *level, const char *name, size_t length,
                                  struct text *out, bool *done) {
    struct text path = {0};
    struct detail held;
    char *text = NULL;
    append_path(&path, level->path, name, length);
    *done = false;
    error_save(&held);
    const bool readable = !path.failed && out->length < LONGEST && may_open(level, path.bytes) &&
                          !text_file_read(path.bytes, &text);
    cls_status status = error_restore(&held, CLS_SUCCESS);
    if (readable) {
        const struct level inner = {level, path.bytes, level->depth + 1};
        status = append_file(&inner, text, out);
        *done = true;
    }
    free(text);
    free(path.bytes);
    return status;
}

static cls_status expand(const struct level *level, const char *source, struct text *out) {
    bool in_comment = false, continued = false, done = false;
    unsigned line = 1;
    for (const char *at = source, *next; *at; at = next, line++) {
        const size_t length = strcspn(at, "\n");
        size_t n;
        next = at + length + (at[length] == '\n');
        const bool stays_in_comment = ends_in_comment(at, length, in_comment);
        const char *name = in_comment || stays_in_comment || continued ? NULL : included(at, &n);
        cls_status status = name ? append_included(level, name, n, out, &done) : CLS_SUCCESS;
        if (status)
            return status;
        in_comment = stays_in_comment;
        continued = length && at[length - 1] == '\\';
        if (name && done)
            append_line_directive(out, line + 1, level->path);
        else
            text_append(out, at, (size_t)(next - at));
    }
    return out->failed ? error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for a program's source")
                       : CLS_SUCCESS;
}

cls_status source_include(const char *path, const char *source, struct text *out) {
    const struct level level = {NULL, path, 0};
    text_append(out, "", 0);
    return expand(&level, source, out);
}
