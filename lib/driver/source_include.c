/* SPDX-License-Identifier: MIT */
#include "driver/source_include.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/text_file.h"
#include "driver/include_folders.h"
#include "system/files.h"

/* Files that include each other, each with a guard, end by themselves: once a guard is defined, it hides the line that would
 * go on. So a file stands at most twice on the way to a line. The size bounds what they may come to meanwhile. */
enum { DEEPEST = 32, OPEN_AT_ONCE = 2, LONGEST = 8 << 20 };

/* A file on the way to the present one. */
struct level {
    const struct level *outer;
    const char *name; /* its path, or what a text is called */
    bool has_folder;
    unsigned depth;
};

/* What all files of a program share. */
struct expansion {
    struct include_folders folders;
    char **once; /* resolved paths of the files with #pragma once */
    size_t n_once, once_room;
    struct text *out;
};

/* Compilers differ in how they read an escaped quote here. */
void append_line_directive(struct text *text, unsigned long line, const char *name) {
    text_printf(text, "#line %lu \"", line);
    for (const char *at = name; *at; at++)
        text_printf(text, "%s%c", *at == '\\' ? "\\" : "",
                    *at == '\n'  ? ' '
                    : *at == '"' ? '\''
                                 : *at);
    text_printf(text, "\"\n");
}

/* --- lines --- */

enum { CODE = 0, BLOCK_COMMENT = '*', LINE_COMMENT = '/' }; /* or the quote of a string */

/* Where the reading of a text is. */
struct text_place {
    char in;
    bool continued; /* the line before ends with a backslash */
};

static bool is_continued(const char *line, size_t length) {
    while (length && strchr(" \t\r", line[length - 1]))
        length--;
    return length && line[length - 1] == '\\';
}

/* Moves the place behind a line. */
static void pass(struct text_place *place, const char *line, size_t length) {
    char in = place->in;
    for (size_t i = 0; i < length && in != LINE_COMMENT; i++) {
        const char c = line[i], next = i + 1 < length ? line[i + 1] : '\0';
        if (in == BLOCK_COMMENT) {
            in = c == '*' && next == '/' ? CODE : in;
            i += in == CODE;
        } else if (in != CODE) {
            i += c == '\\';
            in = c == in ? CODE : in;
        } else if (c == '/' && (next == '/' || next == '*')) {
            in = next;
            i++;
        } else if (c == '"' || c == '\'') {
            in = c;
        }
    }
    place->continued = is_continued(line, length);
    place->in = place->continued || in == BLOCK_COMMENT ? in : CODE;
}

static const char *skip_blanks(const char *at) { return at + strspn(at, " \t"); }

/* What follows the word in a directive that begins with it; NULL in any other line. */
static const char *directive(const char *line, const char *word) {
    const size_t length = strlen(word);
    const char *at = skip_blanks(line);
    at = *at == '#' ? skip_blanks(at + 1) : "";
    return strncmp(at, word, length) == 0 ? skip_blanks(at + length) : NULL;
}

struct included {
    const char *name; /* NULL: the line includes nothing */
    size_t length;
    bool quoted;
};

static struct included read_line(const char *line) {
    const struct included none = {0};
    const char *at = directive(line, "include");
    if (!at || (*at != '"' && *at != '<'))
        return none;
    const char end = *at == '"' ? '"' : '>';
    const char *name = at + 1, *stop = name;
    while (*stop && *stop != '\n' && *stop != end)
        stop++;
    return *stop == end && stop > name ? (struct included){name, (size_t)(stop - name), end == '"'}
                                       : none;
}

static size_t line_length(const char *line) { return strcspn(line, "\n"); }

static bool has_pragma_once(const char *text) {
    struct text_place place = {0};
    for (const char *at = text; *at;) {
        const size_t length = line_length(at);
        const char *pragma = place.in == CODE && !place.continued ? directive(at, "pragma") : NULL;
        if (pragma && !strncmp(pragma, "once", 4))
            return true;
        pass(&place, at, length);
        at += length + (at[length] == '\n');
    }
    return false;
}

/* --- files --- */

static bool may_open(const struct level *level, const char *path) {
    unsigned open = 0;
    if (level->depth >= DEEPEST)
        return false;
    for (; level; level = level->outer)
        open += !strcmp(level->name, path);
    return open < OPEN_AT_ONCE;
}

/* Reads NAME in a folder; false: it is not there. The caller frees the text. */
static bool read_in(const char *folder, size_t length, struct included name, struct text *path,
                    char **text) {
    struct detail held;
    path->length = 0;
    if (!file_is_absolute(name.name)) {
        text_append(path, folder, length);
        if (length && folder[length - 1] != '/')
            text_append(path, "/", 1);
    }
    text_append(path, name.name, name.length);
    error_save(&held);
    const bool found = !path->failed && !text_file_read(path->bytes, text);
    error_restore(&held, CLS_SUCCESS);
    return found;
}

