/* SPDX-License-Identifier: MIT */
#include "driver/include_folders.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

static const char BLANKS[] = " \t\r\n";

/* Reads the next word, without the quotes around it or a part of it; false at the end. */
static bool next_word(const char **at, struct text *word) {
    char quote = 0;
    const char *c = *at + strspn(*at, BLANKS);
    const bool found = *c != '\0';
    word->length = 0;
    text_append(word, "", 0);
    for (; *c && (quote || !strchr(BLANKS, *c)); c++)
        if (*c == quote)
            quote = 0;
        else if (!quote && (*c == '"' || *c == '\''))
            quote = *c;
        else
            text_append(word, c, 1);
    *at = c;
    return found && !word->failed;
}

static bool add(struct include_folders *folders, const char *path) {
    char *copy = strdup(path);
    if (copy && ARRAY_ROOM(folders->paths, folders->n, folders->room, 4)) {
        folders->paths[folders->n++] = copy;
        return true;
    }
    free(copy);
    return false;
}

static bool is_search_option(const char *word) {
    const bool names_file = !strncmp(word, "-include", 8) || !strncmp(word, "-imacros", 8);
    return !strcmp(word, "-I-") || (!strncmp(word, "-i", 2) && !names_file);
}

void include_folders_free(struct include_folders *folders) {
    for (size_t i = 0; i < folders->n; i++)
        free(folders->paths[i]);
    free(folders->paths);
    *folders = (struct include_folders){0};
}

bool include_folders_read(const char *options, struct include_folders *folders) {
    struct text word = {0};
    bool added = true, known = true;
    while (known && added && next_word(&options, &word)) {
        known = !is_search_option(word.bytes);
        if (!known || strncmp(word.bytes, "-I", 2) != 0)
            continue;
        if (word.bytes[2])
            added = add(folders, word.bytes + 2);
        else if (next_word(&options, &word))
            added = add(folders, word.bytes);
    }
    const bool whole = added && !word.failed;
    free(word.bytes);
    if (!known || !whole)
        include_folders_free(folders);
    return whole;
}
