/* SPDX-License-Identifier: MIT */
/*
 * The source is read once, without the compiler's knowledge of which branch of an #if is taken: all are. It becomes items:
 * a function, a macro, or anything else outside of functions. A word is tainted if it asks for the grid, or if it may stand for
 * an item with a tainted word. What cannot be read with certainty taints everything.
 */
#include "driver/source_kernels.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/array.h"
#include "driver/source_words.h"

enum { MOST_CONDITIONS = 64, LONGEST_WORD = 256 };

struct word {
    UT_hash_handle hh;
    const char *text; /* in the source */
    size_t length;
    bool tainted;
    bool is_macro;
    bool opens; /* a macro whose text has a parenthesis or a brace, by itself or by another macro */
};

enum kind {
    OUTSIDE,   /* a type, a variable, a macro that stands alone */
    PROTOTYPE, /* its words do nothing, except macros */
    FUNCTION,
    MACRO
};

struct item {
    enum kind kind;
    struct word **words, **names; /* that it has; that it defines for certain */
    size_t n_words, words_room, n_names, names_room;
    size_t n_head; /* of a function: the words before its body */
    bool veiled;   /* it may define others as well */
};

/* Depths of what is open. */
struct depth {
    int braces, parens; /* parentheses count outside of braces */
};

struct kernel_reading {
    const char *at;
    struct word *table;
    struct item *items;
    size_t n_items, items_room;
    struct item item; /* the present one outside of directives */
    bool has_params, has_value, has_body;
    unsigned began_in; /* conditions */
    struct depth depth, conditions[MOST_CONDITIONS];
    unsigned n_conditions;
    struct word *before; /* the token before, if it is a word outside of braces and parentheses */
    bool failed;
};

/* --- words --- */

static bool begins_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c & 0x80;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_one_of(const struct word *word, const char *const *list) {
    while (*list && (strlen(*list) != word->length || memcmp(*list, word->text, word->length) != 0))
        list++;
    return *list != NULL;
}

static struct word *add_word(struct kernel_reading *reading, const char *text, size_t length) {
    char copy[LONGEST_WORD];
    struct word *word = calloc(1, sizeof *word);
    if (!word)
        return NULL;
    word->text = text;
    word->length = length;
    word->tainted = length >= sizeof copy;
    if (!word->tainted) {
        memcpy(copy, text, length);
        copy[length] = '\0';
        word->tainted = words_tell_grid(copy);
    }
    HASH_ADD_KEYPTR(hh, reading->table, word->text, word->length, word);
    if (word->hh.tbl)
        return word;
    free(word);
    return NULL;
}

/* The word at the reading's place, which moves behind it; NULL without memory. */
static struct word *read_word(struct kernel_reading *reading) {
    const char *text = reading->at;
    while (begins_word(*reading->at) || is_digit(*reading->at))
        reading->at++;
    const size_t length = (size_t)(reading->at - text);
    struct word *word;
    HASH_FIND(hh, reading->table, text, length, word);
    if (!word)
        word = add_word(reading, text, length);
    reading->failed |= !word;
    return word;
}

static void add_item_word(struct kernel_reading *reading, struct item *item, struct word *word) {
    if (word && ARRAY_ROOM(item->words, item->n_words, item->words_room, 16))
        item->words[item->n_words++] = word;
    else
        reading->failed = true;
}

static void add_item_name(struct kernel_reading *reading, struct item *item, struct word *word) {
    if (ARRAY_ROOM(item->names, item->n_names, item->names_room, 2))
        item->names[item->n_names++] = word;
    else
        reading->failed = true;
}

static void keep_item(struct kernel_reading *reading, struct item item) {
    if (ARRAY_ROOM(reading->items, reading->n_items, reading->items_room, 32)) {
        reading->items[reading->n_items++] = item;
        return;
    }
    free(item.words);
    free(item.names);
    reading->failed = true;
}

/* --- what is no code --- */

/* A string or a character ends with its line at the latest: an apostrophe may stand in text that no branch has. */
static void skip_quoted(struct kernel_reading *reading) {
    const char quote = *reading->at++;
    while (*reading->at && *reading->at != '\n' && *reading->at != quote)
        reading->at += *reading->at == '\\' && reading->at[1] && reading->at[1] != '\n' ? 2 : 1;
    reading->at += *reading->at == quote;
}

static void skip_comment(struct kernel_reading *reading) {
    const char *end =
        reading->at[1] == '/' ? strchr(reading->at, '\n') : strstr(reading->at + 2, "*/");
    if (end)
        reading->at = *end == '\n' ? end : end + 2;
    else
        reading->at += strlen(reading->at);
}

static void skip_number(struct kernel_reading *reading) {
    while (begins_word(*reading->at) || is_digit(*reading->at) || *reading->at == '.')
        reading->at++;
}

/* Skips what stands for a blank, or for nothing that matters here; false at anything else. */
static bool skip(struct kernel_reading *reading) {
    const char c = reading->at[0], next = c ? reading->at[1] : '\0';
    if (c == '/' && (next == '/' || next == '*'))
        skip_comment(reading);
    else if (c == '"' || c == '\'')
        skip_quoted(reading);
    else if (is_digit(c))
        skip_number(reading);
    else
        return false;
    return true;
}