/* Whether the working folder has another file of this name. */
static bool is_ambiguous(struct included name, const char *found) {
    struct text path = {0};
    text_append(&path, name.name, name.length);
    const bool other =
        path.failed || (file_is_there(path.bytes) && !file_is_same(found, path.bytes));
    free(path.bytes);
    return other;
}

static bool find(const struct expansion *all, const struct level *level, struct included name,
                 struct text *path, char **text) {
    const size_t folder = (size_t)(file_last_name(level->name) - level->name);
    bool found = false;
    if (name.quoted && level->has_folder && read_in(level->name, folder, name, path, text))
        return true;
    for (size_t i = 0; i < all->folders.n && !found; i++)
        found = read_in(all->folders.paths[i], strlen(all->folders.paths[i]), name, path, text);
    return found && !(name.quoted && is_ambiguous(name, path->bytes));
}

/* The number of a file with #pragma once; -1: there is no memory. */
static int once_number(struct expansion *all, const char *path) {
    char *resolved = file_resolve(path);
    size_t i = 0;
    while (resolved && i < all->n_once && strcmp(all->once[i], resolved) != 0)
        i++;
    if (i < all->n_once) {
        free(resolved);
    } else if (resolved && ARRAY_ROOM(all->once, all->n_once, all->once_room, 8)) {
        all->once[all->n_once++] = resolved;
    } else {
        free(resolved);
        return -1;
    }
    return (int)i;
}

static void expand(struct expansion *all, const struct level *level, const char *source);

/* #pragma once works in files that the compiler includes itself, and not in a text. A byte order mark is none there. */
static void append_file(struct expansion *all, const struct level *level, const char *text) {
    const int once = has_pragma_once(text) ? once_number(all, level->name) : -1;
    if (once >= 0)
        text_printf(all->out, "#ifndef CLS_INCLUDED_%d\n#define CLS_INCLUDED_%d\n", once, once);
    append_line_directive(all->out, 1, level->name);
    expand(all, level, text);
    text_printf(all->out, once >= 0 ? "\n\n#endif\n" : "\n\n");
}

/* Appends the file of a line; false where there is none. */
static bool append_included(struct expansion *all, const struct level *level,
                            struct included name) {
    struct text path = {0};
    char *text = NULL;
    const bool done = all->out->length < LONGEST && find(all, level, name, &path, &text) &&
                      may_open(level, path.bytes);
    if (done)
        append_file(all, &(struct level){level, path.bytes, true, level->depth + 1}, text);
    free(text);
    free(path.bytes);
    return done;
}

/* Takes over the number and the name that a #line in the text gives the next line. */
static void follow_line(const char *at, unsigned long *line, struct text *name) {
    char *end;
    const char *number = directive(at, "line");
    if (!number || *number < '0' || *number > '9')
        return;
    *line = strtoul(number, &end, 10) - 1;
    const char *given = skip_blanks(end);
    if (*given != '"')
        return;
    name->length = 0;
    text_append(name, given + 1, strcspn(given + 1, "\"\n"));
}

static void expand(struct expansion *all, const struct level *level, const char *source) {
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    struct text_place place = {0};
    struct text named = {0};
    unsigned long line = 1;
    if (!strncmp(source, byte_order_mark, 3))
        source += 3;
    for (const char *at = source, *next; *at; at = next, line++) {
        const struct text_place before = place;
        const size_t length = line_length(at);
        next = at + length + (at[length] == '\n');
        pass(&place, at, length);
        struct included name = {0};
        if (before.in == CODE && !before.continued && place.in == CODE && !place.continued) {
            name = read_line(at);
            follow_line(at, &line, &named);
        }
        if (name.name && append_included(all, level, name))
            append_line_directive(all->out, line + 1, named.length ? named.bytes : level->name);
        else
            text_append(all->out, at, (size_t)(next - at));
    }
    free(named.bytes);
}

cls_status source_include(struct source_origin origin, const char *source, const char *options,
                          struct text *out) {
    struct expansion all = {.out = out};
    const struct level level = {NULL, origin.path ? origin.path : origin.name, origin.path != NULL,
                                0};
    const bool whole = include_folders_read(options, &all.folders);
    text_append(out, "", 0);
    if (whole)
        expand(&all, &level, source);
    while (all.n_once)
        free(all.once[--all.n_once]);
    free(all.once);
    include_folders_free(&all.folders);
    return whole && !out->failed ? CLS_SUCCESS : error_no_memory("for a program's source");
}
