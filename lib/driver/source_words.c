/* SPDX-License-Identifier: MIT */
#include "driver/source_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* If `at` begins a line continuation (a backslash or its trigraph before the line's end), its end; else NULL. */
static const char *line_join(const char *at) {
    const size_t length = *at == '\\' ? 1 : !strncmp(at, "?\?/", 3) ? 3 : 0;
    const char *end = at + length + strspn(at + length, " \t\v\f\r");
    return length && *end == '\n' ? end + 1 : NULL;
}

void source_append_joined(struct text *text, const char *source) {
    const char *from = source;
    for (const char *at = source; *at; at++) {
        const char *next = line_join(at);
        if (!next)
            continue;
        text_append(text, from, (size_t)(at - from));
        from = next;
        at = next - 1;
    }
    text_append(text, from, strlen(from));
}

static bool comes_before(const char *part, const char *line, const char *at) {
    const char *found = strstr(line, part);
    return found && found < at;
}

/* Whether `at` may be in a preprocessor directive: it begins its line, which may continue a directive, or a # (or a
 * digraph or trigraph for it) or the end of a comment comes before it in the line. */
static bool is_in_directive(const char *source, const char *at) {
    const char *line = at;
    while (line > source && line[-1] != '\n')
        line--;
    const size_t before = (size_t)(at - line);
    return (line > source && strspn(line, " \t") >= before) || memchr(line, '#', before) ||
           memchr(line, ':', before) || comes_before("?\?=", line, at) ||
           comes_before("*/", line, at);
}

/* Whether `at` is in a line #line NUMBER "NAME" and no more: names may be anything. */
static bool is_in_line_directive(const char *source, const char *at) {
    static const char word[] = "#line ";
    const char *line = at;
    while (line > source && line[-1] != '\n')
        line--;
    if (strncmp(line, word, sizeof word - 1) != 0)
        return false;
    line += sizeof word - 1;
    line += strspn(line, "0123456789");
    if (strncmp(line, " \"", 2) != 0)
        return false;
    line += 2 + strcspn(line + 2, "\"*\n"); /* a star may end a comment that the line is in */
    return !strncmp(line, "\"\n", 2) && at < line;
}

static bool includes_files(const char *source) {
    static const char *const words[] = {"include", "import", "embed"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (const char *at = source; (at = strstr(at, words[i])) != NULL; at++)
            if (is_in_directive(source, at) && !is_in_line_directive(source, at))
                return true;
    return false;
}

bool source_is_self_contained(const char *source, const char *options) {
    struct text joined = {0};
    source_append_joined(&joined, source);
    const bool includes = joined.failed || includes_files(joined.bytes ? joined.bytes : "");
    free(joined.bytes);
    return !includes && !strstr(options, "-include") && !strstr(options, "-imacros");
}

bool words_tell_grid(const char *text) {
    static const char *const words[] = {
        "get_global_size",
        "get_global_offset",
        "get_global_linear",
        "get_num_",
        "get_group_id",
        "get_local_",
        "get_enqueued_",
        "get_sub_group_",
        "get_max_",
        "_group_",
        "enqueue_kernel",
        "__builtin",
        "__spirv",
        "asm",
        "##",
        "%:%:",
        "?\?=?\?=",
    };
    bool found = false;
    for (size_t i = 0; i < sizeof words / sizeof *words && !found; i++)
        found = strstr(text, words[i]) != NULL;
    return found;
}

bool source_ignores_grid(const char *source, const char *options) {
    struct text joined = {0};
    if (!source_is_self_contained(source, options))
        return false;
    source_append_joined(&joined, source);
    text_append(&joined, options, strlen(options));
    const bool tells = joined.failed || words_tell_grid(joined.bytes);
    free(joined.bytes);
    return !tells;
}

bool options_allow_odd_groups(const char *options) {
    static const char standard[] = "-cl-std=CL";
    bool allowed = false;
    for (const char *at = options; (at = strstr(at, standard)) != NULL;) {
        at += sizeof standard - 1;
        allowed = *at != '1';
    }
    return allowed && !strstr(options, "-cl-uniform-work-group-size");
}