/* --- directives --- */

/* The text of a macro, to the end of its line. */
static void read_macro_text(struct kernel_reading *reading, struct item *macro) {
    struct word *name = macro->names[0];
    int braces = 0;
    while (*reading->at && *reading->at != '\n' && !reading->failed) {
        if (skip(reading))
            continue;
        if (begins_word(*reading->at)) {
            add_item_word(reading, macro, read_word(reading));
            continue;
        }
        const char c = *reading->at++;
        name->tainted |= c == '#' && *reading->at == '#';
        name->opens |= c == '(' || c == '{';
        braces += c == '{' ? 1 : c == '}' ? -1 : 0;
        reading->failed |= braces < 0;
    }
    reading->failed |= braces != 0;
}

static void read_macro(struct kernel_reading *reading) {
    struct item macro = {.kind = MACRO};
    reading->at += strspn(reading->at, " \t");
    if (!begins_word(*reading->at)) {
        reading->failed = true;
        return;
    }
    struct word *name = read_word(reading);
    if (name)
        add_item_name(reading, &macro, name);
    if (!reading->failed) {
        name->is_macro = true;
        if (*reading->at == '(')
            reading->at += strcspn(reading->at, ")\n");
        read_macro_text(reading, &macro);
    }
    keep_item(reading, macro);
}

static bool same_depth(struct depth a, struct depth b) {
    return a.braces == b.braces && a.parens == b.parens;
}

static void read_condition(struct kernel_reading *reading, bool begins, bool ends) {
    if (begins && reading->n_conditions < MOST_CONDITIONS)
        reading->conditions[reading->n_conditions++] = reading->depth;
    else if (begins || !reading->n_conditions ||
             !same_depth(reading->depth, reading->conditions[reading->n_conditions - 1]))
        reading->failed = true;
    else
        reading->n_conditions -= ends;
}

static bool begins_with(const char *at, const char *word) {
    const size_t length = strlen(word);
    return !strncmp(at, word, length) && !begins_word(at[length]) && !is_digit(at[length]);
}

static void read_directive(struct kernel_reading *reading) {
    const char *at = reading->at + 1 + strspn(reading->at + 1, " \t");
    reading->at = at;
    if (begins_with(at, "define")) {
        reading->at += strlen("define");
        read_macro(reading);
    } else if (!strncmp(at, "if", 2)) {
        read_condition(reading, true, false);
    } else if (!strncmp(at, "el", 2)) {
        read_condition(reading, false, false);
    } else if (begins_with(at, "endif")) {
        read_condition(reading, false, true);
    }
    while (*reading->at && *reading->at != '\n')
        if (!skip(reading))
            reading->at++;
}

/* --- items --- */

static void end_item(struct kernel_reading *reading) {
    struct item *item = &reading->item;
    if (reading->n_conditions > reading->began_in)
        return; /* another branch may go on */
    item->kind = !reading->has_params || reading->has_value ? OUTSIDE
                 : reading->has_body                        ? FUNCTION
                                                            : PROTOTYPE;
    if (item->n_words)
        keep_item(reading, *item);
    *item = (struct item){0};
    reading->has_params = reading->has_value = reading->has_body = false;
}

/* A parenthesis outside of others: behind the name of a function, mostly. */
static void open_parameters(struct kernel_reading *reading) {
    static const char *const no_names[] = {"__attribute__", "__attribute", NULL};
    static const char *const types[] = {"void",   "char", "uchar", "short", "ushort",
                                        "int",    "uint", "long",  "ulong", "float",
                                        "double", "half", "bool",  NULL};
    struct word *name = reading->before;
    if (name && is_one_of(name, no_names))
        return;
    reading->has_params = true;
    reading->item.veiled |= reading->has_body;
    if (name && !is_one_of(name, types))
        add_item_name(reading, &reading->item, name);
    else
        reading->item.veiled = true;
}

static void open_brace(struct kernel_reading *reading) {
    reading->failed |= reading->depth.parens != 0;
    if (reading->depth.braces++ || reading->has_body || !reading->has_params || reading->has_value)
        return;
    reading->has_body = true;
    reading->item.n_head = reading->item.n_words;
}

static void close_brace(struct kernel_reading *reading) {
    reading->failed |= --reading->depth.braces < 0;
    if (!reading->depth.braces && reading->has_body)
        end_item(reading);
}

static void read_sign(struct kernel_reading *reading) {
    const char c = *reading->at++;
    const bool outside = !reading->depth.braces;
    if (c == '{') {
        open_brace(reading);
    } else if (c == '}') {
        close_brace(reading);
    } else if (outside && c == '(') {
        if (!reading->depth.parens++ && !reading->has_value)
            open_parameters(reading);
    } else if (outside && c == ')') {
        reading->failed |= --reading->depth.parens < 0;
    } else if (outside && !reading->depth.parens && c == ';') {
        end_item(reading);
    } else if (outside && !reading->depth.parens && c == '=') {
        reading->has_value = true;
    }
    reading->before = NULL;
}

static void read_code_word(struct kernel_reading *reading) {
    struct word *word = read_word(reading);
    if (!reading->item.n_words)
        reading->began_in = reading->n_conditions;
    add_item_word(reading, &reading->item, word);
    reading->before = !reading->depth.braces && !reading->depth.parens ? word : NULL;
}

static void read_source(struct kernel_reading *reading, const char *source) {
    bool begins_line = true;
    reading->at = source;
    while (*reading->at && !reading->failed) {
        const char c = *reading->at;
        if (c == '\n' || strchr(" \t\r\v\f", c)) {
            begins_line |= c == '\n';
            reading->at++;
        } else if (c == '/' && skip(reading)) {
            continue;
        } else if (c == '#' && begins_line) {
            read_directive(reading);
        } else {
            begins_line = false;
            if (begins_word(c))
                read_code_word(reading);
            else if (!skip(reading))
                read_sign(reading);
        }
    }
    end_item(reading);
    reading->failed |= reading->depth.braces || reading->n_conditions;
}

/* --- options --- */

/* Options define macros as directives do. Those with quotes differ between compilers. */
static void append_macros(struct text *text, const char *options) {
    for (const char *at = options; (at = strstr(at, "-D")) != NULL;) {
        at += 2 + strspn(at + 2, " \t");
        const size_t length = strcspn(at, " \t\r\n"), name = strcspn(at, "= \t\r\n");
        text_printf(text, "#define %.*s %.*s\n", (int)name, at,
                    (int)(length > name ? length - name - 1 : 0), at + name + (length > name));
        at += length;
    }
}

/* --- what taints what --- */

static bool has_tainted_word(const struct item *item) {
    bool found = false;
    for (size_t i = 0; i < item->n_words && !found; i++)
        found = item->words[i]->tainted && (item->kind != PROTOTYPE || item->words[i]->is_macro);
    return found;
}

/* Whether one of the first words is a macro that opens something. */
static bool opens(const struct item *item, size_t n_words) {
    bool found = false;
    for (size_t i = 0; i < n_words && !found; i++)
        found = item->words[i]->is_macro && item->words[i]->opens;
    return found;
}

/* Whether words that are not seen may name it. */
static bool is_named_unseen(const struct item *item) {
    bool unseen = item->kind != FUNCTION || item->veiled || opens(item, item->n_head);
    for (size_t i = 0; i < item->n_names && !unseen; i++)
        unseen = item->names[i]->is_macro;
    return unseen;
}

/* A step of the propagation; false: the item had nothing left to pass on. */
static bool propagate(struct kernel_reading *reading, const struct item *item) {
    bool moved = false;
    if (item->kind == MACRO && !item->names[0]->opens && opens(item, item->n_words))
        moved = item->names[0]->opens = true;
    if (!has_tainted_word(item))
        return moved;
    reading->failed |= item->kind != MACRO && is_named_unseen(item);
    for (size_t i = 0; i < item->n_names; i++) {
        moved |= !item->names[i]->tainted;
        item->names[i]->tainted = true;
    }
    return moved;
}

static void taint(struct kernel_reading *reading) {
    bool moved = true;
    while (moved && !reading->failed) {
        moved = false;
        for (size_t i = 0; i < reading->n_items; i++)
            moved |= propagate(reading, &reading->items[i]);
    }
}

static void append_names(const struct kernel_reading *reading, struct text *names) {
    for (size_t i = 0; i < reading->n_items; i++) {
        const struct item *item = &reading->items[i];
        for (size_t k = 0; item->kind == FUNCTION && k < item->n_names; k++)
            if (!item->names[k]->tainted && !item->names[k]->is_macro)
                text_printf(names, " %.*s ", (int)item->names[k]->length, item->names[k]->text);
    }
}

static void free_reading(struct kernel_reading *reading) {
    struct word *word, *next;
    for (size_t i = 0; i < reading->n_items; i++) {
        free(reading->items[i].words);
        free(reading->items[i].names);
    }
    free(reading->items);
    free(reading->item.words);
    free(reading->item.names);
    HASH_ITER(hh, reading->table, word, next) {
        HASH_DEL(reading->table, word);
        free(word);
    }
}

/* Whether it has signs that stand for others. */
static bool has_substitutes(const char *source) {
    return strstr(source, "?\?") || strstr(source, "<%") || strstr(source, "%>") ||
           strstr(source, "%:");
}

void source_kernels_without_grid(const char *source, const char *options, struct text *names) {
    struct kernel_reading reading = {0};
    struct text whole = {0};
    if (!source_is_self_contained(source, options) || strpbrk(options, "\"'\\"))
        return;
    append_macros(&whole, options);
    source_append_joined(&whole, source);
    if (!whole.failed && !has_substitutes(whole.bytes)) {
        read_source(&reading, whole.bytes);
        taint(&reading);
        if (!reading.failed)
            append_names(&reading, names);
    }
    free_reading(&reading);
    free(whole.bytes);
}
